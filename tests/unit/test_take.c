/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which prints take their map out: print(@m) and clear(@m) in a row, as the unit has it. What that
 * means under load is for the kernel to show (tests/run/scenarios/intervals.py).
 */
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

/* Of each record about a map a letter for what is done and the map's: p print, t take, k take and
 * keep the keys, c clear, z zero. */
static char letter(const struct urecord *r)
{
	switch (r->action) {
	case ACTION_PRINT_MAP:
		return r->keeps_keys ? 'k' : r->takes ? 't' : 'p';
	case ACTION_CLEAR:
		return 'c';
	case ACTION_ZERO:
		return 'z';
	default:
		return 0;
	}
}

static const char *records(struct lab *l, const char *text)
{
	struct buf b = { 0 };
	const char *done;

	if (!lab_compile(l, text))
		fail_msg("%s: %s", text, buf_text(&l->problem));
	for (u32 i = 0; i < l->u->records.n; i++) {
		const struct urecord *r = &l->u->records.v[i];

		if (letter(r))
			buf_printf(&b, "%s%c%s", b.n ? " " : "", letter(r),
			           l->u->maps.v[r->map].name + 1);
	}
	done = arena_strdup(&l->arena, buf_text(&b));
	buf_free(&b);
	return done;
}

/* After BEGIN { @a[1] = count(); @b[1] = count(); $x = pid; */
static const struct {
	const char *text, *want;
} rows[] = {
	{ "print(@a); clear(@a);", "ta" },
	{ "print(@a); zero(@a);", "ka" },
	{ "print(@a, 5, 2); clear(@a);", "ta" },
	{ "print(@a); print(@b); clear(@b); clear(@a);", "ta tb" },
	{ "printf(\"a\"); print(@a); printf(\"b\"); $x++; @b[2] = count(); clear(@a);", "ta" },
	{ "print(@a, 1); print(@a, 2); clear(@a);", "pa ta" },
	{ "print(@a); clear(@a); print(@a); clear(@a);", "ta ta" },
	/* No pairs. */
	{ "print(@a);", "pa" },
	{ "clear(@a);", "ca" },
	{ "clear(@a); print(@a);", "ca pa" },
	{ "print(@a); clear(@a); clear(@a);", "ta ca" },
	{ "print(@a); clear(@b);", "pa cb" },
	{ "print(@a[1]); clear(@a);", "ca" },
	{ "print(@a); print(len(@a)); clear(@a);", "pa ca" },
	{ "print(@a); @a[2] = count(); clear(@a);", "pa ca" },
	{ "print(@a); for ($kv : @a) { $x++; } clear(@a);", "pa ca" },
	{ "print(@a); if ($x) { exit(); } clear(@a);", "pa ca" },
	{ "print(@a); if ($x) { return; } clear(@a);", "pa ca" },
	{ "while ($x) { print(@a); break; } clear(@a);", "pa ca" },
	{ "print(@a); while ($x) { clear(@a); break; }", "pa ca" },
	{ "if ($x) { print(@a); } if ($x) { clear(@a); }", "pa ca" },
	/* In branches. */
	{ "if ($x) { print(@a); clear(@a); }", "ta" },
	{ "if ($x) { print(@a); } clear(@a);", "ta ca" },
	{ "if ($x) { print(@a); } else { print(@a, 1); } clear(@a);", "ta ta" },
	{ "if ($x) { print(@a); } else if ($x > 2) { print(@a, 1); } printf(\"\"); clear(@a);",
	  "ta ta ca" },
	{ "if ($x) { print(@a); } else { print(@b); } clear(@a); clear(@b);", "ta cb tb ca" },
	{ "if ($x) { if ($x > 2) { print(@a); } } clear(@a);", "ta ca ca" },
	{ "if ($x) { print(@a); return; } clear(@a);", "pa ca ca" }, /* one is never reached */
	{ "if (0) { print(@b); } else { print(@a); } clear(@a);", "ta" },
	{ "if (1) { print(@a); } clear(@a);", "ta" },
	{ "print(@a); if (1) { clear(@a); }", "ta" },
	{ "{ print(@a); } clear(@a);", "ta" },
	{ "print(@a); { clear(@a); }", "ta" },
	{ "{ print(@a); } { clear(@a); }", "ta" },
	{ "{ { print(@a); } print(@b); } { { $x++; clear(@a); } zero(@b); }", "ta kb" },
	{ "{ print(@a); } { @a[2] = count(); clear(@a); }", "pa ca" },
	{ "print(@a); if ($x) { { clear(@a); } }", "pa ca" },
};

static void test_pairs(void **state)
{
	u32 failed = 0;

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[512];
		const char *got;

		snprintf(text, sizeof(text),
		         "BEGIN { @a[1] = count(); @b[1] = count(); $x = pid; %s }", rows[i].text);
		got = records(*state, text);
		if (strcmp(got, rows[i].want) != 0) {
			print_message("%s\n  wanted %s\n  got    %s\n", rows[i].text, rows[i].want,
			              got);
			failed++;
		}
		lab_free(*state);
		lab_init(*state);
	}
	assert_int_equal(failed, 0);
}

/* Maps that are always taken in the same places have one number, and one word turns them over. */
static const struct {
	const char *text, *want;
} groups[] = {
	{ "BEGIN { print(@a); clear(@a); print(@b); clear(@b); print(@c); clear(@c); }", "aaa" },
	{ "BEGIN { print(@a); clear(@a); if (pid) { exit(); } print(@b); clear(@b); print(@c); }",
	  "ab-" },
	{ "BEGIN { print(@a); clear(@a); print(@b); clear(@b); } END { print(@a); clear(@a); }",
	  "ab-" },
	{ "BEGIN { print(@a); clear(@a); if (pid) { print(@b); clear(@b); print(@c); zero(@c); } }",
	  "abb" },
	{ "macro m(@m) { print(@m); clear(@m); } BEGIN { m(@a); m(@b); } END { m(@b); m(@a); "
	  "m(@c); }",
	  "aac" },
	{ "BEGIN { print(@a); clear(@a); while (pid) { print(@b); clear(@b); break; } clear(@c); }",
	  "ab-" },
};

static void test_groups(void **state)
{
	for (u32 i = 0; i < ARRAY_SIZE(groups); i++) {
		struct lab *l = *state;
		char text[512], got[4] = "---";

		snprintf(text, sizeof(text), "%s END { @a = count(); @b = count(); @c = count(); }",
		         groups[i].text);
		records(l, text);
		for (u32 m = 0; m < l->u->maps.n; m++) {
			const struct umap *map = &l->u->maps.v[m];

			for (u32 k = 0; map->turn && k <= m; k++)
				if (l->u->maps.v[k].now == map->now) {
					assert_int_equal(l->u->maps.v[k].together, map->together);
					got[map->name[1] - 'a'] = l->u->maps.v[k].name[1];
					break;
				}
		}
		if (strcmp(got, groups[i].want) != 0)
			fail_msg("%s\n  wanted %s\n  got    %s", groups[i].text, groups[i].want,
			         got);
		lab_free(l);
		lab_init(l);
	}
}

/* Without a pair the map stays one, and nothing is added to the unit. */
static void test_others_stay(void **state)
{
	struct lab *l = *state;

	records(l, "BEGIN { @a[1] = count(); print(@a); } END { clear(@a); }");
	assert_int_equal(l->u->maps.v[0].turn, 0);
	assert_int_equal(unit_map(l->u, UMAP_TURNS), -1);
}

/* Only counted in, by keys of any number: emptied as they fill. The map is @a. */
static const struct {
	const char *text;
	bool drains;
} drained[] = {
	{ "BEGIN { @a[ustack, comm] = count(); }", true },
	{ "BEGIN { @a[kstack] = sum(1); }", true },
	{ "BEGIN { @a[str(ctx)] = hist(1); }", true },
	{ "BEGIN { @a[buf(ctx, 8)] = lhist(1, 0, 10, 1); }", true },
	{ "BEGIN { @a[(s=(1, ustack), n=1)] = (n=count(), m=max(pid)); }", true },
	{ "BEGIN { @a[ustack] = avg(1); print(@a); print(@a, 3, \"{key}\"); zero(@a); }", true },
	{ "BEGIN { @a[ustack] = stats(1); print(@a); @b = 1; clear(@a); print(@a); }", true },
	{ "BEGIN { @a[kstack] = count(); print(@a[kstack]); }", true },
	/* Few keys, or none. */
	{ "BEGIN { @a[comm] = count(); }", false },
	{ "BEGIN { @a[pid, comm, cpu] = count(); }", false },
	{ "BEGIN { @a = count(); }", false },
	/* More than counting. */
	{ "BEGIN { @a[ustack] = tseries(1, 1000, 5); }", false },
	{ "BEGIN { @a[ustack] = 1; }", false },
	{ "BEGIN { @a[ustack]++; }", false },
	{ "BEGIN { @a[ustack] = count(); delete(@a, ustack); }", false },
	{ "BEGIN { @a[ustack] = count(); for ($kv : @a) { print($kv.1); } }", false },
	{ "BEGIN { @a[ustack] = count(); if (has_key(@a, ustack)) { exit(); } }", false },
	{ "BEGIN { @a[ustack] = count(); @b = @a[ustack]; }", false },
	{ "BEGIN { @a[ustack] = count(); print(len(@a)); }", false },
	{ "BEGIN /(int64)@a[ustack] < 5/ { @a[ustack] = count(); }", false },
	/* The script says how many. */
	{ "let @a = hash(100); BEGIN { @a[ustack] = count(); }", false },
	{ "config = { max_map_keys = 100 } BEGIN { @a[ustack] = count(); }", false },
};

static void test_drained(void **state)
{
	u32 failed = 0;

	for (u32 i = 0; i < ARRAY_SIZE(drained); i++) {
		struct lab *l = *state;
		const struct umap *m;

		if (!lab_compile(l, drained[i].text))
			fail_msg("%s: %s", drained[i].text, buf_text(&l->problem));
		m = &l->u->maps.v[0];
		if (strcmp(m->name, "@a") != 0 ||
		    (m->turn && m->spills && !m->is_read) != drained[i].drains) {
			print_message("%s\n", drained[i].text);
			failed++;
		}
		lab_free(l);
		lab_init(l);
	}
	assert_int_equal(failed, 0);
}

#define BAR "|@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n"

/* In a map of one key the second one finds no room: it is in the table all the same. */
static const struct {
	const char *text, *want;
} full[] = {
	{ "@[$i] = count();", "@[0]: 2\n@[1]: 2\n@[2]: 2\n" },
	{ "@[$i] = sum($i + 10);", "@[0]: 20\n@[1]: 22\n@[2]: 24\n" },
	{ "@[$i] = sum((int64)-$i);", "@[2]: -4\n@[1]: -2\n@[0]: 0\n" },
	{ "@[$i] = min($i * 10 + $k);", "@[0]: 0\n@[1]: 10\n@[2]: 20\n" },
	{ "@[$i] = max($i * 10 + $k);", "@[0]: 1\n@[1]: 11\n@[2]: 21\n" },
	{ "@[$i] = min((int64)-$i * 10 - $k);", "@[2]: -21\n@[1]: -11\n@[0]: -1\n" },
	{ "@[$i] = avg($i * 10 + $k * 2);", "@[0]: 1\n@[1]: 11\n@[2]: 21\n" },
	{ "@[$i] = stats($i);", "@[0]: { .count = 2, .average = 0, .total = 0 }\n"
	                        "@[1]: { .count = 2, .average = 1, .total = 2 }\n"
	                        "@[2]: { .count = 2, .average = 2, .total = 4 }\n" },
	{ "@[$i] = lhist($i * 10 + $k, 0, 30, 10);",
	  "@[0]:\n[0, 10)                2 " BAR "@[1]:\n[10, 20)               2 " BAR
	  "@[2]:\n[20, 30)               2 " BAR },
	{ "@[$i] = hist(1 << $i);",
	  "@[0]:\n[1]                    2 " BAR "@[1]:\n[2, 4)                 2 " BAR
	  "@[2]:\n[4, 8)                 2 " BAR },
	{ "@[$i] = (n=count(), low=min($i * 10 + $k), all=sum((int64)-$i), mean=avg($i * 10 + $k * "
	  "2));",
	  "@[0]: { .n = 2, .low = 0, .all = 0, .mean = 1 }\n"
	  "@[1]: { .n = 2, .low = 10, .all = -2, .mean = 11 }\n"
	  "@[2]: { .n = 2, .low = 20, .all = -4, .mean = 21 }\n" },
	{ "@[\"key\", $i] = count();", "@[key, 0]: 2\n@[key, 1]: 2\n@[key, 2]: 2\n" },
};

static void test_full_maps_lose_nothing(void **state)
{
	for (u32 i = 0; i < ARRAY_SIZE(full); i++) {
		struct lab *l = *state;
		char text[512];

		snprintf(text, sizeof(text),
		         "config = { max_map_keys = 1 } BEGIN { for ($k : 0..2) { for ($i : 0..3) "
		         "{ %s } } print(@); clear(@); }",
		         full[i].text);
		if (!lab_compile(l, text) || !lab_fire(l, ATTACH_BEGIN, NULL, 0))
			fail_msg("%s: %s", full[i].text, buf_text(&l->problem));
		assert_string_equal(buf_text(&l->output), full[i].want);
		assert_int_equal(lab_errors(l, UERROR_UPDATE), 0);
		lab_free(l);
		lab_init(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pairs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_groups, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others_stay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_drained, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_maps_lose_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
