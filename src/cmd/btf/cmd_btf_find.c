/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `memtap btf find`: names by a pattern, with kind and id, in the order of the file. */
#include "base/str.h"
#include "base/near.h"
#include "ctext/c_decl.h"
#include "cmd/btf/cmd_btf.h"

struct found {
	struct btf_job *j;
	struct buf line;
	u32 n;
};

static bool show(void *ctx, u32 id, const char *name)
{
	struct found *f = ctx;
	struct btf_info t;

	if (!btf_info(f->j->btf, id, &t))
		return true;
	f->n++;
	buf_puts(&f->line, cmd_btf_kind(t.kind));
	buf_fill(&f->line, ' ', f->line.n < 10 ? 10 - f->line.n : 1);
	buf_puts(&f->line, name);
	buf_puts(&f->line, "  [");
	c_decl_number(&f->line, id);
	buf_puts(&f->line, "]\n");
	sink_take(&f->j->out, &f->line);
	return !f->j->out.error;
}

static bool unknown_kind(const char *word, struct err *e)
{
	struct near near;

	err_set(e, "there is no kind '%s'", word);
	near_init(&near, word);
	for (u32 kind = 1; kind <= BTF_KIND_ENUM64; kind++)
		near_offer(&near, cmd_btf_kind(kind));
	if (near_best(&near))
		return err_hint(e, "did you mean '%s'?", near.best);
	return err_hint(e, "func, struct, union, enum, typedef, var, int and others");
}

bool cmd_btf_find(struct btf_job *j, struct err *e)
{
	struct found f = { .j = j };
	u32 kind = 0;

	if (j->o->kind) {
		kind = cmd_btf_kind_of(j->o->kind);
		if (!kind)
			return unknown_kind(j->o->kind, e);
	}
	btf_each(j->btf, kind, j->args[0], show, &f);
	buf_free(&f.line);
	if (f.n)
		return true;
	if (!cmd_btf_check(j->btf, j->where, e))
		return false;
	return err_set(e, "no %s matches '%s'", j->o->kind ? j->o->kind : "name", j->args[0]);
}
