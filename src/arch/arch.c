/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is the same for all machines, and the list of those that there are.
 */
#include "arch/arch.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "memtap has no files in src/arch/ for this machine yet: see CONTRIBUTING.md, A machine"
#endif

/* System calls that all machines number alike (scripts/syscall.tbl, up to Linux 6.18). */
/* clang-format off */
static const char common_syscalls[] =
	/* 424 */ "pidfd_send_signal\0io_uring_setup\0io_uring_enter\0io_uring_register\0"
	/* 428 */ "open_tree\0move_mount\0fsopen\0fsconfig\0fsmount\0fspick\0pidfd_open\0clone3\0"
	/* 436 */ "close_range\0openat2\0pidfd_getfd\0faccessat2\0process_madvise\0epoll_pwait2\0"
	/* 442 */ "mount_setattr\0quotactl_fd\0landlock_create_ruleset\0landlock_add_rule\0"
	/* 446 */ "landlock_restrict_self\0memfd_secret\0process_mrelease\0futex_waitv\0"
	/* 450 */ "set_mempolicy_home_node\0cachestat\0fchmodat2\0map_shadow_stack\0futex_wake\0"
	/* 455 */ "futex_wait\0futex_requeue\0statmount\0listmount\0lsm_get_self_attr\0"
	/* 460 */ "lsm_set_self_attr\0lsm_list_modules\0mseal\0setxattrat\0getxattrat\0"
	/* 465 */ "listxattrat\0removexattrat\0open_tree_attr\0file_getattr\0file_setattr\0";
/* clang-format on */

const struct arch_reg *arch_reg(struct str name)
{
	for (u32 i = 0; i < arch.n_regs; i++)
		if (str_is(name, arch.regs[i].name))
			return &arch.regs[i];
	return NULL;
}

const char *arch_syscall_name(u64 n)
{
	const char *name;

	if (n < ARCH_SYSCALLS_COMMON)
		name = str_nth(arch_syscalls, n);
	else
		name = str_nth(common_syscalls, n - ARCH_SYSCALLS_COMMON);
	return name && name[0] != '-' ? name : NULL;
}
