/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * import "file.bt", "file.h" or a directory of them.
 *
 * The one idea: an imported text is put behind the script's own and parsed as if it stood there,
 * so a place stays one number; the source remembers where each file begins. A file is taken in
 * when all before it was parsed, so that nothing open in one file ends in the next.
 *
 * A path means what it means beside the file that it is written in. Whoever can change a file
 * decides what the traced machine does: directories that everybody may write to are refused.
 */
#include "lang/import.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

#define IMPORTS_MAX 256u

bool import_is_library(struct str path)
{
	return str_is(path, "stdlib") || str_starts(path, "stdlib/");
}

static bool ends_in(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);

	return n >= k && strcmp(path + n - k, end) == 0;
}

/* The path's directory, "." when it has none. */
static const char *directory_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return ".";
	return slash == path ? "/" : arena_strndup(a, path, (u32)(slash - path));
}

/* `path`, written at loc, as the file system's one name of it; NULL after an error. */
static const char *resolve(const struct script *s, struct str path, struct loc loc, struct diags *d)
{
	const char *from = source_name(s->source, loc.off), *text, *kept;
	char *real;

	text = arena_strndup(s->arena, path.p, path.n);
	if (*text != '/')
		text = arena_printf(s->arena, "%s/%s", directory_of(s->arena, from), text);
	real = realpath(text, NULL);
	if (!real) {
		diag_error(d, loc, "can not import '%s': %s", text, strerror(errno));
		return NULL;
	}
	kept = arena_strdup(s->arena, real);
	free(real);
	return kept;
}

static bool is_safe(const char *directory, struct loc loc, struct diags *d)
{
	struct stat st;

	if (stat(directory, &st) < 0)
		return diag_error(d, loc, "can not import from '%s': %s", directory,
		                  strerror(errno));
	if (st.st_mode & S_IWOTH)
		return diag_error(d, loc, "can not import from '%s': everybody may write to it",
		                  directory);
	return true;
}

/* One file, once. */
static bool add_file(import_list *list, const struct script *s, const char *path, struct loc loc,
                     struct diags *d)
{
	for (u32 i = 0; i < list->n; i++)
		if (strcmp(list->v[i].path, path) == 0)
			return true;
	if (list->n == IMPORTS_MAX)
		return diag_error(d, loc, "more than %u files are imported", IMPORTS_MAX);
	if (!ends_in(path, ".bt") && !ends_in(path, ".h")) {
		diag_error(d, loc, "can not import '%s': memtap has only scripts and their types",
		           path);
		diag_hint(d, "the file's name ends in .bt or .h, or it is a directory");
		return false;
	}
	if (!is_safe(directory_of(s->arena, path), loc, d))
		return false;
	vec_add(s->arena, list, ((struct import){ path, loc }));
	return true;
}

static int is_script(const struct dirent *e)
{
	return ends_in(e->d_name, ".bt") || ends_in(e->d_name, ".h");
}

/* The scripts of a directory, in the order of their names. */
static bool add_directory(import_list *list, const struct script *s, const char *path,
                          struct loc loc, struct diags *d)
{
	struct dirent **names;
	int n = scandir(path, &names, is_script, alphasort);
	bool ok = n >= 0;

	if (!ok)
		return diag_error(d, loc, "can not import '%s': %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		ok = ok &&
		     add_file(list, s, arena_printf(s->arena, "%s/%s", path, names[i]->d_name), loc,
		              d);
		free(names[i]);
	}
	free(names);
	return ok;
}

bool import_add(import_list *list, const struct script *s, struct str path, struct loc loc,
                struct diags *d)
{
	struct stat st;
	const char *real;

	if (ends_in(arena_strndup(s->arena, path.p, path.n), ".c"))
		return diag_error(d, loc, "memtap does not import C programs, only .bt and .h");
	real = resolve(s, path, loc, d);
	if (!real)
		return false;
	if (stat(real, &st) == 0 && S_ISDIR(st.st_mode))
		return add_directory(list, s, real, loc, d);
	return add_file(list, s, real, loc, d);
}

bool import_take(struct script *s, const struct import *file, struct diags *d)
{
	struct source *to = s->source;
	struct buf text = { 0 };
	struct err e = { 0 };
	bool ok = file_read(file->path, &text, SOURCE_MAX - to->n - 1, &e);

	if (!ok)
		diag_error(d, file->loc, "can not import: %s", e.text);
	else
		source_append(to, s->arena, file->path,
		              (struct str){ buf_text(&text), (u32)text.n });
	buf_free(&text);
	return ok;
}
