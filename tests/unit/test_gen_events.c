/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that look at their event: context fields, process, time, stacks, memory of others,
 * and what happens when the ring is full.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "interp/lab.h"

static int set_up(void **state)
{
	static struct lab l;

	lab_init(&l);
	*state = &l;
	return 0;
}

static int tear_down(void **state)
{
	lab_free(*state);
	return 0;
}

static void compile(struct lab *l, const char *text)
{
	if (!lab_compile(l, text))
		fail_msg("%s", buf_text(&l->problem));
}

static void fire(struct lab *l, enum attach_kind kind, const void *ctx, u32 n)
{
	if (!lab_fire(l, kind, ctx, n))
		fail_msg("%s", buf_text(&l->problem));
}

static void assert_output(struct lab *l, const char *want)
{
	lab_print_maps(l);
	assert_string_equal(buf_text(&l->output), want);
}

/* Bytes of sched_switch as its format file in tests/data/world lays them out. */
struct sched_switch {
	u64 common;
	char prev_comm[16];
	s32 prev_pid, prev_prio;
	s64 prev_state;
	char next_comm[16];
	s32 next_pid, next_prio;
};

static void test_tracepoint(void **state)
{
	struct sched_switch ev = { .prev_comm = "cat",
		                   .prev_pid = 11,
		                   .prev_prio = -5,
		                   .prev_state = 1,
		                   .next_comm = "dog",
		                   .next_pid = 22 };
	struct lab *l = *state;

	compile(l, "tracepoint:sched:sched_switch /args.prev_pid == 11/ {\n"
	           "@[args.prev_comm, args->next_pid] = count(); @p = args.prev_prio; }");
	fire(l, ATTACH_TRACEPOINT, &ev, sizeof(ev));
	fire(l, ATTACH_TRACEPOINT, &ev, sizeof(ev));
	ev.prev_pid = 12;
	fire(l, ATTACH_TRACEPOINT, &ev, sizeof(ev));
	assert_output(l, "@[cat, 22]: 2\n@p: -5\n");
}

static void test_pairs(void **state)
{
	struct lab *l = *state;

	compile(l,
	        "interval:s:1 /!@start[tid]/ { @start[tid] = nsecs; }\n"
	        "software:page-faults:1 /@start[tid]/ { $d = nsecs - @start[tid]; @ns = sum($d);\n"
	        "delete(@start[tid]); }");
	interp_env(l->in)->boot_ns = 5000;
	interp_env(l->in)->tick_ns = 0;
	fire(l, ATTACH_SOFTWARE, NULL, 0); /* no start yet */
	fire(l, ATTACH_INTERVAL, NULL, 0);
	interp_env(l->in)->boot_ns = 12000;
	fire(l, ATTACH_SOFTWARE, NULL, 0);
	fire(l, ATTACH_SOFTWARE, NULL, 0); /* start was deleted */
	assert_output(l, "@ns: 7000\n");
}

static void test_stacks(void **state)
{
	static const u64 one[] = { 0x1000, 0x2000 }, two[] = { 0x1000, 0x3000 };
	struct lab *l = *state;

	compile(l, "software:page-faults:1 { @[ustack(fp)] = count(); }");
	interp_env(l->in)->user_frames = one;
	interp_env(l->in)->n_user_frames = 2;
	fire(l, ATTACH_SOFTWARE, NULL, 0);
	interp_env(l->in)->user_frames = two;
	fire(l, ATTACH_SOFTWARE, NULL, 0);
	fire(l, ATTACH_SOFTWARE, NULL, 0);
	lab_print_maps(l);
	assert_non_null(strstr(buf_text(&l->output), "0x3000\n]: 2\n"));
	assert_non_null(strstr(buf_text(&l->output), "0x2000\n]: 1\n"));
	assert_int_equal(lab_errors(l, UERROR_STACK), 0);
}

static void test_foreign_strings(void **state)
{
	struct lab *l = *state;

	compile(l, "interval:s:1 { $s = str(uptr(0x7f0000001000)); @[$s] = count();\n"
	           "@c = strlen($s) * 100 + strlen(str(uptr(0x7f0000001000), 3)); }");
	interp_memory(l->in, 0x7f0000001000, "session:1", 10);
	fire(l, ATTACH_INTERVAL, NULL, 0);
	fire(l, ATTACH_INTERVAL, NULL, 0);
	assert_output(l, "@[session:1]: 2\n@c: 903\n");
}

/* One letter of a text in memory of others, and none after it. */
static void test_foreign_letters(void **state)
{
	struct lab *l = *state;

	compile(l, "struct item { int number; char name[4]; };\n"
	           "interval:s:1 { $i = (struct item *)0x7f0000001000; @a = $i->name[3];\n"
	           "$v = *$i; for ($n : 0..6) { @b += $i->name[$n]; @c += $v.name[$n]; } }");
	interp_memory(l->in, 0x7f0000001000, "\1\0\0\0abcdef", 10);
	fire(l, ATTACH_INTERVAL, NULL, 0);
	assert_output(l, "@a: 100\n@b: 394\n@c: 394\n");
	assert_int_equal(lab_errors(l, UERROR_BOUNDS), 4);
}

static void test_ring_full(void **state)
{
	struct lab *l = *state;

	compile(l, "interval:s:1 { printf(\"%d\\n\", 1); printf(\"%d\\n\", 2); }");
	interp_env(l->in)->ring_bytes = 40; /* room for one record of 16 and its header */
	fire(l, ATTACH_INTERVAL, NULL, 0);
	fire(l, ATTACH_INTERVAL, NULL, 0);
	assert_int_equal(interp_data(l->in, UDATA_LOST), 2);
	assert_output(l, "1\n1\n");
}

/* Counted by what the kernel answered, whichever way the update is made. */
static void test_refused(void **state)
{
	static const char *const updates[] = {
		"@x[1] = 5",        "@x[1]++",
		"@x[1] += 5",       "@x[1] = count()",
		"@x[1] = sum(tid)", "@x[1] = hist(tid)",
		"@x[1] = (1, 2)",   "$a = 1; $b = 2; $c = 3; $d = 4; @x[$a, $b, $c, $d] = count()",
	};
	static const int answers[] = { E2BIG, ENOMEM, EBUSY, EDEADLK, ETIMEDOUT, EINVAL };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(updates) * ARRAY_SIZE(answers); i++) {
		int code = answers[i % ARRAY_SIZE(answers)];
		struct lab l;
		char text[128];
		u32 seen = 0;

		snprintf(text, sizeof(text), "let @x = hash(9); interval:s:1 { %s; }",
		         updates[i / ARRAY_SIZE(answers)]);
		lab_init(&l);
		compile(&l, text);
		interp_env(l.in)->refuse = code;
		fire(&l, ATTACH_INTERVAL, NULL, 0);
		fire(&l, ATTACH_INTERVAL, NULL, 0);
		for (u32 k = 0; k < l.u->errors.n; k++) {
			u64 n = interp_data(l.in, UDATA_ERRORS + k);

			if (n && (l.u->errors.v[k].kind != UERROR_UPDATE || n != 2 ||
			          l.u->errors.v[k].answer != (-(u32)code & 15)))
				fail_msg("%s: %d: %u", text, code, l.u->errors.v[k].answer);
			seen += n > 0;
		}
		assert_int_equal(seen, 1);
		lab_free(&l);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_tracepoint),      T(test_pairs),           T(test_stacks),
		T(test_foreign_strings), T(test_foreign_letters), T(test_ring_full),
		T(test_refused),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
