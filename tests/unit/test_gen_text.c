/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions over strings and bytes, functions answered while compiling, and those written in the
 * language itself: text in, output and maps out, by way of the interpreter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "gen_rows.h"

#define TEXT_(number) #number
#define TEXT(macro)   TEXT_(macro)

static const struct script_row searches[] = {
	{ "BEGIN { print(strstr(\"hello world\", \"o w\")); }", "4\n" },
	{ "BEGIN { print(strstr(\"hello\", \"hello\")); print(strstr(\"hello\", \"o\")); }",
	  "0\n4\n" },
	{ "BEGIN { print(strstr(\"hello\", \"x\")); print(strstr(\"hello\", \"hellox\")); }",
	  "-1\n-1\n" },
	{ "BEGIN { print(strstr(\"hello\", \"\")); print(strstr(comm, \"rp\")); }", "0\n4\n" },
	{ "BEGIN { $h = \"a string to look into\"; $n = \"look\"; print(strstr($h, $n)); "
	  "print(strcontains($h, $n)); }",
	  "12\ntrue\n" },
	{ "BEGIN { $h = \"abababac\"; $n = \"abac\"; print(strstr($h, $n)); }", "4\n" },
	{ "BEGIN { $h = \"abc\"; $n = \"abcd\"; print(strstr($h, $n)); "
	  "print(strcontains($h, $n)); }",
	  "-1\nfalse\n" },
	{ "BEGIN { $h = \"abc\"; $n = \"abc\"; print(strstr($h, $n)); $n = \"c\"; "
	  "print(strstr($h, $n)); $n = \"\"; print(strstr($h, $n)); }",
	  "0\n2\n0\n" },
	{ "BEGIN { $h = \"\"; $n = \"a\"; print(strstr($h, $n)); print(strcontains($h, $n)); }",
	  "-1\nfalse\n" },
	{ "BEGIN { @h = \"in a map\"; @n = \"map\"; print(strstr(@h, @n)); }",
	  "5\n@h: in a map\n@n: map\n" },
	/* strings that do not fit the stack */
	{ "BEGIN { $l = "
	  "str_concat(\"0123456789012345678901234567890123456789012345678901234567890123\","
	  " \"01234567890123456789012345678901234567890123456789012345678901234567890needle\"); "
	  "$h = str_concat($l, $l); $n = str_concat(\"nee\", \"dle0\"); print(strstr($h, $n)); "
	  "$n = \"needlf\"; print(strcontains($h, $n)); }",
	  "135\nfalse\n" },
	{ "BEGIN { @a[1] = 1; for ($kv : @a) { $h = comm; $n = \"p\"; print(strstr($h, $n)); } }",
	  "5\n@a[1]: 1\n" },
	{ "BEGIN { $n = \"b\"; if (strcontains(\"abc\", $n) && !strcontains(\"xyz\", $n)) "
	  "{ print(1); } }",
	  "1\n" },
};
RUN_ROWS(searches)

/* A cursor is a string and a number. */
static const struct script_row cursors[] = {
	{ "BEGIN { $s = \"get user:17 42 x\"; $at = 0; print(take($s, $at, \" \")); print($at); "
	  "print(take($s, $at, \"\\r \")); print(take_number($s, $at)); print($at); $at++; "
	  "print(take($s, $at, \" \")); print($at); print(take($s, $at, \" \")); print($at); }",
	  "get\n4\nuser:17\n42\n14\nx\n16\n\n16\n" },
	{ "BEGIN { $s = \"a,b\"; print(first_of($s, 0, \",;\")); print(first_of($s, 2, \",;\")); "
	  "print(first_of($s, 9, \",\")); print(first_of($s, -1, \"a\")); "
	  "print(first_of(comm, 0, \"t\")); print(first_of(\"\", 0, \"t\")); }",
	  "1\n3\n3\n3\n2\n0\n" },
	{ "BEGIN { $s = \"abcdef\"; print(substr($s, 2, 3)); print(substr($s, 4, 9)); "
	  "print(substr($s, 6, 1)); print(substr($s, 99, 1)); print(substr($s, -1, 2)); "
	  "$n = 2; print(substr($s, 1, $n)); print(substr($s, 1, 0) == \"\"); "
	  "print(substr($s, 1, 0 - $n)); print(strlen(substr(comm, 1, 4))); "
	  "@[substr($s, 1, 2)] = 1; @[\"bc\"]++; }",
	  "cde\nef\n\n\n\nbc\ntrue\nbcdef\n4\n@[bc]: 2\n" },
	{ "BEGIN { $s = \"007x\"; $at = 0; print(take_number($s, $at)); print($at); "
	  "print(take_number($s, $at)); print($at); $t = \"18446744073709551615\"; $at = 0; "
	  "print(take_number($t, $at)); print($at); }",
	  "7\n3\n0\n3\n18446744073709551615\n20\n" },
	/* what lies beside a string that fills its room is not read */
	{ "BEGIN { $a = \"1111111\"; $s = \"abcdefg\"; $b = \"2222222\"; print(substr($a, 8, 3)); "
	  "print(substr($s, 8, 3)); print(substr($b, 99, 3)); print(first_of($a, 8, \"a2\")); "
	  "print(first_of($s, 7, \"12\")); print(first_of($s, 8, \"12\")); print(first_of($b, 0, "
	  "\"1a\")); print($a); print($b); }",
	  "\n\n\n7\n7\n7\n7\n1111111\n2222222\n" },
	/* in a loop, and strings that do not fit the stack */
	{ "BEGIN { $l = "
	  "\"0123456789012345678901234567890123456789012345678901234567890123456789\"; "
	  "$s = str_concat(str_concat($l, \" \"), str_concat($l, \" end\")); $at = 0; "
	  "for ($i : 0..20) { $w = take($s, $at, \" \"); if ($w == \"\") { break; } "
	  "print(strlen($w)); } print($at); }",
	  "70\n70\n3\n145\n" },
};
RUN_ROWS(cursors)

#define LETTERS 20u

/* Texts that differ in one bit of one letter, up to each length: whole words, and what is left. */
static void test_every_letter(void **state)
{
	struct buf script = { 0 }, want = { 0 };
	char a[LETTERS + 1] = "abcde\x80ghi\x80k\xfflm\x80o\x80qrs", b[LETTERS + 1];

	(void)state;
	buf_printf(&script, "BEGIN { $a = \"%s\"; $b = $a; ", a);
	for (u32 at = 0; at < LETTERS; at++) {
		memcpy(b, a, sizeof(b));
		b[at] ^= at % 2 ? 0x02 : 0x01;
		buf_printf(&script, "$b = \"%s\"; ", b);
		for (u32 n = 1; n < LETTERS; n++) {
			buf_printf(&script, "printf(\"%%d\", strncmp($a, $b, %u) != 0); ", n);
			buf_putc(&want, at < n ? '1' : '0');
		}
		buf_puts(&script, "printf(\" %d\\n\", $a == $b); ");
		buf_puts(&want, " 0\n");
	}
	buf_puts(&script, "}");
	assert_int_equal(wrong_in(lab_init, buf_text(&script), buf_text(&want)), 0);
	buf_free(&script);
	buf_free(&want);
}

static const struct script_row bytes[] = {
	{ "BEGIN { print(memcmp(\"abc\", \"abd\", 3)); print(memcmp(\"abc\", \"abd\", 2)); }",
	  "-1\n0\n" },
	{ "BEGIN { $a = \"abz\"; $b = \"aba\"; print(memcmp($a, $b, 3) > 0); "
	  "print(memcmp($b, $a, 3) < 0); }",
	  "true\ntrue\n" },
	{ "BEGIN { print(memcmp(pton(\"1.2.3.4\"), pton(\"1.2.3.4\"), 4)); "
	  "print(memcmp(pton(\"1.2.3.4\"), pton(\"1.2.3.9\"), 4)); }",
	  "0\n-5\n" },
	{ "BEGIN { print(str_concat(\"abc\", \"def\")); print(str_concat(comm, \"\")); }",
	  "abcdef\ninterp\n" },
	{ "BEGIN { $a = str_concat(str_concat(comm, \":\"), \"x\"); print($a); print(strlen($a)); "
	  "@[$a] = 1; }",
	  "interp:x\n8\n@[interp:x]: 1\n" },
	{ "BEGIN { print(str_concat(\"\", \"\") == \"\"); }", "true\n" },
	{ "BEGIN { print(strcap(comm)); $s = \"abc\"; print(strcap($s)); }", "16\n4\n" },
	{ "BEGIN { print(pton(\"127.0.0.1\")); print(ntop(pton(\"::1\"))); }",
	  "[127,0,0,1]\n::1\n" },
	{ "BEGIN { print(signal_name(9)); print(syscall_name(" TEXT(
		  __NR_write) ")); $n = 500; "
	                      "print(syscall_name($n)); }",
	  "SIGKILL\nwrite\n500\n" },
};
RUN_ROWS(bytes)

static const struct script_row answers[] = {
	{ "BEGIN { print(is_str(comm)); print(is_str(1)); print(is_ptr((int8 *)5)); }",
	  "true\nfalse\ntrue\n" },
	{ "BEGIN { print(is_integer(pid)); print(is_unsigned_integer(pid)); "
	  "print(is_unsigned_integer(-1)); print(is_array(pton(\"::\"))); }",
	  "true\ntrue\nfalse\ntrue\n" },
	{ "BEGIN { print(is_literal(5)); print(is_literal(\"a\")); print(is_literal(pid)); }",
	  "true\ntrue\nfalse\n" },
	{ "BEGIN { @a[1] = 1; @b = 1; print(is_scalar(@a)); print(is_scalar(@b)); }",
	  "false\ntrue\n@a[1]: 1\n@b: 1\n" },
	{ "macro show(x) { if (is_str(x)) { x } else if (is_integer(x)) { x + 1 } "
	  "else { fail(\"no\"); } } BEGIN { print(show(1)); print(show(\"a\")); }",
	  "2\na\n" },
	{ "BEGIN { $x = 5; if comptime is_str($x) { $y = $x == \"a\"; } else { print($x); } }",
	  "5\n" },
	{ "BEGIN { print(comptime (2 + 3)); if (1 == 2) { fail(\"never\"); } }", "5\n" },
	{ "BEGIN { if (0) { @a = 1; } else { @b = 2; } }", "@b: 2\n" },
	{ "BEGIN { static_assert(sizeof(uint32) == 4, \"size\"); assert(1, \"one\"); }", "" },
};
RUN_ROWS(answers)

static const struct script_row library[] = {
	{ "BEGIN { @m[1, \"a\"] = 5; if (find(@m, (1, \"a\"), $v)) { print($v); } "
	  "let $w = 7; if (find(@m, (2, \"a\"), $w)) { print(0); } print($w); }",
	  "5\n7\n@m[1, a]: 5\n" },
	{ "BEGIN { print(is_err((uint64)-5)); print(is_err((uint64)5)); }", "true\nfalse\n" },
	{ "macro find(x) { x * 2 } BEGIN { print(find(4)); @a[1] = 1; print(find(@a, 2, $x)); }",
	  "8\nfalse\n@a[1]: 1\n" },
};
RUN_ROWS(library)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_searches), cmocka_unit_test(test_every_letter),
		cmocka_unit_test(test_cursors),  cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_answers),  cmocka_unit_test(test_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
