/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * .BTF.ext: where a BPF object's instructions depend on types.
 *
 *     header | function records | line records | relocations: record size, sections
 *     section: name, count, records { instruction, type, access string, kind, ... }
 *
 * All offsets are from the end of the header, which may be longer than known; old ones end before
 * the relocations. Everything is checked once, on reading, so that going through the relocations
 * can not fail. Records of functions and lines are not looked at.
 */
#include "btf/btf_impl.h"

#define EXT_MAGIC         0xeb9fu
#define EXT_MAGIC_SWAPPED 0x9febu
#define EXT_HEADER_OLD    24u /* without relocations */
#define EXT_HEADER        32u
#define EXT_RECORD        16u
#define EXT_SECTION       8u

static u32 ext_load(const struct btf_ext *x, const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return x->swap ? __builtin_bswap32(v) : v;
}

/* The sections of n bytes at x->relos. */
static bool sections_check(const struct btf_ext *x, struct btf_error *e)
{
	u64 at = 0;

	while (at < x->n) {
		u64 count;

		if (x->n - at < EXT_SECTION)
			return btf_fail(e, ".BTF.ext: the relocations end inside a section");
		count = ext_load(x, x->relos + at + 4);
		if (!count || count * x->record > x->n - at - EXT_SECTION)
			return btf_fail(e,
			                ".BTF.ext: the section at byte %llu of the relocations "
			                "has a count of %llu",
			                (unsigned long long)at, (unsigned long long)count);
		if (!btf_string(x->btf, ext_load(x, x->relos + at)))
			return btf_fail(e,
			                ".BTF.ext: the section at byte %llu of the relocations "
			                "has no name",
			                (unsigned long long)at);
		at += EXT_SECTION + count * x->record;
	}
	return true;
}

/* What lies at byte `off` after the header, `len` bytes. */
static bool relos_read(struct btf_ext *x, const u8 *p, size_t n, u64 off, u64 len,
                       struct btf_error *e)
{
	if (!len)
		return true;
	if (off > n || len > n - off || len < 4 || len > UINT32_MAX || off % 4)
		return btf_fail(e,
		                ".BTF.ext: the relocations (byte %llu, %llu long) lie outside "
		                "the data",
		                (unsigned long long)off, (unsigned long long)len);
	x->record = ext_load(x, p + off);
	if (x->record < EXT_RECORD || x->record % 4)
		return btf_fail(e, ".BTF.ext: relocations are said to be %u bytes long", x->record);
	x->n = (u32)len - 4;
	x->relos = x->n ? p + off + 4 : NULL;
	return sections_check(x, e);
}

bool btf_ext_read(const struct btf *object, const void *bytes, size_t n, struct btf_ext *x,
                  struct btf_error *e)
{
	const u8 *p = bytes;
	u16 magic;
	u32 header;

	*x = (struct btf_ext){ .btf = object };
	if (n < EXT_HEADER_OLD)
		return btf_fail(e, ".BTF.ext is too short");
	memcpy(&magic, p, sizeof(magic));
	if (magic != EXT_MAGIC && magic != EXT_MAGIC_SWAPPED)
		return btf_fail(e, ".BTF.ext has a wrong magic number");
	x->swap = magic == EXT_MAGIC_SWAPPED;
	if (p[2] != 1)
		return btf_fail(e, ".BTF.ext has version %u; only version 1 is supported", p[2]);
	header = ext_load(x, p + 4);
	if (header < EXT_HEADER_OLD || header > n || header % 4)
		return btf_fail(e, ".BTF.ext: the header says it is %u bytes long", header);
	if (header < EXT_HEADER)
		return true;
	return relos_read(x, p, n, (u64)header + ext_load(x, p + 24), ext_load(x, p + 28), e);
}

bool btf_ext_of(const struct btf *object, struct btf_ext *x, struct btf_error *e)
{
	struct btf_source *s = &object->own->src;
	u64 at, n;
	bool is_64;

	*x = (struct btf_ext){ .btf = object };
	if (!btf_elf_is(s) || !btf_elf_section(s, ".BTF.ext", &at, &n, &is_64, NULL) ||
	    !btf_source_has(s, at, n))
		return true;
	return btf_ext_read(object, s->p + at, (size_t)n, x, e);
}

void btf_relo_iter_init(struct btf_relo_iter *it, const struct btf_ext *x)
{
	*it = (struct btf_relo_iter){ ._ext = x };
}

bool btf_relo_next(struct btf_relo_iter *it)
{
	const struct btf_ext *x = it->_ext;
	const u8 *p;

	if (it->_at >= x->n)
		return false;
	p = x->relos + it->_at;
	if (!it->_left) {
		it->r.section = btf_string(x->btf, ext_load(x, p));
		it->_left = ext_load(x, p + 4);
		it->r.number = UINT32_MAX;
		it->_at += EXT_SECTION;
		p += EXT_SECTION;
	}
	it->r.insn_off = ext_load(x, p);
	it->r.type = ext_load(x, p + 4);
	it->r.access_off = ext_load(x, p + 8);
	it->r.kind = ext_load(x, p + 12);
	it->r.number++;
	it->_at += x->record;
	it->_left--;
	return true;
}
