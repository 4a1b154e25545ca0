/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the formatter makes of scripts, and that it leaves its own output alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lang/parse/fmt.h"

/* The formatted text in *b; false after an error, whose text is in *b then. */
static bool format(struct buf *b, const char *text)
{
	struct arena arena = { 0 };
	struct source source = { .name = "test", .text = text, .n = (u32)strlen(text) };
	struct script script = { .arena = &arena, .source = &source };
	struct diags diags = { .arena = &arena, .source = &source };
	bool ok = fmt_script(b, &script, &diags);

	assert_int_equal(ok, diags.n_errors == 0);
	if (!ok)
		buf_puts(b, diags.list.v[0].text);
	arena_free(&arena);
	return ok;
}

static void check(const char *text, const char *want)
{
	struct buf once = { 0 }, twice = { 0 };

	assert_true(format(&once, text));
	assert_string_equal(buf_text(&once), want);
	assert_true(format(&twice, buf_text(&once)));
	assert_string_equal(buf_text(&twice), want);
	buf_free(&once);
	buf_free(&twice);
}

static const struct {
	const char *text, *want;
} rows[] = {
	{ "BEGIN{}", "BEGIN\n{ }\n" },
	{ "BEGIN { @x=1;@y = 2 ; }", "BEGIN\n{\n\t@x = 1;\n\t@y = 2;\n}\n" },
	{ "BEGIN { @x = 1\n@y = 2 }", "BEGIN\n{\n\t@x = 1;\n\t@y = 2\n}\n" },
	{ "BEGIN{}END{}", "BEGIN\n{ }\n\nEND\n{ }\n" },
	{ "kprobe:a , kprobe:b,\n\tkprobe:c /pid==1&&tid!=2/{ exit() }",
	  "kprobe:a,\nkprobe:b,\nkprobe:c\n/pid == 1 && tid != 2/\n{\n\texit()\n}\n" },
	{ "uprobe:/bin/bash:\"a b\" / arg0 / 2 > 1 / { @[arg0/2]++ }",
	  "uprobe:/bin/bash:\"a b\"\n/arg0 / 2 > 1/\n{\n\t@[arg0 / 2]++\n}\n" },
	{ "BEGIN { if(1){@a=1}else if (2) {@b=2} else{ @c = 3; } }",
	  "BEGIN\n{\n\tif (1) {\n\t\t@a = 1\n\t} else if (2) {\n\t\t@b = 2\n\t} else {\n"
	  "\t\t@c = 3;\n\t}\n}\n" },
	{ "BEGIN { for($i:0..5){ print($i) } unroll(3){@++} while(@<9){@++} }",
	  "BEGIN\n{\n\tfor ($i : 0..5) {\n\t\tprint($i)\n\t}\n\tunroll(3) {\n\t\t@++\n\t}\n"
	  "\twhile (@ < 9) {\n\t\t@++\n\t}\n}\n" },
	{ "BEGIN { $a = (struct task_struct*) curtask ; $b=*$a->mm; $c=-1- -$b; $d=!$c; }",
	  "BEGIN\n{\n\t$a = (struct task_struct *)curtask;\n\t$b = *$a->mm;\n\t$c = -1 - -$b;\n"
	  "\t$d = !$c;\n}\n" },
	{ "BEGIN { @a[1 ,\"x  y\"]=( 1,2 ) ; printf( \"%d  %s\\n\",\n@b , comm ) ; }",
	  "BEGIN\n{\n\t@a[1, \"x  y\"] = (1, 2);\n\tprintf(\"%d  %s\\n\",\n\t\t@b, comm);\n}\n" },
	{ "#!/usr/bin/env bpftrace\n\n\n// one\n#include <a.h>\n#define X 1\n\n#ifdef Y\n"
	  "struct s { int a; };\n#endif\nBEGIN { }",
	  "#!/usr/bin/env bpftrace\n\n// one\n#include <a.h>\n#define X 1\n\n#ifdef Y\n\n"
	  "struct s { int a; };\n\n#endif\n\nBEGIN\n{ }\n" },
	{ "/* top */ BEGIN // here\n{ // open\n@a = 1; // one\n\n\n// own\n@b = 2; /* two */\n"
	  "// last\n} // end",
	  "/* top */\nBEGIN // here\n{ // open\n\t@a = 1; // one\n\n\t// own\n\t@b = 2; /* two */\n"
	  "\t// last\n} // end\n" },
	{ "config={max_strlen=64;missing_probes=warn} let @m=hash(5); BEGIN{}",
	  "config = {\n\tmax_strlen = 64;\n\tmissing_probes = warn\n}\n\nlet @m = hash(5);\n\n"
	  "BEGIN\n{ }\n" },
	{ "BEGIN { $x = 1 ? 2:3; $p = $x >> 1 & 0xff; @[(1,(2,))] = count(); ++@q; @q--; }",
	  "BEGIN\n{\n\t$x = 1 ? 2 : 3;\n\t$p = $x >> 1 & 0xff;\n\t@[(1, (2,))] = count();\n"
	  "\t++@q;\n\t@q--;\n}\n" },
};

static void test_rows(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		check(rows[i].text, rows[i].want);
}

static void test_errors(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{ "", "No probes to attach" },
		{ "BEGIN {", "this '{' is not closed" },
		{ "BEGIN { @x = \"a }", "unterminated string" },
		{ "BEGIN { } /* x", "unterminated comment" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		struct buf b = { 0 };

		assert_false(format(&b, bad[i].text));
		assert_non_null(strstr(buf_text(&b), bad[i].error));
		buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
