/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The C dump where C and BTF disagree: order, names, layouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "btf_build.h"
#include "cmd/btf/cmd_btf.h"

/* Dumps what was built; the text between the fixed first and last lines. */
static char *dump(struct btf_build *w)
{
	int fd = memfd_create("dump", 0);
	static char text[16384];
	struct err e = { 0 };
	struct sink out;
	struct btf *b;
	size_t n;
	char *from, *to;
	const void *p = btf_build_file(w, &n);

	b = btf_open_memory(p, n, NULL);
	assert_non_null(b);
	sink_open(&out, fd);
	if (!cmd_btf_c(&out, b, &e))
		fail_msg("%s", e.text);
	assert_true(sink_close(&out, &e));
	n = (size_t)pread(fd, text, sizeof(text) - 1, 0);
	text[n] = 0;
	close(fd);
	btf_unref(b);
	btf_build_free(w);
	from = strstr(text, "#undef unix\n\n");
	assert_non_null(from);
	from += strlen("#undef unix\n\n");
	to = strstr(from, "#if defined(__clang__)");
	assert_non_null(to);
	*to = 0;
	return from;
}

/* Type 1. */
static void write_int(struct btf_build *w)
{
	btf_build_type(w, "int", BTF_KIND_INT, 0, 4);
	btf_build_word(w, 1u << 24 | 32);
}

static void member(struct btf_build *w, const char *name, u32 type, u32 bit)
{
	btf_build_three(w, btf_build_name(w, name), type, bit);
}

/* Embedded types come first, whatever their ids; pointers need a declaration only. */
static void order(void **state)
{
	struct btf_build w = { 0 };

	(void)state;
	write_int(&w);
	btf_build_type(&w, "outer", BTF_KIND_STRUCT, 2, 16); /* 2 */
	member(&w, "in", 3, 0);
	member(&w, "next", 4, 64);
	btf_build_type(&w, "inner", BTF_KIND_STRUCT, 1, 8); /* 3 */
	member(&w, "out", 4, 0);
	btf_build_type(&w, "", BTF_KIND_PTR, 0, 2); /* 4 */
	assert_string_equal(dump(&w), "struct outer;\n\n"
	                              "struct inner {\n\tstruct outer *out;\n};\n\n"
	                              "struct outer {\n\tstruct inner in;\n"
	                              "\tstruct outer *next;\n};\n\n");
}

/* A struct's own member may use a typedef of the struct. */
static void typedef_of_itself(void **state)
{
	struct btf_build w = { 0 };

	(void)state;
	write_int(&w);
	btf_build_type(&w, "node_t", BTF_KIND_TYPEDEF, 0, 3); /* 2 */
	btf_build_type(&w, "node", BTF_KIND_STRUCT, 1, 8);    /* 3 */
	member(&w, "next", 4, 0);
	btf_build_type(&w, "", BTF_KIND_PTR, 0, 2); /* 4 */
	assert_string_equal(dump(&w), "struct node;\n\ntypedef struct node node_t;\n\n"
	                              "struct node {\n\tnode_t *next;\n};\n\n");
}

/* struct a, union a, enum a; a typedef and an enumerator x; two of one enumerator. */
static void names(void **state)
{
	struct btf_build w = { 0 };
	const char *text;

	(void)state;
	write_int(&w);
	btf_build_type(&w, "a", BTF_KIND_STRUCT, 1, 4); /* 2 */
	member(&w, "i", 1, 0);
	btf_build_type(&w, "a", BTF_KIND_UNION, 1, 4); /* 3 */
	member(&w, "i", 1, 0);
	btf_build_type(&w, "a", BTF_KIND_ENUM, 2, 4); /* 4 */
	btf_build_two(&w, btf_build_name(&w, "x"), 1);
	btf_build_two(&w, btf_build_name(&w, "y"), 2);
	btf_build_type(&w, "x", BTF_KIND_TYPEDEF, 0, 3); /* 5 */
	btf_build_type(&w, "", BTF_KIND_ENUM, 1, 4);     /* 6 */
	btf_build_two(&w, btf_build_name(&w, "y"), 3);
	btf_build_type(&w, "a", BTF_KIND_FWD, 0, 0); /* 7 */
	btf_build_type(&w, "", BTF_KIND_PTR, 0, 7);  /* 8 */
	btf_build_type(&w, "p", BTF_KIND_TYPEDEF, 0, 8);
	text = dump(&w);
	assert_non_null(strstr(text, "struct a {\n\tint i;\n};\n"));
	assert_non_null(strstr(text, "union a___2 {\n\tint i;\n};\n"));
	assert_non_null(strstr(text, "enum a___3 {\n\tx___2 = 1,\n\ty = 2,\n};\n"));
	assert_non_null(strstr(text, "typedef union a___2 x;\n"));
	assert_non_null(strstr(text, "enum {\n\ty___2 = 3,\n};\n"));
	assert_non_null(strstr(text, "typedef struct a *p;\n"));
}

/* A number after a name is never one that somebody has. */
static void names_that_look_made_up(void **state)
{
	struct btf_build w = { 0 };
	const char *text;

	(void)state;
	write_int(&w);
	for (u32 i = 0; i < 3; i++) {
		btf_build_type(&w, i == 1 ? "a___2" : "a", BTF_KIND_STRUCT, 1, 4);
		member(&w, "i", 1, 0);
	}
	text = dump(&w);
	assert_non_null(strstr(text, "struct a {"));
	assert_non_null(strstr(text, "struct a___2 {"));
	assert_non_null(strstr(text, "struct a___3 {"));
}

/* What the compiler would not do of itself is written: packing, holes, room at the end. */
static void layouts(void **state)
{
	struct btf_build w = { 0 };
	const char *text;

	(void)state;
	write_int(&w);
	btf_build_type(&w, "char", BTF_KIND_INT, 0, 1); /* 2 */
	btf_build_word(&w, 1u << 24 | 8);
	btf_build_type(&w, "tight", BTF_KIND_STRUCT, 2, 5); /* 3 */
	member(&w, "c", 2, 0);
	member(&w, "i", 1, 8);
	btf_build_type(&w, "wide", BTF_KIND_STRUCT, 2, 16); /* 4 */
	member(&w, "i", 1, 0);
	member(&w, "j", 1, 64);
	btf_build_type(&w, "far", BTF_KIND_STRUCT, 1, 256); /* 5 */
	member(&w, "i", 1, 1024);
	btf_build_type(&w, "bits", BTF_KIND_STRUCT | KIND_FLAG, 2, 4); /* 6 */
	member(&w, "a", 1, 3u << 24);
	member(&w, "b", 1, 4u << 24 | 10);
	btf_build_type(&w, "both", BTF_KIND_STRUCT, 2, 4); /* 7 */
	member(&w, "a", 1, 0);
	member(&w, "b", 1, 0);
	btf_build_type(&w, "roomy", BTF_KIND_UNION, 1, 16); /* 8 */
	member(&w, "i", 1, 0);
	text = dump(&w);
	assert_non_null(strstr(text, "struct tight {\n\tchar c;\n\tint i;\n} "
	                             "__attribute__((packed));\n"));
	assert_non_null(strstr(text, "struct wide {\n\tint i;\n\tint : 32;\n\tint j;\n"
	                             "\tint : 32;\n};\n"));
	assert_non_null(strstr(text, "struct far {\n\tunsigned char __hole1[128];\n\tint i;\n"
	                             "\tunsigned char __hole2[124];\n};\n"));
	assert_non_null(strstr(text, "struct bits {\n\tint a : 3;\n\tunsigned char : 5;\n"
	                             "\tunsigned char : 2;\n\tint b : 4;\n"));
	assert_non_null(strstr(text, "struct both {\n\tunsigned char __hole1[4];\n};\n"));
	assert_non_null(strstr(text, "union roomy {\n\tint i;\n"
	                             "\tunsigned char __hole1[16];\n};\n"));
}

/* Enums of other sizes than int, without constants, and with the extremes. */
static void enums(void **state)
{
	struct btf_build w = { 0 };
	const char *text;

	(void)state;
	btf_build_type(&w, "small", BTF_KIND_ENUM, 1, 1);
	btf_build_two(&w, btf_build_name(&w, "S"), 200);
	btf_build_type(&w, "none", BTF_KIND_ENUM, 0, 4);
	btf_build_type(&w, "low", BTF_KIND_ENUM64 | KIND_FLAG, 1, 8);
	btf_build_three(&w, btf_build_name(&w, "LOW"), 0, 0x80000000u);
	btf_build_type(&w, "high", BTF_KIND_ENUM64, 1, 8);
	btf_build_three(&w, btf_build_name(&w, "HIGH"), (u32)-1, (u32)-1);
	btf_build_type(&w, "long_one", BTF_KIND_ENUM, 1, 8);
	btf_build_two(&w, btf_build_name(&w, "ONE"), 1);
	text = dump(&w);
	assert_non_null(strstr(text, "enum small {\n\tS = 200,\n} __attribute__((mode(QI)));\n"));
	assert_non_null(strstr(text, "enum none {\n\t__enum_2,\n};\n"));
	assert_non_null(strstr(text, "LOW = -9223372036854775807LL - 1,\n};\n"));
	assert_non_null(strstr(text, "HIGH = 18446744073709551615ULL,\n};\n"));
	assert_non_null(strstr(text, "ONE = 1,\n} __attribute__((mode(DI)));\n"));
}

/* int (*const table[3])(struct later *, ...) */
static void declarators(void **state)
{
	struct btf_build w = { 0 };

	(void)state;
	write_int(&w);
	btf_build_type(&w, "later", BTF_KIND_FWD, 0, 0);   /* 2 */
	btf_build_type(&w, "", BTF_KIND_PTR, 0, 2);        /* 3 */
	btf_build_type(&w, "", BTF_KIND_FUNC_PROTO, 2, 1); /* 4 */
	btf_build_two(&w, 0, 3);
	btf_build_two(&w, 0, 0);
	btf_build_type(&w, "", BTF_KIND_PTR, 0, 4);   /* 5 */
	btf_build_type(&w, "", BTF_KIND_CONST, 0, 5); /* 6 */
	btf_build_type(&w, "", BTF_KIND_ARRAY, 0, 0); /* 7 */
	btf_build_three(&w, 6, 1, 3);
	btf_build_type(&w, "table", BTF_KIND_TYPEDEF, 0, 7);
	assert_string_equal(dump(&w), "struct later;\n\n"
	                              "typedef int (*const table[3])(struct later *, ...);\n\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order),       cmocka_unit_test(typedef_of_itself),
		cmocka_unit_test(names),       cmocka_unit_test(names_that_look_made_up),
		cmocka_unit_test(layouts),     cmocka_unit_test(enums),
		cmocka_unit_test(declarators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
