/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program will map, by the rules of its dynamic loader, without running anything of it: the
 * loader is one that the program names, and asking it (ldd does) is running the program's code.
 *
 * The one idea: a list that grows while it is walked. Each file on it names the libraries it needs
 * (DT_NEEDED), and where they are to be looked for (ld.so(8)):
 *
 *     its DT_RPATH, and the program's     when it has no DT_RUNPATH
 *     LD_LIBRARY_PATH
 *     its DT_RUNPATH
 *     /etc/ld.so.cache and the usual directories
 *
 * Of a library that there is for newer processors, too, both are listed. musl has a list of
 * directories instead of the cache, and its loader is its libc. Libraries that the program opens
 * later (dlopen) are not known.
 */
#include "world/program_libs.h"

#include <elf.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/file.h"
#include "base/hmap.h"
#include "base/str.h"

#define FILES_MAX 4096u
/* The program's owner says how many names and places there are. */
#define LOOKS_MAX  100000u
#define LOOKS_EACH 50u /* in the cache and the usual directories */

struct libs {
	const struct resolver *r;
	struct arena *a;
	const char *loader;       /* "" of a static program */
	const char *program_dirs; /* its DT_RPATH, "" none */
	const char *program;
	VEC(const char *) files;
	struct hmap known;     /* by path */
	struct hmap elsewhere; /* by name: a path, or "" */
	u32 looks;
};

static void add(struct libs *l, const char *path)
{
	if (hmap_find(&l->known, path, strlen(path)))
		return;
	hmap_put(&l->known, path, strlen(path), base_plain(path));
	vec_add(l->a, &l->files, path);
}

/* ---- directories ---------------------------------------------------------------------------- */

/* $ORIGIN and $LIB in a directory's name; NULL when something else is to be put there. */
static const char *expand(struct libs *l, struct str dir, const char *of)
{
	static const char *const names[] = { "$ORIGIN", "${ORIGIN}", "$LIB", "${LIB}" };
	struct buf b = { 0 };
	char *real = realpath(of, NULL);
	const char *put[] = { real ? dirname(real) : ".", NULL, arch.libraries.lib, NULL };
	const char *out = NULL;

	while (dir.n && b.n < PATH_MAX) {
		u32 i = 0;

		while (i < ARRAY_SIZE(names) && !str_starts(dir, names[i]))
			i++;
		if (i == ARRAY_SIZE(names) && dir.p[0] == '$')
			break;
		if (i < ARRAY_SIZE(names))
			buf_puts(&b, put[i & ~1u]);
		else
			buf_putc(&b, dir.p[0]);
		i = i < ARRAY_SIZE(names) ? (u32)strlen(names[i]) : 1;
		dir = (struct str){ dir.p + i, dir.n - i };
	}
	if (!dir.n)
		out = arena_strdup(l->a, buf_text(&b));
	buf_free(&b);
	free(real);
	return out;
}

/* The library in one of the directories of a list with colons. */
static const char *in_dirs(struct libs *l, const char *list, const char *of, const char *name)
{
	struct str rest = str_of(list);

	while (rest.p && rest.n && l->looks++ < LOOKS_MAX) {
		struct str dir = str_cut(rest, ':', &rest);
		const char *at = dir.n ? expand(l, dir, of) : ".", *path;

		if (!at || strlen(at) + strlen(name) >= PATH_MAX)
			continue;
		path = arena_printf(l->a, "%s/%s", at, name);
		if (file_is_regular(path))
			return path;
	}
	return NULL;
}

static bool is_musl(const struct libs *l)
{
	return strstr(l->loader, "/ld-musl-");
}

static const char *musl_dirs(struct libs *l)
{
	struct buf b = { 0 };
	struct err ignored;
	const char *dirs;
	char *p;

	if (!file_read_regular(arch.libraries.musl_path, &b, 65536, &ignored))
		return "/lib:/usr/local/lib:/usr/lib";
	dirs = p = arena_strdup(l->a, buf_text(&b));
	for (; *p; p++)
		if (*p == '\n')
			*p = ':';
	buf_free(&b);
	return dirs;
}

static const char *from_environment(const char *name)
{
	const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */

	return value ? value : "";
}

static const char *in_usual_places(struct libs *l, const char *name)
{
	void **known = hmap_find(&l->elsewhere, name, strlen(name));
	const char *path = known ? *known : NULL;

	if (!known && l->looks < LOOKS_MAX) {
		l->looks += LOOKS_EACH;
		path = resolve_library(l->r, name);
		/* The file that has the name is closed before the next one. */
		hmap_put(&l->elsewhere, arena_strdup(l->a, name), strlen(name),
		         base_plain(path ? path : ""));
	}
	return path && *path ? path : NULL;
}

static const char *otherwise(struct libs *l, const char *of, const char *name)
{
	if (!is_musl(l))
		return in_usual_places(l, name);
	if (strcmp(name, "libc.so") == 0 || str_starts(str_of(name), "libc.musl-"))
		return l->loader;
	return in_dirs(l, musl_dirs(l), of, name);
}

/* ---- libraries ------------------------------------------------------------------------------ */

/* Those for newer processors lie below the usual ones' directories. */
static void add_variants(struct libs *l, const char *path)
{
	const char *const *level = arch.libraries.levels;
	const char *slash = strrchr(path, '/');

	for (; slash && !strstr(path, "/glibc-hwcaps/") && *level; level++) {
		const char *other = arena_printf(l->a, "%.*s/glibc-hwcaps/%s%s",
		                                 (int)(slash - path), path, *level, slash);

		if (file_is_regular(other))
			add(l, other);
	}
}

static void need(struct libs *l, struct elf *f, const char *name)
{
	const char *of = elf_path(f), *path = NULL, *run = elf_dynamic(f, DT_RUNPATH, 0);
	const char *rpath = elf_dynamic(f, DT_RPATH, 0);

	if (strcmp(name, strrchr(l->loader, '/') + 1) == 0)
		return;
	if (strchr(name, '/')) {
		path = file_is_regular(name) ? arena_strdup(l->a, name) : NULL;
	} else {
		if (!run && rpath)
			path = in_dirs(l, rpath, of, name);
		if (!path && !run)
			path = in_dirs(l, l->program_dirs, l->program, name);
		if (!path)
			path = in_dirs(l, from_environment("LD_LIBRARY_PATH"), of, name);
		if (!path && run)
			path = in_dirs(l, run, of, name);
		if (!path)
			path = otherwise(l, of, name);
	}
	if (!path)
		return; /* the loader will say so */
	add(l, path);
	add_variants(l, path);
}

static void needs_of(struct libs *l, struct elf *f)
{
	const char *name;
	u32 i = 0;

	while (l->files.n <= FILES_MAX && l->looks++ < LOOKS_MAX &&
	       (name = elf_dynamic(f, DT_NEEDED, i++)))
		need(l, f, name);
}

/* Blanks and colons are between the names. */
static void preloaded(struct libs *l, struct elf *program, const char *list)
{
	while (*list) {
		size_t n = strcspn(list, " :\n");

		if (n)
			need(l, program, arena_strndup(l->a, list, n));
		list += n + (list[n] != 0);
	}
}

static void collect(struct libs *l, struct elf *program)
{
	const char *dirs = elf_dynamic(program, DT_RPATH, 0);
	struct buf b = { 0 };
	struct err ignored;

	if (dirs && !elf_dynamic(program, DT_RUNPATH, 0))
		l->program_dirs = dirs;
	add(l, l->loader);
	preloaded(l, program, from_environment("LD_PRELOAD"));
	if (!is_musl(l) && file_read_regular("/etc/ld.so.preload", &b, 65536, &ignored))
		preloaded(l, program, buf_text(&b));
	buf_free(&b);
	needs_of(l, program);
	for (u32 i = 1; i < l->files.n && l->files.n <= FILES_MAX; i++) {
		struct elf *f = elf_open(l->files.v[i], &ignored);

		if (f)
			needs_of(l, f);
		elf_close(f);
	}
}

/* The loader that a program names, "" none. */
static const char *loader_of(struct elf *program)
{
	const u8 *p;
	u64 vaddr;
	size_t n;

	if (!elf_section(program, ".interp", &p, &n, &vaddr) || p[n - 1] || p[0] != '/')
		return "";
	return (const char *)p;
}

bool program_libs_each(const struct resolver *r, struct elf *program, process_file_fn *cb,
                       void *ctx, struct err *e)
{
	struct libs l = { .r = r, .a = r->arena, .loader = loader_of(program) };
	bool ok = true;

	l.program = elf_path(program);
	l.program_dirs = "";
	vec_add(l.a, &l.files, l.program);
	if (l.loader[0])
		collect(&l, program);
	if (l.files.n > FILES_MAX)
		ok = err_set(e, "%s needs more than %u libraries", l.program, FILES_MAX);
	else if (l.looks > LOOKS_MAX)
		ok = err_set(e, "%s has its libraries looked for in more than %u places", l.program,
		             LOOKS_MAX);
	for (u32 i = 0; ok && i < l.files.n && cb(ctx, l.files.v[i]); i++)
		;
	hmap_free(&l.known);
	hmap_free(&l.elsewhere);
	return ok;
}
