/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading argv by a table of options. Of an option given again the last value counts. Each wrong
 * argument ends the reading with one message and, where there is one, the nearest right name. Does
 * not print and does not know what options mean.
 */
#include "base/opt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "base/str.h"

struct reader {
	const struct opt *rows;
	u32 n_rows;
	char *to;
	int argc, at;
	char **argv;
	struct arena *arena;
	struct err *e;
};

/* Words of the choice "a|b|c" hold the value? */
static bool is_choice(const char *words, const char *value)
{
	struct str rest = str_of(words);

	while (rest.p) {
		struct str word = str_cut(rest, '|', &rest);

		if (str_is(word, value))
			return true;
	}
	return false;
}

static bool store_number(const struct opt *o, void *place, const char *name, const char *value,
                         struct err *e)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || n < 1 || n > INT32_MAX)
		return err_set(e, "%s takes a number (%s), not '%s'", name, o->arg, value);
	*(u32 *)place = (u32)n;
	return true;
}

static bool store(struct reader *r, const struct opt *o, const char *name, const char *value)
{
	void *place = r->to + o->off;

	if (o->kind == OPT_FLAG) {
		*(bool *)place = true;
		return true;
	}
	if (o->kind == OPT_SWITCH) {
		*(const char **)place = value ? value : "true";
		return true;
	}
	if (o->kind == OPT_LIST) {
		struct opt_rest *list = place;

		if (!list->v) /* there are fewer values than arguments */
			list->v = arena_array(r->arena, const char *, r->argc);
		list->v[list->n++] = value;
		return true;
	}
	if (o->kind == OPT_NUMBER)
		return store_number(o, place, name, value, r->e);
	if (o->kind == OPT_CHOICE && !is_choice(o->arg, value))
		return err_set(r->e, "%s must be one of %s, not '%s'", name, o->arg, value);
	*(const char **)place = value;
	return true;
}

/* The value of an option that takes one: what is attached to it, or the next argument. */
static bool take_value(struct reader *r, const struct opt *o, const char *name,
                       const char *attached)
{
	if (!attached && r->at + 1 >= r->argc)
		return err_set(r->e, "%s needs a value: %s %s", name, name, o->arg);
	return store(r, o, name, attached ? attached : r->argv[++r->at]);
}

static bool unknown(struct reader *r, const char *name)
{
	struct near near;

	err_set(r->e, "unknown option '%s'", name);
	near_init(&near, name + (name[1] == '-' ? 2 : 1));
	for (u32 i = 0; i < r->n_rows; i++)
		if (r->rows[i].long_name && r->rows[i].help)
			near_offer(&near, r->rows[i].long_name);
	if (name[1] == '-' && near_best(&near))
		return err_hint(r->e, "did you mean '--%s'?", near.best);
	return err_hint(r->e, "the options are shown by --help; write '--' before parameters that "
	                      "begin with '-'");
}

/* "--name", "--name=value" */
static bool read_long(struct reader *r, const char *arg, struct arena *a)
{
	struct str value, name = str_cut(str_of(arg + 2), '=', &value);
	const char *shown = arena_strndup(a, arg, name.n + 2);

	for (u32 i = 0; i < r->n_rows; i++) {
		const struct opt *o = &r->rows[i];

		if (!o->long_name || !str_is(name, o->long_name))
			continue;
		if (o->kind == OPT_SWITCH)
			return store(r, o, shown, value.p);
		if (o->kind != OPT_FLAG)
			return take_value(r, o, shown, value.p);
		if (value.p)
			return err_set(r->e, "%s takes no value", shown);
		return store(r, o, shown, NULL);
	}
	return unknown(r, shown);
}

static const struct opt *find_short(const struct reader *r, char c)
{
	for (u32 i = 0; i < r->n_rows; i++)
		if (r->rows[i].short_name == c)
			return &r->rows[i];
	return NULL;
}

/* "-a", "-abc", "-ovalue" */
static bool read_short(struct reader *r, const char *arg)
{
	for (const char *p = arg + 1; *p; p++) {
		const struct opt *o = find_short(r, *p);
		char name[3] = { '-', *p, 0 };

		if (!o)
			return unknown(r, p == arg + 1 ? arg : name);
		if (o->kind != OPT_FLAG && o->kind != OPT_SWITCH)
			return take_value(r, o, name, p[1] ? p + 1 : NULL);
		store(r, o, name, NULL);
	}
	return true;
}

/* "-5" where only known letters are options. */
static bool is_passed(const struct reader *r, const char *arg)
{
	bool passes = false;

	for (u32 i = 0; i < r->n_rows; i++)
		passes |= r->rows[i].kind == OPT_PASS;
	return passes && arg[1] != '-' && !find_short(r, arg[1]);
}

static bool parse(struct reader *r, struct opt_rest *rest, bool head)
{
	struct arena *a = r->arena;
	bool options = true;

	rest->v = arena_array(a, const char *, r->argc + 1);
	rest->n = 0;
	for (; r->at < r->argc; r->at++) {
		const char *arg = r->argv[r->at];
		bool ends = strcmp(arg, "--") == 0;

		if (options && !ends && arg[0] == '-' && arg[1] && !is_passed(r, arg)) {
			if (arg[1] == '-' ? !read_long(r, arg, a) : !read_short(r, arg))
				return false;
			continue;
		}
		if (!options || !ends || head)
			rest->v[rest->n++] = arg;
		options &= !ends && !head;
	}
	return true;
}

bool opt_parse(const struct opt *rows, u32 n, void *to, struct arena *a, int argc, char **argv,
               struct opt_rest *rest, struct err *e)
{
	struct reader r = { rows, n, to, argc, 1, argv, a, e };

	return parse(&r, rest, false);
}

bool opt_parse_head(const struct opt *rows, u32 n, void *to, struct arena *a, int argc, char **argv,
                    struct opt_rest *rest, struct err *e)
{
	struct reader r = { rows, n, to, argc, 1, argv, a, e };

	return parse(&r, rest, true);
}

/* "  -p, --pid PID" */
static void print_head(struct buf *b, const struct opt *o)
{
	if (o->short_name)
		buf_printf(b, "  -%c%s", o->short_name, o->long_name ? ", " : "");
	else
		buf_puts(b, "      ");
	if (o->long_name)
		buf_printf(b, "--%s", o->long_name);
	if (o->arg)
		buf_printf(b, " %s", o->arg);
}

void opt_usage(struct buf *b, const struct opt *rows, u32 n)
{
	struct buf head = { 0 };
	size_t column = 0;

	for (u32 i = 0; i < n; i++) {
		buf_reset(&head);
		print_head(&head, &rows[i]);
		if (rows[i].help)
			column = MAX(column, head.n + 2);
	}
	for (u32 i = 0; i < n; i++) {
		size_t start = b->n;

		if (!rows[i].help)
			continue;
		print_head(b, &rows[i]);
		buf_fill(b, ' ', column - (b->n - start));
		buf_printf(b, "%s\n", rows[i].help);
	}
	buf_free(&head);
}
