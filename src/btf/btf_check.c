/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A full look at a BTF file: what Linux's own verifier (kernel/bpf/btf.c) refuses, as far as it can
 * be known without the kernel. Everything else in the library checks only what it uses; this names
 * the first place that is wrong, as "type 17 (struct page): member 3 ...".
 */
#include "btf/btf_impl.h"

#include <stdarg.h>
#include <stdio.h>

struct check {
	const struct btf *b;
	struct btf_error *e;
	struct btf_info t;
};

static PRINTF_LIKE(2, 3) bool bad(struct check *c, const char *what, ...)
{
	const char *name = c->t.name && c->t.name[0] ? c->t.name : "no name";
	char text[128];
	va_list ap;

	va_start(ap, what);
	vsnprintf(text, sizeof(text), what, ap);
	va_end(ap);
	return btf_fail(c->e, "type %u (%.64s): %s", c->t.id, name, text);
}

static bool id_ok(struct check *c, u32 id)
{
	return id < btf_count(c->b) || bad(c, "refers to type %u, which does not exist", id);
}

/* A chain of modifiers, pointers left out, must come to an end. */
static bool chain_ok(struct check *c)
{
	struct btf_info t = c->t;

	for (u32 hops = 0; hops <= BTF_CHAIN_MAX; hops++)
		if (!btf_is_modifier(t.kind) || !t.type || !btf_info(c->b, t.type, &t))
			return true;
	return bad(c, "the chain of modifiers has more than %u steps", BTF_CHAIN_MAX);
}

static bool int_ok(struct check *c)
{
	struct btf_int i;

	if (!btf_int(c->b, &c->t, &i))
		return bad(c, "the integer is cut off at byte %u", c->t.raw_len);
	if (!c->t.size || c->t.size > 16 || i.bits > c->t.size * 8)
		return bad(c, "the integer has %u bits, more than fit", i.bits);
	return i.bit_off + i.bits <= c->t.size * 8 ||
	       bad(c, "the integer's bits start at %u, too far", i.bit_off);
}

static bool array_ok(struct check *c)
{
	u32 elem, index, count;
	struct btf_info t;

	if (!btf_array_of(c->b, &c->t, &elem, &index, &count) || !id_ok(c, elem) ||
	    !id_ok(c, index))
		return false;
	if (!elem || !btf_info(c->b, btf_skip(c->b, elem), &t))
		return bad(c, "the array's elements have type %u, which leads to none", elem);
	return true;
}

static bool members_ok(struct check *c)
{
	struct btf_field f;

	for (u32 i = 0; i < c->t.vlen; i++) {
		u64 bits;

		if (!btf_field(c->b, &c->t, i, &f))
			return bad(c, "member %u has no name in the strings", i);
		if (!id_ok(c, f.type))
			return false;
		bits = f.bit_size ? f.bit_size : (u64)btf_size(c->b, f.type) * 8;
		if (f.bit_off + bits > (u64)c->t.size * 8)
			return bad(c, "member %u lies outside the type", i);
	}
	return true;
}

static bool entries_ok(struct check *c)
{
	struct btf_enumerator v;
	struct btf_place p;
	struct btf_arg a;

	for (u32 i = 0; i < c->t.vlen; i++) {
		if (btf_is_enum_kind(c->t.kind) && !btf_enumerator(c->b, &c->t, i, &v))
			return bad(c, "value %u has no name in the strings", i);
		if (c->t.kind == BTF_KIND_FUNC_PROTO) {
			if (!btf_arg(c->b, &c->t, i, &a))
				return bad(c, "argument %u has no name in the strings", i);
			if (!id_ok(c, a.type))
				return false;
		}
		if (btf_place(c->b, &c->t, i, &p)) {
			if (!id_ok(c, p.var))
				return false;
			if (c->t.size && (u64)p.off + p.size > c->t.size)
				return bad(c, "variable %u lies outside the section", i);
		}
	}
	return true;
}

/* FUNC leads to a FUNC_PROTO; the others to any type. */
static bool reference_ok(struct check *c)
{
	struct btf_info to;

	if (!id_ok(c, c->t.type) || !chain_ok(c))
		return false;
	if (c->t.kind != BTF_KIND_FUNC)
		return true;
	return (btf_info(c->b, c->t.type, &to) && to.kind == BTF_KIND_FUNC_PROTO) ||
	       bad(c, "the function's type %u is no prototype", c->t.type);
}

static bool type_ok(struct check *c)
{
	if (!reference_ok(c))
		return false;
	switch (c->t.kind) {
	case BTF_KIND_INT:
		return int_ok(c);
	case BTF_KIND_ARRAY:
		return array_ok(c);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return members_ok(c);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FUNC_PROTO:
	case BTF_KIND_DATASEC:
		return entries_ok(c);
	default:
		return true;
	}
}

bool btf_check(const struct btf *b, struct btf_error *e)
{
	u32 id, end, off;
	struct check c = { .b = b, .e = e };
	struct btf_iter it;

	btf_index(b); /* only for speed */
	btf_walk_end(b, &end, &off);
	if (off != b->types_n)
		return btf_fail(e,
		                "type %u (at byte %u of the types) is cut off or of unknown kind",
		                end, off);
	btf_iter_init(&it, b, btf_first(b));
	for (id = btf_first(b); btf_next(&it); id++) {
		if (it.t.id != id)
			break;
		c.t = it.t;
		if (!type_ok(&c))
			return false;
	}
	return id == end || btf_fail(e, "type %u: its name lies outside the strings", id);
}
