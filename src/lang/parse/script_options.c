/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The options that a script declares by calling getopt("name|letter", default, "description"), and
 * how many parameters it asks for.
 *
 * They are read off the tree before anything is typed: to split a command line one has to know
 * which of them take a value, and --help must answer on a machine that can not run the script. What
 * is no literal here is left to infer, which says what is wrong with it.
 */
#include "lang/parse/lang.h"

#include <ctype.h>
#include <stdlib.h>

static const char *literal(struct script *s, const struct node *n)
{
	return n && n->kind == NODE_STRING ? arena_strndup(s->arena, n->string.p, n->string.n)
	                                   : NULL;
}

/* The default as it is shown, and what it says of the option. */
static void read_default(struct script *s, const struct node *n, struct script_option *o)
{
	o->kind = OPTION_NUMBER;
	if (!n || (n->kind == NODE_INT && n->type && n->type->kind == TYPE_BOOL)) {
		o->kind = OPTION_BOOL;
		o->standard = n && n->integer.value ? "true" : "false";
	} else if (n->kind == NODE_STRING) {
		o->kind = OPTION_TEXT;
		o->standard = literal(s, n);
	} else if (n->kind == NODE_INT) {
		o->standard = arena_printf(s->arena, "%lld", (long long)n->integer.value);
	} else {
		o->standard = arena_strndup(s->arena, s->source->text + n->loc.off, n->loc.len);
	}
}

bool script_option_name(struct arena *a, struct str text, struct script_option *o)
{
	struct str letter, name = str_cut(text, '|', &letter);

	o->name = arena_strndup(a, name.p, name.n);
	o->letter = letter.p && letter.n ? letter.p[0] : 0;
	return name.n && name.p[0] != '-' && !memchr(name.p, '=', name.n) &&
	       (!letter.p || (letter.n == 1 && isalnum((unsigned char)o->letter)));
}

static struct script_option *there(struct script *s, const char *name)
{
	for (u32 i = 0; i < s->options.n; i++)
		if (strcmp(s->options.v[i].name, name) == 0)
			return &s->options.v[i];
	return NULL;
}

static bool read_node(void *ctx, struct node *n)
{
	struct script *s = ctx;
	const struct node *name = n->kind == NODE_CALL ? n->call.args : NULL;
	struct script_option o = { 0 }, *old;

	s->counts_params |= n->kind == NODE_PARAM_COUNT;
	if (n->kind == NODE_PARAM)
		s->n_params = MAX(s->n_params, n->param);
	if (!name || !str_is(n->call.name, "getopt") || name->kind != NODE_STRING ||
	    !script_option_name(s->arena, name->string, &o))
		return true;
	o.help = name->next ? literal(s, name->next->next) : NULL;
	old = there(s, o.name);
	if (old) { /* any of its calls may describe it */
		if (!old->help)
			old->help = o.help;
		return true;
	}
	read_default(s, name->next, &o);
	vec_add(s->arena, &s->options, o);
	return true;
}

static void read_list(struct script *s, struct node *list)
{
	for (; list; list = list->next)
		ast_walk(list, read_node, s);
}

/* "$name" of event:$name, each of whose values is an event. */
static void note_many(struct script *s, const struct attach *a)
{
	struct str text = a->parts.n ? a->parts.v[0] : (struct str){ 0 };

	if (!str_is(a->provider, "event") || !text.n || text.p[0] != '$')
		return;
	for (u32 i = 0; i < s->options.n; i++)
		if (str_is((struct str){ text.p + 1, text.n - 1 }, s->options.v[i].name))
			s->options.v[i].many = true;
}

/* $1 and $@ in the parts of an attach point. */
static void note_params(struct script *s, struct str part)
{
	for (u32 i = 0; i + 1 < part.n; i++) {
		if (part.p[i] != '$')
			continue;
		if (part.p[i + 1] == '@')
			s->n_params = UINT32_MAX;
		else if (isdigit((unsigned char)part.p[i + 1]))
			s->n_params = MAX(s->n_params, (u32)strtoul(part.p + i + 1, NULL, 10));
	}
}

static void read_attach(struct script *s, const struct attach *a)
{
	note_many(s, a);
	for (; a; a = a->or_else)
		for (u32 i = 0; i < a->parts.n; i++)
			note_params(s, a->parts.v[i]);
}

void script_options_read(struct script *s)
{
	for (struct config_item *c = s->config; c; c = c->next)
		ast_walk(c->value, read_node, s);
	for (struct probe *p = s->probes; p; p = p->next) {
		read_list(s, p->pred);
		read_list(s, p->body);
	}
	for (struct probe *p = s->probes; p; p = p->next)
		for (const struct attach *a = p->attaches; a; a = a->next)
			read_attach(s, a);
}

/* "  -n, --top NUMBER" */
static void print_head(struct buf *b, const struct script_option *o)
{
	static const char *const forms[] = {
		[OPTION_BOOL] = "",
		[OPTION_NUMBER] = " NUMBER",
		[OPTION_TEXT] = " TEXT",
	};

	if (o->letter)
		buf_printf(b, "  -%c, --%s%s", o->letter, o->name, forms[o->kind]);
	else
		buf_printf(b, "      --%s%s", o->name, forms[o->kind]);
}

/* After the description: what holds without the option. That a switch is off goes without
 * saying. */
static void print_default(struct buf *b, const struct script_option *o)
{
	const char *gap = o->help ? " " : "";

	if (o->kind == OPTION_TEXT && *o->standard)
		buf_printf(b, "%s(\"%s\")", gap, o->standard);
	else if (o->kind == OPTION_NUMBER || strcmp(o->standard, "true") == 0)
		buf_printf(b, "%s(%s)", gap, o->standard);
}

void script_options_usage(struct buf *b, const struct script *s)
{
	struct buf head = { 0 };
	size_t column = 0;

	for (u32 i = 0; i < s->options.n; i++) {
		buf_reset(&head);
		print_head(&head, &s->options.v[i]);
		column = MAX(column, head.n + 2);
	}
	for (u32 i = 0; i < s->options.n; i++) {
		const struct script_option *o = &s->options.v[i];
		size_t start = b->n;

		print_head(b, o);
		buf_fill(b, ' ', column - (b->n - start));
		buf_puts(b, o->help ? o->help : "");
		print_default(b, o);
		buf_putc(b, '\n');
	}
	buf_free(&head);
}
