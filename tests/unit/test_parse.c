/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Scripts and their trees. Each tests/lang/parse_*.bt holds a script and after the line
 * "=== tree" what parsing it must give: the printed tree, then the diagnostics. Beside them,
 * properties that do not fit a file: nesting, size, copying, walking.
 */
#include "lang/parse/lang.h"

#include <glob.h>
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"

#define SEPARATOR "=== tree\n"

struct parsed {
	struct arena arena;
	struct source source;
	struct script script;
	struct diags d;
	bool ok;
};

static void parse(struct parsed *p, const char *name, struct str text)
{
	struct err e;

	memset(p, 0, sizeof(*p));
	assert_true(source_set(&p->source, &p->arena, name, text, &e));
	p->script = (struct script){ .arena = &p->arena, .source = &p->source };
	p->d = (struct diags){ .arena = &p->arena, .source = &p->source };
	p->ok = parse_script(&p->script, &p->d);
	assert_int_equal(p->ok, p->d.n_errors == 0);
}

static void check_file(char *path)
{
	struct buf file = { 0 }, got = { 0 };
	struct parsed p;
	const char *expected;
	struct err e;

	assert_true(file_read(path, &file, 1 << 20, &e));
	expected = strstr(buf_text(&file), SEPARATOR);
	if (!expected)
		fail_msg("%s has no line %s", path, SEPARATOR);
	parse(&p, basename(path),
	      (struct str){ buf_text(&file), (u32)(expected - buf_text(&file)) });
	ast_print(&got, &p.script, false);
	diag_print(&got, &p.d, false);
	assert_string_equal(buf_text(&got), expected + strlen(SEPARATOR));
	buf_free(&got);
	buf_free(&file);
	arena_free(&p.arena);
}

static void test_files(void **state)
{
	glob_t found;

	(void)state;
	assert_int_equal(glob("tests/lang/parse_*.bt", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_file(found.gl_pathv[i]);
	globfree(&found);
}

/* `open` n times, `middle`, `close` n times. */
static void check_nested(const char *start, const char *open, const char *middle, const char *close,
                         u32 n, bool ok)
{
	struct buf b = { 0 };
	struct parsed p;

	buf_puts(&b, start);
	for (u32 i = 0; i < n; i++)
		buf_puts(&b, open);
	buf_puts(&b, middle);
	for (u32 i = 0; i < n; i++)
		buf_puts(&b, close);
	buf_puts(&b, " }");
	parse(&p, "stdin", (struct str){ buf_text(&b), (u32)b.n });
	assert_int_equal(p.ok, ok);
	if (!ok)
		assert_non_null(strstr(p.d.list.v[0].text, "more than"));
	arena_free(&p.arena);
	buf_free(&b);
}

static void test_nesting(void **state)
{
	(void)state;
	check_nested("BEGIN { @ = ", "(", "1", ")", 50, true);
	check_nested("BEGIN { @ = ", "(", "1", ")", 100000, false);
	check_nested("BEGIN { @ = ", "-", "1", "", 100000, false);
	check_nested("BEGIN { @ = ", "1 ? 2 : ", "1", "", 100000, false);
	check_nested("BEGIN { ", "{", "", "}", 100000, false);
	check_nested("BEGIN { ", "if 1 {} else ", "{}", "", 100000, false);
	check_nested("BEGIN { ", "@m[", "1", "]", 100000, false);
	check_nested("BEGIN { @ = 1", "+ 1", "", "", 3000, true);
	check_nested("BEGIN { @ = 1", "+ 1", "", "", 100000, false);
	check_nested("BEGIN { @ = $a", ".b", "", "", 100000, false);
}

static void test_many_errors(void **state)
{
	struct buf b = { 0 };
	struct parsed p;

	(void)state;
	buf_puts(&b, "BEGIN {");
	for (u32 i = 0; i < 1000; i++)
		buf_puts(&b, "+;\n");
	parse(&p, "stdin", (struct str){ buf_text(&b), (u32)b.n });
	assert_int_equal(p.d.list.n, 20);
	arena_free(&p.arena);
	buf_free(&b);
}

static void test_nul_byte(void **state)
{
	struct parsed p;

	(void)state;
	parse(&p, "stdin", STR("BEGIN { @x\0 = 1; }"));
	assert_false(p.ok);
	assert_int_equal(p.d.list.v[0].loc.off, 10);
	arena_free(&p.arena);
}

static bool count_nodes(void *ctx, struct node *n)
{
	++*(u32 *)ctx;
	return n->kind != NODE_CALL;
}

static void test_walk_and_copy(void **state)
{
	struct parsed p;
	struct node *copy;
	u32 n = 0, n_copy = 0;

	(void)state;
	parse(&p, "stdin", STR("BEGIN { @a[1, 2] = $b + 3; f(1, 2); if 1 { @c } }"));
	ast_walk(p.script.probes->body, count_nodes, &n);
	/* block, assign, map, 1, 2, +, $b, 3, expr, f, if, 1, block, expr, map */
	assert_int_equal(n, 15);
	copy = ast_copy(&p.arena, p.script.probes->body);
	ast_walk(copy, count_nodes, &n_copy);
	assert_int_equal(n_copy, n);
	assert_ptr_not_equal(copy->stmts, p.script.probes->body->stmts);
	assert_ptr_not_equal(copy->stmts->assign.to->map.keys->next,
	                     p.script.probes->body->stmts->assign.to->map.keys->next);
	arena_free(&p.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),         cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_many_errors),   cmocka_unit_test(test_nul_byte),
		cmocka_unit_test(test_walk_and_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
