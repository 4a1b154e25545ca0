/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Paths from a value to one inside it or behind its pointers, as C writes them.
 *
 *     path  = step { "." step | "->" step | "[" number "]" }
 *     step  = a member's name
 *
 * The one idea: a path is a list of hops, each with its offset from where the last pointer led, so
 * that whoever reads memory adds offsets up to the next `deref` and reads there.
 */
#include "btf/btf_impl.h"

#include <ctype.h>
#include <stdlib.h>

struct walk {
	const struct btf *b;
	const char *text, *at;
	struct btf_path *p;
	struct btf_error *e;
	u32 type; /* where we are, as declared */
	u64 off;  /* bits from where the last pointer led */
	bool deref;
};

static struct btf_hop *hop_new(struct walk *w)
{
	struct btf_hop *h;

	if (w->p->n == BTF_PATH_MAX) {
		btf_fail(w->e, "the path has more than %u steps", BTF_PATH_MAX);
		return NULL;
	}
	h = &w->p->hop[w->p->n];
	memset(h, 0, sizeof(*h));
	h->name = "";
	h->deref = w->deref;
	w->deref = false;
	return h;
}

static bool hop_done(struct walk *w, struct btf_hop *h, u64 step)
{
	w->off = (h->deref ? 0 : w->off) + step;
	if (w->off > UINT32_MAX)
		return btf_fail(w->e, "the offset of '%.*s' is too large", (int)(w->at - w->text),
		                w->text);
	h->step_off = (u32)step;
	h->bit_off = (u32)w->off;
	w->type = h->type;
	w->p->n++;
	return true;
}

/* "struct file", for messages. */
static const char *keyword(u32 kind)
{
	switch (kind) {
	case BTF_KIND_STRUCT:
		return "struct ";
	case BTF_KIND_UNION:
		return "union ";
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return "enum ";
	case BTF_KIND_FWD:
		return "forward declaration ";
	case BTF_KIND_PTR:
		return "pointer";
	case BTF_KIND_ARRAY:
		return "array";
	case BTF_KIND_FUNC_PROTO:
		return "function";
	default:
		return "";
	}
}

/* The type where we are, modifiers off, a forward declaration completed. */
static bool here(struct walk *w, struct btf_info *t)
{
	u32 id = btf_skip(w->b, w->type);

	*t = (struct btf_info){ .name = "" };
	if (!id || !btf_info(w->b, id, t))
		return btf_fail(w->e, "'%.*s' has no type to go on from", (int)(w->at - w->text),
		                w->text);
	if (t->kind == BTF_KIND_FWD) {
		id = btf_find(w->b, t->kind_flag ? BTF_KIND_UNION : BTF_KIND_STRUCT, t->name);
		if (id && !btf_info(w->b, id, t))
			return btf_fail(w->e, "type %u is damaged", id);
	}
	return true;
}

static size_t name_length(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '_')
		n++;
	return n;
}

static bool member(struct walk *w)
{
	size_t n = name_length(w->at);
	char name[256];
	struct btf_field f;
	struct btf_info t;
	struct btf_hop *h;

	if (!n || n >= sizeof(name))
		return btf_fail(w->e, "a member's name is missing after '%.*s'",
		                (int)(w->at - w->text), w->text);
	memcpy(name, w->at, n);
	name[n] = 0;
	if (!here(w, &t))
		return false;
	if (!btf_is_composite_kind(t.kind))
		return btf_fail(w->e, "'%s' is looked for in %s%s, which has no members", name,
		                keyword(t.kind), t.name);
	if (!btf_field_find(w->b, t.id, name, &f))
		return btf_fail(w->e, "%s%s has no member '%s'", keyword(t.kind), t.name, name);
	h = hop_new(w);
	if (!h)
		return false;
	h->name = f.name;
	h->in = t.id;
	h->type = f.type;
	h->bit_size = f.bit_size;
	w->at += n;
	return hop_done(w, h, f.bit_off);
}

/* Element `index` of an array; one of count 0 or 1 may be a struct's open end. */
static bool array_index(struct walk *w, const struct btf_info *t, u32 index)
{
	struct btf_hop *h = hop_new(w);
	u32 elem, of, count;

	if (!h || !btf_array_of(w->b, t, &elem, &of, &count))
		return false;
	if (index >= count && count > 1)
		return btf_fail(w->e, "index %u is outside the array of %u", index, count);
	h->in = t->id;
	h->index = index;
	h->type = elem;
	return hop_done(w, h, (u64)index * btf_size(w->b, elem) * 8);
}

static bool pointer_index(struct walk *w, const struct btf_info *t, u32 index)
{
	struct btf_hop *h;

	w->deref = true;
	h = hop_new(w);
	if (!h)
		return false;
	h->in = t->id;
	h->index = index;
	h->type = t->type;
	return hop_done(w, h, (u64)index * btf_size(w->b, t->type) * 8);
}

static bool index_step(struct walk *w)
{
	struct btf_info t;
	unsigned long index;
	char *end;

	index = strtoul(w->at + 1, &end, 0);
	if (!isdigit((unsigned char)w->at[1]) || *end != ']' || index > INT32_MAX)
		return btf_fail(w->e, "an index in brackets is a number: '%.32s'", w->at);
	if (!here(w, &t))
		return false;
	if (t.kind != BTF_KIND_ARRAY && t.kind != BTF_KIND_PTR)
		return btf_fail(w->e, "'%.*s' is no array", (int)(w->at - w->text), w->text);
	w->at = end + 1;
	return t.kind == BTF_KIND_ARRAY ? array_index(w, &t, (u32)index)
	                                : pointer_index(w, &t, (u32)index);
}

static bool dot_step(struct walk *w)
{
	struct btf_info t;

	if (!here(w, &t))
		return false;
	if (t.kind == BTF_KIND_PTR)
		return btf_fail(w->e, "'%.*s' is a pointer: use '->'", (int)(w->at - w->text),
		                w->text);
	w->at++;
	return member(w);
}

static bool arrow_step(struct walk *w)
{
	struct btf_info t;

	if (!here(w, &t))
		return false;
	if (t.kind != BTF_KIND_PTR)
		return btf_fail(w->e, "'%.*s' is no pointer: use '.'", (int)(w->at - w->text),
		                w->text);
	w->at += 2;
	w->type = t.type;
	w->deref = true;
	return member(w);
}

static bool steps(struct walk *w)
{
	if (*w->at != '[' && !member(w))
		return false;
	while (*w->at) {
		bool ok;

		if (*w->at == '.')
			ok = dot_step(w);
		else if (w->at[0] == '-' && w->at[1] == '>')
			ok = arrow_step(w);
		else if (*w->at == '[')
			ok = index_step(w);
		else
			ok = btf_fail(w->e, "'.', '->' or '[' is expected before '%.32s'", w->at);
		if (!ok)
			return false;
	}
	return true;
}

static void value_at_end(struct walk *w)
{
	struct btf_path *p = w->p;
	struct btf_info t;
	struct btf_int i;

	p->type = btf_skip(w->b, w->type);
	p->size = btf_size(w->b, w->type);
	if (!p->type || !btf_info(w->b, p->type, &t))
		return;
	if (btf_int(w->b, &t, &i))
		p->is_signed = i.is_signed;
	else
		p->is_signed = btf_is_enum_kind(t.kind) && t.kind_flag;
}

bool btf_path(const struct btf *b, u32 id, const char *text, struct btf_path *p,
              struct btf_error *e)
{
	struct walk w = { .b = b, .text = text, .at = text, .p = p, .e = e, .type = id };
	bool ok;

	p->n = p->type = p->size = 0;
	p->is_signed = false;
	ok = steps(&w);
	p->at = (u32)(w.at - text);
	if (ok)
		value_at_end(&w);
	return ok;
}
