/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap btf show`: everything that has a name, in C where C has words for it. One row for each
 * kind. All types of the name are shown that do not look the same; a forward declaration only when
 * there is nothing better.
 */
#include <string.h>

#include "ctext/c_decl.h"
#include "ctext/c_layout.h"
#include "cmd/btf/cmd_btf.h"
#include "cmd/btf/cmd_btf_near.h"

#define SHOWN_MAX 64u /* of one name */

struct shown {
	struct btf *btf;
	struct c_style plain;
	struct buf text[SHOWN_MAX];
	u32 id[SHOWN_MAX];
	u32 n;
	u32 kind;     /* wanted, 0 any */
	bool forward; /* forward declarations too */
};

/* ---- kinds ---------------------------------------------------------------------------------- */

static void show_composite(struct shown *s, struct buf *b, const struct btf_info *t)
{
	c_layout_print(b, s->btf, t, s->plain.work);
	buf_puts(b, ";\n");
}

static void enum_body(struct buf *b, const struct btf *btf, const struct btf_info *t)
{
	struct btf_enumerator v;

	buf_printf(b, "enum%s%s {\n", *t->name ? " " : "", t->name);
	for (u32 i = 0; btf_enumerator(btf, t, i, &v); i++) {
		if (t->kind_flag)
			buf_printf(b, "\t%s = %lld,\n", v.name, (long long)v.value);
		else
			buf_printf(b, "\t%s = %llu,\n", v.name, (unsigned long long)v.value);
	}
	buf_printf(b, "\n\t/* size: %u, values: %u */\n}", t->size, t->vlen);
}

static void show_enum(struct shown *s, struct buf *b, const struct btf_info *t)
{
	enum_body(b, s->btf, t);
	buf_puts(b, ";\n");
}

static void show_forward(struct shown *s, struct buf *b, const struct btf_info *t)
{
	(void)s;
	buf_printf(b, "%s %s; /* no more is known */\n", c_decl_tag(t), t->name);
}

static void anonymous_body(void *ctx, struct buf *b, const struct btf_info *t)
{
	const struct shown *s = ctx;
	size_t tag = strlen(c_decl_tag(t));

	if (!c_work_take(s->plain.work, t->vlen))
		return;
	b->n -= tag; /* which the body brings along */
	if (t->kind == BTF_KIND_ENUM || t->kind == BTF_KIND_ENUM64)
		enum_body(b, s->btf, t);
	else
		c_layout_print(b, s->btf, t, s->plain.work);
}

static void show_typedef(struct shown *s, struct buf *b, const struct btf_info *t)
{
	struct c_style style = s->plain;
	u32 size = btf_size(s->btf, t->id);

	style.body = anonymous_body;
	style.ctx = s;
	buf_puts(b, "typedef ");
	c_decl(b, s->btf, &style, t->type, t->name);
	buf_putc(b, ';');
	if (size)
		buf_printf(b, " /* size: %u */", size);
	buf_putc(b, '\n');
}

static bool show_tag(void *ctx, const struct btf_info *tag)
{
	buf_printf(ctx, " /* %s */", tag->name);
	return true;
}

static void show_func(struct shown *s, struct buf *b, const struct btf_info *t)
{
	u32 linkage = 1;

	btf_linkage(s->btf, t, &linkage);
	if (linkage == 2)
		buf_puts(b, "extern ");
	c_decl(b, s->btf, &s->plain, t->type, t->name);
	buf_putc(b, ';');
	btf_tags(s->btf, t->id, show_tag, b);
	buf_putc(b, '\n');
}

static void show_var(struct shown *s, struct buf *b, const struct btf_info *t)
{
	static const char *const words[] = { "static ", "", "extern " };
	u32 linkage = 1;

	btf_linkage(s->btf, t, &linkage);
	buf_puts(b, words[MIN(linkage, 2u)]);
	c_decl(b, s->btf, &s->plain, t->type, t->name);
	buf_printf(b, "; /* size: %u */\n", btf_size(s->btf, t->type));
}

static void show_scalar(struct shown *s, struct buf *b, const struct btf_info *t)
{
	struct btf_int i;

	buf_printf(b, "%s; /* size: %u", t->name, t->size);
	if (btf_int(s->btf, t, &i))
		buf_printf(b, ", %s", i.is_bool ? "bool" : i.is_signed ? "signed" : "unsigned");
	buf_puts(b, " */\n");
}

static void show_datasec(struct shown *s, struct buf *b, const struct btf_info *t)
{
	struct btf_place p;
	struct btf_info var;

	buf_printf(b, "section %s { /* size: %u, entries: %u */\n", t->name, t->size, t->vlen);
	for (u32 i = 0; btf_place(s->btf, t, i, &p); i++) {
		if (!btf_info(s->btf, p.var, &var))
			continue;
		buf_putc(b, '\t');
		c_decl(b, s->btf, &s->plain, var.type, var.name);
		buf_printf(b, "; /* %u %u */\n", p.off, p.size);
	}
	buf_puts(b, "};\n");
}

static const struct {
	u32 kind;
	void (*show)(struct shown *s, struct buf *b, const struct btf_info *t);
} rows[] = {
	{ BTF_KIND_STRUCT, show_composite }, { BTF_KIND_UNION, show_composite },
	{ BTF_KIND_ENUM, show_enum },        { BTF_KIND_ENUM64, show_enum },
	{ BTF_KIND_TYPEDEF, show_typedef },  { BTF_KIND_FUNC, show_func },
	{ BTF_KIND_VAR, show_var },          { BTF_KIND_INT, show_scalar },
	{ BTF_KIND_FLOAT, show_scalar },     { BTF_KIND_DATASEC, show_datasec },
	{ BTF_KIND_FWD, show_forward },
};

/* ---- finding -------------------------------------------------------------------------------- */

static bool is_new(const struct shown *s, const struct buf *b)
{
	for (u32 i = 0; i < s->n; i++)
		if (s->text[i].n == b->n && memcmp(buf_text(&s->text[i]), buf_text(b), b->n) == 0)
			return false;
	return true;
}

/* Of a declaration, too, it is known whether it is a union's. */
static bool is_another(const struct shown *s, const struct btf_info *t)
{
	return t->kind == BTF_KIND_FWD &&
	       s->kind == (t->kind_flag ? (u32)BTF_KIND_STRUCT : (u32)BTF_KIND_UNION);
}

static bool take(void *ctx, u32 query, u32 id)
{
	struct shown *s = ctx;
	struct buf *b = &s->text[s->n];
	struct btf_info t;

	(void)query;
	if (!btf_info(s->btf, id, &t) || (t.kind == BTF_KIND_FWD) != s->forward ||
	    is_another(s, &t))
		return true;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].kind == t.kind)
			rows[i].show(s, b, &t);
	s->id[s->n] = id;
	if (b->n && is_new(s, b))
		s->n++;
	else
		buf_free(b);
	return s->n < SHOWN_MAX && !s->plain.work->out;
}

static void find(struct shown *s, u32 kind, const char *name)
{
	struct btf_query q[2] = { { name, kind, 0 }, { name, BTF_KIND_ENUM64, 0 } };

	btf_find_all(s->btf, q, kind == BTF_KIND_ENUM ? 2 : 1, 0, take, s);
	s->forward = true;
	if (!s->n &&
	    (!kind || kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_FWD)) {
		q[0].kind = BTF_KIND_FWD;
		btf_find_all(s->btf, q, 1, 0, take, s);
	}
}

static bool show_one(void *ctx, struct btf_job *j, const char *what, struct err *e)
{
	struct buf head = { 0 };
	const char *name;
	u32 kind = cmd_btf_split(what, &name);
	struct shown s = { .btf = j->btf,
		           .plain = { .work = &j->work, .tags = true },
		           .kind = kind };

	(void)ctx;
	find(&s, kind, name);
	for (u32 i = 0; i < s.n; i++) {
		if (s.n > 1)
			buf_printf(&head, "%s/* %u of %u, type %u */\n", i ? "\n" : "", i + 1, s.n,
			           s.id[i]);
		sink_take(&j->out, &head);
		sink_take(&j->out, &s.text[i]);
		buf_free(&s.text[i]);
	}
	buf_free(&head);
	return s.n || cmd_btf_missing(j, what, e);
}

bool cmd_btf_show(struct btf_job *j, struct err *e)
{
	return cmd_btf_each_name(j, 0, show_one, NULL, e);
}
