/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What blocks, branches and macros compute: text in, output and maps out, by way of the
 * interpreter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gen_rows.h"

static const struct script_row blocks[] = {
	{ "BEGIN { $a = { 1; 2 }; print($a); }", "2\n" },
	{ "BEGIN { $a = { let $x = 4; $x * $x }; print($a); }", "16\n" },
	{ "BEGIN { print({ \"text\" }); print({ (1, \"a\") }); }", "text\n(1, a)\n" },
	{ "BEGIN { $s = { comm }; print($s == \"interp\"); }", "true\n" },
	{ "BEGIN { @m[{ 1 + 1 }] = { $x = 5; $x - 1 }; }", "@m[2]: 4\n" },
	{ "BEGIN { print(10 - { $i = 0; while ($i < 3) { $i++; } $i } * 2); }", "4\n" },
	{ "BEGIN { print(1 + { for ($i : 0..4) { if ($i == 2) { break; } @n = $i; } @n }); }",
	  "2\n@n: 1\n" },
	{ "BEGIN { $a = 1 + { return; 5 }; print(1); }", "" },
	{ "BEGIN { if ({ @a++; 0 }) { print(1); } else { print(2); } }", "2\n@a: 1\n" },
	{ "BEGIN { { let $x = 1; print($x); } { let $x = \"b\"; print($x); } }", "1\nb\n" },
};
RUN_ROWS(blocks)

static const struct script_row branches[] = {
	/* what stands after an unconditional jump is gone, its callbacks too */
	{ "BEGIN { @a[1] = 1; while (1) { if (!(2 == 0)) { break; } print(len(@a)); } }",
	  "@a[1]: 1\n" },
	{ "BEGIN { $a = if (1) { 5 } else { 6 }; print($a); }", "5\n" },
	{ "BEGIN { $x = 3; print(if $x > 5 { \"big\" } else if $x > 2 { \"middle\" } "
	  "else { \"small\" }); }",
	  "middle\n" },
	{ "BEGIN { @ = if (0) { 1 } else { $y = 2; $y + 1 }; }", "@: 3\n" },
	{ "BEGIN { $a = { if (1) { \"in\" } else { \"out\" } }; print($a); }", "in\n" },
	{ "BEGIN { $x = 1; if ($x) { print(1) } else { print(2) } }", "1\n" },
	{ "BEGIN { $v = (1, if (0) { \"a\" } else { \"b\" }); print($v); }", "(1, b)\n" },
	{ "BEGIN { print(if (1) { if (0) { 1 } else { 2 } } else { 3 }); }", "2\n" },
};
RUN_ROWS(branches)

/* Ranges so long that they are callbacks where the kernel can call them (gen_each.c). */
static const struct script_row rounds[] = {
	{ "BEGIN { $n = 0; for ($i : 3..40) { if ($i % 2) { continue; } if ($i == 20) { break; } "
	  "$n += $i; @last = $i; } print($n); }",
	  "88\n@last: 18\n" },
	{ "BEGIN { for ($i : 0..100) { if ($i == 50) { print($i); return; } } print(0); }",
	  "50\n" },
	{ "BEGIN { $s = \"\"; $t = (0, \"a\"); for ($i : 0..20) { if ($i % 5 == 0) { "
	  "$s = str_concat($s, \"x\"); $t = ($i, $s); } } print($t); }",
	  "(15, xxxx)\n" },
	{ "BEGIN { $n = 0; for ($i : 0..20) { for ($j : 0..20) { if ($j > $i) { break; } $n++; } } "
	  "print($n); }",
	  "210\n" },
	{ "BEGIN { @a[1] = 1; @a[2] = 2; $n = 0; for ($kv : @a) { for ($i : 0..16) { "
	  "$n += $kv.1; } } print($n); clear(@a); }",
	  "48\n" },
	{ "BEGIN { @a[1] = 1; @a[2] = 2; $n = 0; for ($i : 0..16) { for ($kv : @a) { "
	  "$n += $kv.1; } } print($n); clear(@a); }",
	  "48\n" },
	{ "BEGIN { $f = 0; for ($i : 0..16) { if ($i > 90) { $f = 1; } } print($f); }", "0\n" },
	{ "BEGIN { print(100 - { $n = 0; for ($i : 0..16) { $n++; } $n } * 2); }", "68\n" },
	/* more rounds than a kernel makes of a callback */
	{ "BEGIN { for ($i : -9000000..9000000) { if ($i > -8999998) { break; } @n++; } }",
	  "@n: 3\n" },
	{ "BEGIN { for ($i : 16..0) { print($i); } for ($i : 0..5000) { @n++; } }", "@n: 5000\n" },
};

static void test_rounds(void **state)
{
	(void)state;
	run_rows(lab_init, rounds, ARRAY_SIZE(rounds));
	run_rows(lab_init_loop, rounds, ARRAY_SIZE(rounds));
}

/* Loops over maps: by the kernel, and by lists of keys (gen_walk.c). */
static const struct script_row walks[] = {
	{ "BEGIN { @a[1] = 1; @a[2] = 2; for ($x : @a) { for ($y : @a) { for ($z : @a) { "
	  "@n += $x.1 * $y.1 * $z.1; } } } clear(@a); }",
	  "@n: 27\n" },
	/* what is deleted, and put in again, is there once */
	{ "BEGIN { for ($i : 0..9) { @a[$i] = $i; } for ($kv : @a) { if ($kv.0 > 4) { delete(@a, "
	  "$kv.0); } } @a[4]++; delete(@a, 3); @a[3] = 30; @a[7] += 70; delete(@a, 7); @a[7]++; "
	  "for ($kv : @a) { @n++; @sum += $kv.1; } print((len(@a), @n, @sum)); clear(@a); "
	  "clear(@n); clear(@sum); }",
	  "(6, 6, 39)\n" },
	{ "BEGIN { @a[\"x\", 1] = count(); @a[\"y\", 2] = count(); @a[\"y\", 2] = count(); "
	  "$s = \"\"; $n = 0; for ($kv : @a) { $n += $kv.0.1 * $kv.1; $s = $kv.0.0; if ($n < 0) { "
	  "break; } @seen[$kv.0.0] = $kv.1; } print(($n, $s != \"\")); clear(@a); }",
	  "(5, true)\n@seen[x]: 1\n@seen[y]: 2\n" },
	/* lists within a loop: filled and emptied in each round */
	{ "BEGIN { @p[1] = 10; @p[2] = 20; for ($p : @p) { for ($i : 0..3) { @b[$i] += $p.1; } "
	  "for ($b : @b) { @sum += $b.1; @rounds++; delete(@b, $b.0); } } clear(@p); }",
	  "@rounds: 6\n@sum: 90\n" },
	{ "BEGIN { @a[1] = 1; @a[2] = 1; @a[3] = 1; $n = 0; for ($kv : @a) { $n++; if ($n == 2) { "
	  "break; } } for ($kv : @a) { for ($o : @a) { if ($o.0 != 3) { continue; } @c++; } if (@c "
	  "== 2) { print(($n, @c, len(@a), len(@none))); clear(@a); clear(@c); return; } } "
	  "print(\"no\"); @none[1] = 1; }",
	  "(2, 2, 3, 0)\n" },
	{ "BEGIN { @a[1] = 1; @a[2] = 2; } END { @a[3] = 3; for ($kv : @a) { @n += $kv.1; } "
	  "print(len(@a)); clear(@a); }",
	  "3\n@n: 6\n" },
	{ "BEGIN { $i = 0; while ($i < 3) { $i++; @a[$i] = 1; for ($kv : @a) { $j = 0; while ($j < "
	  "$kv.0) { $j++; @n++; } } } clear(@a); }",
	  "@n: 10\n" },
	{ "macro all(@m) { let $n = 0; for ($kv : @m) { $n += $kv.1; } $n } BEGIN { @a[1] = 4; "
	  "@b[1] = 5; @b[2] = 6; print(all(@a) + all(@b)); clear(@a); clear(@b); }",
	  "15\n" },
};

static void test_walks(void **state)
{
	(void)state;
	run_rows(lab_init, walks, ARRAY_SIZE(walks));
	run_rows(lab_init_loop, walks, ARRAY_SIZE(walks));
	run_rows(lab_init_walk, walks, ARRAY_SIZE(walks));
}

/* Of keys that come and go in a program more than there is room for are counted. */
static void test_walk_full(void **state)
{
	struct lab l;

	(void)state;
	lab_init_walk(&l);
	assert_non_null(lab_begin(&l, "let @a = hash(1); BEGIN { for ($i : 0..1030) { @a[1] = 1; "
	                              "delete(@a, 1); } for ($kv : @a) { print($kv); } }"));
	assert_int_equal(lab_errors(&l, UERROR_LOOP), 1);
	lab_free(&l);
}

/* Whose variable it is. */
static const struct script_row scopes[] = {
	{ "BEGIN { if (1) { $x = 1; } print($x); }", "1\n" },
	{ "BEGIN { if (0) { $x = 1; } print($x); }", "0\n" },
	{ "BEGIN { if (0) { $x = 1; } else { $x = \"a\"; print($x); } }", "a\n" },
	{ "BEGIN { { $x = 1; print($x); } { $x = \"b\"; print($x); } }", "1\nb\n" },
	{ "BEGIN { { $x = 1; } { $x = 2; } print($x); }", "2\n" },
	{ "BEGIN { $i = 0; while ($i < 2) { $i++; let $n; $n += $i; print($n); } }", "1\n2\n" },
	{ "BEGIN { for ($i : 0..2) { $k = $i; } print($k); }", "1\n" },
	{ "BEGIN { unroll(2) { $x = 1; $x++; print($x); } }", "2\n2\n" },
	{ "BEGIN { let $x; if (1) { $x = 5; } print($x); }", "5\n" },
	{ "BEGIN { let $s = \"ab\"; $s = \"longer\"; print($s); }", "longer\n" },
};
RUN_ROWS(scopes)

#define MACRO_ADD "macro add($sum, @seen, by) { let $t = by; @seen++; $sum += $t; $sum } "

static const struct script_row macros[] = {
	{ MACRO_ADD "BEGIN { $x = 1; $t = 10; print(add($x, @a, $t * 2)); print($x); }",
	  "21\n21\n@a: 1\n" },
	{ MACRO_ADD "BEGIN { $x = 1; print(add($x, @a, add($x, @b, 1))); }", "4\n@a: 1\n@b: 1\n" },
	{ "macro one() { 1 } macro two() { one() + one() } BEGIN { print(two() * two()); }",
	  "4\n" },
	{ "macro max(a, b) { a > b ? a : b } BEGIN { @x = max(5); print(max(max(1, 9), 2)); }",
	  "9\n@x: 5\n" },
	{ "macro f($v) { \"variable\" } macro f(@m) { \"map\" } macro f(x) { \"value\" } "
	  "BEGIN { $a = 1; @m = 1; print(f($a)); print(f(@m)); print(f(3)); }",
	  "variable\nmap\nvalue\n@m: 1\n" },
	{ "macro bump(@m, k) { @m[k] += 2; @m[k]++; } BEGIN { bump(@a, \"x\"); bump(@a, \"x\"); }",
	  "@a[x]: 6\n" },
	{ "macro keys(@m, $n) { for ($kv : @m) { $n += $kv.0; } } "
	  "BEGIN { @a[1] = 1; @a[2] = 1; $n = 0; keys(@a, $n); print($n); }",
	  "3\n@a[1]: 1\n@a[2]: 1\n" },
	{ "macro twice(e) { e; e } BEGIN { twice(@n++); twice(print(@n)); }",
	  "@n: 2\n@n: 2\n@n: 2\n" },
	{ "macro hyg() { $x = 5; $x } BEGIN { $x = \"s\"; print(hyg()); print($x); }", "5\ns\n" },
	{ "macro at(t, i) { t.1 + i } BEGIN { print(at((1, 2), 3)); }", "5\n" },
	{ "macro early(x) { if (x) { return; } } BEGIN { early(0); print(1); early(1); print(2); }",
	  "1\n" },
	{ "macro pred(n) { n == 3 } BEGIN /pred(3)/ { print(1); } BEGIN /pred(4)/ { print(2); }",
	  "1\n" },
};
RUN_ROWS(macros)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),    cmocka_unit_test(test_branches),
		cmocka_unit_test(test_rounds),    cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_macros),    cmocka_unit_test(test_walks),
		cmocka_unit_test(test_walk_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
