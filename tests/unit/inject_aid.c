/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "unit/inject_aid.h"

u64 inject_maps(pid_t pid)
{
	struct buf b = { 0 };
	char path[64];
	struct err e;
	u64 h = 14695981039346656037u;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (!file_read(path, &b, 16 << 20, &e))
		return 0;
	for (size_t i = 0; i < b.n; i++)
		h = (h ^ (u8)b.p[i]) * 1099511628211u;
	buf_free(&b);
	return h;
}

void inject_enter(pid_t pid, enter_fn *fn, void *ctx, size_t size)
{
	struct enter n = { .pid = pid, .fn = fn, .ctx = ctx, .size = size, .ms = 60000 };
	struct err e = { 0 };

	if (!enter_process(&n, &e))
		fail_msg("%s", e.text);
}

void inject_refused(const struct enter *n, const char *why)
{
	struct enter one = *n;
	struct err e = { 0 };
	u64 before = inject_maps(n->pid);

	assert_false(enter_process(&one, &e));
	if (!strstr(e.text, why))
		fail_msg("\"%s\" instead of \"%s\"", e.text, why);
	assert_true(n->pid == getpid() || before == inject_maps(n->pid));
}

struct inject_child inject_start(void (*run)(int end_fd))
{
	struct inject_child c;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	c.pid = fork();
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		close(fds[1]);
		run(fds[0]);
	}
	close(fds[0]);
	c.end_fd = fds[1];
	return c;
}

void inject_end(struct inject_child *c)
{
	int status;

	close(c->end_fd);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, 0);
}
