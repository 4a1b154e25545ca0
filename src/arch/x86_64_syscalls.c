/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * x86-64's system calls by number (arch/x86/entry/syscalls/syscall_64.tbl, up to Linux 6.18).
 */
#include "arch/arch.h"

#if defined(__x86_64__)

/* clang-format off */
const char arch_syscalls[] =
	/*   0 */ "read\0write\0open\0close\0stat\0fstat\0lstat\0poll\0lseek\0mmap\0mprotect\0"
	/*  11 */ "munmap\0brk\0rt_sigaction\0rt_sigprocmask\0rt_sigreturn\0ioctl\0pread64\0"
	/*  18 */ "pwrite64\0readv\0writev\0access\0pipe\0select\0sched_yield\0mremap\0msync\0"
	/*  27 */ "mincore\0madvise\0shmget\0shmat\0shmctl\0dup\0dup2\0pause\0nanosleep\0"
	/*  36 */ "getitimer\0alarm\0setitimer\0getpid\0sendfile\0socket\0connect\0accept\0"
	/*  44 */ "sendto\0recvfrom\0sendmsg\0recvmsg\0shutdown\0bind\0listen\0getsockname\0"
	/*  52 */ "getpeername\0socketpair\0setsockopt\0getsockopt\0clone\0fork\0vfork\0execve\0"
	/*  60 */ "exit\0wait4\0kill\0uname\0semget\0semop\0semctl\0shmdt\0msgget\0msgsnd\0"
	/*  70 */ "msgrcv\0msgctl\0fcntl\0flock\0fsync\0fdatasync\0truncate\0ftruncate\0getdents\0"
	/*  79 */ "getcwd\0chdir\0fchdir\0rename\0mkdir\0rmdir\0creat\0link\0unlink\0symlink\0"
	/*  89 */ "readlink\0chmod\0fchmod\0chown\0fchown\0lchown\0umask\0gettimeofday\0"
	/*  97 */ "getrlimit\0getrusage\0sysinfo\0times\0ptrace\0getuid\0syslog\0getgid\0setuid\0"
	/* 106 */ "setgid\0geteuid\0getegid\0setpgid\0getppid\0getpgrp\0setsid\0setreuid\0"
	/* 114 */ "setregid\0getgroups\0setgroups\0setresuid\0getresuid\0setresgid\0getresgid\0"
	/* 121 */ "getpgid\0setfsuid\0setfsgid\0getsid\0capget\0capset\0rt_sigpending\0"
	/* 128 */ "rt_sigtimedwait\0rt_sigqueueinfo\0rt_sigsuspend\0sigaltstack\0utime\0mknod\0"
	/* 134 */ "uselib\0personality\0ustat\0statfs\0fstatfs\0sysfs\0getpriority\0setpriority\0"
	/* 142 */ "sched_setparam\0sched_getparam\0sched_setscheduler\0sched_getscheduler\0"
	/* 146 */ "sched_get_priority_max\0sched_get_priority_min\0sched_rr_get_interval\0mlock\0"
	/* 150 */ "munlock\0mlockall\0munlockall\0vhangup\0modify_ldt\0pivot_root\0_sysctl\0"
	/* 157 */ "prctl\0arch_prctl\0adjtimex\0setrlimit\0chroot\0sync\0acct\0settimeofday\0"
	/* 165 */ "mount\0umount2\0swapon\0swapoff\0reboot\0sethostname\0setdomainname\0iopl\0"
	/* 173 */ "ioperm\0create_module\0init_module\0delete_module\0get_kernel_syms\0"
	/* 178 */ "query_module\0quotactl\0nfsservctl\0getpmsg\0putpmsg\0afs_syscall\0tuxcall\0"
	/* 185 */ "security\0gettid\0readahead\0setxattr\0lsetxattr\0fsetxattr\0getxattr\0"
	/* 192 */ "lgetxattr\0fgetxattr\0listxattr\0llistxattr\0flistxattr\0removexattr\0"
	/* 198 */ "lremovexattr\0fremovexattr\0tkill\0time\0futex\0sched_setaffinity\0"
	/* 204 */ "sched_getaffinity\0set_thread_area\0io_setup\0io_destroy\0io_getevents\0"
	/* 209 */ "io_submit\0io_cancel\0get_thread_area\0lookup_dcookie\0epoll_create\0"
	/* 214 */ "epoll_ctl_old\0epoll_wait_old\0remap_file_pages\0getdents64\0set_tid_address\0"
	/* 219 */ "restart_syscall\0semtimedop\0fadvise64\0timer_create\0timer_settime\0"
	/* 224 */ "timer_gettime\0timer_getoverrun\0timer_delete\0clock_settime\0clock_gettime\0"
	/* 229 */ "clock_getres\0clock_nanosleep\0exit_group\0epoll_wait\0epoll_ctl\0tgkill\0"
	/* 235 */ "utimes\0vserver\0mbind\0set_mempolicy\0get_mempolicy\0mq_open\0mq_unlink\0"
	/* 242 */ "mq_timedsend\0mq_timedreceive\0mq_notify\0mq_getsetattr\0kexec_load\0waitid\0"
	/* 248 */ "add_key\0request_key\0keyctl\0ioprio_set\0ioprio_get\0inotify_init\0"
	/* 254 */ "inotify_add_watch\0inotify_rm_watch\0migrate_pages\0openat\0mkdirat\0mknodat\0"
	/* 260 */ "fchownat\0futimesat\0newfstatat\0unlinkat\0renameat\0linkat\0symlinkat\0"
	/* 267 */ "readlinkat\0fchmodat\0faccessat\0pselect6\0ppoll\0unshare\0set_robust_list\0"
	/* 274 */ "get_robust_list\0splice\0tee\0sync_file_range\0vmsplice\0move_pages\0"
	/* 280 */ "utimensat\0epoll_pwait\0signalfd\0timerfd_create\0eventfd\0fallocate\0"
	/* 286 */ "timerfd_settime\0timerfd_gettime\0accept4\0signalfd4\0eventfd2\0epoll_create1\0"
	/* 292 */ "dup3\0pipe2\0inotify_init1\0preadv\0pwritev\0rt_tgsigqueueinfo\0"
	/* 298 */ "perf_event_open\0recvmmsg\0fanotify_init\0fanotify_mark\0prlimit64\0"
	/* 303 */ "name_to_handle_at\0open_by_handle_at\0clock_adjtime\0syncfs\0sendmmsg\0setns\0"
	/* 309 */ "getcpu\0process_vm_readv\0process_vm_writev\0kcmp\0finit_module\0"
	/* 314 */ "sched_setattr\0sched_getattr\0renameat2\0seccomp\0getrandom\0memfd_create\0"
	/* 320 */ "kexec_file_load\0bpf\0execveat\0userfaultfd\0membarrier\0mlock2\0"
	/* 326 */ "copy_file_range\0preadv2\0pwritev2\0pkey_mprotect\0pkey_alloc\0pkey_free\0"
	/* 332 */ "statx\0io_pgetevents\0rseq\0uretprobe\0uprobe\0";
/* clang-format on */

#endif
