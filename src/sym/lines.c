/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lines by elfutils' libdw, which is loaded on first use: when a stack is printed that has a frame
 * in a file with DWARF.
 *
 * An address has one line of the line table, and that is the line of the innermost function. If
 * that was inlined, its DIE says from which line of the next function it was called, and so on
 * outwards. Answers are kept: the same addresses come again in stack after stack.
 */
#include "sym/lines.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "elf/dwarf_lib.h"
#include "sym/demangle.h"

#define KEPT       4096u       /* addresses remembered */
#define MEMORY_MAX (16u << 20) /* of their texts, then they are forgotten */
#define FRAMES_MAX 32u
#define DEPTH_MAX  256u          /* scopes in one another */
#define TEXT_MAX   (16u << 10)   /* of a name */
#define SLOW_NS    1000000000ull /* to find the scopes of an address: no more of them then */

struct answer {
	u64 vaddr;
	u32 n;
	bool known, demangled;
	struct line_frame *frames; /* in the arena */
};

struct lines {
	const struct dwarf_lib *dw;
	Dwarf *dwarf;
	int fd;
	bool slow; /* an address took SLOW_NS */
	struct arena arena;
	size_t used; /* bytes of the arena, about */
	struct answer kept[KEPT];
};

/* ---- opening -------------------------------------------------------------------------------- */

struct lines *lines_open(const char *path)
{
	struct lines *l = calloc(1, sizeof(*l));
	struct err ignored;

	if (!l)
		base_no_memory();
	l->fd = file_open(path, &ignored);
	l->dw = l->fd >= 0 ? dwarf_lib(&ignored) : NULL;
	file_guard(); /* libdw maps the file */
	if (l->dw)
		l->dwarf = l->dw->dwarf_begin(l->fd, DWARF_C_READ);
	if (l->dwarf)
		return l;
	lines_close(l);
	return NULL;
}

void lines_close(struct lines *l)
{
	if (!l)
		return;
	if (l->dwarf)
		l->dw->dwarf_end(l->dwarf);
	if (l->fd >= 0)
		close(l->fd);
	arena_free(&l->arena);
	free(l);
}

/* ---- asking --------------------------------------------------------------------------------- */

/* The compilation unit of an address. Compilers may leave the index of addresses out. */
static bool find_unit(struct lines *l, u64 vaddr, Dwarf_Die *unit)
{
	Dwarf_Off at = 0, next;
	size_t head;

	if (l->dw->dwarf_addrdie(l->dwarf, vaddr, unit))
		return true;
	for (; l->dw->dwarf_nextcu(l->dwarf, at, &next, &head, NULL, NULL, NULL) == 0; at = next)
		if (l->dw->dwarf_offdie(l->dwarf, at + head, unit) &&
		    l->dw->dwarf_haspc(unit, vaddr) > 0)
			return true;
	return false;
}

static const char *keep(struct lines *l, const char *text)
{
	size_t n = text ? strnlen(text, TEXT_MAX) : 0;

	l->used += n + 32;
	return text ? arena_strndup(&l->arena, text, n) : "";
}

static const char *attribute_text(struct lines *l, Dwarf_Die *die, u32 name)
{
	Dwarf_Attribute a;

	return l->dw->dwarf_attr_integrate(die, name, &a) ? l->dw->dwarf_formstring(&a) : NULL;
}

static u64 attribute_number(struct lines *l, Dwarf_Die *die, u32 name)
{
	Dwarf_Attribute a;
	Dwarf_Word v = 0;

	if (l->dw->dwarf_attr_integrate(die, name, &a) && l->dw->dwarf_formudata(&a, &v) != 0)
		v = 0;
	return v;
}

static const char *function_name(struct lines *l, Dwarf_Die *die, bool demangled)
{
	const char *symbol = attribute_text(l, die, DW_AT_linkage_name);
	const char *name = attribute_text(l, die, DW_AT_name);
	char *readable = symbol && demangled ? demangle(symbol) : NULL;
	const char *kept = keep(l, readable               ? readable
	                           : symbol && !demangled ? symbol
	                           : name                 ? name
	                                                  : "?");

	free(readable);
	return kept;
}

/* The place from which an inlined function was called. */
static void call_place(struct lines *l, Dwarf_Die *unit, Dwarf_Die *die, struct line_frame *f)
{
	u64 index = attribute_number(l, die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n;

	f->file = "";
	if (l->dw->dwarf_getsrcfiles(unit, &files, &n) == 0 && index < n)
		f->file = keep(l, l->dw->dwarf_filesrc(files, index, NULL, NULL));
	f->line = (s32)attribute_number(l, die, DW_AT_call_line);
}

/* What holds code of its own, and what may hold such things. */
static bool has_code(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

static bool may_hold_code(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type;
}

/* The way from a unit to the innermost scope of an address. */
struct way {
	struct lines *l;
	u64 vaddr, until_ns;
	Dwarf_Die at[DEPTH_MAX];
	u32 n;
};

static bool is_late(struct way *w)
{
	if (clock_ns(CLOCK_MONOTONIC) < w->until_ns)
		return false;
	if (!w->l->slow)
		file_lack(FILE_INLINED);
	w->l->slow = true;
	return true;
}

/* Not by dwarf_getscopes(), which goes as deep as a file likes, and once more for each level. */
static bool find_way(struct way *w, Dwarf_Die *parent, u32 depth)
{
	const struct dwarf_lib *dw = w->l->dw;
	Dwarf_Die kid;

	for (int more = dw->dwarf_child(parent, &kid); more == 0 && !is_late(w);
	     more = dw->dwarf_siblingof(&kid, &kid)) {
		int tag = dw->dwarf_tag(&kid);

		if (has_code(tag) && dw->dwarf_haspc(&kid, w->vaddr) > 0) {
			w->at[w->n++] = kid;
			if (depth + 1 < DEPTH_MAX)
				find_way(w, &kid, depth + 1);
			return true;
		}
		if (may_hold_code(tag) && depth + 1 < DEPTH_MAX && find_way(w, &kid, depth + 1))
			return true;
	}
	return false;
}

/* Walks outwards from the function at an address; frames[0] has its line already. */
static u32 walk_inlined(struct lines *l, Dwarf_Die *unit, u64 vaddr, bool demangled,
                        struct line_frame *frames)
{
	struct way w = { .l = l, .vaddr = vaddr };
	u32 n = 1;

	if (l->slow)
		return n;
	w.until_ns = clock_ns(CLOCK_MONOTONIC) + SLOW_NS;
	find_way(&w, unit, 0);
	for (u32 i = w.n; i-- && n < FRAMES_MAX;) {
		Dwarf_Die *scope = &w.at[i];

		if (l->dw->dwarf_tag(scope) == DW_TAG_subprogram)
			break;
		if (l->dw->dwarf_tag(scope) != DW_TAG_inlined_subroutine)
			continue;
		frames[n - 1].function = function_name(l, scope, demangled);
		frames[n] = (struct line_frame){ 0 };
		call_place(l, unit, scope, &frames[n]);
		n++;
	}
	return n;
}

static u32 ask(struct lines *l, u64 vaddr, bool demangled, struct line_frame *frames)
{
	Dwarf_Die unit;
	Dwarf_Line *line;
	int number = 0;

	if (!find_unit(l, vaddr, &unit))
		return 0;
	line = l->dw->dwarf_getsrc_die(&unit, vaddr);
	if (!line)
		return 0;
	l->dw->dwarf_lineno(line, &number);
	frames[0] = (struct line_frame){
		.file = keep(l, l->dw->dwarf_linesrc(line, NULL, NULL)),
		.line = number,
	};
	return walk_inlined(l, &unit, vaddr, demangled, frames);
}

static void remember(struct lines *l, struct answer *a, u64 vaddr, bool demangled)
{
	struct line_frame frames[FRAMES_MAX];
	u32 n;

	if (l->used > MEMORY_MAX) {
		arena_free(&l->arena);
		memset(l->kept, 0, sizeof(l->kept));
		l->used = 0;
	}
	n = ask(l, vaddr, demangled, frames);
	*a = (struct answer){ .vaddr = vaddr, .n = n, .known = true, .demangled = demangled };
	a->frames = arena_array(&l->arena, struct line_frame, n);
	memcpy(a->frames, frames, n * sizeof(*frames));
	l->used += n * sizeof(*frames) + 32;
}

u32 lines_find(struct lines *l, u64 vaddr, bool demangled, struct line_frame *out, u32 max)
{
	struct answer *a = &l->kept[(vaddr ^ vaddr >> 12) % KEPT];
	u32 n;

	if (!a->known || a->vaddr != vaddr || a->demangled != demangled)
		remember(l, a, vaddr, demangled);
	n = MIN(a->n, max);
	for (u32 i = 0; i < n; i++)
		out[i] = a->frames[a->n - n + i];
	return n;
}
