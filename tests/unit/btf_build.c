/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* BTF written by hand: types and strings are gathered apart and joined after a header. */
#include "btf_build.h"

#include <string.h>

static void put(const struct btf_build *w, struct buf *b, u32 v)
{
	v = w->swapped ? __builtin_bswap32(v) : v;
	buf_add(b, &v, sizeof(v));
}

void btf_build_word(struct btf_build *w, u32 v)
{
	put(w, &w->types, v);
}

u32 btf_build_name(struct btf_build *w, const char *z)
{
	u32 off;

	if (!w->strs.n && !w->strs_first)
		buf_putc(&w->strs, 0);
	off = w->strs_first + (u32)w->strs.n;
	if (!*z)
		return 0;
	buf_add(&w->strs, z, strlen(z) + 1);
	return off;
}

void btf_build_type(struct btf_build *w, const char *z, u32 kind, u32 vlen, u32 size_or_type)
{
	btf_build_word(w, btf_build_name(w, z));
	btf_build_word(w, kind << 24 | vlen);
	btf_build_word(w, size_or_type);
}

void btf_build_two(struct btf_build *w, u32 a, u32 b)
{
	btf_build_word(w, a);
	btf_build_word(w, b);
}

void btf_build_three(struct btf_build *w, u32 a, u32 b, u32 c)
{
	btf_build_two(w, a, b);
	btf_build_word(w, c);
}

const void *btf_build_file(struct btf_build *w, size_t *n)
{
	u32 hdr = w->header ? w->header : 24, t = (u32)w->types.n, l = (u32)w->layout.n;
	u16 magic = w->swapped ? __builtin_bswap16(0xeb9f) : 0xeb9f;
	u32 head[] = { hdr, 0, t, t + l, (u32)w->strs.n, t, l };

	buf_reset(&w->file);
	buf_add(&w->file, &magic, sizeof(magic));
	buf_add(&w->file, "\1", 2);
	for (u32 i = 0; i < ARRAY_SIZE(head); i++)
		put(w, &w->file, head[i]);
	w->file.n = MIN(w->file.n, hdr);
	buf_fill(&w->file, 0, hdr - w->file.n);
	buf_add(&w->file, w->types.p, t);
	if (l)
		buf_add(&w->file, w->layout.p, l);
	if (w->strs.n)
		buf_add(&w->file, w->strs.p, w->strs.n);
	*n = w->file.n;
	return w->file.p;
}

void btf_build_free(struct btf_build *w)
{
	buf_free(&w->types);
	buf_free(&w->strs);
	buf_free(&w->layout);
	buf_free(&w->file);
}

/* A word of that class, in this machine's order as all else. */
static void elf_word(u8 *at, bool is_64, u64 v)
{
	u32 half = (u32)v;

	memcpy(at, is_64 ? (const void *)&v : &half, is_64 ? 8 : 4);
}

static void elf_entry(struct buf *rows, bool is_64, u32 name, u64 flags, u64 at, u64 n)
{
	u8 row[64] = { 0 };

	elf_word(row, false, name);
	elf_word(row + 4, false, 1);
	elf_word(row + 8, is_64, flags);
	elf_word(row + (is_64 ? 24 : 16), is_64, at);
	elf_word(row + (is_64 ? 32 : 20), is_64, n);
	buf_add(rows, row, is_64 ? 64 : 40);
}

void btf_build_elf(struct buf *f, const struct btf_elf_part *parts, u32 n, bool is_64, u32 flags)
{
	u32 hdr = is_64 ? 64 : 52;
	struct buf names = { 0 }, rows = { 0 }, data = { 0 };
	u8 head[64] = { 0x7f, 'E', 'L', 'F', is_64 ? 2 : 1, BIG_ENDIAN_HOST ? 2 : 1, 1 };
	u16 counts[3] = { is_64 ? 64 : 40, (u16)(n + 2), (u16)(n + 1) };
	u64 at;

	buf_add(&names, "\0.names", 8);
	elf_entry(&rows, is_64, 0, 0, 0, 0);
	for (u32 i = 0; i < n; i++) {
		buf_fill(&data, 0, ROUND_UP(data.n, 8) - data.n);
		elf_entry(&rows, is_64, (u32)names.n, flags, hdr + data.n, parts[i].n);
		buf_add(&names, parts[i].name, strlen(parts[i].name) + 1);
		buf_add(&data, parts[i].p, parts[i].n);
	}
	elf_entry(&rows, is_64, 1, 0, hdr + data.n, names.n);
	at = hdr + data.n + names.n;
	elf_word(head + (is_64 ? 40 : 32), is_64, at);
	memcpy(head + (is_64 ? 58 : 46), counts, sizeof(counts));
	buf_add(f, head, hdr);
	buf_add(f, data.p, data.n);
	buf_add(f, names.p, names.n);
	buf_add(f, rows.p, rows.n);
	buf_free(&names);
	buf_free(&rows);
	buf_free(&data);
}
