/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * import "file.bt", "file.h" or a directory of them.
 *
 * The one idea: an imported text is put after the script's own and parsed as if it stood there,
 * so a place stays one number; the source remembers where each file begins. A file is taken in
 * when all before it was parsed, so that nothing open in one file ends in the next.
 *
 * A path means what it means beside the file that it is written in; where nothing is there, the
 * file of that path among those that are a part of the program. What is a part of the program
 * imports nothing else, whatever lies in the directory it is run in. Whoever can change a file
 * decides what the traced machine does: directories that everybody may write to are refused.
 */
#include "lang/parse/import.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

#define IMPORTS_MAX 256u
#define PACKED      "memtap:" /* before the path of a packed file; a real path begins with '/' */

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

/* `path` of an import written in the file `from`. */
static const char *beside(const struct script *s, const char *from, const char *path)
{
	return *path == '/' ? path
	                    : arena_printf(s->arena, "%s/%s", directory_of(s->arena, from), path);
}

/* The file system's one name of `path`; NULL, and errno, when nothing is there. */
static const char *resolve(const struct script *s, const char *path)
{
	char *real = realpath(path, NULL);
	const char *kept = real ? arena_strdup(s->arena, real) : NULL;

	free(real);
	return kept;
}

/* Is this place in the text of the program itself? */
static bool in_packed(const struct script *s, struct loc loc)
{
	const char *name = source_name(s->source, loc.off);

	return name == s->source->name ? s->is_packed : str_starts(str_of(name), PACKED);
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

static bool is_listed(const import_list *list, const char *path)
{
	for (u32 i = 0; i < list->n; i++)
		if (strcmp(list->v[i].path, path) == 0)
			return true;
	return false;
}

/* Once. */
static bool add(import_list *list, const struct script *s, const struct import *file,
                struct diags *d)
{
	if (is_listed(list, file->path))
		return true;
	if (list->n == IMPORTS_MAX)
		return diag_error(d, file->loc, "more than %u files are imported", IMPORTS_MAX);
	vec_add(s->arena, list, *file);
	return true;
}

/* The file of the program that `path` means; false when there is none. */
static bool find_packed(const struct script *s, const char *path, struct import *file)
{
	const char *from = source_name(s->source, file->loc.off);

	if (!s->library || *path == '/')
		return false;
	if (str_starts(str_of(from), PACKED) && strchr(from, '/'))
		path = beside(s, from + strlen(PACKED), path);
	file->text = s->library(s->arena, path);
	file->path = arena_printf(s->arena, PACKED "%s", path);
	return file->text.p;
}

static bool add_file(import_list *list, const struct script *s, const char *path, struct loc loc,
                     struct diags *d)
{
	struct import file = { .path = path, .loc = loc };

	if (is_listed(list, path))
		return true;
	if (!ends_in(path, ".bt") && !ends_in(path, ".h")) {
		diag_error(d, loc, "can not import '%s': memtap has only scripts and their types",
		           path);
		diag_hint(d, "the file's name ends in .bt or .h, or it is a directory");
		return false;
	}
	return is_safe(directory_of(s->arena, path), loc, d) && add(list, s, &file, d);
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
	const char *text = arena_strndup(s->arena, path.p, path.n), *file, *real = NULL;
	struct import packed = { .loc = loc };
	struct stat st;

	if (ends_in(text, ".c"))
		return diag_error(d, loc, "memtap does not import C programs, only .bt and .h");
	file = beside(s, source_name(s->source, loc.off), text);
	if (in_packed(s, loc))
		errno = ENOENT;
	else
		real = resolve(s, file);
	if (!real && errno == ENOENT && find_packed(s, text, &packed))
		return add(list, s, &packed, d);
	if (!real)
		return diag_error(d, loc, "can not import '%s': %s", file, strerror(errno));
	if (stat(real, &st) == 0 && S_ISDIR(st.st_mode))
		return add_directory(list, s, real, loc, d);
	return add_file(list, s, real, loc, d);
}

const char *import_header(const struct script *s, struct str name, bool quoted, u32 off)
{
	const char *path = arena_strndup(s->arena, name.p, name.n), *real = NULL;

	if (in_packed(s, (struct loc){ .off = off }))
		return NULL;
	if (*path == '/')
		return resolve(s, path);
	if (quoted)
		real = resolve(s, beside(s, source_name(s->source, off), path));
	if (!real && quoted)
		real = resolve(s, path);
	for (u32 i = 0; !real && i < s->headers.n_dirs; i++)
		real = resolve(s, arena_printf(s->arena, "%s/%s", s->headers.dirs[i], path));
	return real;
}

bool import_take(struct script *s, const struct import *file, struct diags *d)
{
	struct source *to = s->source;
	struct buf text = { 0 };
	struct err e = { 0 };
	bool ok;

	if (file->text.p) {
		source_append(to, s->arena, file->path, file->text);
		return true;
	}
	ok = file_read_regular(file->path, &text, SOURCE_MAX - to->n - 1, &e);
	if (!ok)
		diag_error(d, file->loc, "can not import: %s", e.text);
	else
		source_append(to, s->arena, file->path,
		              (struct str){ buf_text(&text), (u32)text.n });
	buf_free(&text);
	return ok;
}
