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

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "elf/dwarf_lib.h"
#include "sym/demangle.h"

#define KEPT       4096u       /* addresses remembered */
#define MEMORY_MAX (16u << 20) /* of their texts, then they are forgotten */
#define FRAMES_MAX 32u

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
		abort(); /* out of memory, see base/arena.h */
	l->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	l->dw = l->fd >= 0 ? dwarf_lib(&ignored) : NULL;
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
	l->used += text ? strlen(text) + 32 : 0;
	return text ? arena_strdup(&l->arena, text) : "";
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

/* Walks outwards from the function at an address; frames[0] has its line already. */
static u32 walk_inlined(struct lines *l, Dwarf_Die *unit, u64 vaddr, bool demangled,
                        struct line_frame *frames)
{
	Dwarf_Die *inner = NULL, *scopes = NULL;
	u32 n = 1;
	int count = 0;

	if (l->dw->dwarf_getscopes(unit, vaddr, &inner) > 0)
		count = l->dw->dwarf_getscopes_die(&inner[0], &scopes);
	for (int i = 0; i < count && n < FRAMES_MAX; i++) {
		if (l->dw->dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			break;
		if (l->dw->dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		frames[n - 1].function = function_name(l, &scopes[i], demangled);
		frames[n] = (struct line_frame){ 0 };
		call_place(l, unit, &scopes[i], &frames[n]);
		n++;
	}
	free(inner);
	free(scopes);
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
