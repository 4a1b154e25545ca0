/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Go's "pc line table" (section .gopclntab), as far as the names of functions go. The one idea:
 * the forms of Go 1.2, 1.16 and 1.18 to 1.20 differ in where four things are and how wide their
 * numbers are, so a header of any form is read into one struct and the rest has no versions.
 *
 *     header    magic, 0, 0, quantum, pointer size, number of functions, ... offsets
 *     functab   (entry, offset of the function's record) ..., entry after the last
 *     record    entry, offset of the name, ...
 *
 * Before 1.18 entries are addresses and as wide as a pointer; from then on 32 bits and relative to
 * the start of the code. Facts from Go's debug/gosym and runtime/symtab.go. Only 64-bit,
 * little-endian programs.
 */
#include "elf/pclntab.h"

#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "elf/elf.h"

#define MAGIC_1_2  0xfffffffbu
#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define LONGEST_NAME (16u << 10) /* longer names are not read */

#define HEAD 8u /* magic to pointer size; words of 8 bytes follow */

struct table {
	const u8 *p;
	size_t n;
	u64 functions;
	u64 names, functab; /* places in the table */
	u64 text;           /* what entries are relative to */
	u32 wide;           /* bytes of a number in functab: 4 or 8 */
};

/* A number of 4 or 8 bytes at a place; false when it is not all inside. */
static bool number(const struct table *t, u64 at, u32 size, u64 *v)
{
	*v = 0;
	if (at > t->n || size > t->n - at)
		return false;
	memcpy(v, t->p + at, size);
	return true;
}

static bool word(const struct table *t, u32 i, u64 *v)
{
	return number(t, HEAD + 8ull * i, 8, v);
}

static bool read_header(struct table *t, u64 text)
{
	u64 magic;

	if (!number(t, 0, 4, &magic) || t->n < HEAD || t->p[4] || t->p[5] || t->p[7] != 8 ||
	    !word(t, 0, &t->functions))
		return false;
	t->wide = 8;
	switch ((u32)magic) {
	case MAGIC_1_2:
		t->functab = HEAD + 8;
		return true;
	case MAGIC_1_16:
		return word(t, 2, &t->names) && word(t, 6, &t->functab);
	case MAGIC_1_18:
	case MAGIC_1_20:
		t->wide = 4;
		if (!word(t, 2, &t->text) || !word(t, 3, &t->names) || !word(t, 7, &t->functab))
			return false;
		/* Position-independent programs have it filled in when they are loaded. */
		t->text = t->text ? t->text : text;
		return true;
	default:
		return false;
	}
}

/* A record's name; NULL when it is not in the table or does not end there. */
static const char *name_of(const struct table *t, u64 record)
{
	/* Offsets of records count from functab since 1.16, from the start before. */
	u64 at = record + (t->names ? t->functab : 0), name;

	if (at < record || !number(t, at + t->wide, 4, &name))
		return NULL;
	name += t->names;
	if (name >= t->n || !memchr(t->p + name, 0, MIN(t->n - name, (u64)LONGEST_NAME)))
		return NULL;
	return (const char *)t->p + name;
}

bool pclntab_parse(const u8 *p, size_t n, u64 text,
                   bool (*cb)(void *ctx, u64 vaddr, u64 size, const char *name), void *ctx)
{
	struct table t = { .p = p, .n = n };

	if (!read_header(&t, text) || t.functab > n || t.names > n ||
	    t.functions > (n - t.functab) / (2ull * t.wide))
		return false;
	for (u64 i = 0; i < t.functions; i++) {
		u64 at = t.functab + i * 2 * t.wide, entry, record, next;
		const char *name;

		if (!number(&t, at, t.wide, &entry) || !number(&t, at + t.wide, t.wide, &record) ||
		    !number(&t, at + 2ull * t.wide, t.wide, &next))
			return true; /* cut short: what there was is right */
		name = name_of(&t, record);
		if (name && *name && next > entry && !cb(ctx, t.text + entry, next - entry, name))
			return true;
	}
	return true;
}

/* What the loader will put into the header of a position-independent program; without such a
 * relocation the start of .text, which is the same unless C code comes first. */
static u64 text_start(struct elf *f, u64 table)
{
	u64 word_at = table + HEAD + 2 * 8, text = 0, vaddr;
	const u8 *p;
	size_t n;

	if (elf_section(f, ".rela.dyn", &p, &n, &vaddr)) {
		for (size_t i = 0; i + sizeof(Elf64_Rela) <= n; i += sizeof(Elf64_Rela)) {
			Elf64_Rela r;

			memcpy(&r, p + i, sizeof(r));
			if (r.r_offset == word_at && ELF64_R_TYPE(r.r_info) == arch.rel_relative)
				return (u64)r.r_addend;
		}
	}
	elf_section(f, ".text", &p, &n, &text);
	return text;
}

bool pclntab_each(struct elf *f, bool (*cb)(void *ctx, u64 vaddr, u64 size, const char *name),
                  void *ctx)
{
	static const char *const sections[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	u64 vaddr;
	const u8 *p;
	size_t n;

	for (u32 i = 0; i < ARRAY_SIZE(sections); i++)
		if (elf_section(f, sections[i], &p, &n, &vaddr))
			return pclntab_parse(p, n, text_start(f, vaddr), cb, ctx);
	return false;
}
