/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collectors have the same filter, which passes to what is run. They have the rights that they are
 * begun with, and give up most of them by themselves (run/rights.h).
 */
#include "cmd/serve/confine.h"

#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <string.h>

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
static const char calls[] =
	/* memory */
	"brk\0madvise\0mincore\0mmap\0mprotect\0mremap\0msync\0munmap\0"
	"membarrier\0"
	/* files */
	"access\0close\0close_range\0dup\0dup2\0dup3\0faccessat\0faccessat2\0"
	"fcntl\0fadvise64\0fgetxattr\0fstat\0fstatfs\0getcwd\0getdents\0getdents64\0"
	"getxattr\0ioctl\0lgetxattr\0lseek\0lstat\0name_to_handle_at\0newfstatat\0"
	"open\0openat\0openat2\0open_by_handle_at\0pipe\0pipe2\0pread64\0preadv\0"
	"preadv2\0pwrite64\0read\0readlink\0readlinkat\0readv\0sendfile\0stat\0"
	"statfs\0statx\0write\0writev\0flock\0ftruncate\0memfd_create\0chdir\0"
	"fchdir\0umask\0fsync\0"
	/* ... of libdebuginfod's cache */
	"mkdir\0mkdirat\0rename\0renameat\0renameat2\0unlink\0unlinkat\0utimensat\0"
	"fchmod\0"
	/* waiting */
	"clock_getres\0clock_gettime\0clock_nanosleep\0epoll_create1\0epoll_ctl\0"
	"epoll_pwait\0epoll_pwait2\0epoll_wait\0eventfd2\0gettimeofday\0"
	"inotify_add_watch\0inotify_init1\0inotify_rm_watch\0nanosleep\0poll\0ppoll\0"
	"pselect6\0restart_syscall\0select\0signalfd4\0time\0timerfd_create\0"
	"timerfd_gettime\0timerfd_settime\0alarm\0setitimer\0sched_yield\0"
	/* sockets */
	"accept\0accept4\0bind\0connect\0getpeername\0getsockname\0getsockopt\0"
	"listen\0recvfrom\0recvmmsg\0recvmsg\0sendmmsg\0sendmsg\0sendto\0"
	"setsockopt\0shutdown\0socket\0socketpair\0"
	/* processes and threads */
	"arch_prctl\0capget\0capset\0execve\0execveat\0exit\0"
	"exit_group\0fork\0futex\0futex_wait\0futex_wake\0get_robust_list\0getcpu\0"
	"getegid\0geteuid\0getgid\0getgroups\0getpgid\0getpgrp\0getpid\0getppid\0"
	"getpriority\0getrandom\0getresgid\0getresuid\0getrlimit\0getrusage\0getsid\0"
	"gettid\0getuid\0kill\0pidfd_open\0pidfd_send_signal\0prctl\0prlimit64\0"
	"rseq\0rt_sigaction\0rt_sigpending\0rt_sigprocmask\0rt_sigqueueinfo\0"
	"rt_sigreturn\0rt_sigsuspend\0rt_sigtimedwait\0sched_getaffinity\0sched_getparam\0"
	"sched_getscheduler\0sched_setaffinity\0set_robust_list\0set_tid_address\0"
	"setpgid\0setpriority\0setrlimit\0setsid\0sigaltstack\0sysinfo\0tgkill\0"
	"times\0tkill\0uname\0vfork\0wait4\0waitid\0seccomp\0"
	/* what it is for */
	"bpf\0perf_event_open\0process_vm_readv\0syslog\0pidfd_getfd\0"
	/* ... of `memtap heap` */
	"kcmp\0process_vm_writev\0ptrace\0pwritev\0";
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
	for (const char *name = calls; *name; name += strlen(name) + 1) {
		int number = lib->seccomp_syscall_resolve_name(name);

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
