/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where an ELF file keeps its BTF: a section found by its name (System V ABI, chapter 4), in either
 * class and byte order. It reads section headers and nothing else; compressed sections are refused.
 */
#include "btf/btf_impl.h"

#define SHF_COMPRESSED_BIT 0x800u
#define SHT_NOBITS_TYPE    8u

/* Offsets of the fields that are read, by class. */
struct layout {
	u32 header, shoff, shentsize;   /* Elf_Ehdr; shnum and shstrndx follow shentsize */
	u32 entry, flags, offset, size; /* Elf_Shdr; name and type are its first words */
	u32 word;
};
static const struct layout layouts[] = {
	{ 52, 32, 46, 40, 8, 16, 20, 4 },
	{ 64, 40, 58, 64, 8, 24, 32, 8 },
};

struct elf_file {
	struct btf_source *s;
	const u8 *p;
	u64 n;
	bool big;
	const struct layout *l;
	u64 shoff, shentsize, shnum, shstrndx;
};

struct elf_entry {
	u64 name, type, flags, off, size;
};

/* An unsigned number of `bytes` bytes; the caller has checked the bounds. */
static u64 number(const struct elf_file *f, u64 at, u32 bytes)
{
	u64 v = 0;

	for (u32 i = 0; i < bytes; i++)
		v |= (u64)f->p[at + i] << 8 * (f->big ? bytes - 1 - i : i);
	return v;
}

static bool entry_read(const struct elf_file *f, u64 i, struct elf_entry *s)
{
	u64 at = f->shoff + i * f->shentsize;

	if (at > f->n || f->n - at < f->l->entry || !btf_source_has(f->s, at, f->l->entry))
		return false;
	s->name = number(f, at, 4);
	s->type = number(f, at + 4, 4);
	s->flags = number(f, at + f->l->flags, f->l->word);
	s->off = number(f, at + f->l->offset, f->l->word);
	s->size = number(f, at + f->l->size, f->l->word);
	return s->off <= f->n && (s->type == SHT_NOBITS_TYPE || s->size <= f->n - s->off);
}

static bool header_read(struct elf_file *f)
{
	struct elf_entry first;

	if (f->n < 64 || !btf_source_has(f->s, 0, 64) || f->p[4] < 1 || f->p[4] > 2 ||
	    f->p[5] < 1 || f->p[5] > 2)
		return false;
	f->l = &layouts[f->p[4] - 1];
	f->big = f->p[5] == 2;
	f->shoff = number(f, f->l->shoff, f->l->word);
	f->shentsize = number(f, f->l->shentsize, 2);
	f->shnum = number(f, f->l->shentsize + 2, 2);
	f->shstrndx = number(f, f->l->shentsize + 4, 2);
	if (f->shoff > f->n || f->shentsize < f->l->entry)
		return false;
	/* Too many sections for 16 bits: the count is in the first one. */
	if (!f->shnum && f->shoff && entry_read(f, 0, &first))
		f->shnum = MIN(first.size, f->n / f->l->entry);
	return true;
}

static bool name_is(const struct elf_file *f, const struct elf_entry *names, u64 off,
                    const char *name)
{
	size_t n = strlen(name) + 1;

	return off <= names->size && names->size - off >= n &&
	       btf_source_has(f->s, names->off + off, n) &&
	       memcmp(f->p + names->off + off, name, n) == 0;
}

bool btf_elf_is(struct btf_source *s)
{
	return s->n >= 4 && btf_source_has(s, 0, 4) && memcmp(s->p, "\177ELF", 4) == 0;
}

bool btf_elf_fill(struct btf_source *s)
{
	static const char *const names[] = { ".BTF", ".BTF.base", ".BTF.ext" };
	bool is_64, ok = true;
	u64 at = 0, n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && ok; i++)
		if (btf_elf_section(s, names[i], &at, &n, &is_64, NULL))
			ok = btf_source_has(s, at, n);
	return ok;
}

bool btf_elf_section(struct btf_source *s, const char *name, u64 *at, u64 *len, bool *is_64,
                     struct btf_error *e)
{
	struct elf_file f = { .s = s, .p = s->p, .n = s->n };
	struct elf_entry names, one;

	if (!header_read(&f))
		return btf_fail(e, "the ELF header is damaged");
	*is_64 = f.p[4] == 2;
	if (!f.shnum || !entry_read(&f, f.shstrndx, &names) || names.type == SHT_NOBITS_TYPE)
		return btf_fail(e, "the ELF file has no section names");
	for (u64 i = 1; i < f.shnum; i++) {
		if (!entry_read(&f, i, &one) || !name_is(&f, &names, one.name, name))
			continue;
		if (one.flags & SHF_COMPRESSED_BIT || one.type == SHT_NOBITS_TYPE)
			return btf_fail(e, "the ELF section %s is compressed or empty", name);
		*at = one.off;
		*len = one.size;
		return true;
	}
	return btf_fail(e, "the ELF file has no section %s", name);
}
