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
#include "out/pprof.h"
#include "run/output.h"

#define PROFILE_MAP "@profile"
#define BEFORE_MAX  ((size_t)1 << 30) /* bytes of folded stacks to compare with */

bool graph_wanted(const struct graph_options *o)
{
	return o && (o->paths[GRAPH_FOLDED] || o->paths[GRAPH_SVG] || o->paths[GRAPH_PPROF]);
}

bool graph_fits(const struct unit *u)
{
	for (u32 i = 0; i < u->maps.n; i++)
		if (flame_fits(&u->maps.v[i]))
			return true;
	return false;
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

/* @profile where there is one: a script says by its name what a graph of it is of. */
static bool choose_first(struct graph *g, struct err *e)
{
	u32 found = 0;

	for (u32 i = 0; i < g->unit->maps.n; i++) {
		const struct umap *m = &g->unit->maps.v[i];

		if (!flame_fits(m))
			continue;
		if (strcmp(m->name, PROFILE_MAP) == 0) {
			g->map = i;
			g->also = NULL;
			return true;
		}
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

static bool open_file(struct graph *g, enum graph_file file, struct err *e)
{
	const char *path = g->options->paths[file];
	int fd;

	if (!path)
		return true;
	if (strcmp(path, "-") == 0)
		fd = fcntl(g->options->stdout_fd, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	g->fds[file] = fd;
	if (fd >= 0 && file == GRAPH_PPROF && isatty(fd))
		return err_set(e, "a profile is not written to a terminal: it is compressed");
	if (fd >= 0)
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
	bool ok;

	if (!path)
		return true;
	ok = file_read_regular(path, &text, BEFORE_MAX, e) &&
	     (flame_unfold(&g->before, buf_text(&text), text.n, e) || err_wrap(e, "%s", path));
	buf_free(&text);
	return ok;
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

static const char *unit_name(const struct graph *g)
{
	return flame_unit(&g->unit->maps.v[g->map], g->part);
}

static void begin_profile(struct graph *g)
{
	profile_init(&g->profile, g->unit, &g->unit->maps.v[g->map], g->part, false);
	g->profile.title = title(g);
	profile_past_begin(&g->began);
}

bool graph_open(struct graph *g, const struct unit *u, const struct graph_options *o, bool picture,
                struct err *e)
{
	*g = (struct graph){ .unit = u, .options = o, .fds = { -1, -1, -1 } };
	if (!(o->map ? choose_named(g, o->map, e) : choose_first(g, e)) || !read_before(g, e))
		return false;
	for (enum graph_file i = 0; i < GRAPH_FILES; i++)
		if (!open_file(g, i, e))
			return false;
	if (o->paths[GRAPH_PPROF])
		begin_profile(g);
	g->drawn = picture || o->paths[GRAPH_FOLDED] || o->paths[GRAPH_SVG];
	return true;
}

void graph_take(struct graph *g, const struct out *o, const struct table *t)
{
	if (g->drawn)
		flame_add_table(&g->flame, o, t, g->part);
	if (g->options->paths[GRAPH_PPROF])
		profile_add_table(&g->profile, o, t, 0, NULL);
}

static void write_svg(struct graph *g, struct buf *b)
{
	struct flame_svg svg = { .title = title(g),
		                 .unit = unit_name(g),
		                 .diff = g->options->before != NULL };

	if (svg.diff)
		flame_compare(&g->flame, &g->before);
	flame_svg(b, &g->flame, &svg);
}

void graph_picture(struct graph *g, struct buf *b)
{
	flame_sort(&g->flame);
	write_svg(g, b);
}

static void write_folded(struct graph *g, struct buf *b)
{
	flame_fold(b, &g->flame);
}

static void write_profile(struct graph *g, struct buf *b)
{
	profile_set_times(&g->profile, &g->began);
	pprof_write(b, &g->profile);
}

bool graph_write(struct graph *g, struct stop *stop, struct err *e)
{
	static void (*const write[GRAPH_FILES])(struct graph * g, struct buf * b) = {
		[GRAPH_FOLDED] = write_folded,
		[GRAPH_SVG] = write_svg,
		[GRAPH_PPROF] = write_profile,
	};
	struct buf b = { 0 };

	flame_sort(&g->flame);
	for (enum graph_file i = 0; i < GRAPH_FILES; i++) {
		if (g->fds[i] < 0)
			continue;
		write[i](g, &b);
		if (!write_file(g->fds[i], &b, g->options->paths[i], stop, e))
			return false;
	}
	return true;
}

const char *graph_what(const struct graph *g)
{
	bool drawn = g->options->paths[GRAPH_FOLDED] || g->options->paths[GRAPH_SVG];

	return drawn ? "Flame graph" : "Profile";
}

u64 graph_stacks(const struct graph *g)
{
	return g->drawn ? g->flame.stacks : g->profile.samples.n - 1;
}

void graph_close(struct graph *g)
{
	if (!g->options)
		return;
	for (enum graph_file i = 0; i < GRAPH_FILES; i++)
		if (g->fds[i] >= 0)
			close(g->fds[i]);
	flame_free(&g->flame);
	flame_free(&g->before);
	profile_free(&g->profile);
	arena_free(&g->arena);
}
