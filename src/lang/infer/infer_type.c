/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Types as written in casts, sizeof, offsetof and let.
 *
 * Integers have names of their own here, so that a kernel without BTF can still run scripts
 * with casts to them; all other names are asked of BTF.
 */
#include "lang/infer/infer.h"

#include <string.h>

#define POINTERS_MAX 16u

/* ---- integers of C -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	const struct type *type;
} integers[] = {
	{ "bool", &type_bool },     { "_Bool", &type_bool },   { "int8", &type_s8 },
	{ "int16", &type_s16 },     { "int32", &type_s32 },    { "int64", &type_s64 },
	{ "uint8", &type_u8 },      { "uint16", &type_u16 },   { "uint32", &type_u32 },
	{ "uint64", &type_u64 },    { "int8_t", &type_s8 },    { "int16_t", &type_s16 },
	{ "int32_t", &type_s32 },   { "int64_t", &type_s64 },  { "uint8_t", &type_u8 },
	{ "uint16_t", &type_u16 },  { "uint32_t", &type_u32 }, { "uint64_t", &type_u64 },
	{ "s8", &type_s8 },         { "s16", &type_s16 },      { "s32", &type_s32 },
	{ "s64", &type_s64 },       { "u8", &type_u8 },        { "u16", &type_u16 },
	{ "u32", &type_u32 },       { "u64", &type_u64 },      { "__s8", &type_s8 },
	{ "__s16", &type_s16 },     { "__s32", &type_s32 },    { "__s64", &type_s64 },
	{ "__u8", &type_u8 },       { "__u16", &type_u16 },    { "__u32", &type_u32 },
	{ "__u64", &type_u64 },     { "size_t", &type_u64 },   { "ssize_t", &type_s64 },
	{ "uintptr_t", &type_u64 }, { "intptr_t", &type_s64 }, { "ptrdiff_t", &type_s64 },
	{ "pid_t", &type_s32 },     { "uid_t", &type_u32 },    { "gid_t", &type_u32 },
	{ "off_t", &type_s64 },     { "loff_t", &type_s64 },   { "mode_t", &type_u32 },
	{ "umode_t", &type_u16 },   { "dev_t", &type_u32 },    { "gfp_t", &type_u32 },
	{ "sector_t", &type_u64 },  { "pgoff_t", &type_u64 },  { "time_t", &type_s64 },
};

/* "unsigned long int" and the like: the words in any order. */
static const struct type *word_integer(struct str name)
{
	bool is_unsigned = false, is_signed = false, is_char = false, is_short = false, any = false;
	u32 longs = 0;

	while (name.n) {
		struct str rest, word = str_cut(name, ' ', &rest);

		name = rest;
		if (!word.n)
			continue;
		if (str_is(word, "unsigned"))
			is_unsigned = true;
		else if (str_is(word, "signed"))
			is_signed = true;
		else if (str_is(word, "char"))
			is_char = true;
		else if (str_is(word, "short"))
			is_short = true;
		else if (str_is(word, "long"))
			longs++;
		else if (!str_is(word, "int"))
			return NULL;
		any = true;
	}
	if (!any || (is_unsigned && is_signed))
		return NULL;
	return type_int(is_char ? 1 : is_short ? 2 : longs ? 8 : 4, !is_unsigned);
}

const struct type *infer_c_integer(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(integers); i++)
		if (str_is_row(name, integers[i].name))
			return integers[i].type;
	return word_integer(name);
}

/* ---- names ---------------------------------------------------------------------------------- */

struct btf *infer_btf(struct infer *in, struct loc loc)
{
	struct err e = { 0 };
	struct btf *b = in->world->ops->btf(in->world, &e);

	if (!b) {
		infer_error(in, loc, "%s", e.text);
		if (e.hint[0])
			infer_hint(in, "%s", e.hint);
	}
	return b;
}

const struct type *infer_opaque(struct infer *in, const char *name)
{
	const struct type *own = infer_cdef_type(in, str_of(name));
	struct type *t;

	if (own && own->size)
		return infer_cdef_moved(in, own, SPACE_KERNEL);
	t = arena_new(in->arena, struct type);
	t->kind = TYPE_STRUCT;
	t->space = SPACE_KERNEL;
	t->name = name;
	return t;
}

bool infer_is_opaque(const struct type *t)
{
	return t->kind == TYPE_STRUCT && !t->size && t->origin.kind == ORIGIN_SCRIPT &&
	       !t->n_fields;
}

struct search {
	struct near near;
	u32 skip; /* letters of "struct " */
};

static bool offer(void *ctx, u32 id, const char *name)
{
	struct search *s = ctx;

	(void)id;
	if (name[0])
		near_offer(&s->near, name);
	return true;
}

static const struct {
	const char *word;
	u32 kind;
} tags[] = {
	{ "struct ", BTF_KIND_STRUCT },
	{ "union ", BTF_KIND_UNION },
	{ "enum ", BTF_KIND_ENUM },
	{ "", BTF_KIND_TYPEDEF },
};

/* The same name as another kind of type: "task_struct" is "struct task_struct". */
static const char *other_kind(struct infer *in, const struct btf *b, const char *bare)
{
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		const char *name = arena_printf(in->arena, "%s%s", tags[i].word, bare);

		if (infer_cdef_type(in, str_of(name)) || btf_find_c(b, name))
			return name;
	}
	return NULL;
}

static const struct type *unknown_type(struct infer *in, const struct type_name *name,
                                       const struct btf *b)
{
	const char *text = infer_text(in, name->text), *other;
	struct search s = { 0 };
	size_t i = 0;

	infer_error(in, name->loc, "Unknown type: '%s'", text);
	if (!in->added)
		return NULL;
	while (!str_starts(name->text, tags[i].word))
		i++;
	other = other_kind(in, b, text + strlen(tags[i].word));
	if (other) {
		infer_hint(in, "did you mean '%s'?", other);
		return NULL;
	}
	near_init(&s.near, text + strlen(tags[i].word));
	btf_each(b, tags[i].kind, "*", offer, &s);
	if (near_best(&s.near))
		infer_hint(in, "did you mean '%s%s'?", tags[i].word, near_best(&s.near));
	return NULL;
}

struct in_modules {
	struct world *w;
	struct str name;
	struct btf *btf;
	u32 id;
};

static bool in_module(void *ctx, const char *module)
{
	struct in_modules *s = ctx;
	struct err ignored = { 0 };

	s->btf = s->w->ops->module(s->w, module, &ignored);
	s->id = s->btf ? btf_find_cs(s->btf, s->name) : 0;
	return !s->id;
}

/* A type that the kernel itself has not got may be a module's: only now they are opened. */
static const struct type *module_type(struct infer *in, struct str name, enum space space)
{
	struct in_modules s = { .w = in->world, .name = name };

	in->world->ops->modules(in->world, in_module, &s);
	return s.id ? btf_type(in->script, s.btf, s.id, space) : NULL;
}

static const struct type *base_type(struct infer *in, const struct type_name *name,
                                    enum space space)
{
	const struct type *t = infer_cdef_type(in, name->text);
	struct err e = { 0 };
	struct dwarf_file *d;
	struct btf *b;
	u32 id, die;

	if (t && (t->kind != TYPE_STRUCT || t->size))
		return infer_cdef_moved(in, t, space);
	t = infer_c_integer(name->text);
	if (t)
		return t;
	if (str_is(name->text, "void"))
		return &type_none;
	/* In a program its own types count, whatever the kernel calls by that name. */
	d = space == SPACE_KERNEL ? NULL : infer_dwarf(in);
	die = d ? dwarf_type_find(d, name->text) : 0;
	if (die)
		return debug_type(in->script, d, die);
	b = in->world->ops->btf(in->world, &e);
	id = b ? btf_find_cs(b, name->text) : 0;
	if (id)
		return btf_type(in->script, b, id, space);
	t = b ? module_type(in, name->text, space) : NULL;
	if (t)
		return t;
	b = infer_btf(in, name->loc);
	return b ? unknown_type(in, name, b) : NULL;
}

/* string[N] is text, not an array of strings. */
static const struct type *string_type(struct infer *in, const struct type_name *name)
{
	u32 max = in->config->max_strlen;

	if (name->array >= 1 && name->array <= max)
		return type_str(in->arena, (u32)name->array, false);
	infer_error(in, name->loc, "a string type has a size from 1 to %u", max);
	infer_hint(in, "write string[64]");
	return NULL;
}

/* A bare name where either a type or a value may stand: one is the kernel's type only if it is
 * nothing in the script. */
static bool names_value(struct infer *in, struct str name)
{
	struct number value;
	struct err ignored = { 0 };
	struct btf *b;

	if (infer_cdef_type(in, name) || infer_c_integer(name))
		return false;
	if (infer_cpp_string(in, name) || infer_cdef_const(in, name, &value) ||
	    infer_cmacro_find(in, name, true))
		return true;
	b = in->world->ops->btf(in->world, &ignored);
	return !(b && btf_find_cs(b, name)) && infer_constant(in, name, &value);
}

/* What was parsed as a value is the bare name of a type. */
static bool names_type(struct infer *in, const struct node *e, struct type_name *name)
{
	if (e->kind != NODE_IDENT && e->kind != NODE_BUILTIN)
		return false;
	*name = (struct type_name){ .array = -1, .loc = e->loc };
	name->text = e->kind == NODE_IDENT ? e->string : e->builtin.name;
	return e->kind == NODE_IDENT ? !names_value(in, name->text)
	                             : infer_cdef_type(in, name->text) != NULL;
}

/* typeof(e): of integers at rest, the type of their own. What assigns to them may still be
 * ahead. */
static const struct type *type_of(struct infer *in, struct node *e, enum space space)
{
	struct type_name name;
	const struct type *t;

	if (names_type(in, e, &name))
		return base_type(in, &name, space);
	t = infer_value(in, e);
	if (!t || (e->kind != NODE_VAR && e->kind != NODE_MAP && e->kind != NODE_TUPLE_AT))
		return t;
	in->waiting |= !in->settled;
	return in->settled ? infer_own(in, e) : NULL;
}

const struct type *infer_type_name(struct infer *in, const struct type_name *name, enum space space)
{
	const struct type *t;

	if (str_is(name->text, "string") && !name->pointers)
		return string_type(in, name);
	t = name->e ? type_of(in, name->e, space) : base_type(in, name, space);
	if (!t)
		return NULL;
	if (name->pointers > POINTERS_MAX)
		return infer_error(in, name->loc, "a type has at most %u '*'", POINTERS_MAX);
	for (u32 i = 0; i < name->pointers; i++)
		t = type_ptr(in->arena, t, space);
	if (t->kind == TYPE_NONE)
		return infer_error(in, name->loc, "'%.*s' is not the type of a value",
		                   STR_ARG(name->text));
	if (name->array < 0)
		return t;
	if ((u64)name->array * t->size > UINT32_MAX)
		return infer_error(in, name->loc, "the array is too large");
	return type_array(in->arena, t, (u32)name->array);
}

/* ---- casts ---------------------------------------------------------------------------------- */

static struct node *zero(struct infer *in, struct loc loc)
{
	struct node *n = ast_node(in->arena, NODE_INT, loc);

	infer_set_int(n, 0, &type_s64);
	return n;
}

static const struct type *cast_scalar(struct infer *in, struct node *n, const struct type *to)
{
	const struct node *e = n->cast.e;

	if (!type_is_scalar(e->type))
		return infer_error(in, n->loc, "Cannot cast from '%s' to '%s'",
		                   type_name(in->arena, e->type), type_name(in->arena, to));
	if (e->kind == NODE_INT && to->kind != TYPE_PTR)
		return infer_set_number(
			n, &(struct number){ to, number_cut(e->integer.value, to), true, true });
	return to;
}

/* (bool)"text": whether there is any, which its first letter tells. */
static const struct type *cast_text(struct infer *in, struct node *n)
{
	struct node *e = n->cast.e, *first, *next = n->next;

	if (e->kind == NODE_STRING)
		return infer_set_int(n, e->string.n > 0, &type_bool);
	first = ast_node(in->arena, NODE_INDEX, n->loc);
	first->index.e = e;
	first->index.i = zero(in, n->loc);
	first->type = &type_s8;
	n->kind = NODE_BINARY;
	n->binary.op = OP_NE;
	n->binary.left = first;
	n->binary.right = zero(in, n->loc);
	n->next = next;
	return &type_bool;
}

/* Bytes of a value as it lies in memory. */
static u32 bytes_of(const struct type *t)
{
	return t->kind == TYPE_STR ? t->count : t->size;
}

static const struct type *cast_refused(struct infer *in, const struct node *n,
                                       const struct type *from, const struct type *to)
{
	return infer_error(in, n->loc, "Cannot cast from '%s' to '%s'", type_name(in->arena, from),
	                   type_name(in->arena, to));
}

/* (uint8[8])n, (int8[])"text", (uint16[2])array: the same bytes seen as elements. */
static const struct type *cast_array(struct infer *in, struct node *n, const struct type *to)
{
	const struct type *from = n->cast.e->type;
	u32 size = bytes_of(from), own = bytes_of(infer_own(in, n->cast.e));
	u32 step = to->elem->size;

	if (!type_is_scalar(to->elem) || !step ||
	    (!type_is_scalar(from) && from->kind != TYPE_ARRAY && from->kind != TYPE_STR))
		return cast_refused(in, n, from, to);
	if (n->cast.to.array == 0)
		to = type_array(in->arena, to->elem, size / step);
	if (type_is_scalar(from) && (n->cast.e->kind == NODE_INT ? to->size <= 8 : to->size == own))
		size = to->size;
	if (to->count && to->size == size)
		return to;
	cast_refused(in, n, from, to);
	infer_hint(in, "both must have the same number of bytes: %u and %u", size, to->size);
	return NULL;
}

/* (uint32)array: the bytes of a small array as a number. */
static const struct type *cast_bytes(struct infer *in, struct node *n, const struct type *to)
{
	const struct type *from = n->cast.e->type;

	if (to->kind != TYPE_PTR && from->size == to->size && type_is_scalar(from->elem))
		return to;
	cast_refused(in, n, from, to);
	if (type_is_scalar(from->elem))
		infer_hint(in, "both must have the same number of bytes: %u and %u", from->size,
		           to->size);
	return NULL;
}

const struct type *infer_cast(struct infer *in, struct node *n)
{
	const struct type *from = infer_value(in, n->cast.e), *to;
	bool pointer = from && from->kind == TYPE_PTR;

	to = infer_type_name(in, &n->cast.to, pointer ? from->space : infer_space(in));
	if (!from || !to)
		return to && to->kind == TYPE_ARRAY && !to->count ? NULL : to;
	if (to->kind == TYPE_BOOL && from->kind == TYPE_STR)
		return cast_text(in, n);
	if (type_is_scalar(to))
		return from->kind == TYPE_ARRAY ? cast_bytes(in, n, to) : cast_scalar(in, n, to);
	if (to->kind == TYPE_ARRAY)
		return cast_array(in, n, to);
	if (to->kind == TYPE_STR && from->kind == TYPE_STR) /* what fits is not cut */
		return type_str(in->arena, to->count, from->bounded && from->count <= to->count);
	cast_refused(in, n, from, to);
	if (to->kind == TYPE_STRUCT)
		infer_hint(in, "cast to a pointer: (%s *)", to->name);
	return NULL;
}

/* ---- sizeof, offsetof ----------------------------------------------------------------------- */

/* sizeof(NAME): the parser takes a bare name for a type; it may be one of #define or of an enum. */
static bool is_constant(struct infer *in, const struct type_name *of)
{
	return !of->e && !of->pointers && of->array < 0 && names_value(in, of->text);
}

/* Once it is answered the node is a constant, so what later assignments may change waits. */
static const struct type *sized(struct infer *in, struct node *n)
{
	const struct type *t;
	struct type_name name;

	if (!n->size.e && is_constant(in, &n->size.of)) {
		n->size.e = ast_node(in->arena, NODE_IDENT, n->size.of.loc);
		n->size.e->string = n->size.of.text;
	}
	if (n->size.e && names_type(in, n->size.e, &name))
		return base_type(in, &name, SPACE_NONE);
	if (!n->size.e)
		return infer_type_name(in, &n->size.of, SPACE_NONE);
	t = infer_value(in, n->size.e);
	in->waiting |= !in->settled;
	return t && in->settled ? infer_own(in, n->size.e) : NULL;
}

const struct type *infer_sizeof(struct infer *in, struct node *n)
{
	const struct type *t = sized(in, n);

	if (!t)
		return NULL;
	if (t->kind == TYPE_STRUCT && !t->size)
		return infer_error(in, n->loc, "'%s' is only declared: its size is not known",
		                   type_name(in->arena, t));
	return infer_set_int(n, infer_own_size(in, t), &type_u64);
}

/* What kind of type it is, whatever its size, sign, target or name. */
static const char *kind_word(struct infer *in, const struct type *t)
{
	static const char *const words[] = {
		[TYPE_INT] = "int",     [TYPE_PTR] = "pointer",   [TYPE_STR] = "string",
		[TYPE_BUF] = "buffer",  [TYPE_ARRAY] = "array",   [TYPE_STRUCT] = "struct",
		[TYPE_INET] = "inet",   [TYPE_TUPLE] = "tuple",   [TYPE_KSTACK] = "kstack",
		[TYPE_STACK] = "stack", [TYPE_USTACK] = "ustack", [TYPE_TIMESTAMP] = "timestamp",
	};
	const char *word = t->kind < ARRAY_SIZE(words) ? words[t->kind] : NULL;

	if (t->kind == TYPE_TUPLE && t->n_fields && t->fields[0].name)
		return "record";
	return word ? word : type_name(in->arena, t);
}

const struct type *infer_typeinfo(struct infer *in, struct node *n)
{
	const struct type *t = sized(in, n);

	if (!t)
		return NULL;
	if (str_is(n->size.path, "full_type"))
		return infer_set_string(in, n, type_name(in->arena, t));
	if (str_is(n->size.path, "base_type"))
		return infer_set_string(in, n, kind_word(in, t));
	if (str_is(n->size.path, "btf_id"))
		return infer_set_int(n, t->origin.kind == ORIGIN_BTF ? t->id : 0, &type_u32);
	return infer_error(in, n->loc, "typeinfo() has btf_id, base_type and full_type");
}

static const struct type *no_member(struct infer *in, const struct node *n, const struct type *t,
                                    const char *name)
{
	struct near near;

	near_init(&near, name);
	infer_member_offer(in, t, &near);
	infer_error(in, n->loc, "'%s' has no field named '%s'", t->name, name);
	infer_hint_near(in, &near);
	return NULL;
}

const struct type *infer_offsetof(struct infer *in, struct node *n)
{
	const struct type *t = sized(in, n);
	struct str rest = n->size.path;
	u64 off = 0;

	if (t && t->kind == TYPE_PTR)
		t = t->elem;
	while (t && rest.n) {
		struct str part = str_cut(rest, '.', &rest);
		const char *name = infer_text(in, part);
		struct field f;

		if (t->kind != TYPE_STRUCT)
			return infer_error(in, n->loc, "'%s' has no fields",
			                   type_name(in->arena, t));
		if (!infer_member(in, t, name, &f))
			return no_member(in, n, t, name);
		if (f.bit_size)
			return infer_error(in, n->loc, "'%s' is a bit-field: it has no offset",
			                   name);
		off += f.off;
		t = f.type;
	}
	return t ? infer_set_int(n, off, &type_u64) : NULL;
}
