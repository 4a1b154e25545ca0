/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of programs and libraries to paths. One idea: three ways in a fixed order (path,
 * program, library), each giving NULL when it does not apply.
 *
 * It does not look into the files; that they are ELF is found out when they are opened.
 */
#include "world/resolve.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/caps.h"
#include "base/file.h"
#include "base/near.h"
#include "base/str.h"
#include "elf/ldcache.h"

static bool is_file(const char *path)
{
	struct stat st;

	if (file_is_in_root(path))
		return file_is_regular(path);
	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static DIR *list(const char *path)
{
	int fd = file_open_dir(path);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (!d && fd >= 0)
		close(fd);
	return d;
}

static const char *absolute(struct arena *a, const char *name)
{
	const char *path;
	char *cwd;

	if (name[0] == '/')
		return arena_strdup(a, name);
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	cwd = getcwd(NULL, 0);
	path = arena_printf(a, "%s/%s", cwd ? cwd : ".", name);
	free(cwd);
	return path;
}

static const char *by_path(struct arena *a, const char *name, struct err *e)
{
	const char *path = absolute(a, name);
	struct stat st;
	int held;

	if (file_is_in_root(path)) {
		held = file_hold(path, e);
		if (held >= 0)
			close(held);
		else
			caps_file(e, path);
		return held >= 0 ? path : NULL;
	}
	if (stat(path, &st) < 0)
		err_sys(e, errno, "can not open %s", name);
	else if (S_ISDIR(st.st_mode))
		err_sys(e, EISDIR, "%s is not a program or library", name);
	else if (!S_ISREG(st.st_mode))
		err_set(e, "%s is not a regular file", name);
	else
		return path;
	caps_file(e, path);
	return NULL;
}

static const char *program(const struct resolver *r, const char *name)
{
	struct str rest = str_of(r->path);

	while (rest.p) {
		struct str dir = str_cut(rest, ':', &rest);
		const char *path;

		if (!dir.n)
			continue;
		path = arena_printf(r->arena, "%s%.*s/%s", r->root, STR_ARG(dir), name);
		if (is_file(path) && access(path, X_OK) == 0)
			return absolute(r->arena, path);
	}
	return NULL;
}

static const char *cached_library(const struct resolver *r, const char *name)
{
	struct file_map m = { 0 };
	const char *found, *path = NULL;
	struct err ignored;

	if (!file_map(arena_printf(r->arena, "%s/etc/ld.so.cache", r->root), &m, &ignored))
		return NULL;
	found = ldcache_find(m.p, m.n, name);
	if (found)
		path = arena_printf(r->arena, "%s%s", r->root, found);
	file_unmap(&m);
	return path && is_file(path) ? path : NULL;
}

/* The newest library of that name in one directory; "libx.so" without version, often a linker
 * script, is only taken when it is asked for as such. */
static const char *library_in(const struct resolver *r, const char *dir, const char *name)
{
	const char *best = NULL, *path = arena_printf(r->arena, "%s%s", r->root, dir);
	DIR *d = list(path);
	struct dirent *entry;

	if (!d)
		return NULL;
	while ((entry = readdir(d)))
		if (ldcache_name_is(entry->d_name, name) &&
		    (!best || strverscmp(entry->d_name, best) > 0))
			best = arena_strdup(r->arena, entry->d_name);
	closedir(d);
	if (!best)
		return NULL;
	path = arena_printf(r->arena, "%s/%s", path, best);
	return is_file(path) ? path : NULL;
}

const char *resolve_library(const struct resolver *r, const char *name)
{
	const char *path = cached_library(r, name);

	for (const char *const *dir = arch.libraries.dirs; *dir && !path; dir++)
		path = library_in(r, *dir, name);
	return path;
}

/* ---- a name that there is not --------------------------------------------------------------- */

/* Names of programs as they are, of libraries as a script may write them: "libssl". */
static void offer_files(const struct resolver *r, const char *dir, bool libraries,
                        struct near *near)
{
	DIR *d = list(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		const char *so = strstr(entry->d_name, ".so.");

		if (libraries && so && strncmp(entry->d_name, "lib", 3) == 0)
			near_offer(near, arena_strndup(r->arena, entry->d_name,
			                               (size_t)(so - entry->d_name)));
		else if (!libraries && entry->d_name[0] != '.' &&
		         faccessat(dirfd(d), entry->d_name, X_OK, 0) == 0)
			near_offer(near, arena_strdup(r->arena, entry->d_name));
	}
	if (d)
		closedir(d);
}

static void hint(const struct resolver *r, const char *name, struct err *e)
{
	struct str rest = str_of(r->path);
	struct near near;

	if (*name && is_file(name)) {
		err_hint(e, "the file in this directory is written './%s'", name);
		return;
	}
	near_init(&near, name);
	for (const char *const *dir = arch.libraries.dirs; *dir; dir++)
		offer_files(r, arena_printf(r->arena, "%s%s", r->root, *dir), true, &near);
	while (rest.p) {
		struct str dir = str_cut(rest, ':', &rest);

		if (dir.n)
			offer_files(r, arena_printf(r->arena, "%s%.*s", r->root, STR_ARG(dir)),
			            false, &near);
	}
	if (near_best(&near))
		err_hint(e, "did you mean '%s'?", near.best);
	else
		err_hint(e, "give the path of the file");
}

const char *resolve_file(const struct resolver *r, const char *name, struct err *e)
{
	const char *path = NULL;

	if (strchr(name, '/'))
		return by_path(r->arena, name, e);
	if (*name)
		path = program(r, name);
	if (!path && *name)
		path = resolve_library(r, name);
	if (path)
		return path;
	err_set(e, "no program or library is called '%s'", name);
	e->code = ENOENT;
	hint(r, name, e);
	return NULL;
}
