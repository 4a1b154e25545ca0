/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs a command of system(), or a program. Its output is taken through a pipe, so that it lands in its
 * place among the script's own output and in the file of -o. The command gets normal signals
 * again, which the session blocks for itself.
 */
#include "world/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(const char *const *argv, int out, bool silent, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t set;
	int r;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	if (silent)
		posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	sigaddset(&set, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &set);
	r = posix_spawn(pid, argv[0], &files, &attr, (char *const *)(uintptr_t)argv, environ);
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

static bool run(const char *const *argv, bool silent, struct buf *b, size_t limit, struct err *e)
{
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, errno, "can not make a pipe for %s", argv[0]);
	r = spawn(argv, ends[1], silent, &pid);
	close(ends[1]);
	if (r == 0) {
		read_all(ends[0], b, limit);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	return r == 0 || err_sys(e, r, "can not run %s", argv[0]);
}

bool shell_run(const char *command, struct buf *b, size_t limit, struct err *e)
{
	return run((const char *const[]){ "/bin/sh", "-c", command, NULL }, false, b, limit, e);
}

bool shell_argv(const char *const *argv, struct buf *b, size_t limit, struct err *e)
{
	return run(argv, true, b, limit, e);
}
