/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Static probes of programs (USDT).
 *
 * The one idea: a probe has as many sites as the compiler made copies of its place in the code,
 * and each site says for itself where its arguments are. Sites whose used arguments lie in the
 * same places share a program; the others get one of their own, compiled for their places.
 */
#include "lang/probe/targets.h"

#include <string.h>

#include "base/buf.h"
#include "base/glob.h"

struct usdt {
	struct targets *t;
	const char *provider; /* glob; "*" when not given */
	const char *name;     /* glob */
	u32 part;             /* where the name is written */
	bool many;            /* several files: one without probes is no miss */
	const char *path;
	u32 n_sites; /* seen in all files, of any name */
	struct near near;
};

static bool operand_eq(const struct operand *a, const struct operand *b)
{
	return a->form == b->form && a->high_byte == b->high_byte && a->reg == b->reg &&
	       a->index == b->index && a->scale == b->scale && a->value == b->value;
}

static bool arg_eq(const struct usdt_arg *a, const struct usdt_arg *b)
{
	return a->size == b->size && a->is_signed == b->is_signed && operand_eq(&a->at, &b->at);
}

/* True when the body can not tell the site from those of v. */
static bool same_places(const struct targets *t, const struct variant *v, const struct usdt_site *s)
{
	u32 n = MIN(s->n_args, t->n_args_used);

	if (n != MIN(v->n_usdt, t->n_args_used))
		return false;
	for (u32 i = 0; i < n; i++)
		if (!arg_eq(&v->usdt[i], &s->args[i]))
			return false;
	return true;
}

static struct variant *usdt_variant(struct targets *t, const struct usdt_site *s)
{
	struct usdt_arg *args;
	struct variant *v;

	for (u32 i = t->first_variant; i < t->probe->variants.n; i++) {
		v = t->probe->variants.v[i];
		if (v->kind == ATTACH_USDT && same_places(t, v, s))
			return v;
	}
	v = targets_alone(t);
	args = arena_array(t->arena, struct usdt_arg, s->n_args);
	memcpy(args, s->args, sizeof(*args) * s->n_args);
	v->usdt = args;
	v->n_usdt = s->n_args;
	return v;
}

/* A name of the notes as a script writes it. */
static const char *written(struct targets *t, const char *name)
{
	struct buf b = { 0 };

	if (!t->script->request.lists || !name[strcspn(name, " \t,{:\"|")])
		return name;
	buf_putc(&b, '"');
	for (; *name; name++)
		buf_printf(&b, "%s%c", *name == '"' ? "\\" : "", *name);
	buf_putc(&b, '"');
	name = arena_strdup(t->arena, buf_text(&b));
	buf_free(&b);
	return name;
}

static void usdt_add(struct usdt *u, const struct usdt_site *s)
{
	struct targets *t = u->t;
	struct usite site = {
		.path = u->path,
		.offset = s->offset,
		.ref_ctr = s->ref_ctr,
		.pid = targets_pid(t),
	};

	if (s->bad_args && t->n_args_used) {
		diag_error(t->diags, targets_loc(t, u->part),
		           "the arguments of %s:%s can not be understood: %s (\"%s\")", s->provider,
		           s->name, s->bad ? s->bad : "unknown form", s->spec);
		diag_hint(t->diags, "the probe works as long as no argN is used");
		return;
	}
	if (!targets_room(t)) {
		targets_add(t, NULL, site, "");
		return;
	}
	targets_add(t, usdt_variant(t, s), site,
	            arena_printf(t->arena, "%s:%s:%s", targets_shown(t, u->path),
	                         written(t, s->provider), written(t, s->name)));
}

static bool usdt_site(void *ctx, const struct usdt_site *s)
{
	struct usdt *u = ctx;

	u->n_sites++;
	if (!glob_match(str_of(u->provider), str_of(s->provider)))
		return true;
	if (glob_match(str_of(u->name), str_of(s->name)))
		usdt_add(u, s);
	else
		near_offer(&u->near, s->name);
	return true;
}

static void usdt_file(struct targets *t, const char *path, void *ctx)
{
	struct usdt *u = ctx;
	struct err e = { 0 };
	struct elf *f = t->world->ops->elf(t->world, path, &e);

	u->path = path;
	if ((!f || !usdt_each(f, usdt_site, u, &e)) && !u->many)
		targets_no_file(t, &e);
}

static void usdt_missing(struct usdt *u)
{
	struct targets *t = u->t;
	const char *best = NULL;

	if (near_best(&u->near))
		best = arena_printf(t->arena, "'%s'", u->near.best);
	targets_missing(t, u->part, best, "No matches for usdt %s%s%s.%s",
	                strcmp(u->provider, "*") == 0 ? "" : u->provider,
	                strcmp(u->provider, "*") == 0 ? "" : ":", u->name,
	                u->n_sites ? ""
	                : u->many  ? " The process has no static probes."
	                           : " The file has no static probes.");
}

/* "ns:name" and "name" are allowed when there is a process; a program of that name is tried
 * first. */
static bool first_is_path(struct targets *t)
{
	const char *first = t->parts[0], *path;
	struct err e = { 0 };

	if (t->n_parts == 1)
		return false;
	if (t->n_parts == 3 || !*first || strchr(first, '/') ||
	    !(t->script->request.pid || t->script->request.command))
		return true;
	path = t->world->ops->resolve(t->world, t->script->request.pid, first, &e);
	return path && t->world->ops->elf(t->world, path, &e);
}

void targets_usdt(struct targets *t)
{
	struct usdt u = { .t = t, .provider = "*", .part = t->n_parts - 1 };
	bool path = first_is_path(t);
	u32 errors = t->diags->n_errors;
	const char *file = path ? t->parts[0] : "";

	u.name = t->parts[u.part];
	if (u.part > (path ? 1u : 0u) && *t->parts[u.part - 1])
		u.provider = t->parts[u.part - 1];
	u.many = !*file || glob_is(str_of(file));
	near_init(&u.near, u.name);
	if (!targets_files(t, file, usdt_file, &u))
		return;
	if (!t->n_added && t->diags->n_errors == errors)
		usdt_missing(&u);
}
