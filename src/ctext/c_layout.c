/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A struct as pahole has taught people to read it: C, with offset and size of each member in a
 * comment, the holes between members, and where cachelines begin. Anonymous structs and unions are
 * opened in place, with offsets from the start of the outermost type. What the compiler was asked
 * for (alignment, packing) is not guessed at.
 */
#include "ctext/c_layout.h"

#include <string.h>

#include "ctext/c_decl.h"

#define CACHELINE   64u
#define NAME_COL    35u
#define COMMENT_COL 57u
#define DEPTH_MAX   16u

/* One struct while its members are printed. */
struct level {
	u64 base;     /* bits: where it starts in the outermost type */
	u64 end;      /* bits: of the last member, from its own start */
	u64 unit_end; /* bits: of the last bit-field's storage; 0 after other members */
	u32 members, holes, bit_holes, paddings;
	u64 sum, sum_holes, sum_bits, sum_bit_holes, sum_paddings;
};

struct layout {
	struct buf *b;
	const struct btf *btf;
	struct c_style open, closed; /* with anonymous types opened in place, and without */
	struct c_work *work;
	u32 depth;
	u64 base;      /* of the member being declared, for what is opened in it */
	u32 cacheline; /* the last one announced */
};

static void members(struct layout *l, struct level *v, const struct btf_info *t);

/* ---- lines ---------------------------------------------------------------------------------- */

static u32 column(const struct buf *b)
{
	size_t i = b->n;
	u32 col = 0;

	while (i && b->p[i - 1] != '\n')
		i--;
	for (; i < b->n; i++)
		col = b->p[i] == '\t' ? (col + 8) & ~7u : col + 1;
	return col;
}

static void to_column(struct buf *b, u32 want)
{
	u32 col = column(b);

	buf_fill(b, ' ', col < want ? want - col : 1);
}

static void indent(struct layout *l)
{
	buf_fill(l->b, '\t', l->depth);
}

static const char *plural(u64 n)
{
	return n == 1 ? "" : "s";
}

/* "before N bytes after" between blank lines; remarks that follow each other share them. */
static void remark(struct layout *l, const char *before, u64 n, const char *unit, const char *after)
{
	if (l->b->n > 2 && memcmp(l->b->p + l->b->n - 2, "\n\n", 2) != 0)
		buf_putc(l->b, '\n');
	indent(l);
	buf_printf(l->b, "/* XXX %s%llu %s%s %s */\n\n", before, (unsigned long long)n, unit,
	           plural(n), after);
}

/* ---- holes and cachelines ------------------------------------------------------------------- */

static void bit_hole(struct layout *l, struct level *v, u64 bits)
{
	if (!bits)
		return;
	v->bit_holes++;
	v->sum_bit_holes += bits;
	remark(l, "", bits, "bit", "hole, try to pack");
}

static void byte_hole(struct layout *l, struct level *v, u64 bytes)
{
	if (!bytes)
		return;
	v->holes++;
	v->sum_holes += bytes;
	remark(l, "", bytes, "byte", "hole, try to pack");
}

/* Between the last member's end and bit `off`: the rest of a bit-field's storage, then bytes. */
static void gap_before(struct layout *l, struct level *v, u64 off)
{
	u64 rest;

	if (off <= v->end)
		return;
	if (v->unit_end > v->end) {
		rest = MIN(off, v->unit_end) - v->end;
		bit_hole(l, v, rest);
		v->end += rest;
	}
	byte_hole(l, v, (off - v->end) / 8);
	bit_hole(l, v, (off - v->end) % 8);
}

static void cacheline_before(struct layout *l, u64 bit)
{
	u64 byte = bit / 8;
	u32 line = (u32)(byte / CACHELINE);

	if (line <= l->cacheline)
		return;
	l->cacheline = line;
	indent(l);
	buf_printf(l->b, "/* --- cacheline %u boundary (%u bytes)", line, line * CACHELINE);
	if (byte % CACHELINE)
		buf_printf(l->b, " was %llu byte%s ago", (unsigned long long)(byte % CACHELINE),
		           plural(byte % CACHELINE));
	buf_puts(l->b, " --- */\n");
}

/* ---- members -------------------------------------------------------------------------------- */

/* Is it an anonymous struct or union itself, or an array of it? */
static bool opens(const struct btf *btf, u32 id)
{
	struct btf_info t;
	u32 index, count;

	for (u32 i = 0; i < 8 && btf_info(btf, id, &t); i++) {
		if (t.kind == BTF_KIND_ARRAY)
			btf_array_of(btf, &t, &id, &index, &count);
		else if (t.kind == BTF_KIND_CONST || t.kind == BTF_KIND_VOLATILE)
			id = t.type;
		else
			return !*t.name && (t.kind == BTF_KIND_STRUCT || t.kind == BTF_KIND_UNION ||
			                    t.kind == BTF_KIND_ENUM);
	}
	return false;
}

/* The type in its column, then the name with what surrounds it: "(*fn)(void *)", "name[4]". */
static void declare(struct layout *l, const struct btf_field *f)
{
	struct buf d = { 0 };
	char *name;
	size_t n;

	if (opens(l->btf, f->type)) {
		c_decl(l->b, l->btf, &l->open, f->type, f->name);
		return;
	}
	c_decl(&d, l->btf, &l->closed, f->type, "\1");
	name = strchr(buf_text(&d), '\1');
	n = (size_t)(name - d.p);
	if (n >= 2 && memcmp(name - 2, "(*", 2) == 0) {
		n -= 2;
		buf_add(l->b, d.p, n);
		to_column(l->b, NAME_COL);
		buf_puts(l->b, "(*");
	} else {
		buf_add(l->b, d.p, n);
		if (n && d.p[n - 1] == ' ')
			l->b->n--;
		to_column(l->b, NAME_COL);
	}
	buf_puts(l->b, f->name);
	buf_puts(l->b, name + 1);
	buf_free(&d);
}

static void place(struct layout *l, const struct level *v, const struct btf_field *f, u64 size)
{
	u64 bit = v->base + f->bit_off;
	u64 unit = size ? bit / (size * 8) * size : bit / 8;

	to_column(l->b, COMMENT_COL);
	if (f->bit_size)
		buf_printf(l->b, "/* %5llu:%2llu %2llu */\n", (unsigned long long)unit,
		           (unsigned long long)(bit - unit * 8), (unsigned long long)size);
	else
		buf_printf(l->b, "/* %5llu %5llu */\n", (unsigned long long)(bit / 8),
		           (unsigned long long)size);
}

/* Bytes after the last member of a struct that is a member. */
static u32 padding_of(struct c_work *w, const struct btf *btf, u32 id)
{
	struct btf_info t;
	struct btf_field f;
	u64 end = 0, bits;

	if (!btf_info(btf, btf_skip(btf, id), &t) || t.kind != BTF_KIND_STRUCT ||
	    !c_work_take(w, t.vlen))
		return 0;
	for (u32 i = 0; btf_field(btf, &t, i, &f); i++) {
		bits = (u64)btf_size(btf, f.type) * 8;
		if (f.bit_size && bits) /* with all of its storage */
			bits -= f.bit_off % bits;
		end = MAX(end, f.bit_off + bits);
	}
	end = (end + 7) / 8;
	return t.vlen && end < t.size ? t.size - (u32)end : 0;
}

static void one_member(struct layout *l, struct level *v, const struct btf_field *f)
{
	u32 size = btf_size(l->btf, f->type);
	u64 outer = l->base;

	indent(l);
	l->base = v->base + f->bit_off;
	declare(l, f);
	l->base = outer;
	if (f->bit_size)
		buf_printf(l->b, ":%u", f->bit_size);
	buf_putc(l->b, ';');
	place(l, v, f, size);
}

static void count_member(struct layout *l, struct level *v, const struct btf_field *f)
{
	u64 size = btf_size(l->btf, f->type);
	u32 padding;

	v->end = MAX(v->end, f->bit_off + (f->bit_size ? f->bit_size : size * 8));
	v->unit_end = 0;
	if (f->bit_size) {
		v->sum_bits += f->bit_size;
		v->unit_end = size ? (f->bit_off / (size * 8) + 1) * size * 8 : 0;
		return;
	}
	v->sum += size;
	padding = padding_of(l->work, l->btf, f->type);
	if (!padding)
		return;
	v->paddings++;
	v->sum_paddings += padding;
	remark(l, "last struct has ", padding, "byte", "of padding");
}

static void members(struct layout *l, struct level *v, const struct btf_info *t)
{
	u32 cacheline = l->cacheline;
	struct btf_field f;

	for (u32 i = 0; btf_field(l->btf, t, i, &f); i++) {
		v->members++;
		if (t->kind == BTF_KIND_UNION)
			l->cacheline = cacheline; /* each starts where the union does */
		if (t->kind == BTF_KIND_STRUCT) {
			gap_before(l, v, f.bit_off);
			cacheline_before(l, v->base + f.bit_off);
		}
		one_member(l, v, &f);
		if (t->kind == BTF_KIND_STRUCT)
			count_member(l, v, &f);
	}
}

/* What stands between the braces of an anonymous type. */
static void open_body(void *ctx, struct buf *b, const struct btf_info *t)
{
	struct layout *l = ctx;
	struct level v = { .base = l->base };
	struct btf_enumerator e;

	if (l->depth > DEPTH_MAX || !c_work_take(l->work, t->vlen)) {
		buf_puts(b, " {...}");
		return;
	}
	buf_puts(b, " {\n");
	l->depth++;
	members(l, &v, t);
	for (u32 i = 0; btf_enumerator(l->btf, t, i, &e); i++) {
		indent(l);
		buf_printf(b, "%s = %lld,\n", e.name, (long long)e.value);
	}
	if (b->p[b->n - 2] == '\n') /* no blank line before the brace */
		b->n--;
	l->depth--;
	indent(l);
	buf_putc(b, '}');
}

/* ---- the end -------------------------------------------------------------------------------- */

static void summary_holes(struct buf *b, const struct level *v)
{
	if (!v->holes && !v->bit_holes)
		return;
	buf_printf(b, "\t/* sum members: %llu", (unsigned long long)v->sum);
	if (v->holes)
		buf_printf(b, ", holes: %u, sum holes: %llu", v->holes,
		           (unsigned long long)v->sum_holes);
	buf_puts(b, " */\n");
	if (!v->sum_bits)
		return;
	buf_printf(b, "\t/* sum bitfield members: %llu bits", (unsigned long long)v->sum_bits);
	if (v->bit_holes)
		buf_printf(b, ", bit holes: %u, sum bit holes: %llu bits", v->bit_holes,
		           (unsigned long long)v->sum_bit_holes);
	else
		buf_printf(b, " (%llu bytes)", (unsigned long long)v->sum_bits / 8);
	buf_puts(b, " */\n");
}

static void summary(struct buf *b, const struct level *v, const struct btf_info *t)
{
	u64 end = MAX(v->end, v->unit_end), used = (end + 7) / 8;
	u32 lines = (t->size + CACHELINE - 1) / CACHELINE;

	buf_printf(b, "\n\t/* size: %u, cachelines: %u, members: %u */\n", t->size, lines, t->vlen);
	if (t->kind == BTF_KIND_STRUCT) {
		summary_holes(b, v);
		if (t->vlen && used < t->size)
			buf_printf(b, "\t/* padding: %llu */\n",
			           (unsigned long long)(t->size - used));
		if (end > v->end)
			buf_printf(b, "\t/* bit_padding: %llu bits */\n",
			           (unsigned long long)(end - v->end));
		if (v->paddings)
			buf_printf(b, "\t/* paddings: %u, sum paddings: %llu */\n", v->paddings,
			           (unsigned long long)v->sum_paddings);
	}
	if (t->size % CACHELINE)
		buf_printf(b, "\t/* last cacheline: %u bytes */\n", t->size % CACHELINE);
}

void c_layout_print(struct buf *b, const struct btf *btf, const struct btf_info *t,
                    struct c_work *w)
{
	struct layout l = { .b = b, .btf = btf, .work = w, .depth = 1 };
	struct level v = { 0 };

	l.closed = (struct c_style){ .work = w, .tags = true, .flexible = true };
	l.open = l.closed;
	l.open.body = open_body;
	l.open.ctx = &l;
	buf_printf(b, "%s%s%s {\n", c_decl_tag(t), *t->name ? " " : "", t->name);
	members(&l, &v, t);
	if (b->n > 2 && b->p[b->n - 2] == '\n')
		b->n--;
	summary(b, &v, t);
	buf_putc(b, '}');
}
