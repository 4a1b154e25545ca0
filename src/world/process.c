/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files of processes.
 *
 * The one idea: a uprobe is on a file, not on a process, so one file need only be found once,
 * whoever maps it; device and inode tell files apart, and /proc/PID/root leads to those of
 * other roots.
 */
#include "world/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hmap.h"
#include "base/str.h"
#include "elf/ldcache.h"
#include "read/procmaps.h"

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* A file that was replaced since it was mapped has no path any more but can still be opened
 * through the mapping itself. */
static const char *mapping_path(struct arena *a, s32 pid, bool same_root, const struct procmap *m)
{
	const char *inside;

	if (ends_with(m->path, " (deleted)"))
		return arena_printf(a, "/proc/%d/map_files/%lx-%lx", pid, m->start, m->end);
	inside = arena_printf(a, "/proc/%d/root%s", pid, m->path);
	/* Of a process that only changed its root, the kernel gives us the path from ours. */
	return same_root || (!file_is_regular(inside) && access(m->path, F_OK) == 0) ? m->path
	                                                                             : inside;
}

static bool is_file_code(const struct procmap *m)
{
	return m->exec && m->path[0] == '/' && m->inode;
}

static bool same_file(const struct procmap *a, const struct procmap *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* True if the mapping is the first executable one of a real file. */
static bool is_new_file(const struct procmaps *maps, u32 i)
{
	if (!is_file_code(&maps->v[i]))
		return false;
	for (u32 k = 0; k < i; k++)
		if (maps->v[k].exec && same_file(&maps->v[k], &maps->v[i]))
			return false;
	return true;
}

/* ---- roots ---------------------------------------------------------------------------------- */

static bool same_inode(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* True when paths mean the same to the process as to us; also when it can not be known. */
static bool has_our_root(struct arena *a, s32 pid)
{
	const char *root = arena_printf(a, "/proc/%d/root/", pid);
	const char *mounts = arena_printf(a, "/proc/%d/ns/mnt", pid);
	struct stat st;

	if (stat(root, &st) < 0 || stat(mounts, &st) < 0)
		return true;
	return same_inode(root, "/") && same_inode(mounts, "/proc/self/ns/mnt");
}

bool process_files(struct arena *a, s32 pid, process_file_fn *cb, void *ctx, struct err *e)
{
	bool ours = has_our_root(a, pid);
	struct procmaps maps;

	if (!procmaps_read(a, pid, &maps, e))
		return false;
	for (u32 i = 0; i < maps.n; i++)
		if (is_new_file(&maps, i) && !cb(ctx, mapping_path(a, pid, ours, &maps.v[i])))
			break;
	return true;
}

/* ---- all processes -------------------------------------------------------------------------- */

struct all {
	struct arena *a;
	struct hmap seen; /* device and inode */
	VEC(s32) others;  /* processes of other roots */
	process_file_fn *cb;
	void *ctx;
	bool stopped;
};

static bool first_time(struct all *all, const struct procmap *m)
{
	u64 *key = arena_array(all->a, u64, 2);

	key[0] = (u64)m->dev_major << 32 | m->dev_minor;
	key[1] = m->inode;
	if (hmap_find(&all->seen, key, 2 * sizeof(*key)))
		return false;
	hmap_put(&all->seen, key, 2 * sizeof(*key), key);
	return true;
}

/* Those of our root come first: so a file has its own path, whoever else maps it. */
static void one_process(struct all *all, s32 pid, bool others_turn)
{
	struct arena a = { 0 }; /* there may be many, with many mappings */
	struct procmaps maps;
	struct err gone;
	bool ours;

	if (!procmaps_read(&a, pid, &maps, &gone))
		maps.n = 0;
	ours = maps.n && has_our_root(&a, pid);
	if (maps.n && !ours && !others_turn) {
		vec_add(all->a, &all->others, pid);
		maps.n = 0;
	}
	for (u32 i = 0; i < maps.n && !all->stopped; i++)
		if (is_file_code(&maps.v[i]) && first_time(all, &maps.v[i]))
			all->stopped = !all->cb(
				all->ctx,
				arena_strdup(all->a, mapping_path(&a, pid, ours, &maps.v[i])));
	arena_free(&a);
}

bool process_files_all(struct arena *a, process_file_fn *cb, void *ctx, struct err *e)
{
	struct all all = { .a = a, .cb = cb, .ctx = ctx };
	DIR *dir = opendir("/proc");
	struct dirent *d;

	if (!dir)
		return err_sys(e, errno, "can not list the processes");
	while (!all.stopped && (d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			one_process(&all, (s32)strtol(d->d_name, NULL, 10), false);
	for (u32 i = 0; i < all.others.n && !all.stopped; i++)
		one_process(&all, all.others.v[i], true);
	closedir(dir);
	hmap_free(&all.seen);
	return true;
}

/* ---- names and patterns --------------------------------------------------------------------- */

/* "libc" and "libc.so.6" both mean ".../libc.so.6". */
static const char *mapped_file(struct arena *a, s32 pid, bool ours, const char *name)
{
	struct procmaps maps;
	struct err gone;

	if (!procmaps_read(a, pid, &maps, &gone))
		return NULL;
	for (u32 i = 0; i < maps.n; i++) {
		const char *slash = strrchr(maps.v[i].path, '/');

		if (is_file_code(&maps.v[i]) && slash &&
		    (strcmp(slash + 1, name) == 0 || ldcache_name_is(slash + 1, name)))
			return mapping_path(a, pid, ours, &maps.v[i]);
	}
	return NULL;
}

static const char *root_of(const struct resolver *r, s32 pid)
{
	return pid && !has_our_root(r->arena, pid) ? arena_printf(r->arena, "/proc/%d/root", pid)
	                                           : "";
}

const char *process_resolve(const struct resolver *r, s32 pid, const char *name, struct err *e)
{
	const char *root = root_of(r, pid), *path = NULL;
	struct resolver inside = *r;
	struct err not_there;

	inside.root = root;
	if (pid && *name && !strchr(name, '/'))
		path = mapped_file(r->arena, pid, !*root, name);
	if (!path && *root && name[0] == '/' && !str_starts(str_of(name), "/proc/"))
		path = resolve_file(r, arena_printf(r->arena, "%s%s", root, name), &not_there);
	else if (!path && *root && !strchr(name, '/'))
		path = resolve_file(&inside, name, &not_there);
	return path ? path : resolve_file(r, name, e);
}

bool process_glob(const struct resolver *r, const char *pattern, process_file_fn *cb, void *ctx,
                  struct err *e)
{
	glob_t found;
	struct stat st;
	int code = glob(pattern, GLOB_BRACE, NULL, &found);

	if (code == GLOB_NOMATCH)
		return true;
	if (code)
		return err_set(e, "can not look for files like %s", pattern);
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (stat(found.gl_pathv[i], &st) == 0 && S_ISREG(st.st_mode) &&
		    !cb(ctx, arena_strdup(r->arena, found.gl_pathv[i])))
			break;
	globfree(&found);
	return true;
}
