/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Structs as they are shown: columns, holes, bit-fields, cachelines, sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "btf_build.h"
#include "ctext/c_layout.h"

static void member(struct btf_build *w, const char *name, u32 type, u32 bit)
{
	btf_build_three(w, btf_build_name(w, name), type, bit);
}

static void expect(struct btf_build *w, u32 id, const char *want)
{
	struct c_work work = { 0 };
	struct buf b = { 0 };
	struct btf_info t;
	struct btf *btf;
	const void *p;
	size_t n;

	p = btf_build_file(w, &n);
	btf = btf_open_memory(p, n, NULL);
	assert_non_null(btf);
	assert_true(btf_info(btf, id, &t));
	c_work_add(&work, btf);
	c_layout_print(&b, btf, &t, &work);
	assert_false(work.out);
	assert_string_equal(buf_text(&b), want);
	buf_free(&b);
	btf_unref(btf);
	btf_build_free(w);
}

/* 1 int, 2 char, 3 ptr to void */
static void scalars(struct btf_build *w)
{
	btf_build_type(w, "int", BTF_KIND_INT, 0, 4);
	btf_build_word(w, 1u << 24 | 32);
	btf_build_type(w, "char", BTF_KIND_INT, 0, 1);
	btf_build_word(w, 1u << 24 | 8);
	btf_build_type(w, "", BTF_KIND_PTR, 0, 0);
}

static void holes(void **state)
{
	struct btf_build w = { 0 };

	(void)state;
	scalars(&w);
	btf_build_type(&w, "s", BTF_KIND_STRUCT, 3, 24);
	member(&w, "c", 2, 0);
	member(&w, "p", 3, 64);
	member(&w, "i", 1, 128);
	expect(&w, 4,
	       "struct s {\n"
	       "\tchar                       c;                    /*     0     1 */\n"
	       "\n"
	       "\t/* XXX 7 bytes hole, try to pack */\n"
	       "\n"
	       "\tvoid *                     p;                    /*     8     8 */\n"
	       "\tint                        i;                    /*    16     4 */\n"
	       "\n"
	       "\t/* size: 24, cachelines: 1, members: 3 */\n"
	       "\t/* sum members: 13, holes: 1, sum holes: 7 */\n"
	       "\t/* padding: 4 */\n"
	       "\t/* last cacheline: 24 bytes */\n"
	       "}");
}

static void bit_fields(void **state)
{
	struct btf_build w = { 0 };

	(void)state;
	scalars(&w);
	btf_build_type(&w, "s", BTF_KIND_STRUCT | KIND_FLAG, 3, 8);
	member(&w, "a", 1, 3u << 24);
	member(&w, "b", 1, 1u << 24 | 3);
	member(&w, "i", 1, 32);
	expect(&w, 4,
	       "struct s {\n"
	       "\tint                        a:3;                  /*     0: 0  4 */\n"
	       "\tint                        b:1;                  /*     0: 3  4 */\n"
	       "\n"
	       "\t/* XXX 28 bits hole, try to pack */\n"
	       "\n"
	       "\tint                        i;                    /*     4     4 */\n"
	       "\n"
	       "\t/* size: 8, cachelines: 1, members: 3 */\n"
	       "\t/* sum members: 4 */\n"
	       "\t/* sum bitfield members: 4 bits, bit holes: 1, sum bit holes: 28 bits */\n"
	       "\t/* last cacheline: 8 bytes */\n"
	       "}");
}

/* Anonymous members are opened, with offsets from the outermost type's start. */
static void nested(void **state)
{
	struct btf_build w = { 0 };

	(void)state;
	scalars(&w);
	btf_build_type(&w, "", BTF_KIND_UNION, 2, 8); /* 4 */
	member(&w, "i", 1, 0);
	member(&w, "p", 3, 0);
	btf_build_type(&w, "", BTF_KIND_ARRAY, 0, 0); /* 5 */
	btf_build_three(&w, 2, 1, 56);
	btf_build_type(&w, "s", BTF_KIND_STRUCT, 3, 72); /* 6 */
	member(&w, "name", 5, 0);
	member(&w, "", 4, 448);
	member(&w, "i", 1, 512);
	expect(&w, 6,
	       "struct s {\n"
	       "\tchar                       name[56];             /*     0    56 */\n"
	       "\tunion {\n"
	       "\t\tint                i;                    /*    56     4 */\n"
	       "\t\tvoid *             p;                    /*    56     8 */\n"
	       "\t};                                               /*    56     8 */\n"
	       "\t/* --- cacheline 1 boundary (64 bytes) --- */\n"
	       "\tint                        i;                    /*    64     4 */\n"
	       "\n"
	       "\t/* size: 72, cachelines: 2, members: 3 */\n"
	       "\t/* padding: 4 */\n"
	       "\t/* last cacheline: 8 bytes */\n"
	       "}");
}

/* Shows type 4, which has no end: as many lines as the file has bytes, and some. */
static void expect_bounded(struct btf_build *w)
{
	struct c_work work = { 0 };
	struct buf b = { 0 };
	struct btf_info t;
	struct btf *btf;
	const void *p;
	size_t n;

	p = btf_build_file(w, &n);
	btf = btf_open_memory(p, n, NULL);
	assert_true(btf_info(btf, 4, &t));
	c_work_add(&work, btf);
	assert_true(work.left > C_WORK_LEAST && work.left < C_WORK_LEAST + n);
	c_layout_print(&b, btf, &t, &work);
	assert_true(work.out);
	assert_true(b.n < (C_WORK_LEAST + n) * 128);
	buf_free(&b);
	btf_unref(btf);
	btf_build_free(w);
}

/* A union that holds itself 16 times in each of its levels must end. */
static void unions_in_each_other(void **state)
{
	struct btf_build w = { 0 };

	(void)state;
	scalars(&w);
	for (u32 level = 0; level < 20; level++) {
		btf_build_type(&w, level ? "" : "s", BTF_KIND_UNION, 16, 4);
		for (u32 i = 0; i < 16; i++)
			member(&w, "", 5 + level, 0);
	}
	expect_bounded(&w);
}

/* Each prototype takes two of the next: 28 bytes double what there is to write. */
static void prototypes_in_each_other(void **state)
{
	struct btf_build w = { 0 };

	(void)state;
	scalars(&w);
	btf_build_type(&w, "s", BTF_KIND_STRUCT, 1, 8);
	member(&w, "fn", 5, 0);
	for (u32 level = 0; level < 28; level++) {
		btf_build_type(&w, "", BTF_KIND_FUNC_PROTO, 2, 0);
		btf_build_two(&w, 0, level < 27 ? 6 + level : 1);
		btf_build_two(&w, 0, level < 27 ? 6 + level : 1);
	}
	expect_bounded(&w);
}

/* An enum of many values in each of many members. */
static void enums_in_members(void **state)
{
	struct btf_build w = { 0 };

	(void)state;
	scalars(&w);
	btf_build_type(&w, "s", BTF_KIND_UNION, 1000, 4);
	for (u32 i = 0; i < 1000; i++)
		member(&w, "", 5, 0);
	btf_build_type(&w, "", BTF_KIND_ENUM, 1000, 4);
	for (u32 i = 0; i < 1000; i++)
		btf_build_two(&w, btf_build_name(&w, "VALUE"), i);
	expect_bounded(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holes),
		cmocka_unit_test(bit_fields),
		cmocka_unit_test(nested),
		cmocka_unit_test(unions_in_each_other),
		cmocka_unit_test(prototypes_in_each_other),
		cmocka_unit_test(enums_in_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
