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
#include "ctext/c_decl.h"

#include <string.h>

#define CHAIN_MAX 64u
#define DEPTH_MAX 32u /* of prototypes in each other */

/* One declaration. */
struct decl {
	struct buf *b;
	const struct btf *btf;
	const struct c_style *style;
	u32 depth;
	u32 n;                            /* links of the chain */
	bool whole;                       /* it ends in a type or void */
	struct btf_info chain[CHAIN_MAX]; /* from the type asked about to what it is made of */
};

static void declare(struct decl *d, u32 id, const char *name);

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

/* From a type to the next it is made of; false at the end of the chain. */
static bool next_link(const struct btf *btf, const struct btf_info *t, u32 *id)
{
	u32 index, count;

	if (t->kind == BTF_KIND_ARRAY)
		return btf_array_of(btf, t, id, &index, &count);
	*id = t->type;
	return is_cv(t->kind) || t->kind == BTF_KIND_PTR || t->kind == BTF_KIND_FUNC_PROTO;
}

static void read_chain(struct decl *d, u32 id)
{
	for (d->n = 0; d->n < CHAIN_MAX; d->n++) {
		if (!id || !btf_info(d->btf, id, &d->chain[d->n])) {
			d->whole = !id;
			return;
		}
		if (!next_link(d->btf, &d->chain[d->n], &id)) {
			d->n++;
			d->whole = true;
			return;
		}
	}
	d->whole = false;
}

/* The kind at link i, behind const, volatile, restrict and tags; 0 for void. */
static u32 kind_at(const struct decl *d, u32 i)
{
	while (i < d->n && is_cv(d->chain[i].kind))
		i++;
	return i < d->n ? d->chain[i].kind : 0;
}

static bool wants_parentheses(const struct decl *d, u32 target)
{
	u32 kind = kind_at(d, target);

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

static void left(struct decl *d, u32 i);

static void qualified(struct decl *d, u32 i)
{
	const char *word = d->chain[i].kind == BTF_KIND_CONST ? "const" : "volatile";
	bool pointer = kind_at(d, i) == BTF_KIND_PTR;

	if (d->chain[i].kind == BTF_KIND_RESTRICT)
		word = pointer ? "restrict" : "";
	if (!pointer && *word && !ends_with(d->b, word)) {
		buf_puts(d->b, word);
		buf_putc(d->b, ' ');
	}
	left(d, i + 1);
	if (pointer) {
		gap(d->b);
		buf_puts(d->b, word);
	}
}

static void tagged(struct decl *d, u32 i)
{
	left(d, i + 1);
	if (d->style->tags && !d->chain[i].kind_flag) {
		gap(d->b);
		buf_puts(d->b, "__");
		buf_puts(d->b, d->chain[i].name);
	}
}

/* What stands left of the name, for the chain from link i on. */
static void left(struct decl *d, u32 i)
{
	if (i >= d->n) {
		buf_puts(d->b, d->whole ? "void" : "?");
		return;
	}
	switch (d->chain[i].kind) {
	case BTF_KIND_PTR:
		left(d, i + 1);
		gap(d->b);
		buf_puts(d->b, wants_parentheses(d, i + 1) ? "(*" : "*");
		break;
	case BTF_KIND_ARRAY:
	case BTF_KIND_FUNC_PROTO:
		left(d, i + 1);
		break;
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
		qualified(d, i);
		break;
	case BTF_KIND_TYPE_TAG:
		tagged(d, i);
		break;
	default:
		base(d, &d->chain[i]);
		break;
	}
}

static void arguments(struct decl *d, const struct btf_info *t)
{
	struct decl inner; /* its chain is filled as far as it goes, not cleared */
	struct btf_arg a;

	inner.b = d->b;
	inner.btf = d->btf;
	inner.style = d->style;
	inner.depth = d->depth + 1;
	buf_putc(d->b, '(');
	for (u32 i = 0; inner.depth < DEPTH_MAX && btf_arg(d->btf, t, i, &a); i++) {
		if (i)
			buf_puts(d->b, ", ");
		if (!c_work_take(d->style->work, 1) || (!a.type && i + 1 == t->vlen)) {
			buf_puts(d->b, "...");
			break;
		}
		declare(&inner, a.type, a.name);
	}
	buf_puts(d->b, t->vlen ? ")" : "void)");
}

static void brackets(struct decl *d, const struct btf_info *t)
{
	u32 elem, index, count;

	if (!btf_array_of(d->btf, t, &elem, &index, &count))
		return;
	buf_putc(d->b, '[');
	if (count || !d->style->flexible)
		c_decl_number(d->b, count);
	buf_putc(d->b, ']');
}

static void right(struct decl *d)
{
	for (u32 i = 0; i < d->n; i++) {
		const struct btf_info *t = &d->chain[i];

		if (t->kind == BTF_KIND_PTR && wants_parentheses(d, i + 1))
			buf_putc(d->b, ')');
		else if (t->kind == BTF_KIND_ARRAY)
			brackets(d, t);
		else if (t->kind == BTF_KIND_FUNC_PROTO)
			arguments(d, t);
	}
}

static void declare(struct decl *d, u32 id, const char *name)
{
	read_chain(d, id);
	left(d, 0);
	if (*name) {
		gap(d->b);
		buf_puts(d->b, name);
	}
	right(d);
}

void c_decl(struct buf *b, const struct btf *btf, const struct c_style *style, u32 id,
            const char *name)
{
	struct decl d;

	d.b = b;
	d.btf = btf;
	d.style = style;
	d.depth = 0;
	declare(&d, id, name);
}
