/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names of one file. The one idea: all sources fill one table, keyed by the file's own
 * offsets, the better ones first, and the next is only asked when the ones before had no local
 * functions:
 *
 *     .symtab, .dynsym                    of the file
 *     a separate debug file               debugfile.c
 *     .gnu_debugdata                      a small ELF file packed into a section
 *     .gopclntab                          Go's own table
 *     a server of the user's choice       debuginfod.c
 *     the stubs of the PLT                always: "malloc@plt"
 *
 * An entry is keyed by file offset, not by address: a mapping in /proc/PID/maps says which file
 * offset lies at which address, so position-independent and fixed executables need no
 * distinction, and the file can be closed once its names are copied.
 */
#include "sym/symfile.h"

#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"
#include "elf/pclntab.h"
#include "elf/plt.h"
#include "elf/xz.h"
#include "sym/debuginfod.h"
#include "sym/symtab.h"

#define DEBUGDATA_MAX (64u << 20) /* unpacked */
#define SEGMENTS_MAX  16u

struct symfile {
	struct symtab *table;
	struct elf_segment segments[SEGMENTS_MAX];
	u32 n_segments;
	struct lines *lines;
	bool lines_tried;
};

/* ---- sources -------------------------------------------------------------------------------- */

struct adder {
	struct symtab *table;
	struct elf *file;
};

static bool has_section(struct elf *f, const char *name)
{
	const u8 *p;
	u64 vaddr;
	size_t n;

	return elf_section(f, name, &p, &n, &vaddr) && n;
}

/* True when the file at `path` added its .symtab. */
static bool add_debug_file(struct adder *a, const char *path)
{
	struct err e;
	struct elf *debug = elf_open(path, &e);
	bool ok = debug && has_section(debug, ".symtab");

	if (ok)
		symtab_add_elf(a->table, a->file, debug);
	elf_close(debug);
	return ok;
}

static bool add_debug_data(struct adder *a)
{
	struct buf text = { 0 };
	struct elf *inner = NULL;
	struct err e;
	const u8 *p;
	u64 vaddr;
	size_t n;

	if (elf_section(a->file, ".gnu_debugdata", &p, &n, &vaddr) &&
	    xz_unpack(p, n, DEBUGDATA_MAX, &text, &e))
		inner = elf_open_memory(buf_text(&text), text.n, elf_path(a->file), &e);
	if (inner)
		symtab_add_elf(a->table, a->file, inner);
	elf_close(inner);
	buf_free(&text);
	return inner != NULL;
}

static bool add_go(void *ctx, u64 vaddr, u64 size, const char *name)
{
	struct adder *a = ctx;
	u64 offset;

	return !elf_offset(a->file, vaddr, &offset) ||
	       symtab_add(a->table, offset, size, name, strlen(name));
}

static bool add_stub(void *ctx, u64 vaddr, u64 size, const char *name, size_t length)
{
	static const char tail[] = "@plt";
	struct adder *a = ctx;
	char text[512 + sizeof(tail)];
	u64 offset;

	length = MIN(length, (size_t)512);
	memcpy(text, name, length);
	memcpy(text + length, tail, sizeof(tail));
	return !elf_offset(a->file, vaddr, &offset) ||
	       symtab_add(a->table, offset, size, text, length + sizeof(tail) - 1);
}

static void add_separate(struct adder *a, const struct debugfile_place *where)
{
	struct buf path = { 0 };
	char id[64];

	if (!(debugfile_find(a->file, where, &path) && add_debug_file(a, buf_text(&path))) &&
	    !add_debug_data(a) && !pclntab_each(a->file, add_go, a) && elf_build_id(a->file, id) &&
	    debuginfod_find(id, &path))
		add_debug_file(a, buf_text(&path));
	buf_free(&path);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static struct symfile *read_all(struct elf *file, const struct debugfile_place *where)
{
	struct symfile *f = calloc(1, sizeof(*f));
	struct adder a = { symtab_new(), file };

	if (!f)
		base_no_memory();
	f->table = a.table;
	symtab_add_elf(a.table, file, file);
	if (where && !has_section(file, ".symtab"))
		add_separate(&a, where);
	plt_each(file, add_stub, &a);
	symtab_finish(a.table);
	while (f->n_segments < SEGMENTS_MAX &&
	       elf_segment(file, f->n_segments, &f->segments[f->n_segments]))
		f->n_segments++;
	return f;
}

struct symfile *symfile_read(const char *path, const struct debugfile_place *where)
{
	struct err e;
	struct elf *file = elf_open(path, &e);
	struct symfile *f = file ? read_all(file, where) : NULL;

	elf_close(file);
	return f;
}

struct symfile *symfile_read_memory(const void *p, size_t n)
{
	struct err e;
	struct elf *file = elf_open_memory(p, n, "memory", &e);
	struct symfile *f = file ? read_all(file, NULL) : NULL;

	elf_close(file);
	return f;
}

void symfile_free(struct symfile *f)
{
	if (!f)
		return;
	symtab_free(f->table);
	lines_close(f->lines);
	free(f);
}

const char *symfile_name(struct symfile *f, u64 offset, bool demangled, u64 *off)
{
	return symtab_name(f->table, offset, demangled, off);
}

const struct elf_segment *symfile_segment(const struct symfile *f, u64 offset)
{
	for (u32 i = 0; i < f->n_segments; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (offset >= s->offset && offset - s->offset < s->size)
			return s;
	}
	return NULL;
}

u64 symfile_vaddr(const struct symfile *f, u64 offset)
{
	const struct elf_segment *s = symfile_segment(f, offset);

	return s ? offset - s->offset + s->vaddr : offset;
}

size_t symfile_bytes(const struct symfile *f)
{
	return sizeof(*f) + symtab_bytes(f->table);
}

/* The DWARF of the file itself, or of its debug file. */
static struct lines *open_lines(const char *path, const struct debugfile_place *where)
{
	struct buf debug = { 0 };
	struct lines *l = NULL;
	struct err e;
	struct elf *file = elf_open(path, &e);
	char id[64];

	if (file && has_section(file, ".debug_info"))
		l = lines_open(path);
	else if (file && (debugfile_find(file, where, &debug) ||
	                  (where->fetch && elf_build_id(file, id) && debuginfod_find(id, &debug))))
		l = lines_open(buf_text(&debug));
	elf_close(file);
	buf_free(&debug);
	return l;
}

u32 symfile_lines(struct symfile *f, const char *path, const struct debugfile_place *where,
                  u64 vaddr, bool demangled, struct line_frame *out, u32 max)
{
	if (!f->lines_tried) {
		f->lines_tried = true;
		f->lines = open_lines(path, where);
	}
	return f->lines ? lines_find(f->lines, vaddr, demangled, out, max) : 0;
}
