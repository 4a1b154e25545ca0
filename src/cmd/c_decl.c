/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * C declarations are written from the inside out: what stands left of the name, the name, and what
 * stands right of it. BTF's chain from a type to what it is made of gives both: each link adds to
 * the left side after those below it, or to the right side before them.
 *
 *     PTR -> ARRAY[4] -> PTR -> INT        left: int *(*   right: )[4]
 *
 * Does not print the bodies of types; whoever wants them gives a function for it.
 */
#include "cmd/c_decl.h"

#include <string.h>

#define DEPTH_MAX 64u

struct decl {
	struct buf *b;
	const struct btf *btf;
	const struct c_style *style;
};

static void left(struct decl *d, u32 id, u32 depth);
static void right(struct decl *d, u32 id, u32 depth);

const char *c_decl_tag(const struct btf_info *t)
{
	switch (t->kind) {
	case BTF_KIND_STRUCT:
		return "struct";
	case BTF_KIND_UNION:
		return "union";
	case BTF_KIND_FWD:
		return t->kind_flag ? "union" : "struct";
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return "enum";
	default:
		return "";
	}
}

void c_decl_number(struct buf *b, u64 n)
{
	char text[20], *p = text + sizeof(text);

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	buf_add(b, p, (size_t)(text + sizeof(text) - p));
}

/* A blank where two words would touch. */
static void gap(struct buf *b)
{
	char last = b->n ? b->p[b->n - 1] : ' ';

	if (last != ' ' && last != '*' && last != '(' && last != '\t' && last != '\n')
		buf_putc(b, ' ');
}

static bool is_cv(u32 kind)
{
	return kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE || kind == BTF_KIND_RESTRICT ||
	       kind == BTF_KIND_TYPE_TAG;
}

/* The kind behind const, volatile, restrict and tags; 0 for void. */
static u32 kind_behind(const struct btf *btf, u32 id)
{
	struct btf_info t = { 0 };

	for (u32 i = 0; i < 32; i++) {
		if (!id || !btf_info(btf, id, &t))
			return 0;
		if (!is_cv(t.kind))
			return t.kind;
		id = t.type;
	}
	return 0;
}

static bool wants_parentheses(const struct btf *btf, u32 target)
{
	u32 kind = kind_behind(btf, target);

	return kind == BTF_KIND_ARRAY || kind == BTF_KIND_FUNC_PROTO;
}

static void base(struct decl *d, const struct btf_info *t)
{
	const char *tag = c_decl_tag(t);

	buf_puts(d->b, tag);
	if (*t->name) {
		if (*tag)
			buf_putc(d->b, ' ');
		buf_puts(d->b, d->style->name ? d->style->name(d->style->ctx, t) : t->name);
	} else if (d->style->body && *tag) {
		d->style->body(d->style->ctx, d->b, t);
	} else {
		buf_puts(d->b, *tag ? " {...}" : "?");
	}
}

/* Has just this word been written? const of an array of const elements says it twice. */
static bool ends_with(const struct buf *b, const char *word)
{
	size_t n = strlen(word);

	return b->n > n && b->p[b->n - 1] == ' ' && memcmp(b->p + b->n - n - 1, word, n) == 0;
}

static void qualified(struct decl *d, const struct btf_info *t, u32 depth)
{
	const char *word = t->kind == BTF_KIND_CONST ? "const" : "volatile";
	bool pointer = kind_behind(d->btf, t->type) == BTF_KIND_PTR;

	if (t->kind == BTF_KIND_RESTRICT)
		word = pointer ? "restrict" : "";
	if (!pointer && *word && !ends_with(d->b, word)) {
		buf_puts(d->b, word);
		buf_putc(d->b, ' ');
	}
	left(d, t->type, depth + 1);
	if (pointer) {
		gap(d->b);
		buf_puts(d->b, word);
	}
}

static void tagged(struct decl *d, const struct btf_info *t, u32 depth)
{
	left(d, t->type, depth + 1);
	if (d->style->tags && !t->kind_flag) {
		gap(d->b);
		buf_puts(d->b, "__");
		buf_puts(d->b, t->name);
	}
}

static void left(struct decl *d, u32 id, u32 depth)
{
	struct btf_info t;
	u32 elem = 0, index, count;

	if (!id || depth > DEPTH_MAX || !btf_info(d->btf, id, &t)) {
		buf_puts(d->b, id ? "?" : "void");
		return;
	}
	switch (t.kind) {
	case BTF_KIND_PTR:
		left(d, t.type, depth + 1);
		gap(d->b);
		buf_puts(d->b, wants_parentheses(d->btf, t.type) ? "(*" : "*");
		break;
	case BTF_KIND_ARRAY:
		btf_array_of(d->btf, &t, &elem, &index, &count);
		left(d, elem, depth + 1);
		break;
	case BTF_KIND_FUNC_PROTO:
		left(d, t.type, depth + 1);
		break;
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
		qualified(d, &t, depth);
		break;
	case BTF_KIND_TYPE_TAG:
		tagged(d, &t, depth);
		break;
	default:
		base(d, &t);
		break;
	}
}

static void arguments(struct decl *d, const struct btf_info *t, u32 depth)
{
	struct btf_arg a;

	buf_putc(d->b, '(');
	for (u32 i = 0; btf_arg(d->btf, t, i, &a); i++) {
		if (i)
			buf_puts(d->b, ", ");
		if (!a.type && i + 1 == t->vlen) {
			buf_puts(d->b, "...");
			break;
		}
		left(d, a.type, depth + 1);
		if (*a.name) {
			gap(d->b);
			buf_puts(d->b, a.name);
		}
		right(d, a.type, depth + 1);
	}
	buf_puts(d->b, t->vlen ? ")" : "void)");
}

static void right(struct decl *d, u32 id, u32 depth)
{
	struct btf_info t;
	u32 elem, index, count;

	if (!id || depth > DEPTH_MAX || !btf_info(d->btf, id, &t))
		return;
	if (t.kind == BTF_KIND_PTR) {
		if (wants_parentheses(d->btf, t.type))
			buf_putc(d->b, ')');
		right(d, t.type, depth + 1);
	} else if (t.kind == BTF_KIND_ARRAY && btf_array_of(d->btf, &t, &elem, &index, &count)) {
		buf_putc(d->b, '[');
		if (count || !d->style->flexible)
			c_decl_number(d->b, count);
		buf_putc(d->b, ']');
		right(d, elem, depth + 1);
	} else if (t.kind == BTF_KIND_FUNC_PROTO) {
		arguments(d, &t, depth);
		right(d, t.type, depth + 1);
	} else if (is_cv(t.kind)) {
		right(d, t.type, depth + 1);
	}
}

void c_decl(struct buf *b, const struct btf *btf, const struct c_style *style, u32 id,
            const char *name)
{
	struct decl d = { b, btf, style };

	left(&d, id, 0);
	if (*name) {
		gap(b);
		buf_puts(b, name);
	}
	right(&d, id, 0);
}
