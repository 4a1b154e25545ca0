/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap btf diff A B`: what somebody has to know who wrote a tool for A and runs it on B. Types
 * are paired by kind and name; ids mean nothing from one file to another, so a member's type is
 * compared as C text. Named types and functions of both files are sorted and merged; what differs
 * inside a pair is cmd_btf_change.c's.
 */
#include <stdlib.h>
#include <string.h>

#include "ctext/c_decl.h"
#include "cmd/btf/cmd_btf.h"
#include "cmd/btf/cmd_btf_change.h"
#include "cmd/btf/cmd_btf_near.h"

struct named {
	const char *name;
	u32 id;
	u32 kind; /* with one number for both enums */
};

struct names {
	struct named *v;
	u32 n;
};

struct diff {
	struct btf *a, *b;
	struct sink *out;
	struct c_work *work;
	struct buf text;
};

static u32 paired_kind(u32 kind)
{
	switch (kind) {
	case BTF_KIND_ENUM64:
		return BTF_KIND_ENUM;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_FUNC:
		return kind;
	default:
		return 0;
	}
}

/* ---- pairing -------------------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
	const struct named *a = x, *b = y;
	int by_name = a->kind == b->kind ? strcmp(a->name, b->name) : 0;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return by_name;
}

static int compare_ids(const void *x, const void *y)
{
	const struct named *a = x, *b = y;
	int order = compare(x, y);

	return order ? order : a->id < b->id ? -1 : a->id > b->id;
}

static bool collect(struct names *n, const struct btf *b, struct err *e)
{
	struct btf_iter it;

	n->v = malloc((size_t)btf_count(b) * sizeof(*n->v));
	if (!n->v)
		return err_set(e, "out of memory");
	btf_iter_init(&it, b, 1);
	while (btf_next(&it))
		if (*it.t.name && paired_kind(it.t.kind))
			n->v[n->n++] = (struct named){ it.t.name, it.t.id, paired_kind(it.t.kind) };
	qsort(n->v, n->n, sizeof(*n->v), compare_ids);
	return true;
}

static void only_one(struct diff *d, char sign, const struct named *n)
{
	buf_putc(&d->text, sign);
	buf_printf(&d->text, " %s %s\n", cmd_btf_kind(n->kind), n->name);
	sink_take(d->out, &d->text);
}

static void pair(struct diff *d, u32 a, u32 b)
{
	cmd_btf_change(&d->text, d->a, a, d->b, b, d->work);
	sink_take(d->out, &d->text);
}

static void merge(struct diff *d, const struct names *a, const struct names *b)
{
	u32 i = 0, k = 0;

	while ((i < a->n || k < b->n) && !d->out->error && !d->work->out) {
		int order = i == a->n ? 1 : k == b->n ? -1 : compare(&a->v[i], &b->v[k]);

		if (order < 0) {
			only_one(d, '-', &a->v[i++]);
		} else if (order > 0) {
			only_one(d, '+', &b->v[k++]);
		} else {
			pair(d, a->v[i].id, b->v[k].id);
			i++;
			k++;
		}
	}
}

static bool diff_all(struct diff *d, struct err *e)
{
	struct names a = { 0 }, b = { 0 };
	bool ok;

	btf_index(d->a);
	btf_index(d->b);
	ok = collect(&a, d->a, e) && collect(&b, d->b, e);
	if (ok)
		merge(d, &a, &b);
	free(a.v);
	free(b.v);
	return ok;
}

/* ---- the types that were named -------------------------------------------------------------- */

static u32 find(const struct btf *b, u32 kind, const char *name)
{
	static const u32 kinds[] = { BTF_KIND_STRUCT, BTF_KIND_UNION,   BTF_KIND_ENUM,
		                     BTF_KIND_ENUM64, BTF_KIND_TYPEDEF, BTF_KIND_FUNC };

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		u32 id = !kind || paired_kind(kinds[i]) == kind ? btf_find(b, kinds[i], name) : 0;

		if (id)
			return id;
	}
	return 0;
}

static bool diff_one(void *ctx, struct btf_job *j, const char *what, struct err *e)
{
	struct diff *d = ctx;
	const char *name;
	u32 kind = paired_kind(cmd_btf_split(what, &name));
	u32 a = find(d->a, kind, name), b;
	struct btf_info t;

	if (a && btf_info(d->a, a, &t))
		kind = paired_kind(t.kind);
	b = find(d->b, kind, name);
	if (!a && !b) {
		j->btf = d->b;
		cmd_btf_missing(j, what, e);
		j->btf = NULL;
		return false;
	}
	if (a && b)
		pair(d, a, b);
	else if (btf_info(a ? d->a : d->b, a ? a : b, &t))
		only_one(d, a ? '-' : '+', &(struct named){ name, t.id, paired_kind(t.kind) });
	return true;
}

bool cmd_btf_diff(struct btf_job *j, struct err *e)
{
	struct diff d = { .out = &j->out, .work = &j->work };
	bool ok;

	d.a = cmd_btf_open(j->args[0], e);
	d.b = d.a ? cmd_btf_open(j->args[1], e) : NULL;
	j->where = j->args[1];
	if (d.b) {
		c_work_add(&j->work, d.a);
		c_work_add(&j->work, d.b);
	}
	ok = d.b && cmd_btf_check(d.a, j->args[0], e) && cmd_btf_check(d.b, j->args[1], e) &&
	     (j->n_args > 2 ? cmd_btf_each_name(j, 2, diff_one, &d, e) : diff_all(&d, e));
	buf_free(&d.text);
	btf_unref(d.a);
	btf_unref(d.b);
	return ok;
}
