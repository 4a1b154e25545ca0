/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one idea: an attach point with a pattern is expanded once more, by the compiler's own code,
 * in nothing but the new files. Programs are what they were, so only those are served whose sites
 * share one.
 *
 * A file is known by device and inode. Those that the unit itself has sites in are attached to each
 * process when it is first followed, those without a site are of no interest in any process; all
 * others are noted for each process.
 */
#include "run/file_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "world/process.h"

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

struct file_watch {
	const struct unit *unit;
	struct live *live;
	const struct features *features;
	file_watch_expand_fn *expand;
	const char *text; /* of a script: a probe without a body for each program */
	bool exact;
	VEC(u32) progs; /* that the probes of the script stand for */
	VEC(struct known) known;
	struct arena arena;
};

/* One look at one process. */
struct look {
	struct file_watch *watch;
	s32 pid;
	VEC(struct new_file) files;
	u32 failed; /* programs that could not be attached */
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

static bool is_known(const struct file_watch *l, const struct known *k)
{
	for (u32 i = 0; i < l->known.n; i++) {
		const struct known *is = &l->known.v[i];

		if ((!is->pid || is->pid == k->pid) && is->dev == k->dev && is->ino == k->ino)
			return true;
	}
	return false;
}

static void know_sites(struct file_watch *l)
{
	for (u32 i = 0; i < l->unit->progs.n; i++) {
		const struct uprog *p = &l->unit->progs.v[i];

		for (u32 j = 0; j < p->n_sites; j++) {
			const char *path = p->sites[j].path;
			struct known k;

			if (path && attach_kind_is_user(p->kind) && identify(path, 0, &k) &&
			    !is_known(l, &k))
				vec_add(&l->arena, &l->known, k);
		}
	}
}

/* "uprobe:*:malloc,uprobe:*:valloc {}" and so on. */
static void write_script(struct file_watch *l)
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

struct file_watch *file_watch_new(const struct unit *u, struct live *live,
                                  const struct features *features, file_watch_expand_fn *expand)
{
	struct file_watch *l;

	if (!u->late.n || !expand)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (!l)
		base_no_memory();
	l->unit = u;
	l->live = live;
	l->features = features;
	l->expand = expand;
	know_sites(l);
	write_script(l);
	return l;
}

void file_watch_free(struct file_watch *l)
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

	if (identify(path, k->pid, &f.is) && !is_known(k->watch, &f.is))
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

static void attach(void *ctx, u32 probe, struct usite *sites, u32 n)
{
	struct look *k = ctx;
	u32 prog = k->watch->progs.v[probe];
	struct err e = { 0 };

	for (u32 i = 0; i < n; i++) {
		struct new_file *f = new_file(k, sites[i].path);

		if (f)
			f->has_site = true;
		/* Its own name is not among the unit's. */
		sites[i].cookie = k->watch->unit->progs.v[prog].sites[0].cookie;
	}
	/* A process that has ended meanwhile needs no probes. */
	if (!live_follow_sites(k->watch->live, k->pid, prog, sites, n, &e) && kill(k->pid, 0) == 0)
		k->failed++;
}

static void expand(struct look *k)
{
	const struct file_watch *l = k->watch;
	const char **paths = arena_array(&k->arena, const char *, k->files.n);
	struct file_watch_query f = { l->text, l->exact, k->pid, paths, k->files.n };

	for (u32 i = 0; i < k->files.n; i++)
		paths[i] = k->files.v[i].path;
	l->expand(&f, l->features, attach, k);
}

static u32 note_files(struct look *k)
{
	u32 n = 0;

	for (u32 i = 0; i < k->files.n; i++) {
		struct new_file *f = &k->files.v[i];

		n += f->has_site;
		if (!f->has_site || k->watch->unit->follow_at_once)
			f->is.pid = 0;
		vec_add(&k->watch->arena, &k->watch->known, f->is);
	}
	return n;
}

u32 file_watch_look(struct file_watch *l, s32 pid, u32 *failed)
{
	struct look k = { .watch = l, .pid = pid };
	struct err e = { 0 };
	u32 n = 0;

	if (process_files(&k.arena, pid, file_of_process, &k, &e) && k.files.n) {
		expand(&k);
		n = note_files(&k);
	}
	*failed += k.failed;
	arena_free(&k.arena);
	return n;
}

void file_watch_forget_gone(struct file_watch *l)
{
	u32 kept = 0;

	for (u32 i = 0; i < l->known.n; i++) {
		struct known k = l->known.v[i];

		if (!k.pid || kill(k.pid, 0) == 0 || errno != ESRCH)
			l->known.v[kept++] = k;
	}
	l->known.n = kept;
}
