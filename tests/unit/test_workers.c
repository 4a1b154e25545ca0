/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Things worked on in processes of their own: their order, long texts, and one that is killed.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/workers.h"

#define N      20u
#define LONG   300000u /* bytes: more than a pipe holds */
#define KILLED 7u

struct seen {
	u32 n, bad, killed;
	pid_t here;
	bool alone; /* all work was done in this process */
	bool kills;
};

static bool work(void *ctx, u32 i, struct buf *out)
{
	struct seen *s = ctx;

	if (s->kills && i == KILLED)
		raise(SIGKILL);
	buf_fill(out, (char)('a' + i), i % 3 ? 1 : LONG);
	buf_printf(out, "%d", getpid() == s->here);
	return i % 5 != 0;
}

static void done(void *ctx, u32 i, const struct buf *out, bool good, int signal)
{
	struct seen *s = ctx;

	assert_int_equal(i, s->n);
	s->n++;
	s->bad += !good;
	s->killed += signal == SIGKILL;
	if (signal)
		return;
	assert_int_equal(out->n, (i % 3 ? 1 : LONG) + 1);
	assert_int_equal(out->p[0], 'a' + (int)i);
	assert_int_equal(out->p[out->n - 1], s->alone ? '1' : '0');
}

static void test_in_order(void **state)
{
	(void)state;
	for (u32 at_once = 1; at_once <= N + 1; at_once += 4) {
		struct seen s = { .here = getpid() };

		workers_run(N, at_once, work, done, &s);
		assert_int_equal(s.n, N);
		assert_int_equal(s.bad, 4);
		assert_int_equal(s.killed, 0);
	}
}

static void test_killed(void **state)
{
	struct seen s = { .here = getpid(), .kills = true };

	(void)state;
	workers_run(N, 4, work, done, &s);
	assert_int_equal(s.n, N);
	assert_int_equal(s.bad, 5);
	assert_int_equal(s.killed, 1);
}

/* Without descriptors there are no pipes. */
static void test_in_this_process(void **state)
{
	struct seen s = { .here = getpid(), .alone = true };
	struct rlimit old, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ 3, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	workers_run(N, 4, work, done, &s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(s.n, N);
	assert_int_equal(s.bad, 4);
}

static void test_nothing(void **state)
{
	struct seen s = { 0 };

	(void)state;
	workers_run(0, 4, work, done, &s);
	assert_int_equal(s.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_in_this_process),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
