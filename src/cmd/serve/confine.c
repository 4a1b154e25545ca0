/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collectors have the same filter, which passes to what is run. They have the rights that they are
 * begun with, and give up most of them by themselves (run/rights.h).
 */
#include "cmd/serve/confine.h"

#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>

#include "base/caps.h"
#include "base/host.h"

/* To begin collectors, of which deploy/memtap.service says what each is for. */
#define TO_BEGIN                                                                                   \
	(CAPS_TRACING | CAPS_FILES | CAPS_PROCESSES | CAPS_ADMIN | CAPS_LIMITS |                   \
	 CAPS(CAP_SYSLOG) | CAPS(CAP_CHECKPOINT_RESTORE))
/* To look for servers, and to read configurations. */
#define TO_SERVE (CAPS_FILES | CAPS_PROCESSES)

/* clone() makes none of them. */
#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

/* Made by memtap, the C library and the libraries it loads, on some kernel or machine; one in
 * another's place on older ones too. What a machine does not have is passed over. */
/* clang-format off */
static const char *const calls[] = {
	/* memory */
	"brk", "madvise", "mincore", "mmap", "mprotect", "mremap", "msync", "munmap",
	"membarrier",
	/* files */
	"access", "close", "close_range", "dup", "dup2", "dup3", "faccessat", "faccessat2",
	"fcntl", "fadvise64", "fgetxattr", "fstat", "fstatfs", "getcwd", "getdents", "getdents64",
	"getxattr", "ioctl", "lgetxattr", "lseek", "lstat", "name_to_handle_at", "newfstatat",
	"open", "openat", "openat2", "open_by_handle_at", "pipe", "pipe2", "pread64", "preadv",
	"preadv2", "pwrite64", "read", "readlink", "readlinkat", "readv", "sendfile", "stat",
	"statfs", "statx", "write", "writev", "flock", "ftruncate", "memfd_create", "chdir",
	"fchdir", "umask", "fsync",
	/* ... of libdebuginfod's cache */
	"mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "utimensat",
	"fchmod",
	/* waiting */
	"clock_getres", "clock_gettime", "clock_nanosleep", "epoll_create1", "epoll_ctl",
	"epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2", "gettimeofday",
	"inotify_add_watch", "inotify_init1", "inotify_rm_watch", "nanosleep", "poll", "ppoll",
	"pselect6", "restart_syscall", "select", "signalfd4", "time", "timerfd_create",
	"timerfd_gettime", "timerfd_settime", "alarm", "setitimer", "sched_yield",
	/* sockets */
	"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt",
	"listen", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto",
	"setsockopt", "shutdown", "socket", "socketpair",
	/* processes and threads */
	"arch_prctl", "capget", "capset", "execve", "execveat", "exit",
	"exit_group", "fork", "futex", "futex_wait", "futex_wake", "get_robust_list", "getcpu",
	"getegid", "geteuid", "getgid", "getgroups", "getpgid", "getpgrp", "getpid", "getppid",
	"getpriority", "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage", "getsid",
	"gettid", "getuid", "kill", "pidfd_open", "pidfd_send_signal", "prctl", "prlimit64",
	"rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo",
	"rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "sched_getaffinity", "sched_getparam",
	"sched_getscheduler", "sched_setaffinity", "set_robust_list", "set_tid_address",
	"setpgid", "setpriority", "setrlimit", "setsid", "sigaltstack", "sysinfo", "tgkill",
	"times", "tkill", "uname", "vfork", "wait4", "waitid", "seccomp",
	/* what it is for */
	"bpf", "perf_event_open", "process_vm_readv", "syslog", "pidfd_getfd",
	/* ... of `memtap heap` */
	"kcmp", "process_vm_writev", "ptrace", "pwritev",
};
/* clang-format on */

/* clang-format off */
#define FUNCTIONS(F) /* of the library */                                                          \
	F(seccomp_init) F(seccomp_syscall_resolve_name) F(seccomp_rule_add) F(seccomp_attr_set)    \
	F(seccomp_load) F(seccomp_release)
/* clang-format on */

#define POINTER(name) __typeof__(name) *name;

struct library {
	FUNCTIONS(POINTER)
};

/* What is not in the list does not exist, as on an older kernel: the C library takes another way,
 * for clone3(), whose flags a filter can not see, clone(). */
static bool limit_calls(const struct library *lib)
{
	scmp_filter_ctx filter = lib->seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	bool ok = filter != NULL;

	if (!ok)
		return false;
	/* A tree in place of a list, where the library knows it. */
	lib->seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (u32 i = 0; i < ARRAY_SIZE(calls); i++) {
		int number = lib->seccomp_syscall_resolve_name(calls[i]);

		if (number >= 0)
			ok &= lib->seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0) == 0;
	}
	ok = ok &&
	     lib->seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
	                           SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACES, 0)) == 0 &&
	     lib->seccomp_load(filter) == 0;
	lib->seccomp_release(filter);
	return ok;
}

bool confine(struct err *e)
{
	void *so = host_library("libseccomp.so.2");
	struct library lib;
	bool ok = so != NULL;

	caps_keep(TO_BEGIN);
	caps_use(TO_SERVE);
#define FIND(name) ok = ok && (lib.name = (__typeof__(name) *)host_symbol(so, #name));
	FUNCTIONS(FIND)
	if (host_is_static())
		return err_set(e, "system calls are not limited: this memtap, one file, has no "
		                  "libseccomp in it");
	if (!ok) {
		err_set(e,
		        "system calls are not limited: there is no libseccomp (libseccomp.so.2)");
		return err_hint(e, "its package is libseccomp2 on Debian");
	}
	ok = limit_calls(&lib) || err_set(e, "system calls are not limited: the kernel refuses");
	host_release(so);
	return ok;
}
