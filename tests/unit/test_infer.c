/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Types and the messages about them, over the fake world. The cases are in tests/lang/types and
 * tests/lang/errors; a file holds several, each opened by a line "// --- title". In a case:
 *
 *   // expect NAME: TYPE       a variable's type, a map's value type
 *   // expect NAME[KEY]: TYPE  a map's key type too
 *   // error LINE:COL text     an error at that place; line 1 is the line after the title
 *   // warning LINE:COL text
 *   // hint text               of the error above
 *   // params A B              $1 $2 ...
 *   // with unsafe|nobtf       how the world differs
 *   // machine x86-64|arm64    it is for that machine only
 *
 * A case without error lines must have none. Every expression of a right script has a type.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "base/file.h"
#include "fake_world.h"
#include "lang/parse/lang.h"

/* The example function and static probe of a script. */
__attribute__((noinline, used, retain)) void infer_target(int n);

struct run {
	struct arena arena;
	struct source source;
	struct request request;
	struct script script;
	struct config config;
	struct diags diags;
	struct fake_world world;
	struct buf *expected; /* lines of messages the case names */
	struct buf *problems; /* of all cases, shown together */
	bool other_machine;   /* the case says so */
	bool ok;
};

void infer_target(int n)
{
	__asm__ volatile("" : : "r"(n));
}

static void compile(struct run *r, const char *name, struct str text)
{
	struct err e;

	assert_true(source_set(&r->source, &r->arena, name, text, &e));
	r->script = (struct script){ .arena = &r->arena,
		                     .source = &r->source,
		                     .request = r->request };
	r->diags = (struct diags){ .arena = &r->arena, .source = &r->source };
	r->ok = parse_script(&r->script, &r->diags) &&
	        config_read(&r->config, &r->script, &r->diags) &&
	        targets_expand(&r->script, &r->config, &r->world.world, &r->diags) &&
	        infer_script(&r->script, &r->config, &r->world.world, &r->diags);
}

/* ---- what a case says ------------------------------------------------------------------------ */

/* After "// word " on the line, else NULL. */
static const char *after(const char *line, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(line, "// ", 3) != 0 || strncmp(line + 3, word, n) != 0 || line[3 + n] != ' ')
		return NULL;
	return line + 4 + n;
}

static void set_world(struct run *r, const char *line)
{
	const char *with = after(line, "with"), *params = after(line, "params");
	VEC(const char *) list = { 0 };

	if (with)
		r->request.unsafe |= strstr(with, "unsafe") != NULL;
	if (with)
		r->world.no_btf |= strstr(with, "nobtf") != NULL;
	while (params && *params) {
		size_t n = strcspn(params, " ");

		vec_add(&r->arena, &list, arena_strndup(&r->arena, params, n));
		params += n + strspn(params + n, " ");
	}
	if (list.n) {
		r->request.params = list.v;
		r->request.n_params = list.n;
	}
}

static const char *diag_line(struct run *r, const struct diag *d)
{
	u32 line, column;

	source_line(&r->source, d->loc.off, &line, &column);
	return arena_printf(&r->arena, "%s %u:%u %s", d->level == DIAG_ERROR ? "error" : "warning",
	                    line, column, d->text);
}

/* The diagnostics as lines of the form above, sorted by the order of places. */
static void print_diags(struct run *r, struct buf *b)
{
	for (u32 done = 0, off = 0; done < r->diags.list.n; off++)
		for (u32 i = 0; i < r->diags.list.n; i++) {
			const struct diag *d = &r->diags.list.v[i];

			if (d->loc.off != off)
				continue;
			done++;
			buf_printf(b, "// %s\n", diag_line(r, d));
			if (d->hint)
				buf_printf(b, "// hint %s\n", d->hint);
		}
}

static void print_map(struct run *r, struct buf *b, const char *name, size_t n)
{
	for (u32 i = 0; i < r->script.maps.n; i++) {
		const struct map_sym *m = r->script.maps.v[i];

		if (strlen(m->name) != n || strncmp(m->name, name, n) != 0)
			continue;
		buf_puts(b, m->name);
		if (m->key) {
			buf_putc(b, '[');
			type_print(b, m->key);
			buf_putc(b, ']');
		}
		buf_puts(b, ": ");
		type_print(b, m->value);
	}
}

static void print_var(struct run *r, struct buf *b, const char *name, size_t n)
{
	for (struct probe *p = r->script.probes; p; p = p->next)
		for (u32 i = 0; i < p->variants.n; i++)
			for (u32 k = 0; k < p->variants.v[i]->vars.n; k++) {
				const struct var_sym *v = p->variants.v[i]->vars.v[k];

				if (strlen(v->name) != n || strncmp(v->name, name, n) || b->n)
					continue;
				buf_printf(b, "%s: ", v->name);
				type_print(b, v->type);
			}
}

static void check_expect(struct run *r, const char *line)
{
	const char *what = after(line, "expect");
	struct buf b = { 0 };

	if (!what)
		return;
	if (*what == '@')
		print_map(r, &b, what, strcspn(what, "[:"));
	else
		print_var(r, &b, what, strcspn(what, ":"));
	if (strcmp(buf_text(&b), what) != 0)
		buf_printf(r->problems, "%s: %s\n  is %s\n", r->source.name, line, buf_text(&b));
	buf_free(&b);
}

static bool is_type_name_only(const struct node *n)
{
	return n->kind == NODE_IDENT; /* stack modes, clocks */
}

static bool check_typed(void *ctx, struct node *n)
{
	struct run *r = ctx;

	if (n->kind < NODE_EXPR && !n->type && !is_type_name_only(n))
		buf_printf(r->problems, "%s: a %s at %u has no type\n", r->source.name,
		           ast_kind_name(n->kind), n->loc.off);
	return true;
}

static void check_all_typed(struct run *r)
{
	for (struct probe *p = r->script.probes; p; p = p->next)
		for (u32 i = 0; i < p->variants.n; i++) {
			if (p->variants.v[i]->pred)
				ast_walk(p->variants.v[i]->pred, check_typed, r);
			ast_walk(p->variants.v[i]->body, check_typed, r);
		}
}

/* ---- running cases -------------------------------------------------------------------------- */

static void each_line(struct run *r, const char *text, void (*cb)(struct run *r, const char *line))
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		cb(r, arena_strndup(&r->arena, text, n));
		text += n + (text[n] == '\n');
	}
}

static void add_expected(struct run *r, const char *line)
{
	if (after(line, "error") || after(line, "warning") || after(line, "hint"))
		buf_printf(r->expected, "%s\n", line);
}

static void only_on(struct run *r, const char *line)
{
	const char *machine = after(line, "machine");

	r->other_machine |= machine && strcmp(machine, arch.name) != 0;
}

static void run_case(const char *name, const char *text, struct buf *problems)
{
	struct buf expected = { 0 }, got = { 0 };
	struct run r = { .problems = problems };

	each_line(&r, text, only_on);
	if (r.other_machine) {
		arena_free(&r.arena);
		return;
	}
	fake_world_init(&r.world);
	each_line(&r, text, set_world);
	compile(&r, name, str_of(text));
	print_diags(&r, &got);
	r.expected = &expected;
	each_line(&r, text, add_expected);
	if (strcmp(buf_text(&got), buf_text(&expected)) != 0)
		buf_printf(problems, "%s:\nexpected\n%sgot\n%s", name, buf_text(&expected),
		           buf_text(&got));
	if (r.ok) {
		check_all_typed(&r);
		each_line(&r, text, check_expect);
	}
	buf_free(&expected);
	buf_free(&got);
	fake_world_free(&r.world);
	arena_free(&r.arena);
}

#define TITLE "// --- "

static u32 run_file(const char *path, struct buf *problems)
{
	struct buf file = { 0 };
	struct arena arena = { 0 };
	const char *p;
	struct err e;
	u32 n = 0;

	assert_true(file_read(path, &file, 1 << 20, &e));
	for (p = strstr(buf_text(&file), TITLE); p; n++) {
		size_t title = strcspn(p, "\n");
		const char *body = p + title + 1, *next = strstr(body, "\n" TITLE);
		const char *end = next ? next + 1 : body + strlen(body);

		run_case(arena_printf(&arena, "%s (%.*s)", path, (int)(title - strlen(TITLE)),
		                      p + strlen(TITLE)),
		         arena_strndup(&arena, body, (size_t)(end - body)), problems);
		p = next ? next + 1 : NULL;
	}
	buf_free(&file);
	arena_free(&arena);
	return n;
}

static void run_files(const char *pattern)
{
	struct buf problems = { 0 };
	glob_t found;
	bool failed;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		assert_true(run_file(found.gl_pathv[i], &problems) > 0);
	globfree(&found);
	failed = problems.n > 0;
	if (failed)
		fputs(buf_text(&problems), stderr);
	buf_free(&problems);
	assert_false(failed);
}

static void test_types(void **state)
{
	(void)state;
	run_files("tests/lang/types/*.bt");
}

static void test_errors(void **state)
{
	(void)state;
	run_files("tests/lang/errors/*.bt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
