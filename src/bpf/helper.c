/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two tables: names of all helpers, made from the kernel header's own list so that they can
 * not drift from the numbers, and the shape of those that memtap's programs call. It does not
 * know which program kinds may call what: the kernel does.
 */
#include "bpf/helper.h"

static const char *const names[] = {
#define NAME(name) [BPF_FUNC_##name] = #name
	__BPF_FUNC_MAPPER(NAME)
#undef NAME
};

/* Argument counts are those of the prototypes in the comment of linux/bpf.h, less the "...". */
static const struct {
	struct helper helper;
	bool is_known;
} shapes[] = {
	[BPF_FUNC_map_lookup_elem] = { { 2 }, true },
	[BPF_FUNC_map_update_elem] = { { 4 }, true },
	[BPF_FUNC_map_delete_elem] = { { 2 }, true },
	[BPF_FUNC_map_lookup_percpu_elem] = { { 3 }, true },
	[BPF_FUNC_tail_call] = { { 3 }, true },
	[BPF_FUNC_probe_read] = { { 3 }, true },
	[BPF_FUNC_probe_read_str] = { { 3 }, true },
	[BPF_FUNC_probe_read_user] = { { 3 }, true },
	[BPF_FUNC_probe_read_kernel] = { { 3 }, true },
	[BPF_FUNC_probe_read_user_str] = { { 3 }, true },
	[BPF_FUNC_probe_read_kernel_str] = { { 3 }, true },
	[BPF_FUNC_ktime_get_ns] = { { 0 }, true },
	[BPF_FUNC_ktime_get_boot_ns] = { { 0 }, true },
	[BPF_FUNC_ktime_get_tai_ns] = { { 0 }, true },
	[BPF_FUNC_skb_load_bytes] = { { 4 }, true },
	[BPF_FUNC_jiffies64] = { { 0 }, true },
	[BPF_FUNC_get_prandom_u32] = { { 0 }, true },
	[BPF_FUNC_get_smp_processor_id] = { { 0 }, true },
	[BPF_FUNC_get_numa_node_id] = { { 0 }, true },
	[BPF_FUNC_get_current_pid_tgid] = { { 0 }, true },
	[BPF_FUNC_get_current_uid_gid] = { { 0 }, true },
	[BPF_FUNC_get_current_comm] = { { 2 }, true },
	[BPF_FUNC_get_current_cgroup_id] = { { 0 }, true },
	[BPF_FUNC_get_current_task] = { { 0 }, true },
	[BPF_FUNC_get_current_task_btf] = { { 0 }, true },
	[BPF_FUNC_get_ns_current_pid_tgid] = { { 4 }, true },
	[BPF_FUNC_get_attach_cookie] = { { 1 }, true },
	[BPF_FUNC_get_func_ip] = { { 1 }, true },
	[BPF_FUNC_get_func_arg] = { { 3 }, true },
	[BPF_FUNC_get_func_ret] = { { 2 }, true },
	[BPF_FUNC_get_func_arg_cnt] = { { 1 }, true },
	[BPF_FUNC_get_stack] = { { 4 }, true },
	[BPF_FUNC_get_stackid] = { { 3 }, true },
	[BPF_FUNC_task_pt_regs] = { { 1 }, true },
	[BPF_FUNC_this_cpu_ptr] = { { 1 }, true },
	[BPF_FUNC_per_cpu_ptr] = { { 2 }, true },
	[BPF_FUNC_ringbuf_output] = { { 4 }, true },
	[BPF_FUNC_ringbuf_reserve] = { { 3 }, true },
	[BPF_FUNC_ringbuf_submit] = { { 2 }, true },
	[BPF_FUNC_ringbuf_discard] = { { 2 }, true },
	[BPF_FUNC_ringbuf_query] = { { 2 }, true },
	[BPF_FUNC_perf_event_output] = { { 5 }, true },
	[BPF_FUNC_trace_printk] = { { 2, true }, true },
	[BPF_FUNC_strncmp] = { { 3 }, true },
	[BPF_FUNC_snprintf] = { { 5 }, true },
	[BPF_FUNC_send_signal] = { { 1 }, true },
	[BPF_FUNC_probe_write_user] = { { 3 }, true },
	[BPF_FUNC_override_return] = { { 2 }, true },
	[BPF_FUNC_send_signal_thread] = { { 1 }, true },
	[BPF_FUNC_for_each_map_elem] = { { 4 }, true },
	[BPF_FUNC_loop] = { { 4 }, true },
	[BPF_FUNC_spin_lock] = { { 1 }, true },
	[BPF_FUNC_spin_unlock] = { { 1 }, true },
};

const char *helper_name(u32 id)
{
	return id < ARRAY_SIZE(names) ? names[id] : NULL;
}

const struct helper *helper_get(u32 id)
{
	static const struct helper unknown = { .n_args = HELPER_ARGS_UNKNOWN };

	if (id < ARRAY_SIZE(shapes) && shapes[id].is_known)
		return &shapes[id].helper;
	return &unknown;
}
