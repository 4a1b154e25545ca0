/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What compiled scripts compute: text in, output and maps out, by way of the interpreter.
 *
 * Expressions run twice, as written (constants are folded) and with every number moved into a
 * variable (they are computed by the program). Expected values follow bpftrace's rules.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gen_rows.h"

static u32 wrong(const char *script, const char *want)
{
	return wrong_in(lab_init, script, want);
}

/* "1 + 2" becomes "$n0 + $n1", with the assignments in *setup. */
static void numbers_to_variables(const char *expr, struct buf *setup, struct buf *body)
{
	u32 n = 0;

	for (const char *p = expr; *p;) {
		const char *end = p;

		while (isalnum((u8)*end) || *end == '_')
			end++;
		if (isdigit((u8)*p) && strspn(p, "0123456789") == (size_t)(end - p)) {
			buf_printf(setup, "$n%u = %.*s; ", n, (int)(end - p), p);
			buf_printf(body, "$n%u", n++);
		} else {
			end += end == p;
			buf_add(body, p, (size_t)(end - p));
		}
		p = end;
	}
}

static u32 wrong_expr(const char *expr, const char *value)
{
	struct buf setup = { 0 }, body = { 0 }, script = { 0 }, want = { 0 };
	u32 bad;

	buf_printf(&want, "%s\n", value);
	buf_printf(&script, "BEGIN { print(%s); }", expr);
	bad = wrong(buf_text(&script), buf_text(&want));
	numbers_to_variables(expr, &setup, &body);
	buf_reset(&script);
	buf_printf(&script, "BEGIN { %sprint(%s); }", buf_text(&setup), buf_text(&body));
	bad += wrong(buf_text(&script), buf_text(&want));
	buf_free(&setup);
	buf_free(&body);
	buf_free(&script);
	buf_free(&want);
	return bad;
}

static void run_exprs(const struct script_row *rows, size_t n)
{
	u32 bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += wrong_expr(rows[i].script, rows[i].want);
	if (bad)
		fail_msg("%u of %zu expressions are wrong", bad, 2 * n);
}

#define RUN_EXPRS(name)                                                                            \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		run_exprs(name, ARRAY_SIZE(name));                                                 \
	}

/* ---- expressions ---------------------------------------------------------------------------- */

static const struct script_row arithmetic[] = {
	{ "1 + 2", "3" },
	{ "7 - 9", "-2" },
	{ "6 * 7", "42" },
	{ "1 + 2 * 3", "7" },
	{ "(1 + 2) * 3", "9" },
	{ "10 - 4 - 3", "3" },
	{ "100 / 10 / 5", "2" },
	{ "100 / (10 / 5)", "50" },
	{ "7 / 2", "3" },
	{ "-7 / 2", "-3" },
	{ "7 / -2", "-3" },
	{ "-7 / -2", "3" },
	{ "7 % 3", "1" },
	{ "7 % -3", "1" },
	{ "-7 % 3", "-1" },
	{ "-7 % -3", "-1" },
	{ "8 % 4", "0" },
	{ "-8 / 4", "-2" },
	{ "-9 / 4", "-2" },
	{ "-9 % 4", "-1" },
	{ "2 * 3 % 4", "2" },
	{ "2 * (3 % 4)", "6" },
	{ "1000000007 * 1000000009", "1000000016000000063" },
	{ "9223372036854775807 - 1", "9223372036854775806" },
	{ "-9223372036854775807 - 1", "-9223372036854775808" },
	{ "4294967296 * 4", "17179869184" },
	{ "-1 * -1", "1" },
	{ "- - 5", "5" },
	{ "-(3 + 4)", "-7" },
	{ "5 / 0", "1" },
	{ "5 % 0", "1" },
	{ "-5 / 0 + 1", "2" },
	{ "(5 / 0) * 10", "10" },
};
RUN_EXPRS(arithmetic)

static const struct script_row bits[] = {
	{ "12 & 10", "8" },
	{ "12 | 3", "15" },
	{ "12 ^ 10", "6" },
	{ "1 | 2 ^ 3 & 1", "3" },
	{ "1 << 10", "1024" },
	{ "1 << 40", "1099511627776" },
	{ "1024 >> 3", "128" },
	{ "-16 >> 2", "-4" },
	{ "1 + 1 << 2", "8" },
	{ "1 << 2 + 1", "8" },
	{ "255 & 15 == 15", "1" }, /* == binds tighter: 255 & true */
	{ "(255 & 15) == 15", "true" },
	{ "~1 & 255", "254" },
	{ "~0 + 1", "0" },
	{ "1 << 63 >> 63 & 1", "1" },
};
RUN_EXPRS(bits)

static const struct script_row truth[] = {
	{ "1 < 2", "true" },
	{ "2 < 1", "false" },
	{ "2 <= 2", "true" },
	{ "3 > -3", "true" },
	{ "-3 > 3", "false" },
	{ "-1 < 0", "true" },
	{ "-5 >= -5", "true" },
	{ "1 == 1", "true" },
	{ "1 != 1", "false" },
	{ "4294967297 == 1", "false" },
	{ "1 < 2 == 1 < 3", "true" },
	{ "!0", "true" },
	{ "!5", "false" },
	{ "!!5", "true" },
	{ "1 && 2", "true" },
	{ "1 && 0", "false" },
	{ "0 || 3", "true" },
	{ "0 || 0", "false" },
	{ "1 || 0 && 0", "true" },
	{ "(1 || 0) && 0", "false" },
	{ "1 < 2 && 2 < 3 || 9 < 0", "true" },
	{ "4294967296 && 1", "true" },
	{ "1 ? 2 : 3", "2" },
	{ "0 ? 2 : 3", "3" },
	{ "0 ? 1 : 0 ? 2 : 3", "3" },
	{ "1 ? 0 ? 1 : 2 : 3", "2" },
	{ "5 > 3 ? 10 + 1 : 20", "11" },
	{ "(1 == 1 ? 4 : 5) * 2", "8" },
	{ "0 || 4294967296 ? 7 : 8", "7" },
};
RUN_EXPRS(truth)

static const struct script_row casts[] = {
	{ "(uint8)255 + 1", "256" },
	{ "(uint8)256", "0" },
	{ "(uint8)300", "44" },
	{ "(int8)200", "-56" },
	{ "(int8)127", "127" },
	{ "(int8)128", "-128" },
	{ "(uint16)65537", "1" },
	{ "(int16)65535", "-1" },
	{ "(int16)32768", "-32768" },
	{ "(uint32)4294967297", "1" },
	{ "(uint32)-1", "4294967295" },
	{ "(int32)4294967295", "-1" },
	{ "(int32)2147483648", "-2147483648" },
	{ "(int64)-1", "-1" },
	{ "(uint64)-1", "18446744073709551615" },
	{ "(uint64)-1 / 2", "9223372036854775807" },
	{ "(uint64)-1 >> 60", "15" },
	{ "(uint64)-1 > (uint64)1", "true" },
	{ "(uint64)-1 % 10", "5" },
	{ "(int8)(uint8)255", "-1" },
	{ "(uint16)(int8)-1", "65535" },
	{ "(int64)(uint32)-1", "4294967295" },
	{ "(uint8)-1 + (uint8)-1", "510" },
	{ "(int16)(1 << 15) >> 3", "-4096" },
};
RUN_EXPRS(casts)

static const struct script_row literals[] = {
	{ "BEGIN { print(0x10); print(010); print(1e6); print(1_000_000); }",
	  "16\n8\n1000000\n1000000\n" },
	{ "BEGIN { print(~1); }", "18446744073709551614\n" },
	{ "BEGIN { print(1s); print(2ms); print(3us); print(1m); }",
	  "1000000000\n2000000\n3000\n60000000000\n" },
	{ "BEGIN { print(18446744073709551615); }", "18446744073709551615\n" },
	{ "BEGIN { print(true); print(false); print(sizeof(uint32)); }", "true\nfalse\n4\n" },
};
RUN_ROWS(literals)

/* ---- variables and statements --------------------------------------------------------------- */

static const struct script_row variables[] = {
	{ "BEGIN { $x = 5; $x++; print($x); }", "6\n" },
	{ "BEGIN { $x = 5; print($x++); print($x); }", "5\n6\n" },
	{ "BEGIN { $x = 5; print(++$x); print($x); }", "6\n6\n" },
	{ "BEGIN { $x = 5; print($x--); print(--$x); }", "5\n3\n" },
	{ "BEGIN { $x = 5; $x += 3; print($x); $x -= 10; print($x); $x *= -4; print($x); }",
	  "8\n-2\n8\n" },
	{ "BEGIN { $x = 100; $x /= 7; print($x); $x %= 5; print($x); }", "14\n4\n" },
	{ "BEGIN { $x = 12; $x &= 10; print($x); $x |= 3; print($x); $x ^= 1; print($x); }",
	  "8\n11\n10\n" },
	{ "BEGIN { $x = 3; $x <<= 4; print($x); $x >>= 2; print($x); }", "48\n12\n" },
	{ "BEGIN { $x = 1; $y = $x; $x = 2; print(($x, $y)); }", "(2, 1)\n" },
	{ "BEGIN { $a = 1; $b = 2; $c = $a; $a = $b; $b = $c; print(($a, $b)); }", "(2, 1)\n" },
	{ "BEGIN { $x = 1; $x = $x + $x++ * 10; print($x); }", "11\n" },
	{ "BEGIN { let $x; print($x); let $y = 4; print($y); }", "0\n4\n" },
	{ "BEGIN { let $x : uint8 = 5; print($x); }", "5\n" },
	{ "BEGIN { $s = \"abc\"; $s = \"xy\"; print($s); }", "xy\n" },
	{ "BEGIN { $s = \"a\"; $t = $s; $s = \"b\"; print(($s, $t)); }", "(b, a)\n" },
	{ "BEGIN { $t = (1, \"two\", 3); print($t.1); print($t.0 + $t.2); }", "two\n4\n" },
	{ "BEGIN { $t = ((1, 2), (3, \"x\")); print($t.1.1); print($t.0.1); print($t); }",
	  "x\n2\n((1, 2), (3, x))\n" },
};
RUN_ROWS(variables)

static const struct script_row control[] = {
	{ "BEGIN { if (1 < 2) { print(1); } else { print(2); } }", "1\n" },
	{ "BEGIN { $x = 5; if ($x == 4) { print(4); } else if ($x == 5) { print(5); } "
	  "else { print(6); } }",
	  "5\n" },
	{ "BEGIN { $x = 7; if ($x == 4) { print(4); } else if ($x == 5) { print(5); } "
	  "else { print(6); } print(9); }",
	  "6\n9\n" },
	{ "BEGIN { $x = 0; if ($x) { print(1); } if (!$x) { print(2); } }", "2\n" },
	{ "BEGIN { $i = 0; while ($i < 5) { $i++; } print($i); }", "5\n" },
	{ "BEGIN { $i = 0; while ($i < 9) { $i++; if ($i == 2) { continue; } "
	  "if ($i == 5) { break; } print($i); } }",
	  "1\n3\n4\n" },
	{ "BEGIN { $i = 0; $n = 0; while ($i < 4) { $j = 0; while ($j < 3) { $j++; "
	  "if ($j == 2) { continue; } $n += $i * 10 + $j; } $i++; } print($n); }",
	  "136\n" },
	{ "BEGIN { unroll(4) { @x++; } }", "@x: 4\n" },
	{ "BEGIN { $n = 0; unroll(3) { $n += 2; unroll(2) { $n++; } } print($n); }", "12\n" },
	{ "BEGIN { for ($i : 2..5) { print($i); } }", "2\n3\n4\n" },
	{ "BEGIN { for ($i : 5..2) { print($i); } print(0); }", "0\n" },
	{ "BEGIN { for ($i : 0..10) { if ($i == 1) { continue; } if ($i == 3) { break; } "
	  "print($i); } }",
	  "0\n2\n" },
	{ "BEGIN { print(1); return; print(2); }", "1\n" },
	{ "BEGIN { if (1) { exit(); } print(2); }", "" },
	{ "BEGIN { print(1); exit(); } END { print(3); }", "1\n3\n" },
	{ "BEGIN /0/ { print(1); } BEGIN /1/ { print(2); }", "2\n" },
	{ "BEGIN { if (0 && 1 / 0) { print(1); } if (1 || 1 / 0) { print(2); } }", "2\n" },
	{ "BEGIN { $x = 3; $y = $x > 2 ? ($x > 5 ? 1 : 2) : 3; print($y); }", "2\n" },
	{ "BEGIN { $x = 1; { $x = 2; { $x = 3; } } print($x); }", "3\n" },
	{ "BEGIN { 1 ? print(1) : print(2); 0 ? print(3) : print(4); }", "1\n4\n" },
	{ "BEGIN { @n = 0; @a = 0 && @n++; @b = 1 && @n++; @c = 0 || @n++; }",
	  "@a: false\n@b: false\n@c: true\n@n: 2\n" },
	{ "BEGIN { $i = 0; while (1) { $i++; if ($i >= 100) { break; } } print($i); }", "100\n" },
};
RUN_ROWS(control)

/* ---- strings -------------------------------------------------------------------------------- */

static const struct script_row strings[] = {
	{ "BEGIN { print(\"a\" == \"a\"); print(\"a\" == \"b\"); print(\"a\" != \"ab\"); }",
	  "true\nfalse\ntrue\n" },
	{ "BEGIN { $s = \"hello\"; print($s == \"hello\"); print($s != \"hello\"); }",
	  "true\nfalse\n" },
	{ "BEGIN { $s = \"hello\"; print($s == \"hell\"); print($s == \"hello!\"); }",
	  "false\nfalse\n" },
	{ "BEGIN { $s = \"\"; print($s == \"\"); print($s == \"x\"); }", "true\nfalse\n" },
	{ "BEGIN { if (comm == \"interp\") { print(1); } if (comm == \"inter\") { print(2); } }",
	  "1\n" },
	{ "BEGIN { print(strncmp(\"hello\", \"help\", 3)); print(strncmp(\"a\", \"b\", 1)); }",
	  "0\n1\n" },
	{ "BEGIN { print(strlen(\"hello\")); $s = \"abc\"; print(strlen($s)); }", "5\n3\n" },
	{ "BEGIN { print(strcontains(\"hello world\", \"o w\")); "
	  "print(strcontains(\"hello\", \"x\")); }",
	  "true\nfalse\n" },
	{ "BEGIN { @s = \"text\"; printf(\"%s\\n\", @s); @s = \"t\"; }", "text\n@s: t\n" },
	{ "BEGIN { @[\"a\"] = 1; @[\"abc\"] = 2; @[\"a\"] += 5; }", "@[abc]: 2\n@[a]: 6\n" },
	{ "BEGIN { @[comm] = 1; @[\"x\"] = 2; }", "@[interp]: 1\n@[x]: 2\n" },
	{ "BEGIN { @n[1] = \"one\"; @n[2] = \"a longer one\"; print(@n[1]); }",
	  "one\n@n[1]: one\n@n[2]: a longer one\n" },
	{ "BEGIN { $s = 1 ? \"yes\" : \"no\"; print($s); print(0 ? \"yes\" : \"nooo\"); }",
	  "yes\nnooo\n" },
	{ "BEGIN { printf(\"%s|%10s|%-6s|\\n\", \"abc\", \"def\", \"gh\"); }",
	  "abc|       def|gh    |\n" },
	{ "BEGIN { print(\"tab\\tquote\\\"back\\\\\"); }", "tab\tquote\"back\\\n" },
	{ "BEGIN { @x = \"abc\"; @y = @x; print(@y == @x); }", "true\n@x: abc\n@y: abc\n" },
	{ "BEGIN { @x[\"k\"] = \"v\"; print(@x[\"k\"] == \"v\"); print(@x[\"z\"] == \"\"); }",
	  "true\ntrue\n@x[k]: v\n" },
	{ "BEGIN { print(str(\"abcdef\", 3)); }", "abc\n" },
	{ "BEGIN { $s = \"abcdef\"; print(str($s, 3)); @k[str($s, 2)] = str($s, 4); }",
	  "abc\n@k[ab]: abcd\n" },
	{ "BEGIN { print((\"a\", 1) == (\"a\", 1)); print((\"a\", 1) == (\"ab\", 1)); }",
	  "true\nfalse\n" },
	{ "BEGIN { $t = (1, (comm, \"x\")); print($t == (1, (comm, \"x\"))); "
	  "print($t != (1, (comm, \"xy\"))); }",
	  "true\ntrue\n" },
};
RUN_ROWS(strings)

/* ---- maps ----------------------------------------------------------------------------------- */

#define FIFTY "01234567890123456789012345678901234567890123456789"

static const struct script_row maps[] = {
	{ "BEGIN { @x = 5; @x++; @y = @x--; ++@x; }", "@x: 6\n@y: 6\n" },
	{ "BEGIN { print(@x++); print(++@x); print(@x--); print(--@x); }", "0\n2\n2\n0\n@x: 0\n" },
	{ "BEGIN { @x[1] = 10; @x[2] = 20; @x[1] += 5; @x[2] -= 30; }", "@x[2]: -10\n@x[1]: 15\n" },
	{ "BEGIN { @x[1]++; @x[1]++; @x[2]--; }", "@x[2]: -1\n@x[1]: 2\n" },
	{ "BEGIN { @x = 7; @x *= 6; @y = 100; @y /= 7; @z = 17; @z %= 5; }",
	  "@x: 42\n@y: 14\n@z: 2\n" },
	{ "BEGIN { @x = 12; @x &= 10; @y = 12; @y |= 3; @z = 1; @z <<= 8; }",
	  "@x: 8\n@y: 15\n@z: 256\n" },
	{ "BEGIN { printf(\"%d\\n\", @none); @none = 3; }", "0\n@none: 3\n" },
	{ "BEGIN { print(@none[5]); @none[6] = 3; }", "0\n@none[6]: 3\n" },
	{ "BEGIN { @x[1, 2] = 3; @x[1, 3] = 4; print(@x[1, 2]); print(@x[(1, 3)]); }",
	  "3\n4\n@x[1, 2]: 3\n@x[1, 3]: 4\n" },
	{ "BEGIN { @x[1, \"a\"] = 1; @x[1, \"b\"] = 2; @x[1, \"a\"] += 9; }",
	  "@x[1, b]: 2\n@x[1, a]: 10\n" },
	{ "BEGIN { @x[comm, pid, tid] = 1; }", "@x[interp, 42, 43]: 1\n" },
	{ "BEGIN { @x[-1] = 1; print(@x[-1]); @x[1] = 2; }", "1\n@x[-1]: 1\n@x[1]: 2\n" },
	{ "BEGIN { @x[1] = 1; delete(@x, 1); print(@x[1]); @x[2] = 2; }", "0\n@x[2]: 2\n" },
	{ "BEGIN { @x[1] = 1; delete(@x[1]); @x[2] = 2; }", "@x[2]: 2\n" },
	{ "BEGIN { @x[1] = 1; print(has_key(@x, 1)); print(has_key(@x, 2)); }",
	  "true\nfalse\n@x[1]: 1\n" },
	{ "BEGIN { @x[1] = 1; if (delete(@x, 1)) { print(1); } if (delete(@x, 1)) { print(2); } }",
	  "1\n" },
	{ "BEGIN { @x[1] = 1; print(delete(@x, 1) == true); print(delete(@x, 1) == true); }",
	  "true\nfalse\n" },
	{ "BEGIN { @x = count(); print(delete(@x) == true); @y = 1; }", "true\n@y: 1\n" },
	{ "let @x = hash(1); BEGIN { @x = 300; print(delete(@x) == true); $v = @x; print($v); "
	  "@y = 1; }",
	  "true\n0\n@y: 1\n" },
	{ "BEGIN { @x = 300; print(delete(@x) == true); $v = @x; print($v); @y = 1; }",
	  "true\n0\n@y: 1\n" },
	{ "BEGIN { @x = \"text\"; delete(@x); $v = @x; print(strlen($v)); @y = 1; }",
	  "0\n@y: 1\n" },
	{ "let @x = hash(1); BEGIN { @x[1] = 5; $a = @x[1]++; $b = @x[2]++; $c = ++@x[3]; "
	  "print(($a, $b, $c)); }",
	  "(5, 0, 0)\n@x[1]: 6\n" },
	{ "BEGIN { @x[1] = 1; @x[2] = 2; clear(@x); @y = 1; }", "@y: 1\n" },
	{ "BEGIN { @x[1] = 1; @x[2] = 2; zero(@x); }", "@x[1]: 0\n@x[2]: 0\n" },
	{ "BEGIN { @a = 1; @b = @a + 1; @c = @b * @b; }", "@a: 1\n@b: 2\n@c: 4\n" },
	{ "BEGIN { @t = (1, \"x\"); print(@t.1); print(@t.0); }", "x\n1\n@t: (1, x)\n" },
	{ "BEGIN { @k[(1, (2, 3))] = 4; print(@k[(1, (2, 3))]); }", "4\n@k[1, (2, 3)]: 4\n" },
	{ "BEGIN { @x[@y[1]] = 1; @y[1] = 7; @x[@y[1]] = 2; }", "@x[0]: 1\n@x[7]: 2\n@y[1]: 7\n" },
	{ "BEGIN { @x[1] = 5; @x[2] = @x[1] + @x[1] * 2; }", "@x[1]: 5\n@x[2]: 15\n" },
	{ "BEGIN { @i = 3; @x[@i++] = @i; }", "@i: 4\n@x[3]: 3\n" },
	{ "BEGIN { @x = (uint64)-1; @y = (uint8)200; }", "@x: 18446744073709551615\n@y: 200\n" },
	{ "BEGIN { $t = (1, \"" FIFTY "\", \"" FIFTY "\", \"" FIFTY
	  "\"); $t = (1, \"a\", \"b\", \"c\"); "
	  "@x[$t]++; @x[1, \"a\", \"b\", \"c\"]++; @x[1, \"" FIFTY "\", \"b\", \"c\"]++; }",
	  "@x[1, " FIFTY ", b, c]: 1\n@x[1, a, b, c]: 2\n" },
	{ "BEGIN { @x[1 == 1] = 1; @x[1 == 2] = 2; }", "@x[true]: 1\n@x[false]: 2\n" },
};
RUN_ROWS(maps)

/* ---- aggregations --------------------------------------------------------------------------- */

#define BAR52   "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define BLANK26 "                          "

static const struct script_row aggregations[] = {
	{ "BEGIN { @ = count(); @ = count(); }", "@: 2\n" },
	{ "BEGIN { @[1] = count(); @[1] = count(); @[2] = count(); }", "@[2]: 1\n@[1]: 2\n" },
	{ "BEGIN { @ = sum(5); @ = sum(-7); }", "@: -2\n" },
	{ "BEGIN { @ = min(5); @ = min(-7); @ = min(3); }", "@: -7\n" },
	{ "BEGIN { @ = max(5); @ = max(-7); @ = max(3); }", "@: 5\n" },
	{ "BEGIN { @ = max(-5); @ = max(-7); }", "@: -5\n" },
	{ "BEGIN { @ = min(5); @ = min(7); }", "@: 5\n" },
	{ "BEGIN { @ = min((uint64)-1); @ = min((uint64)5); }", "@: 5\n" },
	{ "BEGIN { @ = max((uint64)-1); @ = max((uint64)5); }", "@: 18446744073709551615\n" },
	{ "BEGIN { @ = avg(5); @ = avg(10); }", "@: 7\n" },
	{ "BEGIN { @ = avg(-5); @ = avg(-10); }", "@: -7\n" },
	{ "BEGIN { @ = stats(5); @ = stats(10); }",
	  "@: { .count = 2, .average = 7, .total = 15 }\n" },
	{ "BEGIN { @ = stats(-5); @ = stats(2); }",
	  "@: { .count = 2, .average = -1, .total = -3 }\n" },
	{ "BEGIN { @[\"a\"] = avg(3); @[\"b\"] = avg(1); }", "@[b]: 1\n@[a]: 3\n" },
	{ "BEGIN { @ = count(); @ = count(); print((int64)@ + 10); if (@ > 1) { print(1); } }",
	  "12\n1\n@: 2\n" },
	{ "BEGIN { @ = sum(4); @ = sum(5); $x = @ * 2; print($x); }", "18\n@: 9\n" },
	{ "BEGIN { @ = avg(4); @ = avg(6); print((int64)@); @m = max(3); print((int64)@m); }",
	  "5\n3\n@: 5\n@m: 3\n" },
	{ "BEGIN { $x = 3; @ = count(); $y = $x + 1; print(($x, $y)); }", "(3, 4)\n@: 1\n" },
	{ "BEGIN { @ = hist(1); @ = hist(1); @ = hist(3); }",
	  "@:\n"
	  "[1]                    2 |" BAR52 "|\n"
	  "[2, 4)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@" BLANK26 "|\n\n" },
	{ "BEGIN { @ = hist(-5); @ = hist(0); }", "@:\n"
	                                          "(..., 0)               1 |" BAR52 "|\n"
	                                          "[0]                    1 |" BAR52 "|\n\n" },
	{ "BEGIN { @ = lhist(-5, 0, 20, 10); @ = lhist(5, 0, 20, 10); @ = lhist(99, 0, 20, 10); }",
	  "@:\n"
	  "(..., 0)               1 |" BAR52 "|\n"
	  "[0, 10)                1 |" BAR52 "|\n"
	  "[10, 20)               0 |" BLANK26 BLANK26 "|\n"
	  "[20, ...)              1 |" BAR52 "|\n\n" },
	{ "BEGIN { @ = lhist(-15, -20, 0, 10); @ = lhist(-10, -20, 0, 10); @ = lhist(0, -20, 0, "
	  "10); }",
	  "@:\n"
	  "[-20, -10)             1 |" BAR52 "|\n"
	  "[-10, 0)               1 |" BAR52 "|\n"
	  "[0, ...)               1 |" BAR52 "|\n\n" },
	{ "BEGIN { @[\"k\"] = hist(2); @[\"k\"] = hist(3); }",
	  "@[k]:\n"
	  "[2, 4)                 2 |" BAR52 "|\n\n" },
};
RUN_ROWS(aggregations)

/* Every bucket boundary of hist(), with each number of sub-buckets, one value a bucket. */
static void test_hist_boundaries(void **state)
{
	struct buf script = { 0 };

	(void)state;
	for (u32 bit = 0; bit <= 5; bit++) {
		struct lab l;
		u64 sum = 0;
		const u64 *cell;

		buf_reset(&script);
		buf_puts(&script, "BEGIN { ");
		for (u32 power = 0; power < 63; power++)
			buf_printf(&script, "@ = hist(%llu, %u); @ = hist(%llu, %u); ",
			           1ull << power, bit, (2ull << power) - 1, bit);
		buf_puts(&script, "}");
		lab_init(&l);
		if (!lab_compile(&l, buf_text(&script)) || !lab_fire(&l, ATTACH_BEGIN, NULL, 0))
			fail_msg("%s", buf_text(&l.problem));
		cell = interp_find(l.in, 0, &(u32){ 0 });
		for (u32 i = 0; i < l.u->maps.v[0].value_size / 8; i++)
			sum += cell[i];
		assert_int_equal(sum, 126);
		lab_free(&l);
	}
	buf_free(&script);
}

/* ---- output --------------------------------------------------------------------------------- */

static const struct script_row output[] = {
	{ "BEGIN { printf(\"hello\\n\"); }", "hello\n" },
	{ "BEGIN { debugf(\"%d%% %x %llu\\n\", -5, pid, nsecs * 0 + 5000000000); }",
	  "-5% 2a 5000000000\n" },
	{ "BEGIN { @s = \"map\"; $t = \"var\"; debugf(\"%s %s %s\\n\", @s, comm, \"x\"); "
	  "debugf(\"%d %s\", 3, $t); "
	  "clear(@s); }",
	  "map interp x\n3 var" },
	{ "BEGIN { debugf(\"none\\n\"); debugf(\"%d\\n\", cpu); }", "none\n0\n" },
	{ "BEGIN { printf(\"%d %u %x %c %%\\n\", -5, 7, 255, 65); }", "-5 7 ff A %\n" },
	{ "BEGIN { printf(\"%5d|%-5d|%05d\\n\", 42, 42, 42); }", "   42|42   |00042\n" },
	{ "BEGIN { printf(\"%s %s\\n\", comm, \"x\"); }", "interp x\n" },
	{ "BEGIN { printf(\"%lld %llu\\n\", 5000000000, (uint64)-1); }",
	  "5000000000 18446744073709551615\n" },
	{ "BEGIN { printf(\"%d %d %d %d %d %d %d %d\\n\", 1, 2, 3, 4, 5, 6, 7, 8); }",
	  "1 2 3 4 5 6 7 8\n" },
	{ "BEGIN { $x = 5; printf(\"%d %d\\n\", $x, $x + 1); $x = 7; printf(\"%d\\n\", $x); }",
	  "5 6\n7\n" },
	{ "BEGIN { print((1, \"a\", (2, 3))); }", "(1, a, (2, 3))\n" },
	{ "BEGIN { @x[1] = 2; print(@x[1]); print(@x); }", "2\n@x[1]: 2\n@x[1]: 2\n" },
	{ "BEGIN { @x[1] = 1; @x[2] = 2; @x[3] = 30; print(@x, 2); clear(@x); }",
	  "@x[2]: 2\n@x[3]: 30\n" },
	{ "BEGIN { @x[3] = 30; print(@x, 0, 10); clear(@x); }", "@x[3]: 3\n" },
	{ "BEGIN { printf(\"%d %s\\n\", pid, probe); }", "42 BEGIN\n" },
	{ "BEGIN { print(uid); print(cpu); print(tid); }", "0\n0\n43\n" },
	{ "BEGIN { @start = nsecs; $d = nsecs - @start; printf(\"%d\\n\", $d); }",
	  "1000\n@start: 1000001000\n" },
	{ "BEGIN { printf(\"%d %s %d\\n\", 1 == 1, \"mid\", 3); }", "1 mid 3\n" },
	{ "BEGIN { printf(\"%r\\n\", buf(\"ab\\x01\", 3)); }", "ab\\x01\n" },
};
RUN_ROWS(output)

/* ---- run-time errors ------------------------------------------------------------------------ */

static const struct {
	const char *script;
	enum uerror_kind kind;
	u64 n;
} errors[] = {
	{ "BEGIN { @x = 1 / @zero; @y = 1 % @zero; }", UERROR_DIV_ZERO, 2 },
	{ "BEGIN { $i = 0; while ($i < 5) { @x = 10 / ($i - 2); $i++; } }", UERROR_DIV_ZERO, 1 },
	{ "BEGIN { $z = 0; $z = 0 && 1 / $z; }", UERROR_DIV_ZERO, 0 },
	{ "BEGIN { $z = 0; $x = 5; $x /= $z; @y = 3; @y %= $z; }", UERROR_DIV_ZERO, 2 },
	{ "let @x = hash(2); BEGIN { @x[1] = 1; @x[2] = 2; @x[3] = 3; @x[4]++; }", UERROR_UPDATE,
	  2 },
	{ "let @x = hash(2); BEGIN { @x[1] = 1; @x[2] = 2; @x[1] = 3; @x[2]++; }", UERROR_UPDATE,
	  0 },
	{ "let @x = hash(1); BEGIN { @x[1] = count(); @x[2] = count(); }", UERROR_UPDATE, 1 },
	{ "BEGIN { @x[1] = 1; delete(@x, 1); delete(@x, 1); }", UERROR_DELETE, 1 },
	{ "BEGIN { print(str(1)); print(*(uint64 *)8); }", UERROR_READ, 2 },
	{ "BEGIN { print(buf((uint8 *)8, 5)); }", UERROR_READ, 1 },
	{ "BEGIN { @n = 3; print(buf((uint8 *)8, @n)); }", UERROR_READ, 1 },
};

static void test_errors(void **state)
{
	u32 bad = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		struct lab l;
		u64 n;

		lab_init(&l);
		if (!lab_begin(&l, errors[i].script)) {
			print_error("%s\nfailed: %s\n", errors[i].script, buf_text(&l.problem));
			bad++;
		} else if ((n = lab_errors(&l, errors[i].kind)) != errors[i].n) {
			print_error("%s\nwanted %llu errors, got %llu\n", errors[i].script,
			            (unsigned long long)errors[i].n, (unsigned long long)n);
			bad++;
		}
		lab_free(&l);
	}
	if (bad)
		fail_msg("%u scripts are wrong", bad);
}

/* ---- size: nothing runs out of registers, stack or jumps ------------------------------------ */

static u32 wrong_buf(struct buf *script, const char *want)
{
	u32 n = wrong(buf_text(script), want);

	buf_free(script);
	return n;
}

static void test_deep_parentheses(void **state)
{
	struct buf s = { 0 };

	(void)state;
	buf_puts(&s, "BEGIN { $a = 1; print(");
	buf_fill(&s, '(', 100);
	buf_puts(&s, "$a");
	for (u32 i = 0; i < 100; i++)
		buf_printf(&s, " + %u)", i);
	buf_puts(&s, "); }");
	assert_int_equal(wrong_buf(&s, "4951\n"), 0);
}

/* 1 - (2 - (3 - ...)): every left operand waits while the right one is computed. */
static void test_live_temporaries(void **state)
{
	struct buf s = { 0 };
	s64 want = 0;
	char text[32];

	(void)state;
	buf_puts(&s, "BEGIN { $a = 0; print(");
	for (u32 i = 1; i <= 80; i++)
		buf_printf(&s, "($a + %u) - (", i);
	buf_puts(&s, "$a");
	buf_fill(&s, ')', 80);
	buf_puts(&s, "); }");
	for (s64 i = 80; i >= 1; i--)
		want = i - want;
	snprintf(text, sizeof(text), "%lld\n", (long long)want);
	assert_int_equal(wrong_buf(&s, text), 0);
}

/* Temporaries across calls: map reads in every operand. */
static void test_live_over_calls(void **state)
{
	struct buf s = { 0 };

	(void)state;
	buf_puts(&s, "BEGIN { ");
	for (u32 i = 0; i < 40; i++)
		buf_printf(&s, "@m[%u] = %u; ", i, i);
	buf_puts(&s, "print(");
	for (u32 i = 0; i < 39; i++)
		buf_printf(&s, "@m[%u] + (", i);
	buf_puts(&s, "@m[39]");
	buf_fill(&s, ')', 39);
	buf_puts(&s, "); clear(@m); }");
	assert_int_equal(wrong_buf(&s, "780\n"), 0);
}

static void test_many_variables(void **state)
{
	struct buf s = { 0 };

	(void)state;
	buf_puts(&s, "BEGIN { ");
	for (u32 i = 0; i < 200; i++)
		buf_printf(&s, "$v%u = %u; ", i, i);
	buf_puts(&s, "$sum = 0; ");
	for (u32 i = 0; i < 200; i++)
		buf_printf(&s, "$sum += $v%u; ", i);
	buf_puts(&s, "print($sum); }");
	assert_int_equal(wrong_buf(&s, "19900\n"), 0);
}

static void test_long_strings(void **state)
{
	struct buf s = { 0 }, want = { 0 };

	(void)state;
	buf_puts(&s, "BEGIN { $a = \"");
	buf_fill(&s, 'a', 900);
	buf_puts(&s, "\"; $b = \"");
	buf_fill(&s, 'a', 899);
	buf_puts(&s, "b\"; print($a == $b); $c = $a; print($a == $c); print($b); }");
	buf_puts(&want, "false\ntrue\n");
	buf_fill(&want, 'a', 899);
	buf_puts(&want, "b\n");
	assert_int_equal(wrong_buf(&s, buf_text(&want)), 0);
	buf_free(&want);
}

/* Keys of several hundred bytes: ten strings and a number. */
static void test_big_keys(void **state)
{
	struct buf s = { 0 };

	(void)state;
	buf_puts(&s, "BEGIN { @k[");
	for (u32 i = 0; i < 10; i++)
		buf_printf(&s, "\"a string that takes 40 bytes, number %u\", ", i);
	buf_puts(&s, "7] = 5; ");
	buf_puts(&s, "print(1 + @k[");
	for (u32 i = 0; i < 10; i++)
		buf_printf(&s, "\"a string that takes 40 bytes, number %u\", ", i);
	buf_puts(&s, "7]); clear(@k); }");
	assert_int_equal(wrong_buf(&s, "6\n"), 0);
}

static void test_many_arguments(void **state)
{
	struct buf s = { 0 }, want = { 0 };

	(void)state;
	buf_puts(&s, "BEGIN { printf(\"");
	for (u32 i = 0; i < 60; i++)
		buf_puts(&s, "%d ");
	buf_puts(&s, "%s\\n\"");
	for (u32 i = 0; i < 60; i++) {
		buf_printf(&s, ", %u", i * 3);
		buf_printf(&want, "%u ", i * 3);
	}
	buf_puts(&s, ", \"end\"); }");
	buf_puts(&want, "end\n");
	assert_int_equal(wrong_buf(&s, buf_text(&want)), 0);
	buf_free(&want);
}

static void test_many_statements(void **state)
{
	struct buf s = { 0 };

	(void)state;
	buf_puts(&s, "BEGIN { ");
	for (u32 i = 0; i < 500; i++)
		buf_printf(&s, "if (@x %% 2 == %u) { @x += 1; } else { @y++; } ", i % 2);
	buf_puts(&s, "}");
	assert_int_equal(wrong_buf(&s, "@x: 500\n"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_truth),
		cmocka_unit_test(test_casts),
		cmocka_unit_test(test_literals),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_aggregations),
		cmocka_unit_test(test_hist_boundaries),
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_deep_parentheses),
		cmocka_unit_test(test_live_temporaries),
		cmocka_unit_test(test_live_over_calls),
		cmocka_unit_test(test_many_variables),
		cmocka_unit_test(test_long_strings),
		cmocka_unit_test(test_big_keys),
		cmocka_unit_test(test_many_arguments),
		cmocka_unit_test(test_many_statements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
