/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flame graphs of a session. The map is chosen and the files are opened before anything is traced:
 * a wrong name must not be said after an hour. What a script clears is taken in before, so the
 * graph is of the whole run whatever the script prints and clears in between.
 */
#include "run/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "run/output.h"

#define BEFORE_MAX ((size_t)1 << 30) /* bytes of folded stacks to compare with */

bool graph_wanted(const struct graph_options *o)
{
	return o && (o->folded || o->svg);
}

/* ---- the map ---- */

static bool is_named(const struct umap *m, struct str name)
{
	struct str full = str_of(m->name);

	return str_eq(full, name) ||
	       (full.n == name.n + 1 && name.n && memcmp(full.p + 1, name.p, name.n) == 0);
}

static bool choose_named(struct graph *g, const char *text, struct err *e)
{
	struct str part, name = str_cut(str_of(text), '.', &part);
	u32 index;

	g->part = part.p ? arena_strndup(&g->arena, part.p, part.n) : NULL;
	for (g->map = 0; g->map < g->unit->maps.n; g->map++) {
		const struct umap *m = &g->unit->maps.v[g->map];

		if (m->role != UMAP_USER || !is_named(m, name))
			continue;
		if (!flame_fits(m)) {
			err_set(e, "no flame graph can be drawn of %s", m->name);
			return err_hint(e, "it takes a map with a stack in its key and numbers");
		}
		return flame_part(m, g->part, &index) ||
		       err_set(e, "the values of %s have no number named '%s'", m->name, g->part);
	}
	return err_set(e, "--flame-map: the script has no map %.*s", STR_ARG(name));
}

static bool choose_first(struct graph *g, struct err *e)
{
	u32 found = 0;

	for (u32 i = 0; i < g->unit->maps.n; i++) {
		const struct umap *m = &g->unit->maps.v[i];

		if (!flame_fits(m))
			continue;
		if (!found++)
			g->map = i;
		else
			g->also = arena_printf(&g->arena, "%s%s%s", g->also ? g->also : "",
			                       g->also ? ", " : "", m->name);
	}
	if (found)
		return true;
	err_set(e, "there is nothing to draw a flame graph of: no map has a stack in its key");
	return err_hint(e, "@[ustack] = count() is one that has");
}

/* ---- files ---- */

static bool open_file(const struct graph *g, const char *path, int *fd, struct err *e)
{
	if (!path)
		return true;
	if (strcmp(path, "-") == 0)
		*fd = fcntl(g->options->stdout_fd, F_DUPFD_CLOEXEC, 3);
	else
		*fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (*fd >= 0)
		return true;
	if (errno == ELOOP)
		return err_set(e, "%s is a symbolic link: it is not written through", path);
	return err_sys(e, errno, "can not write to %s", path);
}

static bool write_file(int fd, struct buf *text, const char *path, struct stop *stop, struct err *e)
{
	struct output out = { .text = *text, .fd = fd, .stop = stop };
	struct stat st;

	*text = (struct buf){ 0 };
	if (strcmp(path, "-") != 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    ftruncate(fd, 0) < 0)
		err_sys(&out.error, errno, "can not empty the file");
	output_flush(&out);
	buf_free(&out.text);
	if (!out.error.text[0])
		return true;
	*e = out.error;
	return err_wrap(e, "%s", path);
}

static bool read_before(struct graph *g, struct err *e)
{
	const char *path = g->options->before;
	struct buf text = { 0 };
	struct stat st;
	bool ok;

	if (!path)
		return true;
	if (stat(path, &st) < 0)
		return err_sys(e, errno, "can not read %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, "%s is no file of folded stacks", path);
	ok = file_read(path, &text, BEFORE_MAX, e) &&
	     (flame_unfold(&g->before, buf_text(&text), text.n, e) || err_wrap(e, "%s", path));
	buf_free(&text);
	return ok;
}

bool graph_open(struct graph *g, const struct unit *u, const struct graph_options *o, struct err *e)
{
	*g = (struct graph){ .unit = u, .options = o, .folded_fd = -1, .svg_fd = -1 };
	if (!(o->map ? choose_named(g, o->map, e) : choose_first(g, e)) || !read_before(g, e))
		return false;
	return open_file(g, o->folded, &g->folded_fd, e) && open_file(g, o->svg, &g->svg_fd, e);
}

void graph_take(struct graph *g, const struct out *o, const struct table *t)
{
	flame_add_table(&g->flame, o, t, g->part);
}

/* The probe that a script on the command line is about. */
static const char *first_probe(const struct unit *u)
{
	for (u32 i = 0; i < u->progs.n; i++)
		if (!attach_kind_has(u->progs.v[i].kind, KIND_AROUND))
			return u->progs.v[i].name;
	return "memtap";
}

/* "faults.bt: @bytes", "tracepoint:syscalls:sys_enter_brk" */
static const char *title(struct graph *g)
{
	const char *source = g->unit->source_name, *slash = strrchr(source, '/');
	const char *map = g->unit->maps.v[g->map].name;

	if (g->options->title)
		return g->options->title;
	source = strcmp(source, "stdin") == 0 ? first_probe(g->unit) : slash ? slash + 1 : source;
	return map[1] ? arena_printf(&g->arena, "%s: %s", source, map) : source;
}

/* What is counted, by the names of the part or map. */
static const char *unit_name(const struct graph *g)
{
	const struct umap *m = &g->unit->maps.v[g->map];
	u32 index = 0;

	if (flame_part(m, g->part, &index) && m->value->kind == TYPE_TUPLE &&
	    m->value->fields[index].name)
		return m->value->fields[index].name;
	return m->name[1] ? m->name + 1 : "events";
}

bool graph_write(struct graph *g, struct stop *stop, struct err *e)
{
	struct flame_svg svg = { title(g), unit_name(g), g->options->before != NULL };
	struct buf b = { 0 };

	flame_sort(&g->flame);
	if (g->folded_fd >= 0) {
		flame_fold(&b, &g->flame);
		if (!write_file(g->folded_fd, &b, g->options->folded, stop, e))
			return false;
	}
	if (g->svg_fd < 0)
		return true;
	if (svg.diff)
		flame_compare(&g->flame, &g->before);
	flame_svg(&b, &g->flame, &svg);
	return write_file(g->svg_fd, &b, g->options->svg, stop, e);
}

void graph_close(struct graph *g)
{
	if (!g->options)
		return;
	if (g->folded_fd >= 0)
		close(g->folded_fd);
	if (g->svg_fd >= 0)
		close(g->svg_fd);
	flame_free(&g->flame);
	flame_free(&g->before);
	arena_free(&g->arena);
}
