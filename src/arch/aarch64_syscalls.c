/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * arm64's system calls by number (include/uapi/asm-generic/unistd.h, up to Linux 6.18). It has none
 * of those that others replaced before there was an arm64: no open, fork, pipe or select.
 */
#include "arch/arch.h"

#if defined(__aarch64__)

/* clang-format off */
const char arch_syscalls[] =
	/*   0 */ "io_setup\0io_destroy\0io_submit\0io_cancel\0io_getevents\0setxattr\0lsetxattr\0"
	/*   7 */ "fsetxattr\0getxattr\0lgetxattr\0fgetxattr\0listxattr\0llistxattr\0flistxattr\0"
	/*  14 */ "removexattr\0lremovexattr\0fremovexattr\0getcwd\0lookup_dcookie\0eventfd2\0"
	/*  20 */ "epoll_create1\0epoll_ctl\0epoll_pwait\0dup\0dup3\0fcntl\0inotify_init1\0"
	/*  27 */ "inotify_add_watch\0inotify_rm_watch\0ioctl\0ioprio_set\0ioprio_get\0flock\0"
	/*  33 */ "mknodat\0mkdirat\0unlinkat\0symlinkat\0linkat\0renameat\0umount2\0mount\0"
	/*  41 */ "pivot_root\0nfsservctl\0statfs\0fstatfs\0truncate\0ftruncate\0fallocate\0"
	/*  48 */ "faccessat\0chdir\0fchdir\0chroot\0fchmod\0fchmodat\0fchownat\0fchown\0openat\0"
	/*  57 */ "close\0vhangup\0pipe2\0quotactl\0getdents64\0lseek\0read\0write\0readv\0"
	/*  66 */ "writev\0pread64\0pwrite64\0preadv\0pwritev\0sendfile\0pselect6\0ppoll\0"
	/*  74 */ "signalfd4\0vmsplice\0splice\0tee\0readlinkat\0newfstatat\0fstat\0sync\0fsync\0"
	/*  83 */ "fdatasync\0sync_file_range\0timerfd_create\0timerfd_settime\0timerfd_gettime\0"
	/*  88 */ "utimensat\0acct\0capget\0capset\0personality\0exit\0exit_group\0waitid\0"
	/*  96 */ "set_tid_address\0unshare\0futex\0set_robust_list\0get_robust_list\0nanosleep\0"
	/* 102 */ "getitimer\0setitimer\0kexec_load\0init_module\0delete_module\0timer_create\0"
	/* 108 */ "timer_gettime\0timer_getoverrun\0timer_settime\0timer_delete\0clock_settime\0"
	/* 113 */ "clock_gettime\0clock_getres\0clock_nanosleep\0syslog\0ptrace\0sched_setparam\0"
	/* 119 */ "sched_setscheduler\0sched_getscheduler\0sched_getparam\0sched_setaffinity\0"
	/* 123 */ "sched_getaffinity\0sched_yield\0sched_get_priority_max\0"
	/* 126 */ "sched_get_priority_min\0sched_rr_get_interval\0restart_syscall\0kill\0tkill\0"
	/* 131 */ "tgkill\0sigaltstack\0rt_sigsuspend\0rt_sigaction\0rt_sigprocmask\0"
	/* 136 */ "rt_sigpending\0rt_sigtimedwait\0rt_sigqueueinfo\0rt_sigreturn\0setpriority\0"
	/* 141 */ "getpriority\0reboot\0setregid\0setgid\0setreuid\0setuid\0setresuid\0getresuid\0"
	/* 149 */ "setresgid\0getresgid\0setfsuid\0setfsgid\0times\0setpgid\0getpgid\0getsid\0"
	/* 157 */ "setsid\0getgroups\0setgroups\0uname\0sethostname\0setdomainname\0getrlimit\0"
	/* 164 */ "setrlimit\0getrusage\0umask\0prctl\0getcpu\0gettimeofday\0settimeofday\0"
	/* 171 */ "adjtimex\0getpid\0getppid\0getuid\0geteuid\0getgid\0getegid\0gettid\0sysinfo\0"
	/* 180 */ "mq_open\0mq_unlink\0mq_timedsend\0mq_timedreceive\0mq_notify\0mq_getsetattr\0"
	/* 186 */ "msgget\0msgctl\0msgrcv\0msgsnd\0semget\0semctl\0semtimedop\0semop\0shmget\0"
	/* 195 */ "shmctl\0shmat\0shmdt\0socket\0socketpair\0bind\0listen\0accept\0connect\0"
	/* 204 */ "getsockname\0getpeername\0sendto\0recvfrom\0setsockopt\0getsockopt\0shutdown\0"
	/* 211 */ "sendmsg\0recvmsg\0readahead\0brk\0munmap\0mremap\0add_key\0request_key\0"
	/* 219 */ "keyctl\0clone\0execve\0mmap\0fadvise64\0swapon\0swapoff\0mprotect\0msync\0"
	/* 228 */ "mlock\0munlock\0mlockall\0munlockall\0mincore\0madvise\0remap_file_pages\0"
	/* 235 */ "mbind\0get_mempolicy\0set_mempolicy\0migrate_pages\0move_pages\0"
	/* 240 */ "rt_tgsigqueueinfo\0perf_event_open\0accept4\0recvmmsg\0-\0-\0-\0-\0-\0-\0-\0-\0"
	/* 252 */ "-\0-\0-\0-\0-\0-\0-\0-\0wait4\0prlimit64\0fanotify_init\0fanotify_mark\0"
	/* 264 */ "name_to_handle_at\0open_by_handle_at\0clock_adjtime\0syncfs\0setns\0sendmmsg\0"
	/* 270 */ "process_vm_readv\0process_vm_writev\0kcmp\0finit_module\0sched_setattr\0"
	/* 275 */ "sched_getattr\0renameat2\0seccomp\0getrandom\0memfd_create\0bpf\0execveat\0"
	/* 282 */ "userfaultfd\0membarrier\0mlock2\0copy_file_range\0preadv2\0pwritev2\0"
	/* 288 */ "pkey_mprotect\0pkey_alloc\0pkey_free\0statx\0io_pgetevents\0rseq\0"
	/* 294 */ "kexec_file_load\0";
/* clang-format on */

#endif
