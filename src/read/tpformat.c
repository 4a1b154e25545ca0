/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The `format` file of a tracefs event.
 *
 * The one idea: the file is lines of "key: value", and a field line is a C declaration followed
 * by "offset:N; size:N; signed:N;" (the kernel writes them in trace_events.c). The declaration
 * is taken apart from its end: an array suffix, then the name, and what is left is the type.
 *
 * It does not read the `print fmt` line, and does not resolve C types.
 */
#include "read/tpformat.h"

#include <string.h>

struct parser {
	struct arena *arena;
	struct tpformat *out;
	struct err *e;
	VEC(struct tpfield) fields;
	u32 line;
	bool has_id;
};

#define RECORD_MAX 65536u /* bytes; the kernel's own limit is one page */

static bool damaged(struct parser *p, const char *what)
{
	return err_set(p->e, "line %u of the event format: %s", p->line, what);
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool parse_u32(struct str s, u32 *out)
{
	u64 v = 0;

	s = str_trim(s, " \t");
	for (u32 i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		v = v * 10 + (u64)(s.p[i] - '0');
		if (v > UINT32_MAX)
			return false;
	}
	*out = (u32)v;
	return s.n > 0;
}

/* Removes `prefix` and blanks from the start. */
static bool skip(struct str *s, const char *prefix)
{
	u32 n;

	if (!str_starts(*s, prefix))
		return false;
	n = (u32)strlen(prefix);
	*s = str_trim((struct str){ s->p + n, s->n - n }, " \t");
	return true;
}

/* ---- declarations --------------------------------------------------------------------------- */

/* Bytes of the integer types events use. */
static const struct {
	const char *name;
	u32 size;
} sizes[] = {
	{ "char", 1 },
	{ "unsigned char", 1 },
	{ "u8", 1 },
	{ "__u8", 1 },
	{ "s8", 1 },
	{ "uint8_t", 1 },
	{ "bool", 1 },
	{ "short", 2 },
	{ "unsigned short", 2 },
	{ "u16", 2 },
	{ "__u16", 2 },
	{ "s16", 2 },
	{ "uint16_t", 2 },
	{ "__le16", 2 },
	{ "__be16", 2 },
	{ "int", 4 },
	{ "unsigned int", 4 },
	{ "unsigned", 4 },
	{ "u32", 4 },
	{ "__u32", 4 },
	{ "s32", 4 },
	{ "uint32_t", 4 },
	{ "__le32", 4 },
	{ "__be32", 4 },
	{ "long", 8 },
	{ "unsigned long", 8 },
	{ "u64", 8 },
	{ "__u64", 8 },
	{ "s64", 8 },
	{ "uint64_t", 8 },
	{ "long long", 8 },
	{ "unsigned long long", 8 },
	{ "__le64", 8 },
	{ "__be64", 8 },
	{ "size_t", 8 },
};

/* 0 when the size of the type is not known here. */
static u32 known_size(struct str type)
{
	skip(&type, "const ");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (str_is_row(type, sizes[i].name))
			return sizes[i].size;
	return type.n && type.p[type.n - 1] == '*' ? 8 : 0;
}

/* Cuts "[...]" suffixes (also several) off the declaration. */
static bool cut_array(struct str *decl, struct str *array)
{
	const char *open = memchr(decl->p, '[', decl->n);

	*array = (struct str){ NULL, 0 };
	if (!open)
		return true;
	if (decl->p[decl->n - 1] != ']')
		return false;
	array->p = open;
	array->n = (u32)(decl->p + decl->n - open);
	decl->n = (u32)(open - decl->p);
	*decl = str_trim(*decl, " \t");
	return true;
}

/*
 * Elements of an array. Some kernels write the bound as a macro ("[TASK_COMM_LEN]"), so the
 * field's size divided by its element's is used when that is known, the number if not.
 */
static u32 array_count(struct str array, struct str type, u32 size)
{
	u32 elem = array.p ? known_size(type) : 0, n;
	struct str rest;

	if (!array.p)
		return 0;
	if (elem)
		return size / elem;
	array = str_cut((struct str){ array.p + 1, array.n - 1 }, ']', &rest);
	return parse_u32(array, &n) && n && size % n == 0 ? n : size;
}

/* "char name" -> type and name. */
static bool cut_name(struct str decl, struct str *type, struct str *name)
{
	u32 at = decl.n;

	while (at && is_word(decl.p[at - 1]))
		at--;
	*name = (struct str){ decl.p + at, decl.n - at };
	*type = str_trim((struct str){ decl.p, at }, " \t");
	return name->n && type->n;
}

static bool parse_declaration(struct parser *p, struct str decl, struct tpfield *f)
{
	struct str array, type, name;

	decl = str_trim(decl, " \t");
	f->data_loc = skip(&decl, "__data_loc ");
	f->rel_loc = !f->data_loc && skip(&decl, "__rel_loc ");
	/* Dynamic arrays are written "T[] name". */
	if (f->data_loc || f->rel_loc) {
		if (!cut_name(decl, &type, &name) || !cut_array(&type, &array) || !type.n)
			return damaged(p, "a field without type or name");
		array.p = NULL;
	} else if (!cut_array(&decl, &array) || !cut_name(decl, &type, &name)) {
		return damaged(p, "a field without type or name");
	}
	f->count = array_count(array, type, f->size);
	f->name = arena_strndup(p->arena, name.p, name.n);
	f->type = arena_strndup(p->arena, type.p, type.n);
	f->common = str_starts(name, "common_");
	return true;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* The attributes after the declaration: "offset:8; size:4; signed:1;". */
static bool parse_attributes(struct parser *p, struct str rest, struct tpfield *f)
{
	bool has_off = false, has_size = false;

	while (rest.p && (rest = str_trim(rest, " \t")).n) {
		struct str one = str_cut(rest, ';', &rest), value;
		struct str key = str_cut(one, ':', &value);
		u32 v;

		if (!value.p || !parse_u32(value, &v))
			return damaged(p, "a field attribute that is not a number");
		if (str_is(key, "offset")) {
			f->off = v;
			has_off = true;
		} else if (str_is(key, "size")) {
			f->size = v;
			has_size = true;
		} else if (str_is(key, "signed")) {
			f->is_signed = v != 0;
		}
	}
	if (!has_off || !has_size)
		return damaged(p, "a field without offset or size");
	if ((u64)f->off + f->size > RECORD_MAX)
		return damaged(p, "a field outside the record");
	return true;
}

static bool parse_field(struct parser *p, struct str s)
{
	struct tpfield f = { 0 };
	struct str rest, decl = str_cut(s, ';', &rest);

	if (!rest.p)
		return damaged(p, "a field without ';'");
	if (!parse_attributes(p, rest, &f) || !parse_declaration(p, decl, &f))
		return false;
	if ((f.data_loc || f.rel_loc) && f.size != 4)
		return damaged(p, "a dynamic field whose place is not 4 bytes");
	vec_add(p->arena, &p->fields, f);
	return true;
}

static bool parse_line(struct parser *p, struct str s)
{
	s = str_trim(s, " \t");
	if (skip(&s, "name:")) {
		p->out->name = arena_strndup(p->arena, s.p, s.n);
		return true;
	}
	if (skip(&s, "ID:")) {
		p->has_id = parse_u32(s, &p->out->id);
		return p->has_id || damaged(p, "the ID is not a number");
	}
	return skip(&s, "field:") ? parse_field(p, s) : true;
}

bool tpformat_parse(struct arena *a, struct str text, struct tpformat *out, struct err *e)
{
	struct parser p = { .arena = a, .out = out, .e = e };
	struct str rest = text;

	*out = (struct tpformat){ 0 };
	/* Names and types are handed out as C strings. */
	if (text.n && memchr(text.p, 0, text.n))
		return damaged(&p, "it holds a byte of 0");
	while (rest.p && rest.n) {
		struct str line = str_cut(rest, '\n', &rest);

		p.line++;
		/* The print format is code of its own and may span lines; nothing follows it. */
		if (str_starts(line, TPFORMAT_END))
			break;
		if (!parse_line(&p, line))
			return false;
	}
	out->fields = p.fields.v;
	out->n_fields = p.fields.n;
	if (!out->name || !p.has_id)
		return damaged(&p, "the event's name or ID is missing");
	return true;
}
