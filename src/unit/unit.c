/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The life of a unit and small questions about it. A unit is one allocation
 * (in its own arena) plus whatever the compiler put into that arena, so freeing
 * it is one call. Does not print (unit_dump.c) and does not fill in anything.
 */
#include "unit/unit.h"

#include <string.h>

struct unit *unit_new(void)
{
	struct arena arena = { 0 };
	struct unit *u = arena_new(&arena, struct unit);

	u->arena = arena;
	unit_set_source(u, "stdin", "");
	u->cut_mark = "..";
	u->max_strlen = 1024;
	u->ring_pages = 64;
	u->print_maps_on_exit = true;
	return u;
}

void unit_set_source(struct unit *u, const char *name, const char *text)
{
	const char *end;

	u->source_name = name;
	u->source = text;
	u->source_n = (u32)strlen(text);
	u->lines.n = 0;
	vec_add(&u->arena, &u->lines, 0);
	for (const char *p = text; (end = strchr(p, '\n')); p = end + 1)
		vec_add(&u->arena, &u->lines, (u32)(end + 1 - text));
}

void unit_free(struct unit *u)
{
	struct arena arena;

	if (!u)
		return;
	/* The unit lives in its arena: take the arena out before it frees itself. */
	arena = u->arena;
	arena_free(&arena);
}

/* Counting, and what counts besides, leaves no cell as it was. */
static bool may_be_zero(const struct type *t)
{
	if (t->kind != TYPE_AGGS)
		return !type_is_agg(t) || t->kind == TYPE_SUM;
	for (u32 i = 0; i < t->n_fields; i++)
		if (!may_be_zero(t->fields[i].type))
			return false;
	return true;
}

bool unit_has_set(const struct type *key, const struct type *value)
{
	return !key && may_be_zero(value);
}

u32 unit_element(const struct type *key, const struct type *value)
{
	return type_cell(value) + (unit_has_set(key, value) ? 8 : 0);
}

u32 unit_spill_key(const struct type *value)
{
	u32 cells = value->kind == TYPE_AGGS ? value->n_fields : 1;

	return (u32)sizeof(struct unit_spill) + cells * 16;
}

s32 unit_map(const struct unit *u, enum umap_role role)
{
	for (u32 i = 0; i < u->maps.n; i++)
		if (u->maps.v[i].role == role)
			return (s32)i;
	return -1;
}

u32 unit_keys_room(u32 elements)
{
	return (u32)MIN(2 * (u64)elements + 1024, (u64)UNIT_KEYS);
}

bool unit_uses(const struct uprog *p, u32 map)
{
	for (u32 i = 0; i < p->n_insns; i++)
		if (p->insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) &&
		    p->insns[i].src_reg == BPF_PSEUDO_MAP_FD && (u32)p->insns[i].imm == map)
			return true;
	return false;
}

/* The imported file that an offset is in; NULL: the script itself. */
static const struct usource *import_at(const struct unit *u, u32 off)
{
	const struct usource *at = NULL;

	for (u32 i = 0; i < u->imports.n && u->imports.v[i].off <= off; i++)
		at = &u->imports.v[i];
	return at;
}

const char *unit_file(const struct unit *u, u32 off)
{
	const struct usource *at = import_at(u, off);

	return at ? at->name : u->source_name;
}

/* The last line that begins at `off` or before. */
static u32 line_at(const struct unit *u, u32 off)
{
	u32 from = 0, to = u->lines.n;

	while (to - from > 1) {
		u32 middle = from + (to - from) / 2;

		if (u->lines.v[middle] <= off)
			from = middle;
		else
			to = middle;
	}
	return from;
}

void unit_line(const struct unit *u, u32 off, u32 *line, u32 *column)
{
	const struct usource *at = import_at(u, off);
	u32 first = at ? at->off : 0, to = MIN(off, u->source_n), i = line_at(u, to);

	*line = i - line_at(u, first) + 1;
	*column = to - MAX(u->lines.v[i], first) + 1;
}
