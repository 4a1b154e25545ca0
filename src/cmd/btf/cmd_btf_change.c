/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each type becomes a list of lines with a key: members (anonymous ones opened) with place and type
 * text, enumerators with their value, or one declaration. Two lists are compared by key. So what
 * counts as a change is what a reader of the type would see.
 */
#include "cmd/btf/cmd_btf_change.h"

#include <string.h>

#include "base/arena.h"
#include "base/hmap.h"
#include "ctext/c_decl.h"
#include "cmd/btf/cmd_btf.h"

#define DEPTH_MAX 16u /* of anonymous members in each other */

struct item {
	const char *name;
	const char *type; /* a member's; NULL for enumerators */
	u64 at;           /* a member's bit, an enumerator's value */
	u32 bits;         /* of a bit-field */
	bool kept;        /* found on the other side */
};

struct list {
	const struct btf *btf;
	struct arena *arena;
	struct c_style plain;
	VEC(struct item) v;
	const char *decl; /* of functions and typedefs, else NULL */
	u32 size;
	bool is_signed;
};

/* ---- lists ---------------------------------------------------------------------------------- */

static const char *declaration(struct list *l, u32 id, const char *name)
{
	struct buf b = { 0 };
	const char *text;

	c_decl(&b, l->btf, &l->plain, id, name);
	text = arena_strdup(l->arena, buf_text(&b));
	buf_free(&b);
	return text;
}

/* `base`: bits from the start of the outermost type. */
static void add_members(struct list *l, const struct btf_info *t, u64 base, u32 depth)
{
	struct btf_info in;
	struct btf_field f;

	c_work_take(l->plain.work, t->vlen);
	for (u32 i = 0; !l->plain.work->out && btf_field(l->btf, t, i, &f); i++) {
		u64 at = base + f.bit_off;

		if (*f.name) {
			struct item one = { f.name, declaration(l, f.type, ""), at, f.bit_size,
				            false };

			vec_add(l->arena, &l->v, one);
		} else if (depth < DEPTH_MAX && btf_info(l->btf, btf_skip(l->btf, f.type), &in)) {
			add_members(l, &in, at, depth + 1);
		}
	}
}

static void add_values(struct list *l, const struct btf_info *t)
{
	struct btf_enumerator v;

	l->is_signed = t->kind_flag;
	c_work_take(l->plain.work, t->vlen);
	for (u32 i = 0; !l->plain.work->out && btf_enumerator(l->btf, t, i, &v); i++) {
		struct item one = { v.name, NULL, (u64)v.value, 0, false };

		vec_add(l->arena, &l->v, one);
	}
}

static void fill(struct list *l, const struct btf_info *t)
{
	struct btf_info under;

	l->size = t->size;
	switch (t->kind) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		add_members(l, t, 0, 0);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		add_values(l, t);
		break;
	case BTF_KIND_TYPEDEF:
		l->decl = declaration(l, t->type, t->name);
		if (btf_info(l->btf, t->type, &under) && !*under.name && *c_decl_tag(&under))
			fill(l, &under);
		break;
	default:
		l->decl = declaration(l, t->type, t->name);
		break;
	}
}

/* ---- comparing ------------------------------------------------------------------------------ */

static void place(struct buf *o, const struct item *i)
{
	buf_printf(o, "%llu", (unsigned long long)i->at / 8);
	if (i->at % 8 || i->bits)
		buf_printf(o, ":%llu", (unsigned long long)i->at % 8);
}

static void value(struct buf *o, const struct list *l, const struct item *i)
{
	if (l->is_signed)
		buf_printf(o, "%lld", (long long)i->at);
	else
		buf_printf(o, "%llu", (unsigned long long)i->at);
}

static void one_side(struct buf *o, char sign, const struct list *l, const struct item *i)
{
	buf_printf(o, "  %c %s", sign, i->name);
	if (i->type) {
		buf_printf(o, ": %s", i->type);
		if (i->bits)
			buf_printf(o, " : %u", i->bits);
		buf_puts(o, " at ");
		place(o, i);
	} else {
		buf_puts(o, " = ");
		value(o, l, i);
	}
	buf_putc(o, '\n');
}

static void both_sides(struct buf *o, const struct list *la, const struct item *a,
                       const struct list *lb, const struct item *b)
{
	bool retyped = a->type && strcmp(a->type, b->type) != 0;

	if (a->at == b->at && a->bits == b->bits && !retyped)
		return;
	buf_printf(o, "  ~ %s:", a->name);
	if (retyped)
		buf_printf(o, " type %s -> %s", a->type, b->type);
	if (a->bits != b->bits)
		buf_printf(o, "%s bits %u -> %u", retyped ? "," : "", a->bits, b->bits);
	if (a->at != b->at) {
		buf_puts(o, retyped || a->bits != b->bits ? ", " : " ");
		buf_puts(o, a->type ? "offset " : "");
		a->type ? place(o, a) : value(o, la, a);
		buf_puts(o, " -> ");
		a->type ? place(o, b) : value(o, lb, b);
	}
	buf_putc(o, '\n');
}

static void items(struct buf *o, struct list *a, struct list *b)
{
	struct hmap by_name = { 0 };

	for (u32 i = 0; i < b->v.n; i++)
		hmap_put(&by_name, b->v.v[i].name, strlen(b->v.v[i].name), &b->v.v[i]);
	for (u32 i = 0; i < a->v.n; i++) {
		struct item *one = &a->v.v[i], *other;
		void **found = hmap_find(&by_name, one->name, strlen(one->name));

		if (!found) {
			one_side(o, '-', a, one);
			continue;
		}
		other = *found;
		other->kept = true;
		both_sides(o, a, one, b, other);
	}
	for (u32 i = 0; i < b->v.n; i++)
		if (!b->v.v[i].kept)
			one_side(o, '+', b, &b->v.v[i]);
	hmap_free(&by_name);
}

static void compare(struct buf *o, struct list *a, struct list *b)
{
	if (a->decl && b->decl && strcmp(a->decl, b->decl) != 0)
		buf_printf(o, "  - %s;\n  + %s;\n", a->decl, b->decl);
	items(o, a, b);
}

void cmd_btf_change(struct buf *out, const struct btf *a, u32 id_a, const struct btf *b, u32 id_b,
                    struct c_work *w)
{
	struct arena arena = { 0 };
	struct list la = { .btf = a, .arena = &arena }, lb = { .btf = b, .arena = &arena };
	struct buf changes = { 0 };
	struct btf_info ta, tb;

	if (!btf_info(a, id_a, &ta) || !btf_info(b, id_b, &tb))
		return;
	la.plain = lb.plain = (struct c_style){ .work = w, .tags = true };
	fill(&la, &ta);
	fill(&lb, &tb);
	compare(&changes, &la, &lb);
	if (changes.n || la.size != lb.size) {
		buf_printf(out, "~ %s %s", cmd_btf_kind(ta.kind), ta.name);
		if (la.size != lb.size)
			buf_printf(out, ": size %u -> %u", la.size, lb.size);
		buf_putc(out, '\n');
		buf_add(out, buf_text(&changes), changes.n);
	}
	buf_free(&changes);
	arena_free(&arena);
}
