/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs a command of system(). Its output is taken through a pipe, so that it lands in its
 * place among the script's own output and in the file of -o. The command gets normal signals
 * again, which the session blocks for itself.
 */
#include "run/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(const char *command, int out, pid_t *pid)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char *)(uintptr_t)command, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t set;
	int r;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	sigaddset(&set, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &set);
	r = posix_spawn(pid, "/bin/sh", &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return r;
}

static void read_all(int fd, struct buf *b, size_t limit)
{
	size_t end = b->n + limit;
	char chunk[4096];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n == 0 || (n < 0 && errno != EINTR))
			return;
		if (n > 0 && b->n < end)
			buf_add(b, chunk, MIN((size_t)n, end - b->n));
	}
}

bool shell_run(const char *command, struct buf *b, size_t limit, struct err *e)
{
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, errno, "can not make a pipe for system()");
	r = spawn(command, ends[1], &pid);
	close(ends[1]);
	if (r == 0) {
		read_all(ends[0], b, limit);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	return r == 0 || err_sys(e, r, "can not run a shell for system()");
}
