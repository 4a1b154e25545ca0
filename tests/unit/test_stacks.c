/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stacks by their numbers: they come out as they were put in, share callers, and can be
 * forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "agg/stacks.h"

/* Stack i: i % 7 + 1 frames, all over one main(). */
static struct ustack_value stack(u64 i)
{
	struct ustack_value v = { .n = i % 7 + 1 };

	for (u64 k = 0; k < v.n; k++)
		v.ip[k] = k + 1 == v.n ? 0x1000 : 0x2000 + i * 16 + k;
	return v;
}

static void assert_found(const struct stacks *s, u64 i)
{
	struct ustack_value want = stack(i), got;

	assert_true(stacks_find(s, i * 128, &got));
	assert_int_equal(got.n, want.n);
	assert_memory_equal(got.ip, want.ip, want.n * sizeof(u64));
}

static void keeps_them(void **state)
{
	struct stacks *s = stacks_new(64u << 20);
	struct ustack_value v;

	(void)state;
	for (u64 i = 0; i < 100000; i++) {
		v = stack(i);
		assert_true(stacks_put(s, i * 128, &v));
		assert_true(stacks_put(s, i * 128, &v));
	}
	for (u64 i = 0; i < 100000; i++)
		assert_found(s, i);
	assert_false(stacks_find(s, 1, &v));
	assert_int_equal(stacks_stat(s).stacks, 100000);
	stacks_free(s);
}

static void shares_callers(void **state)
{
	struct stacks *s = stacks_new(1u << 20);
	struct ustack_value v = { .n = 3, .ip = { 1, 2, 3 } };

	(void)state;
	stacks_put(s, 1, &v);
	assert_int_equal(stacks_stat(s).frames, 3);
	v.ip[0] = 4; /* another leaf of the same callers */
	stacks_put(s, 2, &v);
	assert_int_equal(stacks_stat(s).frames, 4);
	stacks_free(s);
}

static void keeps_the_mark(void **state)
{
	struct ustack_value v = { .n = 1 | (u64)USTACK_CUT << USTACK_FLAGS_SHIFT, .ip = { 5 } },
			    got;
	struct stacks *s = stacks_new(1u << 20);

	(void)state;
	stacks_put(s, 1, &v);
	v.n = 0;
	stacks_put(s, 2, &v);
	assert_true(stacks_find(s, 1, &got));
	assert_true(got.n == (1 | (u64)USTACK_CUT << USTACK_FLAGS_SHIFT));
	assert_true(stacks_find(s, 2, &got));
	assert_int_equal(got.n, 0);
	stacks_free(s);
}

static bool is_third(void *ctx, u64 id)
{
	(void)ctx;
	return id / 128 % 3 == 0;
}

/* Within its limit; a sweep makes room of what is neither wanted nor recent. */
static void ends_at_its_limit(void **state)
{
	struct stacks *s = stacks_new(1u << 20);
	struct ustack_value v;
	u64 n = 0, more;

	(void)state;
	for (v = stack(0); stacks_put(s, n * 128, &v); v = stack(n))
		n++;
	assert_true(n > 1000);
	assert_true(stacks_stat(s).bytes <= 1u << 20);
	stacks_age(s);
	stacks_sweep(s, is_third, NULL);
	assert_int_equal(stacks_stat(s).stacks, n); /* all are recent */
	stacks_age(s);
	stacks_sweep(s, is_third, NULL);
	assert_int_equal(stacks_stat(s).stacks, (n + 2) / 3);
	for (u64 i = 0; i < n; i += 3)
		assert_found(s, i);
	for (more = n, v = stack(more); stacks_put(s, more * 128, &v); v = stack(more))
		more++;
	assert_true(more > n);
	stacks_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_them),
		cmocka_unit_test(shares_callers),
		cmocka_unit_test(keeps_the_mark),
		cmocka_unit_test(ends_at_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
