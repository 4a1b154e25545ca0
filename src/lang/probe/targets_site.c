/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Moves probes on functions to a place that costs less (elf/site.h). The one idea: this is the last
 * step over the expanded script, where everything is known that decides whether it pays and whether
 * the script could tell: a script that reads registers other than the arguments keeps its probes on
 * the entry, and so does a function that has a uretprobe, whose trap on the entry both then share.
 *
 * All sites of one file are looked at together, for what may jump into them takes a pass over all
 * of the file's code. Only sites whose first instruction is expensive are looked at, so usually
 * nothing is. Go's functions may run their first instructions twice; their probes go after these
 * (insn_go_start).
 */
#include "lang/probe/targets.h"

#include <string.h>

#include "arch/arch.h"
#include "base/hmap.h"
#include "elf/site.h"

#define CODE_MAX (64u << 20) /* bytes of a file's code that are looked through, some 10 ms */

/* ---- what the script does ------------------------------------------------------------------- */

/* On the way to a cheaper place. */
static bool keeps_register(const struct node *name)
{
	const struct arch_reg *r = name && name->kind == NODE_STRING ? arch_reg(name->string)
	                                                             : NULL;

	return r && r->kept;
}

static bool note_registers(void *ctx, struct node *n)
{
	bool *reads = ctx;

	if (n->kind == NODE_BUILTIN && n->builtin.b && n->builtin.b->id == BUILTIN_CTX)
		*reads = true;
	if (n->kind == NODE_CALL && n->call.f && n->call.f->id == FUNC_REG)
		*reads |= !keeps_register(n->call.args);
	return true;
}

bool targets_reads_registers(struct probe *p)
{
	bool reads = false;

	if (p->pred)
		ast_walk(p->pred, note_registers, &reads);
	ast_walk(p->body, note_registers, &reads);
	return reads;
}

typedef void site_cb(struct targets *t, struct probe *p, struct usite *s, void *ctx);

/* Each site of probes of that kind. */
static void each_site(struct targets *t, enum attach_kind kind, site_cb *cb, void *ctx)
{
	for (struct probe *p = t->script->probes; p; p = p->next) {
		for (u32 i = 0; i < p->variants.n; i++) {
			struct variant *v = p->variants.v[i];

			for (u32 k = 0; v->kind == kind && k < v->sites.n; k++)
				cb(t, p, &v->sites.v[k], ctx);
		}
	}
}

/* ---- the sites of one file ------------------------------------------------------------------ */

struct returns {
	struct hmap at; /* offsets of the file's uretprobes */
	const char *path;
};

static void add_return(struct targets *t, struct probe *p, struct usite *s, void *ctx)
{
	struct returns *r = ctx;

	(void)t;
	(void)p;
	if (strcmp(s->path, r->path) == 0)
		hmap_put(&r->at, &s->offset, sizeof(s->offset), s);
}

/* A file of which sites are to be moved. */
struct work {
	struct elf *elf;
	struct returns returns;
	struct insn_decoder *decoder;
	const char *no_decoder;
	VEC(struct site) sites;
	bool nop5_known, nop5;
};

/* Whether the kernel is good with 5-byte nops; it is asked only when there is one. */
static bool nop5(struct targets *t, struct work *w, const struct site *s, const struct site_code *c)
{
	u64 at = s->entry - c->vaddr;

	if (w->nop5_known || !insn_has_nop5(c->p + at, MIN(c->n - at, 128u)))
		return w->nop5;
	w->nop5 = t->world->ops->features(t->world, FEATURE_UPROBE_NOP5)->uprobe_nop5;
	w->nop5_known = true;
	return w->nop5;
}

static bool need_decoder(struct targets *t, struct work *w)
{
	struct err e = { 0 };

	if (w->decoder || w->no_decoder)
		return w->decoder;
	w->decoder = insn_decoder_open(&e);
	if (!w->decoder)
		w->no_decoder = arena_strdup(t->arena, e.text);
	return w->decoder;
}

/* Not for the cost, but so that calls count once. */
static bool move_in_go(struct usite *s, const struct site_code *c, u64 entry)
{
	u64 at = entry - c->vaddr;

	s->moved = insn_go_start(c->p + at, MIN(c->n - at, s->size));
	s->offset += s->moved;
	s->once = s->moved;
	return s->moved;
}

static void propose(struct targets *t, struct probe *p, struct usite *s, void *ctx)
{
	struct work *w = ctx;
	struct site site = { .size = s->size, .user = s };
	struct site_code c;

	if (!s->size || strcmp(s->path, w->returns.path) != 0 ||
	    !elf_vaddr(w->elf, s->offset, &site.entry) || !site_code_at(w->elf, site.entry, &c))
		return;
	if (!targets_reads_registers(p) && move_in_go(s, &c, site.entry))
		return;
	if (site_is_cheap(&site, &c, nop5(t, w, &site, &c)))
		return;
	if (targets_reads_registers(p))
		s->stays = "the script reads registers that may change";
	else if (hmap_find(&w->returns.at, &s->offset, sizeof(s->offset)))
		s->stays = "its uretprobe stops there anyway";
	else if (!need_decoder(t, w))
		s->stays = w->no_decoder;
	else
		site_propose(&site, &c, w->decoder, nop5(t, w, &site, &c));
	if (site.moved)
		vec_add(t->arena, &w->sites, site);
	else if (site.why)
		s->stays = site.why;
}

static bool strike_symbol(void *ctx, const struct elf_sym *s)
{
	struct work *w = ctx;

	sites_strike(w->sites.v, w->sites.n, s->value, "another function starts in its start");
	return true;
}

static void strike(struct work *w)
{
	struct site_code c;
	size_t total = 0;

	for (u32 i = 0; elf_code(w->elf, i, &c.p, &c.n, &c.vaddr); i++)
		total += c.n;
	for (u32 i = 0; total <= CODE_MAX && elf_code(w->elf, i, &c.p, &c.n, &c.vaddr); i++)
		sites_strike_code(w->sites.v, w->sites.n, &c, w->decoder);
	for (u32 i = 0; total > CODE_MAX && i < w->sites.n; i++) {
		w->sites.v[i].moved = 0;
		w->sites.v[i].why = "its file has too much code to look through";
	}
	elf_each(w->elf, strike_symbol, w);
}

static void move_in_file(struct targets *t, const char *path)
{
	struct err ignored;
	struct work w = { .elf = t->world->ops->elf(t->world, path, &ignored) };

	if (!w.elf)
		return;
	w.returns.path = path;
	each_site(t, ATTACH_URETPROBE, add_return, &w.returns);
	each_site(t, ATTACH_UPROBE, propose, &w);
	sites_sort(w.sites.v, w.sites.n);
	if (w.sites.n)
		strike(&w);
	for (u32 i = 0; i < w.sites.n; i++) {
		struct usite *s = w.sites.v[i].user;

		s->moved = w.sites.v[i].moved;
		s->offset += s->moved;
		s->stays = w.sites.v[i].why;
	}
	insn_decoder_close(w.decoder);
	hmap_free(&w.returns.at);
}

static void add_path(struct targets *t, struct probe *p, struct usite *s, void *ctx)
{
	struct hmap *paths = ctx;

	(void)p;
	if (!s->size || hmap_find(paths, s->path, strlen(s->path)))
		return;
	hmap_put(paths, s->path, strlen(s->path), t);
	move_in_file(t, s->path);
}

void targets_site(struct targets *t)
{
	struct hmap paths = { 0 };

	each_site(t, ATTACH_UPROBE, add_path, &paths);
	hmap_free(&paths);
}

/* ---- what the kernel would make something else of ------------------------------------------- */

static bool is_mistaken(struct targets *t, const struct usite *s)
{
	struct err ignored;
	struct elf *f = t->world->ops->elf(t->world, s->path, &ignored);
	struct site_code c;
	u64 at;

	return f && elf_vaddr(f, s->offset, &at) && site_code_at(f, at, &c) &&
	       insn_is_mistaken(c.p + (at - c.vaddr), c.n - (at - c.vaddr));
}

/* How many there are, of which the first is called *name. */
static u32 leave_out(struct targets *t, struct variant *v, const char **name)
{
	u32 n = 0;

	for (u32 i = 0; i < v->sites.n; i++) {
		struct usite *s = &v->sites.v[i];

		if (is_mistaken(t, s)) {
			*name = *name ? *name : s->name;
			n++;
		} else {
			v->sites.v[i - n] = *s;
		}
	}
	v->sites.n -= n;
	t->n_sites -= n;
	return n;
}

static void refuse(struct targets *t, const struct probe *p)
{
	const char *name = NULL, *others = "", *text;
	u32 n = 0, left = 0;

	for (u32 i = 0; i < p->variants.n; i++) {
		struct variant *v = p->variants.v[i];

		if (attach_kind_has(v->kind, KIND_USER))
			n += leave_out(t, v, &name);
		left += v->sites.n;
	}
	if (!n)
		return;
	if (n > 1)
		others = arena_printf(t->arena, ", and so at %u more place%s", n - 1,
		                      n > 2 ? "s" : "");
	text = arena_printf(t->arena,
	                    "a probe would break the program at %s: the kernel takes the vector "
	                    "instruction there for another one%s",
	                    name, others);
	if (left)
		diag_warn(t->diags, p->loc, "%s", text);
	else
		diag_error(t->diags, p->loc, "%s", text);
	diag_hint(t->diags, "a place further on can have one (FUNCTION+BYTES); --unsafe allows it");
}

void targets_refuse(struct targets *t)
{
	for (struct probe *p = t->script->probes; p; p = p->next)
		refuse(t, p);
}

/* ---- archives ------------------------------------------------------------------------------- */

static void to_archive(struct targets *t, struct probe *p, struct usite *s, void *ctx)
{
	const char *member = elf_in_archive(s->path);
	struct err ignored;
	struct elf *f = member ? t->world->ops->elf(t->world, s->path, &ignored) : NULL;

	(void)p;
	(void)ctx;
	if (!f)
		return;
	s->zip = arena_strndup(t->arena, s->path, (size_t)(member - s->path));
	s->offset += elf_base(f);
	s->ref_ctr += s->ref_ctr ? elf_base(f) : 0;
}

void targets_archives(struct targets *t)
{
	each_site(t, ATTACH_UPROBE, to_archive, NULL);
	each_site(t, ATTACH_URETPROBE, to_archive, NULL);
	each_site(t, ATTACH_USDT, to_archive, NULL);
}
