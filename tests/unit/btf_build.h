/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes BTF for the tests, of every kind and in both byte orders. Zero it to start. */
#ifndef TESTS_UNIT_BTF_BUILD_H
#define TESTS_UNIT_BTF_BUILD_H

#include "base/buf.h"

#define BIG_ENDIAN_HOST (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

struct btf_build {
	bool swapped;   /* the other byte order than this machine's */
	u32 strs_first; /* for split BTF: length of the base's strings */
	u32 header;     /* its length, 24 when 0 */
	struct buf types, strs, layout, file;
};

void btf_build_word(struct btf_build *w, u32 v);
/* Offset of a new string; 0 for "". */
u32 btf_build_name(struct btf_build *w, const char *z);
#define KIND_FLAG 0x80u /* or-ed to a kind */
/* The record; what belongs after it is written with the others. */
void btf_build_type(struct btf_build *w, const char *z, u32 kind, u32 vlen, u32 size_or_type);
/* A member, an enumerator of 64 bits, an entry of a section, an array. */
void btf_build_three(struct btf_build *w, u32 a, u32 b, u32 c);
void btf_build_two(struct btf_build *w, u32 a, u32 b);
/* The file; its bytes live until btf_build_free. */
const void *btf_build_file(struct btf_build *w, size_t *n);
void btf_build_free(struct btf_build *w);

/* An ELF file of class 64 or 32 with these sections, at most 4, and one of names. */
struct btf_elf_part {
	const char *name;
	const void *p;
	size_t n;
};
void btf_build_elf(struct buf *f, const struct btf_elf_part *parts, u32 n, bool is_64, u32 flags);

#endif
