/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The whole BTF as one C file that compiles, with every member where BTF says it is.
 *
 * The one idea is the order: before a type is written, what it needs is written, found by walking
 * down from it. A member needs its type complete; behind a pointer or in a prototype a struct needs
 * only `struct x;`. Typedefs are always needed whole, since C can not declare them ahead. So every
 * loop in the types goes through a pointer to a struct, where the walk stops:
 *
 *     struct file { struct inode *i; };      struct inode;  struct file { ... };
 *     struct inode { file_op f; };           typedef void (*file_op)(struct file *);
 *                                            struct inode { ... };
 *
 * Names that C would take twice are distinguished by c_names, layouts are matched by c_shape.
 */
#include <stdlib.h>
#include <string.h>

#include "ctext/c_decl.h"
#include "ctext/c_dump.h"
#include "cmd/btf/cmd_btf.h"

#define DEPTH_MAX  2000u
#define FLUSH_AT   (64u << 10)
#define MEMBERS_AT 12u /* in the record of a struct */
#define MEMBER_LEN 12u

/* What has been written of a type. */
enum {
	DONE = 1,    /* all */
	BUSY = 2,    /* what it needs is being written */
	FORWARD = 4, /* `struct x;` */
	READY = 8,   /* all that any use needs */
};

struct order {
	struct c_dump dump;
	struct sink *out;
	struct buf b;
	u32 self;    /* the struct whose members are walked: it needs no declaration */
	u32 n_selfs; /* uses of that */
	bool swap;   /* the file has the other byte order */
};

static bool need(struct order *o, u32 id, bool whole, u32 depth);

static void forward(struct order *o, const struct btf_info *t)
{
	u8 *state = &o->dump.state[t->id];

	if (*state & (DONE | FORWARD))
		return;
	if (t->id == o->self) {
		o->n_selfs++;
		return;
	}
	*state |= FORWARD;
	buf_puts(&o->b, c_decl_tag(t));
	buf_putc(&o->b, ' ');
	buf_puts(&o->b, c_names_of(&o->dump.names, t));
	buf_puts(&o->b, ";\n\n");
}

static void finish(struct order *o, const struct btf_info *t)
{
	o->dump.state[t->id] = t->kind == BTF_KIND_TYPEDEF ? DONE : DONE | READY;
	buf_puts(&o->b, ";\n\n");
	if (o->b.n > FLUSH_AT)
		sink_take(o->out, &o->b);
}

/* Read from the record: the library's view of a member costs more, for what is not needed here. */
static u32 member_type(const struct order *o, const u8 *p)
{
	u32 v;

	memcpy(&v, p + 4, sizeof(v));
	return o->swap ? __builtin_bswap32(v) : v;
}

static bool need_members(struct order *o, const struct btf_info *t, u32 depth)
{
	const u8 *p = (const u8 *)t->raw + MEMBERS_AT;

	for (u32 i = 0; i < t->vlen; i++, p += MEMBER_LEN)
		if (!need(o, member_type(o, p), true, depth + 1))
			return false;
	return true;
}

static bool need_composite(struct order *o, const struct btf_info *t, bool whole, u32 depth)
{
	u8 *state = &o->dump.state[t->id];
	u32 outer = o->self;

	if (*t->name && !whole) {
		forward(o, t);
		return true;
	}
	if (*state & (DONE | BUSY))
		return true;
	*state |= BUSY;
	if (*t->name)
		o->self = t->id; /* an anonymous one is part of the outer one */
	if (!need_members(o, t, depth))
		return false;
	o->self = outer;
	if (*t->name)
		c_dump_define(&o->dump, &o->b, t);
	if (*t->name)
		finish(o, t);
	else
		*state = DONE | READY; /* what it needs; it is itself written in place */
	return true;
}

static void write_typedef(struct order *o, const struct btf_info *t)
{
	if (strcmp(t->name, "__builtin_va_list") == 0) { /* the compiler has it */
		o->dump.state[t->id] = DONE;
		return;
	}
	buf_puts(&o->b, "typedef ");
	c_decl(&o->b, o->dump.btf, &o->dump.style, t->type, c_names_of(&o->dump.names, t));
	finish(o, t);
}

/* The struct that a typedef stands for comes after it, as its members may use the typedef. */
static bool need_typedef(struct order *o, const struct btf_info *t, bool whole, u32 depth)
{
	u8 *state = &o->dump.state[t->id];
	u32 outer = o->self;

	if (!(*state & (DONE | BUSY))) {
		*state |= BUSY;
		o->self = 0;
		if (!need(o, t->type, false, depth + 1))
			return false;
		o->self = outer;
		write_typedef(o, t);
	}
	return !whole || need(o, t->type, true, depth + 1);
}

/* What is behind a pointer is looked at once, unless it was fine only where it stood. */
static bool need_pointer(struct order *o, const struct btf_info *t, u32 depth)
{
	u32 selfs = o->n_selfs;

	if (!need(o, t->type, false, depth + 1))
		return false;
	if (selfs == o->n_selfs)
		o->dump.state[t->id] |= READY;
	return true;
}

static bool need_proto(struct order *o, const struct btf_info *t, u32 depth)
{
	struct btf_arg a;

	for (u32 i = 0; btf_arg(o->dump.btf, t, i, &a); i++)
		if (!need(o, a.type, false, depth + 1))
			return false;
	return need(o, t->type, false, depth + 1);
}

static void need_enum(struct order *o, const struct btf_info *t)
{
	if (!*t->name || o->dump.state[t->id] & DONE)
		return;
	c_dump_define(&o->dump, &o->b, t);
	finish(o, t);
}

/* Known without a look at the type? A typedef that is done may still stand for a struct to come. */
static bool is_satisfied(const struct order *o, u32 id, bool whole)
{
	u8 state = id < o->dump.shapes.n ? o->dump.state[id] : READY;

	return state & READY || (!whole && state & (DONE | FORWARD));
}

/* Writes what has to stand before a use of the type. False when it is nested too deep. */
static bool need(struct order *o, u32 id, bool whole, u32 depth)
{
	struct btf_info t;
	u32 elem = 0, index, count;

	if (depth > DEPTH_MAX)
		return false;
	if (!id || is_satisfied(o, id, whole) || !btf_info(o->dump.btf, id, &t))
		return true;
	if (!c_work_take(&o->dump.work, 1))
		return false;
	switch (t.kind) {
	case BTF_KIND_PTR:
		return need_pointer(o, &t, depth);
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return need(o, t.type, whole, depth + 1);
	case BTF_KIND_ARRAY:
		btf_array_of(o->dump.btf, &t, &elem, &index, &count);
		return need(o, elem, true, depth + 1);
	case BTF_KIND_FUNC_PROTO:
		return need_proto(o, &t, depth);
	case BTF_KIND_TYPEDEF:
		return need_typedef(o, &t, whole, depth);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return need_composite(o, &t, whole, depth);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		need_enum(o, &t);
		return true;
	case BTF_KIND_FWD:
		forward(o, &t);
		return true;
	default:
		o->dump.state[id] |= READY;
		return true;
	}
}

static bool is_definition(const struct btf_info *t)
{
	return *t->name && (t->kind == BTF_KIND_STRUCT || t->kind == BTF_KIND_UNION ||
	                    t->kind == BTF_KIND_ENUM || t->kind == BTF_KIND_ENUM64 ||
	                    t->kind == BTF_KIND_TYPEDEF);
}

static bool write_all(struct order *o, struct err *e)
{
	struct btf_iter it;

	btf_iter_init(&it, o->dump.btf, btf_first(o->dump.btf));
	while (btf_next(&it))
		if (is_definition(&it.t) && !need(o, it.t.id, true, 0))
			return err_set(e, "type %u (%s) leads through too many others", it.t.id,
			               it.t.name);
	return true;
}

/* Constants that no type has use for: their enums have been written nowhere so far. */
static void write_constants(struct order *o)
{
	struct btf_iter it;

	btf_iter_init(&it, o->dump.btf, btf_first(o->dump.btf));
	while (btf_next(&it))
		if ((it.t.kind == BTF_KIND_ENUM || it.t.kind == BTF_KIND_ENUM64) && !*it.t.name &&
		    !(o->dump.state[it.t.id] & DONE)) {
			c_dump_define(&o->dump, &o->b, &it.t);
			finish(o, &it.t);
		}
}

static const char head[] =
	"#ifndef __VMLINUX_H__\n"
	"#define __VMLINUX_H__\n"
	"\n"
	"#if defined(__clang__) && defined(__bpf__) && !defined(BPF_NO_PRESERVE_ACCESS_INDEX)\n"
	"#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)\n"
	"#endif\n"
	"\n"
	"#undef linux\n"
	"#undef unix\n"
	"\n";

static const char tail[] =
	"#if defined(__clang__) && defined(__bpf__) && !defined(BPF_NO_PRESERVE_ACCESS_INDEX)\n"
	"#pragma clang attribute pop\n"
	"#endif\n"
	"\n"
	"#endif\n";

bool cmd_btf_c(struct sink *out, const struct btf *b, struct err *e)
{
	struct order o = { .out = out };
	struct btf_file f;
	bool ok;

	btf_file(b, &f);
	o.swap = f.big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);

	if (!c_dump_init(&o.dump, b)) {
		c_dump_free(&o.dump);
		return err_set(e, "out of memory");
	}
	sink_add(out, head, sizeof(head) - 1);
	ok = write_all(&o, e);
	if (ok)
		write_constants(&o);
	ok &= cmd_btf_is_whole(&o.dump.work, e);
	sink_take(out, &o.b);
	if (ok)
		sink_add(out, tail, sizeof(tail) - 1);
	buf_free(&o.b);
	c_dump_free(&o.dump);
	return ok;
}
