/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A module's BTF made with a small base of its own, put onto a kernel's: both byte orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "btf_build.h"
#include "btf/btf.h"

static struct btf *must_open(struct btf_build *w, struct btf *base)
{
	struct btf_error e;
	size_t n;
	const void *p = btf_build_file(w, &n);
	struct btf *b = btf_open_memory_split(p, n, base, &e);

	if (!b)
		fail_msg("%s", e.text);
	return b;
}

static void add_int(struct btf_build *w, const char *name, u32 size, u32 encoding)
{
	btf_build_type(w, name, BTF_KIND_INT, 0, size);
	btf_build_word(w, encoding << 24 | size * 8);
}

/*
 * The kernel:
 *   1 short, that stands before all   2 int   3 struct inner (8)   4 struct inner (16)
 *   5 struct far   6 enum colour (ENUM64)   7 union both   8 FWD unknown   9 double
 *   10 struct both   11 unsigned int   12 FWD far
 */
static void write_kernel(struct btf_build *w)
{
	u32 x = btf_build_name(w, "x"), red = btf_build_name(w, "RED");

	add_int(w, "short", 2, 1);
	add_int(w, "int", 4, 1);
	for (u32 size = 8; size <= 16; size += 8) {
		btf_build_type(w, "inner", BTF_KIND_STRUCT, 1, size);
		btf_build_three(w, x, 2, 0);
	}
	btf_build_type(w, "far", BTF_KIND_STRUCT, 1, 32);
	btf_build_three(w, x, 2, 64);
	btf_build_type(w, "colour", BTF_KIND_ENUM64, 1, 8);
	btf_build_three(w, red, 7, 0);
	btf_build_type(w, "both", BTF_KIND_UNION, 0, 4);
	btf_build_type(w, "unknown", BTF_KIND_FWD | KIND_FLAG, 0, 0);
	btf_build_type(w, "double", BTF_KIND_FLOAT, 0, 8);
	btf_build_type(w, "both", BTF_KIND_STRUCT, 0, 8);
	add_int(w, "unsigned int", 4, 0);
	btf_build_type(w, "far", BTF_KIND_FWD, 0, 0);
}

/* What of it the module names, in another order: its ids are 1 to 7. */
static void write_small(struct btf_build *w)
{
	btf_build_type(w, "inner", BTF_KIND_STRUCT, 0, 16);
	btf_build_type(w, "far", BTF_KIND_FWD, 0, 0);
	add_int(w, "int", 4, 1);
	btf_build_type(w, "colour", BTF_KIND_ENUM, 0, 8);
	btf_build_type(w, "both", BTF_KIND_UNION, 0, 4);
	btf_build_type(w, "unknown", BTF_KIND_FWD | KIND_FLAG, 0, 0);
	btf_build_type(w, "double", BTF_KIND_FLOAT, 0, 8);
}

/*
 * The module: 8 far *   9 inner_t 10 inner_t[2] 11 struct own 12 enum here 13 own's function
 * 14 its prototype   15 a variable   16 a section   17 a tag
 */
static void write_module(struct btf_build *w, const struct btf_build *small)
{
	w->strs_first = (u32)small->strs.n;
	btf_build_type(w, "", BTF_KIND_PTR, 0, 2);
	btf_build_type(w, "inner_t", BTF_KIND_TYPEDEF, 0, 1);
	btf_build_type(w, "", BTF_KIND_ARRAY, 0, 0);
	btf_build_three(w, 9, 3, 2);
	btf_build_type(w, "own", BTF_KIND_STRUCT, 4, 56);
	btf_build_three(w, btf_build_name(w, "far"), 8, 0);
	btf_build_three(w, btf_build_name(w, "pair"), 10, 64);
	btf_build_three(w, btf_build_name(w, "what"), 4, 320);
	btf_build_three(w, btf_build_name(w, "u"), 5, 384);
	btf_build_type(w, "here", BTF_KIND_ENUM, 1, 4);
	btf_build_two(w, btf_build_name(w, "HERE"), 5);
	btf_build_type(w, "own_fn", BTF_KIND_FUNC, 1, 14);
	btf_build_type(w, "", BTF_KIND_FUNC_PROTO, 2, 7);
	btf_build_two(w, btf_build_name(w, "o"), 8);
	btf_build_two(w, 1, 6); /* its name is one of the small base's */
	btf_build_type(w, "var", BTF_KIND_VAR, 0, 11);
	btf_build_word(w, 1);
	btf_build_type(w, ".data", BTF_KIND_DATASEC, 1, 56);
	btf_build_three(w, 15, 0, 56);
	btf_build_type(w, "tag", BTF_KIND_DECL_TAG, 0, 11);
	btf_build_word(w, 2);
}

struct trio {
	struct btf_build kernel, small, module;
	struct btf *b;
};

static void trio_init(struct trio *t, bool swapped)
{
	*t = (struct trio){ .kernel.swapped = swapped,
		            .small.swapped = swapped,
		            .module.swapped = swapped };
	write_kernel(&t->kernel);
	write_small(&t->small);
	write_module(&t->module, &t->small);
	t->b = must_open(&t->kernel, NULL);
}

static void trio_free(struct trio *t)
{
	btf_unref(t->b);
	btf_build_free(&t->kernel);
	btf_build_free(&t->small);
	btf_build_free(&t->module);
}

/* As if it had been made with the kernel's: its own ids are 13 to 22. */
static void check_module(const struct btf *m, struct btf *base)
{
	struct btf_error e;
	struct btf_path p;
	struct btf_info t;
	struct btf_place place;
	struct btf_arg a;
	u32 n;
	bool variadic;

	assert_ptr_equal(btf_base(m), base);
	assert_true(btf_first(m) == 13 && btf_count(m) == 23);
	if (!btf_check(m, &e))
		fail_msg("%s", e.text);
	assert_int_equal(btf_find(m, BTF_KIND_STRUCT, "own"), 16);
	assert_true(btf_path(m, 16, "far->x", &p, &e) && p.type == 2);
	assert_int_equal(p.hop[1].in, 5);
	assert_true(btf_path(m, 16, "pair[1].x", &p, &e));
	assert_int_equal(p.hop[2].in, 4); /* the one of 16 bytes */
	assert_int_equal(p.hop[2].bit_off, 64 + 128);
	assert_true(btf_path(m, 16, "what", &p, &e) && p.type == 6);
	assert_true(btf_path(m, 16, "u", &p, &e) && p.type == 7);
	assert_string_equal(btf_enum_name(m, 17, 5), "HERE");
	assert_true(btf_proto(m, btf_find(m, BTF_KIND_FUNC, "own_fn"), &t, &n, &variadic));
	assert_true(t.type == 9 && n == 2);
	assert_true(btf_arg(m, &t, 1, &a) && a.type == 8);
	assert_string_equal(a.name, "inner");
	assert_true(btf_info(m, 20, &t) && t.kind == BTF_KIND_VAR && t.type == 16);
	assert_true(btf_info(m, 21, &t) && btf_place(m, &t, 0, &place) && place.var == 20);
	assert_true(btf_info(m, 22, &t) && t.kind == BTF_KIND_DECL_TAG && t.type == 16);
}

static void moves_to_another_base(void **state)
{
	(void)state;
	for (u32 swapped = 0; swapped < 2; swapped++) {
		struct trio t;
		struct btf *small, *module, *moved;
		struct btf_error e;

		trio_init(&t, swapped);
		small = must_open(&t.small, NULL);
		module = must_open(&t.module, small);
		moved = btf_relocate(module, t.b, &e);
		if (!moved)
			fail_msg("%s", e.text);
		btf_unref(module); /* nor is its base needed longer */
		btf_unref(small);
		check_module(moved, t.b);
		/* It has no small base any more. */
		assert_null(btf_relocate(moved, t.b, &e));
		assert_null(btf_relocate(t.b, t.b, &e));
		btf_unref(moved);
		trio_free(&t);
	}
}

static void moves_elf_files_when_opened(void **state)
{
	struct trio t;
	struct btf_elf_part parts[2] = { { .name = ".BTF" }, { .name = ".BTF.base" } };
	struct buf f = { 0 };
	struct btf_error e;
	struct btf *b;

	(void)state;
	trio_init(&t, false);
	parts[0].p = btf_build_file(&t.module, &parts[0].n);
	parts[1].p = btf_build_file(&t.small, &parts[1].n);
	btf_build_elf(&f, parts, 2, true, 0);
	b = btf_open_memory_split(f.p, f.n, t.b, &e);
	if (!b)
		fail_msg("%s", e.text);
	check_module(b, t.b);
	btf_unref(b);
	/* Without another base it stays on its own, where structs have no members. */
	b = btf_open_memory(f.p, f.n, &e);
	assert_true(b && btf_first(b) == 8 && btf_find(b, 0, "own") == 11);
	btf_unref(b);
	for (size_t cut = 4; cut < f.n; cut += 5)
		btf_unref(btf_open_memory_split(f.p, cut, t.b, NULL));
	buf_free(&f);
	trio_free(&t);
}

/* The small base with one word changed, and what is said then. */
static void refuses_what_does_not_fit(void **state)
{
	static const struct {
		u32 word, value;
		const char *text;
	} cases[] = {
		{ 2, 24, "'inner' has another size in the base" },
		{ 8, 2, "'int' of .BTF.base is not in the base" },
		{ 9, 32, "'int' of .BTF.base is not in the base" },
		{ 12, 4, "'colour' of .BTF.base is not in the base" },
		{ 15, 8, "'both' has another size in the base" },
		{ 17, BTF_KIND_FWD << 24, "'unknown' of .BTF.base is not in the base" },
		{ 21, 4, "'double' of .BTF.base is not in the base" },
		{ 0, 0, "type 1 of .BTF.base is not one a base may have" },
		{ 4, BTF_KIND_PTR << 24, "type 2 of .BTF.base is not one a base may have" },
		{ 1, 0x7eu << 24, "type 1 of .BTF.base is not one a base may have" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trio t;
		struct btf *small, *module;
		struct btf_error e = { 0 };

		trio_init(&t, false);
		memcpy(t.small.types.p + cases[i].word * 4, &cases[i].value, 4);
		small = must_open(&t.small, NULL);
		module = must_open(&t.module, small);
		assert_null(btf_relocate(module, t.b, &e));
		if (i + 1 < ARRAY_SIZE(cases)) /* the last one: where the walk ends */
			assert_string_equal(e.text, cases[i].text);
		btf_unref(module);
		btf_unref(small);
		trio_free(&t);
	}
}

static void refuses_two_for_one(void **state)
{
	struct trio t;
	struct btf *small, *module;
	struct btf_error e;

	(void)state;
	trio_init(&t, false);
	btf_unref(t.b);
	btf_build_type(&t.kernel, "inner", BTF_KIND_STRUCT, 0, 16);
	t.b = must_open(&t.kernel, NULL);
	small = must_open(&t.small, NULL);
	module = must_open(&t.module, small);
	assert_null(btf_relocate(module, t.b, &e));
	assert_string_equal(e.text, "'inner' of .BTF.base stands for 2 types of the base");
	btf_unref(module);
	btf_unref(small);
	trio_free(&t);
}

/* A module with a word that leads nowhere: an id, a name. */
static void refuses_damaged_modules(void **state)
{
	static const struct {
		u32 word, value;
	} cases[] = { { 2, 99 }, { 0, 1u << 20 }, { 9, 18 }, { 15, 1u << 24 }, { 1, 0x3fu << 24 } };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trio t;
		struct btf *small, *module;
		struct btf_error e = { 0 };

		trio_init(&t, false);
		memcpy(t.module.types.p + cases[i].word * 4, &cases[i].value, 4);
		small = must_open(&t.small, NULL);
		module = must_open(&t.module, small);
		assert_null(btf_relocate(module, t.b, &e));
		assert_true(e.text[0]);
		btf_unref(module);
		btf_unref(small);
		trio_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_to_another_base),
		cmocka_unit_test(moves_elf_files_when_opened),
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(refuses_two_for_one),
		cmocka_unit_test(refuses_damaged_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
