/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs a command of system(). Its output is taken through a pipe, so that it lands in
 * its place among the script's own output and in the file of -o. The command gets normal signals
 * again, which the session blocks for itself.
 */
#include "world/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

#define FAMILY_MAX    256
#define TERM_GRACE_MS 100

static int spawn(const char *const *argv, int out, pid_t *pid)
{
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
	r = posix_spawn(pid, argv[0], &files, &attr, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return r;
}

/* To its end. False when it is time to stop. */
static bool read_all(int fd, struct buf *b, size_t limit, struct stop *stop)
{
	size_t end = b->n + limit;
	char chunk[4096];

	while (stop_poll(stop, fd)) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n == 0 || (n < 0 && errno != EINTR))
			return true;
		if (n > 0 && b->n < end)
			buf_add(b, chunk, MIN((size_t)n, end - b->n));
	}
	return false;
}

/* ---- ending it ---- */

/* Descriptors of a process and of all it started: they hold our standard error, too. */
struct family {
	struct arena arena;
	VEC(int) fds;
};

static void family_find(struct family *f, pid_t pid)
{
	char path[64];
	glob_t tasks;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return;
	vec_add(&f->arena, &f->fds, fd);
	snprintf(path, sizeof(path), "/proc/%d/task/*/children", (int)pid);
	if (glob(path, GLOB_NOSORT, NULL, &tasks) != 0)
		return;
	for (size_t i = 0; i < tasks.gl_pathc && f->fds.n < FAMILY_MAX; i++) {
		struct buf list = { 0 };
		struct err ignored;
		char *p;

		file_read(tasks.gl_pathv[i], &list, 65536, &ignored);
		p = (char *)(uintptr_t)buf_text(&list);
		for (long child; (child = strtol(p, &p, 10)) > 0 && f->fds.n < FAMILY_MAX;)
			family_find(f, (pid_t)child);
		buf_free(&list);
	}
	globfree(&tasks);
}

static void family_signal(const struct family *f, int number)
{
	for (u32 i = 0; i < f->fds.n; i++)
		syscall(SYS_pidfd_send_signal, f->fds.v[i], number, NULL, 0);
}

/* Once asked to end, they are given a moment. */
static void end_family(pid_t pid)
{
	struct family f = { 0 };
	struct pollfd p = { .events = POLLIN };

	family_find(&f, pid);
	family_signal(&f, SIGTERM);
	p.fd = f.fds.n ? f.fds.v[0] : -1;
	poll(&p, 1, TERM_GRACE_MS);
	family_signal(&f, SIGKILL);
	for (u32 i = 0; i < f.fds.n; i++)
		close(f.fds.v[i]);
	arena_free(&f.arena);
}

/* ---- running it ---- */

/* It may have closed its output and run on. */
static bool serve(pid_t pid, int out, struct buf *b, size_t limit, struct stop *stop)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool whole = read_all(out, b, limit, stop) && (fd < 0 || stop_poll(stop, fd));

	if (!whole)
		end_family(pid);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (fd >= 0)
		close(fd);
	return whole;
}

bool shell_run(const char *command, struct buf *b, size_t limit, struct stop *stop, struct err *e)
{
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	bool whole = true;
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, errno, "can not make a pipe for %s", argv[0]);
	r = spawn(argv, ends[1], &pid);
	close(ends[1]);
	if (r == 0)
		whole = serve(pid, ends[0], b, limit, stop);
	close(ends[0]);
	if (r)
		return err_sys(e, r, "can not run %s", argv[0]);
	return whole || err_set(e, "the command was ended: it still ran when memtap was to end");
}
