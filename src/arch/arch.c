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
static const char *const common_syscalls[] = {
	"pidfd_send_signal", "io_uring_setup", "io_uring_enter", "io_uring_register", "open_tree",
	"move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "pidfd_open", "clone3",
	"close_range", "openat2", "pidfd_getfd", "faccessat2", "process_madvise", "epoll_pwait2",
	"mount_setattr", "quotactl_fd", "landlock_create_ruleset", "landlock_add_rule",
	"landlock_restrict_self", "memfd_secret", "process_mrelease", "futex_waitv",
	"set_mempolicy_home_node", "cachestat", "fchmodat2", "map_shadow_stack", "futex_wake",
	"futex_wait", "futex_requeue", "statmount", "listmount", "lsm_get_self_attr",
	"lsm_set_self_attr", "lsm_list_modules", "mseal", "setxattrat", "getxattrat", "listxattrat",
	"removexattrat", "open_tree_attr", "file_getattr", "file_setattr",
};
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
	if (n < ARCH_SYSCALLS_COMMON)
		return arch_syscalls[n];
	n -= ARCH_SYSCALLS_COMMON;
	return n < ARRAY_SIZE(common_syscalls) ? common_syscalls[n] : NULL;
}
