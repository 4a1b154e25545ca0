/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lines of a program's source: uprobe:PATH@FILE:LINE[:COLUMN].
 *
 * The one idea: a line may be compiled to several pieces of code, in one function (the parts of a
 * loop) and in several (where it was inlined). A probe is wanted each time the line is reached, so
 * each function that has code of it gets one, at the first address.
 */
#include "lang/probe/targets.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct place {
	u64 vaddr;
	u64 function; /* where the function around it starts, 0 not known */
};

struct line {
	struct targets *t;
	const char *path, *file;
	u32 line, column;
	struct elf *elf;
	VEC(struct place) places;
};

bool targets_is_line(const struct targets *t)
{
	const char *at = strrchr(t->parts[0], '@'), *dot = strrchr(t->parts[0], '.');

	/* An '@' may be part of a path; after the one that is meant is the name of a source file:
	 * "x.c", but neither "1.2" nor "x.so". */
	return at && at > t->parts[0] && t->n_parts >= 2 && dot > at &&
	       isalpha((unsigned char)dot[1]) && strcmp(dot, ".so") != 0 &&
	       isdigit((unsigned char)t->parts[1][0]);
}

struct around {
	u64 vaddr, start;
};

static bool function_around(void *ctx, const struct elf_sym *s)
{
	struct around *a = ctx;

	if (s->is_func && a->vaddr >= s->value && a->vaddr < s->value + MAX(s->size, (u64)1))
		a->start = s->value;
	return !a->start;
}

static bool add_place(void *ctx, const struct dwarf_line *found)
{
	struct line *l = ctx;
	struct around a = { found->vaddr, 0 };

	elf_each(l->elf, function_around, &a);
	for (u32 i = 0; i < l->places.n; i++) {
		struct place *p = &l->places.v[i];

		if (a.start ? p->function == a.start : p->vaddr == found->vaddr) {
			p->vaddr = MIN(p->vaddr, found->vaddr);
			return true;
		}
	}
	vec_add(l->t->arena, &l->places, ((struct place){ found->vaddr, a.start }));
	return true;
}

static void missing(struct line *l, struct dwarf_file *d, u32 near)
{
	struct targets *t = l->t;

	if (!dwarf_line_known(d, l->file)) {
		targets_missing(t, 0, NULL, "%s was not built from a file '%s'",
		                targets_shown(t, l->path), l->file);
		return;
	}
	targets_missing(t, 1,
	                near ? arena_printf(t->arena, "line %u, the next with code", near) : NULL,
	                "no code of %s belongs to line %u of %s", targets_shown(t, l->path),
	                l->line, l->file);
}

static void line_file(struct targets *t, const char *path, void *ctx)
{
	struct line *l = ctx;
	struct err e = { 0 };
	struct dwarf_file *d;
	u32 near;

	l->path = path;
	l->elf = t->world->ops->elf(t->world, path, &e);
	d = l->elf ? t->world->ops->dwarf(t->world, path, &e) : NULL;
	if (!d) {
		targets_no_file(t, &e);
		return;
	}
	l->places.n = 0;
	dwarf_line_each(d, l->file, l->line, l->column, add_place, l, &near);
	for (u32 i = 0; i < l->places.n; i++) {
		u64 offset;

		if (elf_offset(l->elf, l->places.v[i].vaddr, &offset))
			targets_place(t, path, offset,
			              arena_printf(t->arena, "%s@%s:%u", targets_shown(t, path),
			                           l->file, l->line));
	}
	if (!l->places.n)
		missing(l, d, near);
}

static bool number(struct targets *t, u32 i, u32 *value)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(t->parts[i], &end, 10);
	*value = (u32)n;
	if (!*end && !errno && n && n <= INT32_MAX)
		return true;
	diag_error(t->diags, targets_loc(t, i), "'%s' is not the number of a %s", t->parts[i],
	           i == 1 ? "line" : "column");
	return false;
}

void targets_line(struct targets *t)
{
	const char *at = strrchr(t->parts[0], '@');
	struct line l = { .t = t, .file = at + 1 };
	const char *path = arena_strndup(t->arena, t->parts[0], (size_t)(at - t->parts[0]));

	if (attach_kind_has(t->provider->kind, KIND_RETURN)) {
		diag_error(t->diags, targets_loc(t, 0), "a uretprobe takes no line of the source");
		return;
	}
	if (number(t, 1, &l.line) && (t->n_parts < 3 || number(t, 2, &l.column)))
		targets_files(t, path, line_file, &l);
}
