/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/own.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static _Noreturn void not_started(const char *name, const char *what)
{
	dprintf(STDERR_FILENO, "ERROR: %s can not be started: %s: %s\n", name, what,
	        strerror(errno));
	_exit(1);
}

static _Noreturn void become(const char *name, char *const argv[], int fd, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	if (null < 0)
		not_started(name, "/dev/null");
	if (dup2(fd, OWN_FD) < 0)
		not_started(name, "no descriptor");
	fcntl(OWN_FD, F_SETFD, 0);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	execv("/proc/self/exe", argv);
	not_started(name, "/proc/self/exe");
}

pid_t own_start(const char *name, char *const argv[], int *fd)
{
	pid_t self = getpid(), pid;
	int pair[2], room = 1 << 20;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return 0;
	/* A page at once, where it may be so large: else both sides take turns. */
	setsockopt(pair[0], SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	pid = fork();
	if (pid == 0)
		become(name, argv, pair[1], self);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return 0;
	}
	*fd = pair[0];
	return pid;
}
