/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table of stand-ins. Each row was read in the kernel's source: the event is hit inside
 * the function, by the same task, and hands over what the script asks for as argN. Where it is
 * hit only sometimes, or by others too, the remark says so and is printed.
 *
 * man/memtap.1 has the same table in words.
 */
#include "lang/probe/standin.h"

#include "base/glob.h"
#include "base/str.h"

#define ENTRY(function, event, n_params, remark, ...)                                              \
	{                                                                                          \
		function, false, event, n_params, { __VA_ARGS__ }, 0, remark                       \
	}
#define RETURN(function, event, n_params, retval, remark)                                          \
	{                                                                                          \
		function, true, event, n_params, { 0 }, retval, remark                             \
	}
#define NONE(function, remark)                                                                     \
	{                                                                                          \
		function, false, NULL, 0, { 0 }, 0, remark                                         \
	}

#define AT_ITS_END   "it is hit at the function's end"
#define IF_SUCCESS   "it is hit only when the function succeeds"
#define FOR_KIN      "it is hit for the function's kin too"
#define NOT_ALWAYS   "it is hit only when there is something to do"
#define OTHERS_TOO   "it is hit for sockets of other protocols too"
#define IF_WAKES     "it is hit only when the task sleeps"
#define IF_MOVES     "it is hit only when the task changes its CPU"
#define LATE_OR_MORE "it is hit at the function's end, and for the function's kin too"

static const struct standin rows[] = {
	/* tasks */
	ENTRY("do_exit", "sched_process_exit", 0, NULL, 0),
	ENTRY("wake_up_new_task", "sched_wakeup_new", 1, NULL, 1),
	ENTRY("try_to_wake_up", "sched_waking", 1, IF_WAKES, 1),
	ENTRY("set_task_cpu", "sched_migrate_task", 2, IF_MOVES, 1, 2),
	ENTRY("__set_task_comm", "task_rename", 2, NULL, 1, 2),
	ENTRY("cap_capable", "cap_capable", 5, AT_ITS_END, 1, 2, 4),
	RETURN("cap_capable", "cap_capable", 5, 5, NULL),
	ENTRY("exit_mmap", "exit_mmap", 1, AT_ITS_END, 1),
	/* running out of memory */
	ENTRY("mark_oom_victim", "mark_victim", 2, NULL, 1),
	NONE("oom_kill_process",
	     "tracepoint:oom:mark_victim is hit for each process that is killed, a little later"),
	NONE("out_of_memory", "tracepoint:oom:mark_victim is hit for each process that is killed"),
	/* reclaim */
	ENTRY("try_to_free_pages", "mm_vmscan_direct_reclaim_begin", 2, NOT_ALWAYS, 0, 1, 2),
	RETURN("try_to_free_pages", "mm_vmscan_direct_reclaim_end", 1, 1, NOT_ALWAYS),
	ENTRY("try_to_free_mem_cgroup_pages", "mm_vmscan_memcg_reclaim_begin", 2, NULL, 0, 0, 2),
	RETURN("try_to_free_mem_cgroup_pages", "mm_vmscan_memcg_reclaim_end", 1, 1, NULL),
	ENTRY("wakeup_kswapd", "mm_vmscan_wakeup_kswapd", 4, NOT_ALWAYS, 0, 4, 3),
	ENTRY("do_shrink_slab", "mm_shrink_slab_start", 7, NOT_ALWAYS, 2, 1, 7),
	RETURN("do_shrink_slab", "mm_shrink_slab_end", 6, 3, NOT_ALWAYS),
	ENTRY("compact_zone", "mm_compaction_begin", 4, NOT_ALWAYS, 1),
	/* allocators */
	ENTRY("kfree", "kfree", 2, NULL, 2),
	ENTRY("kmem_cache_free", "kmem_cache_free", 3, NULL, 3, 2),
	ENTRY("kmem_cache_alloc", "kmem_cache_alloc", 0, LATE_OR_MORE, 3, 4),
	RETURN("kmem_cache_alloc", "kmem_cache_alloc", 0, 2, FOR_KIN),
	ENTRY("__kmalloc", "kmalloc", 6, LATE_OR_MORE, 3, 5),
	RETURN("__kmalloc", "kmalloc", 6, 2, FOR_KIN),
	ENTRY("__alloc_pages", "mm_page_alloc", 4, LATE_OR_MORE, 3, 2),
	RETURN("__alloc_pages", "mm_page_alloc", 4, 1, FOR_KIN),
	/* the page cache */
	ENTRY("filemap_add_folio", "mm_filemap_add_to_page_cache", 1, IF_SUCCESS, 0, 1),
	ENTRY("add_to_page_cache_lru", "mm_filemap_add_to_page_cache", 1, IF_SUCCESS, 1),
	ENTRY("folio_account_dirtied", "writeback_dirty_folio", 2, NULL, 1, 2),
	ENTRY("account_page_dirtied", "writeback_dirty_folio", 2, NULL, 1, 2),
	ENTRY("mark_buffer_dirty", "block_dirty_buffer", 1, NULL, 1),
	ENTRY("touch_buffer", "block_touch_buffer", 1, NULL, 1),
	NONE("hugepage_madvise",
	     "tracepoint:syscalls:sys_enter_madvise is hit by each madvise(); args.behavior is 14 "
	     "for MADV_HUGEPAGE and 15 for MADV_NOHUGEPAGE"),
	NONE("swap_readpage", "tracepoint:vmscan:* and software:major-faults come near"),
	NONE("swap_read_folio", "tracepoint:vmscan:* and software:major-faults come near"),
	/* disks */
	ENTRY("blk_account_io_start", "block_io_start", 1, NULL, 1),
	ENTRY("__blk_account_io_start", "block_io_start", 1, NULL, 1),
	ENTRY("blk_account_io_done", "block_io_done", 1, NULL, 1),
	ENTRY("__blk_account_io_done", "block_io_done", 1, NULL, 1),
	ENTRY("blk_mq_start_request", "block_rq_issue", 1, NULL, 1),
	/* sockets */
	ENTRY("tcp_set_state", "inet_sock_set_state", 3, OTHERS_TOO, 1, 3),
	ENTRY("tcp_retransmit_skb", "tcp_retransmit_skb", 0, IF_SUCCESS, 1, 2),
	ENTRY("tcp_rcv_space_adjust", "tcp_rcv_space_adjust", 1, NULL, 1),
	ENTRY("tcp_reset", "tcp_receive_reset", 1, NULL, 1),
	ENTRY("tcp_v4_destroy_sock", "tcp_destroy_sock", 1, NULL, 1),
	ENTRY("consume_skb", "consume_skb", 0, NULL, 1),
	ENTRY("kfree_skb_reason", "kfree_skb", 0, NULL, 1, 3),
};

const struct standin *standin_find(const char *function, bool on_return,
                                   const struct standin *after)
{
	for (const struct standin *s = after ? after + 1 : rows; s < rows + ARRAY_SIZE(rows); s++)
		if (s->on_return == on_return && glob_match(str_of(function), str_of(s->function)))
			return s;
	return NULL;
}
