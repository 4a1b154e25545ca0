/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Late files; see late.h. The one idea: an attach point with a pattern is expanded once more, by the
 * compiler's own code, in a world that has nothing but the new files. Programs are what they were, so
 * only those are served whose sites share one.
 *
 * A file is known by device and inode. Those that the unit itself has sites in are attached to each
 * process when it is first followed, those without a site are of no interest in any process; all
 * others are noted for each process.
 */
#include "run/late.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "lang/parse/lang.h"
#include "world/process.h"
#include "world/world_linux.h"

struct known {
	s32 pid; /* 0: any */
	dev_t dev;
	ino_t ino;
};

struct new_file {
	const char *path;
	struct known is;
	bool has_site;
};

struct late {
	const struct unit *unit;
	struct live *live;
	const struct features *features;
	const char *text; /* of a script: a probe without a body for each program */
	bool exact;
	VEC(u32) progs; /* that the probes of the script stand for */
	VEC(struct known) known;
	struct arena arena;
};

/* One look at one process. */
struct look {
	struct late *late;
	s32 pid;
	VEC(struct new_file) files;
	struct arena arena;
};

static bool identify(const char *path, s32 pid, struct known *k)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	*k = (struct known){ .pid = pid, .dev = st.st_dev, .ino = st.st_ino };
	return true;
}

static bool is_known(const struct late *l, const struct known *k)
{
	for (u32 i = 0; i < l->known.n; i++) {
		const struct known *is = &l->known.v[i];

		if ((!is->pid || is->pid == k->pid) && is->dev == k->dev && is->ino == k->ino)
			return true;
	}
	return false;
}

static void know_sites(struct late *l)
{
	for (u32 i = 0; i < l->unit->progs.n; i++) {
		const struct uprog *p = &l->unit->progs.v[i];

		for (u32 j = 0; j < p->n_sites; j++) {
			const char *path = p->sites[j].path;
			struct known k;

			if (path && p->kind != ATTACH_ITER && identify(path, 0, &k) &&
			    !is_known(l, &k))
				vec_add(&l->arena, &l->known, k);
		}
	}
}

/* "uprobe:*:malloc,uprobe:*:valloc {}" and so on. */
static void write_script(struct late *l)
{
	struct buf b = { 0 };

	for (u32 i = 0; i < l->unit->late.n; i++) {
		const struct ulate *u = &l->unit->late.v[i];
		bool more = i && u->prog == u[-1].prog;

		buf_printf(&b, "%s%s", !i ? "" : more ? "," : " {}\n", u->text);
		l->exact |= u->exact;
		if (!more)
			vec_add(&l->arena, &l->progs, u->prog);
	}
	buf_puts(&b, " {}\n");
	l->text = arena_strdup(&l->arena, buf_text(&b));
	buf_free(&b);
}

struct late *late_new(const struct unit *u, struct live *live, const struct features *features)
{
	struct late *l;

	if (!u->late.n)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (!l)
		abort();
	l->unit = u;
	l->live = live;
	l->features = features;
	know_sites(l);
	write_script(l);
	return l;
}

void late_free(struct late *l)
{
	if (!l)
		return;
	arena_free(&l->arena);
	free(l);
}

static bool file_of_process(void *ctx, const char *path)
{
	struct look *k = ctx;
	struct new_file f = { .path = path };

	if (identify(path, k->pid, &f.is) && !is_known(k->late, &f.is))
		vec_add(&k->arena, &k->files, f);
	return true;
}

static struct new_file *new_file(struct look *k, const char *path)
{
	for (u32 i = 0; i < k->files.n; i++)
		if (strcmp(k->files.v[i].path, path) == 0)
			return &k->files.v[i];
	return NULL;
}

/* Expands the script for the new files; its probes then have their sites. */
static struct probe *expand(struct look *k, struct world *w)
{
	struct source *source = arena_new(&k->arena, struct source);
	struct script *s = arena_new(&k->arena, struct script);
	struct diags d = { .arena = &k->arena, .source = source };
	struct config c = { .max_probes = 1024, .missing_probes = MISSING_IGNORE };
	const char **paths = arena_array(&k->arena, const char *, k->files.n);

	*source = (struct source){ .name = "late", .text = k->late->text };
	source->n = (u32)strlen(source->text);
	*s = (struct script){ .arena = &k->arena, .source = source };
	w->pid = k->pid;
	w->exact_sites = k->late->exact;
	for (u32 i = 0; i < k->files.n; i++)
		paths[i] = k->files.v[i].path;
	w->files = paths;
	w->n_files = k->files.n;
	return parse_script(s, &d) && targets_expand(s, &c, w, &d) ? s->probes : NULL;
}

static void attach(struct look *k, u32 prog, struct variant *v, u32 *failed)
{
	struct err e = { 0 };

	for (u32 i = 0; i < v->sites.n; i++) {
		struct new_file *f = new_file(k, v->sites.v[i].path);

		if (f)
			f->has_site = true;
		/* Its own name is not among the unit's. */
		v->sites.v[i].cookie = k->late->unit->progs.v[prog].sites[0].cookie;
	}
	/* A process that has ended meanwhile needs no probes. */
	if (v->sites.n &&
	    !live_follow_sites(k->late->live, k->pid, prog, v->sites.v, v->sites.n, &e) &&
	    kill(k->pid, 0) == 0)
		++*failed;
}

static u32 note_files(struct look *k)
{
	u32 n = 0;

	for (u32 i = 0; i < k->files.n; i++) {
		struct new_file *f = &k->files.v[i];

		n += f->has_site;
		if (!f->has_site || k->late->unit->follow_at_once)
			f->is.pid = 0;
		vec_add(&k->late->arena, &k->late->known, f->is);
	}
	return n;
}

u32 late_look(struct late *l, s32 pid, u32 *failed)
{
	struct look k = { .late = l, .pid = pid };
	struct world_linux_options machine = { .features = l->features };
	struct err e = { 0 };
	struct world *w;
	u32 n = 0, i = 0;

	if (process_files(&k.arena, pid, file_of_process, &k, &e) && k.files.n) {
		w = world_linux_new(&machine);
		for (struct probe *p = expand(&k, w); p; p = p->next, i++)
			for (u32 j = 0; j < p->variants.n; j++)
				attach(&k, l->progs.v[i], p->variants.v[j], failed);
		n = note_files(&k);
		world_linux_free(w);
	}
	arena_free(&k.arena);
	return n;
}

void late_forget_gone(struct late *l)
{
	u32 kept = 0;

	for (u32 i = 0; i < l->known.n; i++) {
		struct known k = l->known.v[i];

		if (!k.pid || kill(k.pid, 0) == 0 || errno != ESRCH)
			l->known.v[kept++] = k;
	}
	l->known.n = kept;
}
