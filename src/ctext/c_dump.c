/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One definition as C. Members follow c_shape, which says where padding has to be written; padding
 * is unnamed bit-fields, or a named array where those would be many. Does not know about order.
 */
#include "ctext/c_dump.h"

#include <stdlib.h>
#include <string.h>

#define HOLE_LINES 64u /* bytes of padding from which on an array is written */
#define DEPTH_MAX  64u

static void indent(const struct c_dump *d, struct buf *b)
{
	buf_fill(b, '\t', d->depth);
}

/* ---- padding -------------------------------------------------------------------------------- */

static void unnamed(const struct c_dump *d, struct buf *b, const char *type, u32 bits)
{
	indent(d, b);
	buf_puts(b, type);
	buf_puts(b, " : ");
	c_decl_number(b, bits);
	buf_puts(b, ";\n");
}

static void hole(struct c_dump *d, struct buf *b, u64 bytes)
{
	indent(d, b);
	buf_puts(b, "unsigned char __hole");
	c_decl_number(b, ++d->holes);
	buf_putc(b, '[');
	c_decl_number(b, bytes);
	buf_puts(b, "];\n");
}

/* Bit-fields no wider than `align` bytes, each at a place where it starts as it stands. */
static void padding(struct c_dump *d, struct buf *b, u64 from, u64 to, u32 align)
{
	static const char *const types[] = { "unsigned char", "short", "int", "long long" };

	if (from % 8) {
		u64 byte = MIN(to, ROUND_UP(from, (u64)8));

		unnamed(d, b, types[0], (u32)(byte - from));
		from = byte;
	}
	if (to - from > HOLE_LINES * 8) {
		hole(d, b, (to - from) / 8);
		from += (to - from) / 8 * 8;
	}
	while (to - from >= 8) {
		u32 log = 3;

		while (log && (1u << log > align || from % (8u << log) || to - from < 8u << log))
			log--;
		unnamed(d, b, types[log], 8u << log);
		from += 8u << log;
	}
	if (to > from)
		unnamed(d, b, types[0], (u32)(to - from));
}

/* ---- structs and unions --------------------------------------------------------------------- */

static void braces(struct c_dump *d, struct buf *b, const struct btf_info *t);

static void member(struct c_dump *d, struct buf *b, const struct btf_field *f)
{
	struct btf_info t;

	indent(d, b);
	/* A named struct without a member's name: its members belong to the outer one. */
	if (!*f->name && btf_info(d->btf, btf_skip(d->btf, f->type), &t)) {
		buf_puts(b, c_decl_tag(&t));
		braces(d, b, &t);
	} else {
		c_decl(b, d->btf, &d->style, f->type, f->name);
	}
	if (f->bit_size) {
		buf_puts(b, " : ");
		c_decl_number(b, f->bit_size);
	}
	buf_puts(b, ";\n");
}

static void struct_members(struct c_dump *d, struct buf *b, const struct btf_info *t,
                           enum c_mode mode)
{
	u32 align = mode == C_PLAIN ? c_shape_align(&d->shapes, t->id) : 1;
	u64 pos = 0, size = (u64)t->size * 8;
	struct btf_field f;
	bool pad;

	for (u32 i = 0; btf_field(d->btf, t, i, &f); i++) {
		u64 from = pos;

		if (c_shape_omits(d->btf, &f) || !c_shape_step(&d->shapes, mode, &f, &pos, &pad))
			continue;
		if (pad)
			padding(d, b, from, f.bit_off, align);
		member(d, b, &f);
	}
	if (ROUND_UP(pos, (u64)align * 8) < size)
		padding(d, b, pos, size, align);
}

static void union_members(struct c_dump *d, struct buf *b, const struct btf_info *t)
{
	struct btf_field f;
	u64 size = 0;
	u32 align = c_shape_align(&d->shapes, t->id);

	for (u32 i = 0; btf_field(d->btf, t, i, &f); i++) {
		if (c_shape_omits(d->btf, &f))
			continue;
		member(d, b, &f);
		size = MAX(size,
		           f.bit_size ? (f.bit_size + 7) / 8 : c_shape_size(&d->shapes, f.type));
	}
	if (ROUND_UP(size, (u64)align) < t->size)
		hole(d, b, t->size);
}

static void composite(struct c_dump *d, struct buf *b, const struct btf_info *t)
{
	enum c_mode mode = c_shape_mode(&d->shapes, t->id);

	buf_puts(b, " {\n");
	d->depth++;
	if (mode == C_OPAQUE || d->depth > DEPTH_MAX || !c_work_take(&d->work, t->vlen))
		hole(d, b, t->size);
	else if (t->kind == BTF_KIND_UNION)
		union_members(d, b, t);
	else
		struct_members(d, b, t, mode);
	d->depth--;
	indent(d, b);
	buf_puts(b, mode == C_PACKED ? "} __attribute__((packed))" : "}");
}

/* ---- enums ---------------------------------------------------------------------------------- */

static void value(struct buf *b, s64 n, bool is_signed)
{
	if (!is_signed || n >= 0) {
		c_decl_number(b, (u64)n);
		if (n < 0)
			buf_puts(b, "ULL");
	} else if (n == INT64_MIN) {
		buf_puts(b, "-9223372036854775807LL - 1");
	} else {
		buf_putc(b, '-');
		c_decl_number(b, (u64)-n);
	}
}

/* The attribute that gives an enum a size other than its values' own. */
static const char *size_attribute(u32 size, s64 min, s64 max, bool is_signed)
{
	bool wide = is_signed && min < 0 ? min < INT32_MIN || max > INT32_MAX
	                                 : (u64)max > UINT32_MAX;

	if (size == (wide ? 8 : 4))
		return "";
	switch (size) {
	case 1:
		return " __attribute__((mode(QI)))";
	case 2:
		return " __attribute__((mode(HI)))";
	case 8:
		return " __attribute__((mode(DI)))";
	default:
		return "";
	}
}

static void no_constants(const struct c_dump *d, struct buf *b, const struct btf_info *t)
{
	indent(d, b);
	buf_puts(b, "__enum_");
	c_decl_number(b, t->id);
	buf_puts(b, ",\n");
}

static void enumeration(struct c_dump *d, struct buf *b, const struct btf_info *t)
{
	struct btf_enumerator v;
	s64 min = 0, max = 0;

	buf_puts(b, " {\n");
	d->depth++;
	if (!t->vlen) /* C wants one */
		no_constants(d, b, t);
	c_work_take(&d->work, t->vlen);
	for (u32 i = 0; !d->work.out && btf_enumerator(d->btf, t, i, &v); i++) {
		indent(d, b);
		buf_puts(b, c_names_enumerator(&d->names, &v));
		buf_puts(b, " = ");
		value(b, v.value, t->kind_flag);
		buf_puts(b, ",\n");
		min = MIN(min, v.value);
		if (t->kind_flag ? v.value > max : (u64)v.value > (u64)max)
			max = v.value;
	}
	d->depth--;
	indent(d, b);
	buf_putc(b, '}');
	buf_puts(b, size_attribute(t->size, min, max, t->kind_flag));
	d->state[t->id] |= 1;
}

/* ---- all ------------------------------------------------------------------------------------ */

static void braces(struct c_dump *d, struct buf *b, const struct btf_info *t)
{
	if (t->kind == BTF_KIND_STRUCT || t->kind == BTF_KIND_UNION)
		composite(d, b, t);
	else
		enumeration(d, b, t);
}

static void write_body(void *ctx, struct buf *b, const struct btf_info *t)
{
	braces(ctx, b, t);
}

static const char *write_name(void *ctx, const struct btf_info *t)
{
	struct c_dump *d = ctx;

	return c_names_of(&d->names, t);
}

bool c_dump_init(struct c_dump *d, const struct btf *btf)
{
	*d = (struct c_dump){ .btf = btf };
	d->style = (struct c_style){ .name = write_name, .body = write_body, .ctx = d };
	d->style.work = &d->work;
	c_work_add(&d->work, btf);
	d->state = calloc(btf_count(btf), 1);
	return c_names_init(&d->names, btf) && c_shapes_init(&d->shapes, btf) && d->state;
}

void c_dump_free(struct c_dump *d)
{
	free(d->state);
	c_shapes_free(&d->shapes);
	c_names_free(&d->names);
}

void c_dump_define(struct c_dump *d, struct buf *b, const struct btf_info *t)
{
	d->depth = 0;
	d->holes = 0;
	buf_puts(b, c_decl_tag(t));
	if (*t->name) {
		buf_putc(b, ' ');
		buf_puts(b, c_names_of(&d->names, t));
	}
	braces(d, b, t);
}
