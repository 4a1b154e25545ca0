/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fentry:bpf:[ID:]NAME, fexit: functions of loaded BPF programs.
 *
 * The one idea: such a function is traced as one of the kernel's, only that its types are those of
 * its program. A name stands for functions of that name in all programs, and for the program that
 * the kernel lists by it. Those without types can not be traced; naming one is an error.
 */
#include "lang/probe/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

struct wanted {
	struct targets *t;
	const char *name;
	u32 id; /* of the one program, 0 any */
	bool id_found;
	bool typeless; /* found, but can not be traced */
	struct near near;
};

static const char *site_name(struct targets *t, const struct bpf_function *f, const char *name)
{
	return arena_printf(t->arena, "bpf:%u:%s", f->prog_id, name);
}

/* The name by which the script means the function, NULL when it does not. */
static const char *name_meant(const struct wanted *w, const struct bpf_function *f)
{
	struct str glob = str_of(w->name);

	if (glob_match(glob, str_of(f->name)))
		return f->name;
	return f->is_main && glob_match(glob, str_of(f->prog)) ? f->prog : NULL;
}

static bool bpf_add(void *ctx, const struct bpf_function *f)
{
	struct wanted *w = ctx;
	struct targets *t = w->t;
	struct usite site = { .btf_id = f->btf_id, .bpf_prog = f->prog_id };
	struct variant *v = NULL;
	struct btf_info info;
	const char *name;

	if (w->id && w->id != f->prog_id)
		return true;
	w->id_found = true;
	name = name_meant(w, f);
	if (!name) {
		near_offer(&w->near, f->name);
		return true;
	}
	if (!f->btf || !btf_info(f->btf, f->btf_id, &info)) {
		w->typeless = true;
		return true;
	}
	site.event = arena_strdup(t->arena, name);
	if (targets_room(t)) {
		v = targets_alone(t);
		v->proto = info.type;
		v->proto_btf = f->btf;
	}
	targets_add(t, v, site, site_name(t, f, name));
	return true;
}

static void bpf_missing(struct wanted *w, u32 part)
{
	struct targets *t = w->t;
	const char *best = NULL;

	if (w->typeless && !glob_is(str_of(w->name))) {
		targets_absent(t, part,
		               "its author has to load it with BTF, as libbpf does for objects "
		               "compiled with -g",
		               "The BPF program %s has no types, so it can not be traced.",
		               w->name);
		return;
	}
	if (w->id && !w->id_found) {
		targets_absent(t, 1, "bpftool prog show lists them",
		               "There is no BPF program with the id %u.", w->id);
		return;
	}
	if (!glob_is(str_of(w->name)) && near_best(&w->near))
		best = arena_printf(t->arena, "'%s'", w->near.best);
	targets_missing(t, part, best, "No matches for %s bpf:%s.", t->provider->full, w->name);
}

static bool bpf_id(struct targets *t, u32 *id)
{
	const char *text = t->parts[1];
	char *end;
	unsigned long n;

	if (strcmp(text, "*") == 0)
		return true;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && n && n <= UINT32_MAX) {
		*id = (u32)n;
		return true;
	}
	diag_error(t->diags, targets_loc(t, 1), "'%s' is not the id of a BPF program", text);
	diag_hint(t->diags, "write it as %s:bpf:[ID:]NAME", t->provider->full);
	return false;
}

void targets_bpf(struct targets *t)
{
	u32 part = t->n_parts - 1;
	struct wanted w = { .t = t, .name = t->parts[part] };
	struct err e = { 0 };

	if (t->n_parts == 3 && !bpf_id(t, &w.id))
		return;
	if (!targets_has_types(t))
		return;
	if (targets_lacks(t, t->provider->kind)) {
		targets_unsupported(t, "BPF programs are traced by nothing else",
		                    "this kernel loads no fentry/fexit programs");
		return;
	}
	near_init(&w.near, w.name);
	if (!t->world->ops->bpf_functions(t->world, bpf_add, &w, &e))
		targets_failed(t, part, &e);
	else if (!t->n_added)
		bpf_missing(&w, part);
}
