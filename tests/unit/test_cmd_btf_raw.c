/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whole dumps of every kind: the raw text, and the same text from the other byte order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "btf_build.h"
#include "cmd/btf/cmd_btf.h"

static void write_kinds(struct btf_build *w)
{
	btf_build_type(w, "int", BTF_KIND_INT, 0, 4); /* 1 */
	btf_build_word(w, 1u << 24 | 32);
	btf_build_type(w, "", BTF_KIND_PTR, 0, 3);                 /* 2 */
	btf_build_type(w, "s", BTF_KIND_STRUCT | KIND_FLAG, 2, 8); /* 3 */
	btf_build_three(w, btf_build_name(w, "a"), 1, 0);
	btf_build_three(w, btf_build_name(w, "b"), 1, 3u << 24 | 32);
	btf_build_type(w, "", BTF_KIND_ARRAY, 0, 0); /* 4 */
	btf_build_three(w, 1, 1, 7);
	btf_build_type(w, "e", BTF_KIND_ENUM | KIND_FLAG, 1, 4); /* 5 */
	btf_build_two(w, btf_build_name(w, "MINUS"), (u32)-1);
	btf_build_type(w, "big", BTF_KIND_ENUM64, 1, 8); /* 6 */
	btf_build_three(w, btf_build_name(w, "BIG"), 1, 1);
	btf_build_type(w, "u", BTF_KIND_FWD | KIND_FLAG, 0, 0); /* 7 */
	btf_build_type(w, "", BTF_KIND_FUNC_PROTO, 1, 0);       /* 8 */
	btf_build_two(w, btf_build_name(w, "p"), 2);
	btf_build_type(w, "f", BTF_KIND_FUNC, 1, 8); /* 9 */
	btf_build_type(w, "v", BTF_KIND_VAR, 0, 1);  /* 10 */
	btf_build_word(w, 1);
	btf_build_type(w, ".bss", BTF_KIND_DATASEC, 1, 4); /* 11 */
	btf_build_three(w, 10, 0, 4);
	btf_build_type(w, "float", BTF_KIND_FLOAT, 0, 4);  /* 12 */
	btf_build_type(w, "tag", BTF_KIND_DECL_TAG, 0, 3); /* 13 */
	btf_build_word(w, (u32)-1);
}

static const char expected[] = "[1] INT 'int' size=4 bits_offset=0 nr_bits=32 encoding=SIGNED\n"
			       "[2] PTR '(anon)' type_id=3\n"
			       "[3] STRUCT 's' size=8 vlen=2\n"
			       "\t'a' type_id=1 bits_offset=0\n"
			       "\t'b' type_id=1 bits_offset=32 bitfield_size=3\n"
			       "[4] ARRAY '(anon)' type_id=1 index_type_id=1 nr_elems=7\n"
			       "[5] ENUM 'e' encoding=SIGNED size=4 vlen=1\n"
			       "\t'MINUS' val=-1\n"
			       "[6] ENUM64 'big' encoding=UNSIGNED size=8 vlen=1\n"
			       "\t'BIG' val=4294967297ULL\n"
			       "[7] FWD 'u' fwd_kind=union\n"
			       "[8] FUNC_PROTO '(anon)' ret_type_id=0 vlen=1\n"
			       "\t'p' type_id=2\n"
			       "[9] FUNC 'f' type_id=8 linkage=global\n"
			       "[10] VAR 'v' type_id=1, linkage=global\n"
			       "[11] DATASEC '.bss' size=4 vlen=1\n"
			       "\ttype_id=10 offset=0 size=4 (VAR 'v')\n"
			       "[12] FLOAT 'float' size=4\n"
			       "[13] DECL_TAG 'tag' type_id=3 component_idx=-1\n";

enum form { RAW, JSON, C };

/* The dump as text, to be freed; *whole is what the raw and JSON ones say. */
static char *dump(struct btf *b, enum form form, bool *whole)
{
	int fd = memfd_create("dump", 0);
	char *text = calloc(1, 16384);
	struct err e = { 0 };
	struct sink out;

	*whole = true;
	sink_open(&out, fd);
	if (form == C)
		assert_true(cmd_btf_c(&out, b, &e));
	else
		*whole = form == RAW ? cmd_btf_raw(&out, b) : cmd_btf_json(&out, b);
	assert_true(sink_close(&out, &e));
	assert_true(pread(fd, text, 16383, 0) > 0);
	close(fd);
	return text;
}

static char *dump_built(bool swapped, enum form form)
{
	struct btf_build w = { .swapped = swapped };
	struct btf *b;
	const void *p;
	char *text;
	bool whole;
	size_t n;

	write_kinds(&w);
	p = btf_build_file(&w, &n);
	b = btf_open_memory(p, n, NULL);
	assert_non_null(b);
	text = dump(b, form, &whole);
	assert_true(whole);
	btf_unref(b);
	btf_build_free(&w);
	return text;
}

static void raw(void **state)
{
	char *text = dump_built(false, RAW);

	(void)state;
	assert_string_equal(text, expected);
	free(text);
}

static void byte_orders(void **state)
{
	(void)state;
	for (enum form form = RAW; form <= C; form++) {
		char *native = dump_built(false, form), *swapped = dump_built(true, form);

		assert_string_equal(native, swapped);
		free(native);
		free(swapped);
	}
}

/* A type whose entries reach beyond the section: what is before it is shown, and that is said. */
static void cut_off(void **state)
{
	struct btf_build w = { 0 };
	struct btf *b;
	const void *p;
	char *text;
	bool whole;
	size_t n;

	(void)state;
	btf_build_type(&w, "f", BTF_KIND_FLOAT, 0, 4);
	btf_build_type(&w, "s", BTF_KIND_STRUCT, 1000, 8);
	p = btf_build_file(&w, &n);
	b = btf_open_memory(p, n, NULL);
	assert_non_null(b);
	text = dump(b, RAW, &whole);
	assert_string_equal(text, "[1] FLOAT 'f' size=4\n");
	assert_false(whole);
	free(text);
	btf_unref(b);
	btf_build_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw),
		cmocka_unit_test(byte_orders),
		cmocka_unit_test(cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
