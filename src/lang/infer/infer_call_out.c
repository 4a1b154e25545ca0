/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules of functions that print, and of those that work on whole maps.
 */
#include "lang/infer/infer.h"

#include "unit/format.h"
#include "unit/template.h"

/* printf of one record and nothing else shows its fields, unless it has one directive for them
 * all. */
static bool is_row(const struct node *n, const char *format)
{
	const struct node *a = n->call.args->next;

	if (n->call.f->id != FUNC_PRINTF && n->call.f->id != FUNC_SENT)
		return false;
	if (!a || a->next || !a->type || !type_is_record(a->type))
		return false;
	return a->type->n_fields == 1 || format_directives(format) != 1;
}

/* ---- columns that are not asked for --------------------------------------------------------- */

static bool is_absent(const struct node *e)
{
	return e->type->kind == TYPE_STR && e->type->count == 1;
}

/* The format without the directives of absent items, each with the blank or point after it. */
static const char *present_format(struct infer *in, const char *format, const struct node *items)
{
	const char *p = format, *problem, *text;
	const struct node *e = items;
	struct format_part part;
	struct buf b = { 0 };

	while (format_next(&p, &part, &problem)) {
		buf_add(&b, part.literal.p, part.literal.n);
		if (!part.has_directive)
			continue;
		if (!e || !is_absent(e))
			buf_add(&b, part.text.p, part.text.n);
		else if (*p == ' ' || *p == '.')
			p++;
		e = e ? e->next : NULL;
	}
	text = problem ? format : arena_strdup(in->arena, buf_text(&b));
	buf_free(&b);
	return text;
}

static void drop_items(struct infer *in, struct node *record)
{
	struct str *names = arena_array(in->arena, struct str, record->tuple.n);
	const char **words = arena_array(in->arena, const char *, record->tuple.n);
	const struct type **types = arena_array(in->arena, const struct type *, record->tuple.n);
	struct node **at = &record->tuple.items;
	u32 n = 0;

	for (u32 i = 0; *at; i++) {
		if (is_absent(*at)) {
			*at = (*at)->next;
			continue;
		}
		names[n] = record->tuple.names[i];
		words[n] = infer_text(in, names[n]);
		types[n++] = (*at)->type;
		at = &(*at)->next;
	}
	record->tuple.n = n;
	record->tuple.names = names;
	record->type = type_record(in->arena, types, words, n);
}

/* A field that is the text "" and no other is not there: neither in the line nor in JSON. So an
 * option can make a column come and go. */
static const char *drop_absent(struct infer *in, struct node *n, const char *format)
{
	struct node *record = n->call.args->next;
	u32 n_absent = 0;

	if (record->kind != NODE_TUPLE || !record->tuple.names)
		return format;
	for (const struct node *e = record->tuple.items; e; e = e->next)
		n_absent += is_absent(e);
	if (!n_absent || n_absent == record->tuple.n)
		return format;
	format = present_format(in, format, record->tuple.items);
	n->call.args->string = str_of(format);
	drop_items(in, record);
	return format;
}

static const struct node *nth(const struct node *list, u32 i)
{
	while (i--)
		list = list->next;
	return list;
}

/* *at is the value that is wrong; it stays what it is when the format is. */
static const char *check_row(struct infer *in, const struct node *n, const char *format,
                             const struct node **at)
{
	const struct node *record = n->call.args->next;
	u32 n_fields = record->type->n_fields, i = 0, wrong;
	const struct type **types = arena_array(in->arena, const struct type *, n_fields);
	const char *problem;

	if (record->kind == NODE_TUPLE)
		for (const struct node *e = record->tuple.items; e; e = e->next)
			types[i++] = e->type;
	for (; i < n_fields; i++)
		types[i] = record->type->fields[i].type;
	problem = format_check(in->arena, format, types, n_fields, &wrong);
	if (wrong < n_fields)
		*at = record->kind == NODE_TUPLE ? nth(record->tuple.items, wrong) : record;
	return problem;
}

static const char *check_values(struct infer *in, const struct node *n, const char *format,
                                const struct type **types, const struct node **at)
{
	u32 wrong;
	const char *problem = format_check(in->arena, format, types, n->call.n_args - 1, &wrong);

	if (wrong < n->call.n_args - 1)
		*at = nth(n->call.args->next, wrong);
	return problem;
}

static bool is_char_pointer(const struct type *t)
{
	return t && t->kind == TYPE_PTR && t->elem->kind == TYPE_INT && t->elem->size == 1;
}

/* %s shows an address, which is not what whoever writes it for a char * means. */
static void warn_char_pointers(struct infer *in, const char *format, const struct node *value)
{
	struct format_part part;
	const char *problem;

	while (value && format_next(&format, &part, &problem)) {
		if (!part.has_directive)
			continue;
		if (part.conv == 's' && is_char_pointer(value->type)) {
			infer_warn(in, value->loc, "%.*s shows the address in a '%s'",
			           STR_ARG(part.text), type_name(in->arena, value->type));
			infer_hint(in, "str() reads the string a pointer points to");
		}
		value = value->next;
	}
}

const struct type *infer_undefined_map(struct infer *in, const struct node *n,
                                       const struct map_info *m)
{
	struct near near;

	near_init(&near, m->sym->name);
	for (u32 i = 0; i < in->script->maps.n; i++)
		if (in->script->maps.v[i] != m->sym)
			near_offer(&near, in->script->maps.v[i]->name);
	infer_error(in, n->loc, "Undefined map: %s", m->sym->name);
	infer_hint_near(in, &near);
	return NULL;
}

/* An argument as a map that something is assigned to. */
static struct map_info *whole_map(struct infer *in, const struct node *n, struct node *a)
{
	struct map_info *m = infer_map_whole(in, a);

	if (!m) {
		infer_error(in, a->loc, "%s() needs a map without a key", n->call.f->name);
		return NULL;
	}
	if (in->final && !m->assigned)
		return (void)infer_undefined_map(in, a, m), NULL;
	return m;
}

/* heading(@m, format, ...): the map is no argument of the format. False: it is not right. */
static bool set_above(struct infer *in, struct node *n)
{
	struct node *map = n->call.args;

	if (n->call.above) /* set in an earlier pass */
		return whole_map(in, n, n->call.above);
	if (n->call.f->id != FUNC_HEADING || map->kind != NODE_MAP)
		return true;
	if (!map->next) {
		infer_error(in, map->loc, "heading() needs a format after the map");
		return false;
	}
	n->call.above = map;
	n->call.args = map->next;
	n->call.n_args--;
	return whole_map(in, n, map);
}

/* printf, heading, cat, system, errorf, warnf: a literal format and the values it shows. */
const struct type *infer_call_format(struct infer *in, struct node *n)
{
	bool is_right = set_above(in, n);
	const char *format = is_right ? infer_literal(in, n, 0) : NULL, *wrong;
	const struct type **types = arena_array(in->arena, const struct type *, n->call.n_args);
	const struct node *at = n;
	bool known = format != NULL;
	u32 i = 0;

	for (struct node *a = n->call.args->next; a; a = a->next, i++) {
		types[i] = infer_storable(in, a);
		known &= types[i] != NULL;
	}
	if (!known)
		return &type_none;
	n->call.row = is_row(n, format);
	if (n->call.row)
		format = drop_absent(in, n, format);
	wrong = n->call.row ? check_row(in, n, format, &at)
	                    : check_values(in, n, format, types, &at);
	if (wrong)
		infer_error(in, at->loc, "%s: %s", n->call.f->name, wrong);
	else if (!n->call.row)
		warn_char_pointers(in, format, n->call.args->next);
	else if (n->call.args->next->kind == NODE_TUPLE)
		warn_char_pointers(in, format, n->call.args->next->tuple.items);
	return &type_none;
}

const struct type *infer_call_sent(struct infer *in, struct node *n)
{
	infer_call_format(in, n);
	return &type_bool;
}

/* print(@m, top, "{count} {key}\n") */
static void print_template(struct infer *in, struct node *n, const struct map_info *m)
{
	const char *text = infer_literal(in, n, 2), *wrong;
	const struct map_sym *sym = m->sym;

	if (!text || !in->final || !sym->value || (m->keyed && !sym->key))
		return; /* what is not known is wrong elsewhere */
	wrong = template_check(in->arena, text, sym->key, sym->value);
	if (wrong)
		infer_error(in, infer_arg(n, 2)->loc, "print: %s", wrong);
}

/* print(@m, top, div): how many rows, and what to divide by, or a text for each. */
static void print_limits(struct infer *in, struct node *n, const struct map_info *m)
{
	for (u32 i = 1; i < n->call.n_args; i++) {
		s64 value;

		if (i == 2 && infer_arg(n, i)->kind == NODE_STRING) {
			print_template(in, n, m);
			continue;
		}

		if (infer_literal_int(in, n, i, &value) && (value < 0 || value > INT32_MAX))
			infer_error(in, infer_arg(n, i)->loc, "%lld is not a possible %s",
			            (long long)value, i == 1 ? "number of rows" : "divisor");
	}
}

const struct type *infer_call_print(struct infer *in, struct node *n)
{
	struct node *a = n->call.args;

	if (a->kind == NODE_MAP && !a->map.n_keys) {
		struct map_info *m = whole_map(in, n, n->call.args);

		if (m)
			print_limits(in, n, m);
		return &type_none;
	}
	if (n->call.n_args > 1) {
		infer_error(in, a->next->loc, "only print() of a whole map takes a number of rows");
		return NULL;
	}
	if (a->kind == NODE_MAP)
		infer_map_read(in, a, true);
	else
		infer_storable(in, a);
	return &type_none;
}

const struct type *infer_call_clear(struct infer *in, struct node *n)
{
	whole_map(in, n, n->call.args);
	return &type_none;
}

/* delete(@m[k]), delete(@m, k), and delete(@m) for a map without keys. */
const struct type *infer_call_delete(struct infer *in, struct node *n)
{
	struct node *a = n->call.args;

	if (a->kind != NODE_MAP)
		return infer_error(in, a->loc, "delete() needs a map");
	if (n->call.n_args == 2) {
		if (a->map.n_keys)
			return infer_error(
				in, a->next->loc,
				"delete() takes one key: delete(@x[key]) or delete(@x, key)");
		infer_map_key(in, a, a->next);
	} else {
		infer_map_read(in, a, true);
	}
	return &type_bool;
}

const struct type *infer_call_has_key(struct infer *in, struct node *n)
{
	struct node *a = n->call.args;

	if (a->kind != NODE_MAP || a->map.n_keys)
		return infer_error(in, a->loc,
		                   "has_key() needs a map without a key: has_key(@x, key)");
	if (in->final && infer_map_find(in, a)->bare)
		return infer_error(
			in, a->loc,
			"call to has_key() expects a map with explicit keys (non-scalar map)");
	infer_map_key(in, a, a->next);
	return &type_bool;
}

static bool is_stack(const struct type *t)
{
	return t->kind == TYPE_KSTACK || t->kind == TYPE_USTACK;
}

const struct type *infer_call_len(struct infer *in, struct node *n)
{
	struct node *a = n->call.args;
	const struct type *t;
	struct map_info *m = infer_map_whole(in, a);

	if (m && !(m->bare && m->sym->value && is_stack(m->sym->value))) {
		if (m->bare)
			return infer_error(in, a->loc,
			                   "len() of %s: a map without keys has no length",
			                   m->sym->name);
		return &type_s64;
	}
	t = infer_value(in, a);
	if (t && !is_stack(t))
		infer_error(in, a->loc, "len() needs a map or a stack, not '%s'",
		            type_name(in->arena, t));
	return &type_s64;
}

const struct type *infer_call_exit(struct infer *in, struct node *n)
{
	if (n->call.n_args)
		infer_integer(in, n->call.args, "the exit code");
	return &type_none;
}

const struct type *infer_call_time(struct infer *in, struct node *n)
{
	if (n->call.n_args)
		infer_literal(in, n, 0);
	return &type_none;
}

const struct type *infer_call_join(struct infer *in, struct node *n)
{
	const struct type *t = infer_value(in, n->call.args);

	if (t && t->kind != TYPE_PTR && t->kind != TYPE_INT)
		infer_error(in, n->call.args->loc,
		            "join() needs a pointer to strings, such as args.argv, not '%s'",
		            type_name(in->arena, t));
	if (n->call.n_args > 1)
		infer_literal(in, n, 1);
	return &type_none;
}
