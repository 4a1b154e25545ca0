/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fields: of structs by BTF, of the record `args` by the tracepoint's format or the prototype
 * of the function.
 *
 * A format names C types as text. Integers are taken by the size and sign that are also given;
 * the text only decides what is a pointer, a string or an array.
 */
#include "lang/infer/infer.h"

#include <string.h>

/* Where the field's own name is written: at the end. */
static struct loc name_loc(const struct node *n)
{
	u32 len = MIN(n->field.name.n, n->loc.len);

	return (struct loc){ n->loc.off + n->loc.len - len, len };
}

static const struct type *unknown_field(struct infer *in, struct node *n, const char *of,
                                        const struct near *near)
{
	infer_error(in, name_loc(n), "'%s' has no field named '%.*s'", of, STR_ARG(n->field.name));
	infer_hint_near(in, near);
	return NULL;
}

/* ---- structs -------------------------------------------------------------------------------- */

static const struct type *struct_field(struct infer *in, struct node *n, const struct type *t)
{
	const char *name = infer_text(in, n->field.name);
	struct near near;

	if (infer_is_opaque(t) && !infer_btf(in, n->loc))
		return NULL;
	if (!infer_member(in, t, name, &n->field.f)) {
		near_init(&near, name);
		infer_member_offer(in, t, &near);
		return unknown_field(in, n, t->name, &near);
	}
	if (n->field.f.type->kind == TYPE_NONE)
		return infer_error(in, n->loc, "the type of field '%s' can not be read", name);
	return n->field.f.type;
}

/* A part of a record: r.name is r.N. */
static const struct type *record_part(struct infer *in, struct node *n, const struct type *t)
{
	const char *name = infer_text(in, n->field.name);
	struct near near;

	near_init(&near, name);
	for (u32 i = 0; i < t->n_fields; i++) {
		struct node *e = n->field.e;

		near_offer(&near, t->fields[i].name);
		if (strcmp(t->fields[i].name, name) != 0)
			continue;
		n->kind = NODE_TUPLE_AT;
		n->tuple_at.i = i;
		n->tuple_at.e = e;
		return t->fields[i].type;
	}
	return unknown_field(in, n, type_name(in->arena, t), &near);
}

/* ---- args of tracepoints -------------------------------------------------------------------- */

/* "const struct page *" -> "struct page" */
static struct str bare_c_type(struct str text)
{
	static const char *const words[] = { "const ", "volatile " };

	while (text.n && (text.p[text.n - 1] == '*' || text.p[text.n - 1] == ' '))
		text.n--;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i]);

		if (str_starts(text, words[i])) {
			text.p += n;
			text.n -= (u32)n;
			i = (size_t)-1;
		}
	}
	if (text.n > 6 && memcmp(text.p + text.n - 6, " const", 6) == 0)
		text.n -= 6;
	return text;
}

static const struct type *c_pointer(struct infer *in, const struct tpfield *f)
{
	struct str of = bare_c_type(str_of(f->type));
	const struct type *elem = infer_c_integer(of);
	enum space space = in->variant->is_syscall_enter ? SPACE_USER : SPACE_NONE;
	u32 stars = 0, id;
	struct err e = { 0 };
	struct btf *b;

	for (const char *p = f->type; *p; p++)
		stars += *p == '*';
	if (!elem && (str_starts(of, "struct ") || str_starts(of, "union "))) {
		if (space == SPACE_NONE)
			space = SPACE_KERNEL;
		b = in->world->ops->btf(in->world, &e);
		id = b ? btf_find_cs(b, of) : 0;
		if (id)
			elem = btf_type(in->script, b, id, space);
		else if (!b)
			elem = infer_opaque(in, arena_strndup(in->arena, of.p, of.n));
	}
	if (!elem)
		elem = &type_none;
	for (u32 i = 1; i < stars && i < 4; i++)
		elem = type_ptr(in->arena, elem, space);
	return type_ptr(in->arena, elem, space);
}

static const struct type *c_integer(const struct tpfield *f, u32 size)
{
	const struct type *named = infer_c_integer(bare_c_type(str_of(f->type)));

	if (size == 1 && strcmp(f->type, "bool") == 0)
		return &type_bool;
	/* System calls store an int in a long: only its own bytes count. */
	if (named && named->kind == TYPE_INT && named->size < size)
		return named;
	if (size == 1 || size == 2 || size == 4 || size == 8)
		return type_int(size, f->is_signed);
	return NULL;
}

static const struct type *c_array(struct infer *in, const struct tpfield *f)
{
	struct str of = bare_c_type(str_of(f->type));
	const struct type *elem;

	if (str_is(of, "char"))
		return type_str(in->arena, f->size, true);
	elem = c_integer(f, f->size / f->count);
	return elem ? type_array(in->arena, elem, f->count) : NULL;
}

/* The type of that name in the kernel's BTF. */
static const struct type *c_named(struct infer *in, const struct tpfield *f)
{
	struct err e = { 0 };
	struct btf *b = in->world->ops->btf(in->world, &e);
	u32 id = b ? btf_find_cs(b, bare_c_type(str_of(f->type))) : 0;

	return id ? btf_type(in->script, b, id, SPACE_KERNEL) : NULL;
}

static const struct type *c_struct(struct infer *in, const struct tpfield *f)
{
	const struct type *t = c_named(in, f);

	return t && t->size == f->size ? t : NULL;
}

/* An integer that is shown by the names of its enum, where the kernel has them. */
static const struct type *c_enum(struct infer *in, const struct tpfield *f,
                                 const struct type *plain)
{
	const struct type *named = c_named(in, f);
	struct type *t;

	if (!named || !named->n_enums)
		return plain;
	t = arena_new(in->arena, struct type);
	*t = *named;
	t->size = plain->size;
	t->is_signed = plain->is_signed;
	return t;
}

static const struct type *format_type(struct infer *in, const struct tpfield *f)
{
	const struct type *t;

	if (f->data_loc || f->rel_loc)
		return strstr(f->type, "char") ? type_str(in->arena, in->config->max_strlen, false)
		                               : NULL;
	if (strchr(f->type, '*'))
		return c_pointer(in, f);
	if (f->count)
		return c_array(in, f);
	t = c_integer(f, f->size);
	if (t && strncmp(f->type, "enum ", 5) == 0)
		return c_enum(in, f, t);
	return t ? t : c_struct(in, f);
}

static const struct type *format_field(struct infer *in, struct node *n)
{
	const struct tpformat *format = in->variant->format;
	const char *name = infer_text(in, n->field.name);
	struct near near;

	for (u32 i = 0; i < format->n_fields; i++) {
		const struct tpfield *f = &format->fields[i];
		const struct type *t;

		if (strcmp(f->name, name) != 0)
			continue;
		t = format_type(in, f);
		if (!t)
			return infer_error(in, n->loc,
			                   "field '%s' has a type that can not be read: %s", name,
			                   f->type);
		n->field.f = (struct field){ .name = f->name,
			                     .type = t,
			                     .off = f->off,
			                     .data_loc = f->data_loc,
			                     .rel_loc = f->rel_loc };
		return t;
	}
	near_init(&near, name);
	for (u32 i = 0; i < format->n_fields; i++)
		if (!format->fields[i].common)
			near_offer(&near, format->fields[i].name);
	return unknown_field(in, n, format->name, &near);
}

/* ---- args of prototypes --------------------------------------------------------------------- */

/* The types a probe's prototype is of; NULL when there are none. */
static struct btf *proto_btf(struct infer *in)
{
	const struct variant *v = in->variant;
	struct err e = { 0 };

	return v->proto_btf ? v->proto_btf : in->world->ops->btf(in->world, &e);
}

s32 infer_proto_args(struct infer *in)
{
	const struct variant *v = in->variant;
	struct btf *b = v->proto ? proto_btf(in) : NULL;
	struct btf_info proto;
	bool variadic;
	u32 n;

	if (!b || !btf_proto(b, v->proto, &proto, &n, &variadic) || n < (v->proto_skip ? 1u : 0u))
		return -1;
	return (s32)(n - v->proto_skip);
}

static const struct type *proto_field(struct infer *in, struct node *n)
{
	const struct variant *v = in->variant;
	const char *want = infer_text(in, n->field.name);
	s32 count = infer_proto_args(in);
	struct btf *b = infer_btf(in, n->loc) ? proto_btf(in) : NULL;
	struct btf_info proto;
	bool variadic;
	struct near near;
	u32 all;

	if (!b)
		return NULL;
	if (!btf_proto(b, v->proto, &proto, &all, &variadic))
		count = 0;
	near_init(&near, want);
	for (u32 i = 0; (s32)i < count; i++) {
		const struct type *t;
		struct btf_arg arg;

		if (!btf_arg(b, &proto, i + v->proto_skip, &arg) || !arg.name[0])
			continue;
		near_offer(&near, arg.name);
		if (strcmp(arg.name, want) != 0)
			continue;
		/* Functions that serve system calls get pointers of the user. */
		t = btf_type(in->script, b, arg.type, SPACE_NONE);
		if (!type_is_scalar(t))
			return infer_error(in, n->loc,
			                   "argument '%s' is passed in a way that can "
			                   "not be read",
			                   want);
		n->field.arg = i;
		n->field.f = (struct field){ .name = arg.name, .type = t };
		return t;
	}
	return unknown_field(in, n, v->sites.n ? v->sites.v[0].event : "args", &near);
}

const struct type *infer_retval(struct infer *in, struct node *n)
{
	struct btf *b = infer_btf(in, n->loc) ? proto_btf(in) : NULL;
	const struct type *t;
	struct btf_info proto;
	bool variadic;
	u32 count;

	if (!b || !btf_proto(b, in->variant->proto, &proto, &count, &variadic))
		return b ? &type_u64 : NULL;
	t = btf_type(in->script, b, proto.type, SPACE_KERNEL);
	if (t->kind == TYPE_NONE)
		return infer_error(in, n->loc, "%s returns nothing",
		                   in->variant->sites.n ? in->variant->sites.v[0].event
		                                        : "the function");
	return type_is_scalar(t) ? t : &type_u64;
}

/* ---- args as a whole ------------------------------------------------------------------------ */

typedef VEC(struct str) field_names;

static void format_names(struct infer *in, field_names *names)
{
	const struct tpformat *format = in->variant->format;

	for (u32 i = 0; i < format->n_fields; i++)
		if (!format->fields[i].common)
			vec_add(in->arena, names, str_of(format->fields[i].name));
}

static void proto_names(struct infer *in, field_names *names)
{
	s32 count = infer_proto_args(in);
	struct btf *b = proto_btf(in);
	struct btf_info proto;
	struct btf_arg arg;
	bool variadic;
	u32 all;

	if (!b || !btf_proto(b, in->variant->proto, &proto, &all, &variadic))
		return;
	for (u32 i = 0; (s32)i < count; i++)
		if (btf_arg(b, &proto, i + in->variant->proto_skip, &arg) && arg.name[0])
			vec_add(in->arena, names, str_of(arg.name));
}

static void uarg_names(struct infer *in, field_names *names)
{
	const struct uargs *all = in->variant->uargs;

	for (u32 i = 0; i < all->n; i++)
		if (all->v[i].name[0] && all->v[i].at.form != CALLS_NOWHERE)
			vec_add(in->arena, names, str_of(all->v[i].name));
}

const struct type *infer_args_value(struct infer *in, struct node *n)
{
	struct node **tail, *args = arena_new(in->arena, struct node);
	field_names names = { 0 };

	if (attach_kind_args(in->variant->kind) == KIND_ARGS_RECORD)
		format_names(in, &names);
	else if (attach_kind_args(in->variant->kind) == KIND_ARGS_ENTRY)
		uarg_names(in, &names);
	else
		proto_names(in, &names);
	if (!names.n)
		return infer_error(in, n->loc, "this probe has no arguments");
	*args = *n;
	args->next = NULL;
	n->kind = NODE_TUPLE;
	n->tuple.items = NULL;
	n->tuple.n = names.n;
	n->tuple.names = names.v;
	tail = &n->tuple.items;
	for (u32 i = 0; i < names.n; i++) {
		struct node *f = ast_node(in->arena, NODE_FIELD, n->loc);

		f->field.e = ast_copy(in->arena, args);
		f->field.name = names.v[i];
		*tail = f;
		tail = &f->next;
	}
	return infer_value(in, n);
}

/* ---- dispatch ------------------------------------------------------------------------------- */

static const struct type *args_field(struct infer *in, struct node *n)
{
	switch (attach_kind_args(in->variant->kind)) {
	case KIND_ARGS_RECORD:
		return format_field(in, n);
	case KIND_ARGS_ENTRY:
		return infer_uarg(in, n);
	default:
		return proto_field(in, n);
	}
}

static bool all_digits(struct str s)
{
	for (u32 i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

/* config.name: what holds while the script runs, known while it is compiled. */
static const struct type *setting(struct infer *in, struct node *n)
{
	struct config_value v;
	struct near near;

	if (!config_get(in->config, n->field.name, &v)) {
		infer_error(in, n->loc, "config has no '%.*s'", STR_ARG(n->field.name));
		near_init(&near, infer_text(in, n->field.name));
		config_offer(&near);
		infer_hint_near(in, &near);
		return NULL;
	}
	if (v.kind == CONFIG_TEXT)
		return infer_set_string(in, n, v.text);
	return infer_set_int(n, v.number, v.kind == CONFIG_FLAG ? &type_bool : &type_u64);
}

const struct type *infer_field(struct infer *in, struct node *n)
{
	const struct type *t;

	if (n->field.e->kind == NODE_IDENT && str_is(n->field.e->string, "config"))
		return setting(in, n);
	infer_result_use(in, n->field.e);
	t = infer_expr(in, n->field.e);
	if (!t)
		return NULL;
	if (t->kind == TYPE_ARGS)
		return args_field(in, n);
	t = infer_pointed(in, n->field.e);
	if (t->kind == TYPE_PTR && t->elem->kind == TYPE_STRUCT)
		return struct_field(in, n, t->elem);
	if (t->kind == TYPE_STRUCT)
		return struct_field(in, n, t);
	if (type_is_record(t))
		return record_part(in, n, t);
	infer_error(in, n->loc, "'%s' has no fields: it is not a struct or a pointer to one",
	            type_name(in->arena, t));
	if (t->kind == TYPE_INT && !all_digits(n->field.name))
		infer_hint(in, "cast it first: ((struct x *)...)->%.*s", STR_ARG(n->field.name));
	else if (t->kind == TYPE_PTR && t->elem->kind == TYPE_NONE)
		infer_hint(in, "cast the void pointer first");
	return NULL;
}
