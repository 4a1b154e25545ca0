/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Line information of an ELF object. Each line of the script is counted and put among the strings
 * once, when an instruction of it is met first.
 */
#include "unit/object_lines.h"

#define MAX_COLUMN 1023u /* ten bits of line_col */

void object_lines_init(struct object_lines *l, struct arena *a, const struct unit *u,
                       struct object_types *t)
{
	struct object_line line = { 0 };

	*l = (struct object_lines){ .arena = a, .unit = u, .types = t };
	for (u32 i = 0; i < u->lines.n; i++) {
		line.off = u->lines.v[i];
		vec_add(a, &l->all, line);
	}
}

/* The last that begins at `off` or before. */
static struct object_line *find(struct object_lines *l, u32 off)
{
	u32 from = 0, to = l->all.n;

	while (to - from > 1) {
		u32 middle = from + (to - from) / 2;

		if (l->all.v[middle].off <= off)
			from = middle;
		else
			to = middle;
	}
	return &l->all.v[from];
}

static void know(struct object_lines *l, struct object_line *line)
{
	const char *text = l->unit->source + line->off;
	u32 n = 0, column;

	while (text[n] && text[n] != '\n')
		n++;
	unit_line(l->unit, line->off, &line->number, &column);
	line->file = object_types_string(l->types, unit_file(l->unit, line->off));
	line->text = object_types_string(l->types, arena_strndup(l->arena, text, n));
}

struct bpf_line_info object_lines_at(struct object_lines *l, u32 off)
{
	struct object_line *line = find(l, off);

	if (!line->number)
		know(l, line);
	return (struct bpf_line_info){
		.file_name_off = line->file,
		.line_off = line->text,
		.line_col = line->number << 10 | MIN(off - line->off + 1, MAX_COLUMN),
	};
}
