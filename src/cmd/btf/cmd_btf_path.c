/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap btf path`: each step of a path of members, with its offset from where the last pointer
 * led, and what is found at the end.
 */
#include <stdio.h>
#include <string.h>

#include "ctext/c_decl.h"
#include "cmd/btf/cmd_btf.h"
#include "cmd/btf/cmd_btf_near.h"

struct table {
	const struct btf *btf;
	struct c_style plain;
	struct buf b;
	size_t width; /* of the column of names */
};

/* "->f_path", ".dentry", "[3]" */
static void step_name(struct buf *b, const struct btf_hop *h)
{
	if (!*h->name) {
		buf_printf(b, "[%u]", h->index);
		return;
	}
	buf_puts(b, h->deref ? "->" : ".");
	buf_puts(b, h->name);
}

static void offset(struct buf *b, u32 bits)
{
	buf_printf(b, "%u", bits / 8);
	if (bits % 8)
		buf_printf(b, ":%u", bits % 8);
}

static void row(struct table *t, const struct btf_hop *h)
{
	size_t start = t->b.n;
	struct buf off = { 0 };

	buf_puts(&t->b, "  ");
	step_name(&t->b, h);
	buf_fill(&t->b, ' ', t->width + 4 - (t->b.n - start));
	offset(&off, h->bit_off);
	buf_printf(&t->b, "%8s  ", buf_text(&off));
	buf_free(&off);
	c_decl(&t->b, t->btf, &t->plain, h->type, "");
	if (h->bit_size)
		buf_printf(&t->b, " : %u", h->bit_size);
	buf_putc(&t->b, '\n');
}

static size_t longest(const struct btf_path *p)
{
	struct buf b = { 0 };
	size_t width = 0;

	for (u32 i = 0; i < p->n; i++) {
		buf_reset(&b);
		step_name(&b, &p->hop[i]);
		width = MAX(width, b.n);
	}
	buf_free(&b);
	return width;
}

/* What has to be read, in order: "read 8 bytes at 88, follow; read 4 bytes at 1264" */
static void total(struct table *t, const struct btf_path *p)
{
	struct buf *b = &t->b;
	const struct btf_hop *last = &p->hop[p->n - 1];

	buf_puts(b, "total: ");
	for (u32 i = 1; i < p->n; i++) {
		if (!p->hop[i].deref)
			continue;
		buf_printf(b, "pointer at ");
		offset(b, p->hop[i - 1].bit_off);
		buf_puts(b, ", then ");
	}
	if (last->bit_size)
		buf_printf(b, "%u bits", last->bit_size);
	else
		buf_printf(b, "%u byte%s", p->size, p->size == 1 ? "" : "s");
	buf_puts(b, " at ");
	offset(b, last->bit_off);
	if (p->is_signed)
		buf_puts(b, ", signed");
	buf_puts(b, ", ");
	c_decl(b, t->btf, &t->plain, p->type, "");
	buf_putc(b, '\n');
}

bool cmd_btf_path(struct btf_job *j, struct err *e)
{
	const char *type = j->args[0], *members = j->args[j->n_args - 1];
	struct table t = { .btf = j->btf, .plain = { .work = &j->work, .tags = true } };
	struct btf_error be;
	struct btf_path p;
	u32 id;

	if (j->n_args == 3 && !cmd_btf_kind_of(type))
		return err_set(e, "too many arguments for 'path': '%s' is no kind of type", type);
	if (j->n_args == 3)
		type = arena_printf(j->arena, "%s %s", type, j->args[1]);
	type = cmd_btf_type(j, type);
	id = btf_find_c(j->btf, type);
	if (!id)
		return cmd_btf_missing(j, type, e);
	if (!btf_path(j->btf, id, members, &p, &be)) {
		cmd_btf_fail(e, &be);
		return cmd_btf_near_member(j->btf, id, members, &p, e);
	}
	if (!p.n)
		return err_set(e, "the path is empty: name a member of %s", type);
	t.width = longest(&p);
	buf_printf(&t.b, "%s\n", type);
	for (u32 i = 0; i < p.n; i++)
		row(&t, &p.hop[i]);
	total(&t, &p);
	sink_take(&j->out, &t.b);
	buf_free(&t.b);
	return true;
}
