/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a file to its unwind rows. .eh_frame is what the C library and C++ need at run time, so a
 * file that has it has it whole; .debug_frame is for what was built without. Every table starts
 * with a row at 0, so that an address before the first function is in a gap, not before the table.
 */
#include "sym/unwind_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "arch/arch.h"
#include "elf/elf.h"
#include "sym/unwind_code.h"

#define VDSO_MAX (64u << 10) /* bytes: more than any kernel's */

static bool read_section(struct elf *f, const char *name, bool debug,
                         const struct unwind_reading *how, struct unwind_table *t)
{
	struct ehframe_section s = { .debug = debug, .given_up = how->given_up, .ctx = how->ctx };

	if (!elf_section(f, name, &s.p, &s.n, &s.vaddr))
		return false;
	ehframe_read(&s, t->base, &t->rows);
	if (t->rows.n)
		return true;
	ehframe_free(&t->rows);
	return false;
}

/* A gap from the start on; the first row may be there already, at a file that starts with code. */
static void start_with_gap(struct ehframe_rows *rows)
{
	if (rows->n && rows->v[0].pc == 0)
		return;
	rows->v = realloc(rows->v, (rows->n + 1) * sizeof(*rows->v));
	if (!rows->v)
		base_no_memory();
	if (rows->n)
		memmove(rows->v + 1, rows->v, rows->n * sizeof(*rows->v));
	rows->v[0] = (struct unwind_row){ 0, UNWIND_GAP };
	rows->n++;
}

static bool read_elf(struct elf *f, const struct unwind_reading *how, struct unwind_table *t)
{
	struct elf_segment s;

	*t = (struct unwind_table){ .base = UINT64_MAX };
	for (u32 i = 0; elf_segment(f, i, &s) && t->n_codes < UNWIND_CODES; i++) {
		t->base = MIN(t->base, s.vaddr);
		t->code[t->n_codes++] = (struct unwind_code){ s.offset, s.size, s.vaddr };
	}
	if (!t->n_codes)
		return true;
	if (!read_section(f, ".eh_frame", false, how, t))
		read_section(f, ".debug_frame", true, how, t);
	start_with_gap(&t->rows);
	if (how->decoder && !(how->given_up && how->given_up(how->ctx)))
		unwind_code_fill(f, t->base, how->decoder, &t->rows);
	return true;
}

static const struct unwind_reading plain;

bool unwind_table_read(const char *path, const struct unwind_reading *how, struct unwind_table *t,
                       struct err *e)
{
	struct elf *f = elf_open(path, e);

	*t = (struct unwind_table){ 0 };
	if (!f)
		return false;
	read_elf(f, how ? how : &plain, t);
	elf_close(f);
	return true;
}

bool unwind_table_vdso(const struct unwind_reading *how, struct unwind_table *t, struct err *e)
{
	const void *p = (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address */
	struct elf *f;
	size_t n;

	*t = (struct unwind_table){ 0 };
	if (!p)
		return err_set(e, "there is no vdso");
	/* Its end is not given; the section headers are the last thing in it. */
	n = ((const Elf64_Ehdr *)p)->e_shoff +
	    (size_t)((const Elf64_Ehdr *)p)->e_shnum * sizeof(Elf64_Shdr);
	if (n > VDSO_MAX)
		return err_set(e, "the vdso is longer than any");
	f = elf_open_memory(p, n, "[vdso]", e);
	if (!f)
		return false;
	/* arm64's does not describe where signals return to, and of newer kernels nothing. */
	read_elf(f, arch.frames.return_below ? &plain : how, t);
	elf_close(f);
	return true;
}

void unwind_table_free(struct unwind_table *t)
{
	ehframe_free(&t->rows);
}

bool unwind_table_build_id(const char *path, char build_id[64])
{
	struct err e;
	struct elf *f = elf_open(path, &e);
	bool ok = f && elf_build_id(f, build_id);

	elf_close(f);
	return ok;
}

/* Mappings are of whole pages, segments need not. */
void unwind_table_mapped(const struct unwind_code *c, u64 *from, u64 *to)
{
	u64 page = arch_page();

	*from = c->offset & ~(page - 1);
	*to = ROUND_UP(c->offset + c->size, page);
}

bool unwind_table_vaddr(const struct unwind_table *t, u64 offset, u64 *vaddr)
{
	for (u32 pass = 0; pass < 2; pass++) {
		for (u32 i = 0; i < t->n_codes; i++) {
			const struct unwind_code *c = &t->code[i];
			u64 start, end;

			unwind_table_mapped(c, &start, &end);
			if (pass == 0 ? offset != start
			              : offset < start || offset >= c->offset + c->size)
				continue;
			*vaddr = offset - c->offset + c->vaddr;
			return true;
		}
	}
	return false;
}
