/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every kind of BTF, read in both byte orders and from a file that is not mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "btf_build.h"
#include "btf/btf.h"
#include "btf/btf_impl.h"

/*
 *  1 int   2 ptr to 3   3 struct file { const char *name[4]; union { int a; float b; }; int lo:3 }
 *  4 const char   5 ptr to 4   6 array of 4 5s   7 union   8 float   9 char   10 enum   11 enum64
 * 12 fwd struct   13 fwd union   14 typedef   15 volatile   16 restrict ptr   17 proto  18 func
 * 19 var   20 datasec   21 decl tag on 3   22 decl tag on member 1   23 type tag   24 ptr to 12
 */
static void write_kinds(struct btf_build *w)
{
	btf_build_type(w, "int", BTF_KIND_INT, 0, 4);
	btf_build_word(w, 1u << 24 | 32);
	btf_build_type(w, "", BTF_KIND_PTR, 0, 3);
	btf_build_type(w, "file", BTF_KIND_STRUCT | KIND_FLAG, 4, 48);
	btf_build_three(w, btf_build_name(w, "name"), 6, 0);
	btf_build_three(w, 0, 7, 256);
	btf_build_three(w, btf_build_name(w, "lo"), 1, 3u << 24 | 288);
	btf_build_three(w, btf_build_name(w, "next"), 2, 320);
	btf_build_type(w, "", BTF_KIND_CONST, 0, 9);
	btf_build_type(w, "", BTF_KIND_PTR, 0, 4);
	btf_build_type(w, "", BTF_KIND_ARRAY, 0, 0);
	btf_build_three(w, 5, 1, 4);
	btf_build_type(w, "", BTF_KIND_UNION, 2, 4);
	btf_build_three(w, btf_build_name(w, "a"), 1, 0);
	btf_build_three(w, btf_build_name(w, "b"), 8, 0);
	btf_build_type(w, "float", BTF_KIND_FLOAT, 0, 4);
	btf_build_type(w, "char", BTF_KIND_INT, 0, 1);
	btf_build_word(w, 2u << 24 | 8);
	btf_build_type(w, "color", BTF_KIND_ENUM | KIND_FLAG, 2, 4);
	btf_build_two(w, btf_build_name(w, "RED"), 1);
	btf_build_two(w, btf_build_name(w, "NONE"), (u32)-1);
	btf_build_type(w, "big", BTF_KIND_ENUM64, 1, 8);
	btf_build_three(w, btf_build_name(w, "BIG"), 2, 1);
	btf_build_type(w, "file", BTF_KIND_FWD, 0, 0);
	btf_build_type(w, "u", BTF_KIND_FWD | KIND_FLAG, 0, 0);
	btf_build_type(w, "file_t", BTF_KIND_TYPEDEF, 0, 3);
	btf_build_type(w, "", BTF_KIND_VOLATILE, 0, 14);
	btf_build_type(w, "", BTF_KIND_RESTRICT, 0, 5);
	btf_build_type(w, "", BTF_KIND_FUNC_PROTO, 2, 1);
	btf_build_two(w, btf_build_name(w, "f"), 2);
	btf_build_two(w, 0, 0);
	btf_build_type(w, "do_it", BTF_KIND_FUNC, 1, 17);
	btf_build_type(w, "counter", BTF_KIND_VAR, 0, 1);
	btf_build_word(w, 1);
	btf_build_type(w, ".data", BTF_KIND_DATASEC, 1, 64);
	btf_build_three(w, 19, 16, 4);
	btf_build_type(w, "note", BTF_KIND_DECL_TAG, 0, 3);
	btf_build_word(w, (u32)-1);
	btf_build_type(w, "field", BTF_KIND_DECL_TAG, 0, 3);
	btf_build_word(w, 1);
	btf_build_type(w, "user", BTF_KIND_TYPE_TAG, 0, 9);
	btf_build_type(w, "", BTF_KIND_PTR, 0, 12);
}

static void check_plain(const struct btf *b)
{
	u32 elem = 0, index = 0, count = 0, linkage = 0;
	struct btf_info t = { 0 };
	struct btf_int i = { 0 };

	assert_int_equal(btf_count(b), 25);
	assert_true(btf_info(b, 1, &t) && btf_int(b, &t, &i));
	assert_true(i.is_signed && !i.is_char && !i.is_bool && i.bits == 32 && !i.bit_off);
	assert_true(btf_info(b, 6, &t) && btf_array_of(b, &t, &elem, &index, &count));
	assert_true(elem == 5 && index == 1 && count == 4);
	assert_int_equal(btf_size(b, 6), 32);
	assert_int_equal(btf_size(b, 15), 48);
	assert_int_equal(btf_size(b, 19), 4);
	assert_int_equal(btf_size(b, 12), 0);
	assert_int_equal(btf_align(b, 3), 8);
	assert_int_equal(btf_skip(b, 15), 3);
	assert_true(btf_info(b, 13, &t) && t.kind == BTF_KIND_FWD && t.kind_flag && !t.type);
	assert_true(btf_info(b, 18, &t) && btf_linkage(b, &t, &linkage));
	assert_int_equal(linkage, 1);
	assert_true(btf_info(b, 19, &t) && btf_linkage(b, &t, &linkage) && t.type == 1);
	assert_int_equal(linkage, 1);
	assert_true(btf_info(b, 8, &t) && t.size == 4 && !t.type);
	assert_string_equal(t.name, "float");
	assert_false(btf_linkage(b, &t, &linkage));
	assert_true(btf_info(b, 3, &t));
	assert_int_equal(t.raw_len, 12 + 4 * 12);
}

static void check_entries(const struct btf *b)
{
	struct btf_enumerator v = { 0 };
	struct btf_field f = { 0 };
	struct btf_place p = { 0 };
	struct btf_info t = { 0 };
	struct btf_arg a = { 0 };
	bool variadic = false;
	u32 n = 0, id = 0;
	s64 value = 0;

	assert_true(btf_field_find(b, 3, "b", &f));
	assert_true(f.bit_off == 256 && f.type == 8 && !f.bit_size);
	assert_true(btf_field_find(b, 14, "lo", &f));
	assert_true(f.bit_off == 288 && f.bit_size == 3);
	assert_true(btf_info(b, 20, &t) && btf_place(b, &t, 0, &p));
	assert_true(p.var == 19 && p.off == 16 && p.size == 4);
	assert_false(btf_place(b, &t, 1, &p));
	assert_true(btf_proto(b, 18, &t, &n, &variadic) && variadic && n == 1 && t.type == 1);
	assert_true(btf_arg(b, &t, 0, &a) && a.type == 2);
	assert_string_equal(a.name, "f");
	assert_true(btf_info(b, 10, &t) && btf_enumerator(b, &t, 1, &v) && v.value == -1);
	assert_true(btf_enum_find(b, "BIG", &value, &id) && id == 11);
	assert_true(value == (s64)(1ull << 32 | 2));
	assert_string_equal(btf_enum_name(b, 11, value), "BIG");
}

static bool add_tag(void *ctx, const struct btf_info *tag)
{
	buf_printf(ctx, "%s ", tag->name);
	return true;
}

static void check_tags(const struct btf *b)
{
	struct buf names = { 0 };
	struct btf_info t = { 0 };
	int32_t component = 0;

	btf_tags(b, 3, add_tag, &names);
	assert_string_equal(buf_text(&names), "note field ");
	buf_free(&names);
	assert_true(btf_info(b, 21, &t) && btf_component(b, &t, &component) && component == -1);
	assert_true(btf_info(b, 22, &t) && btf_component(b, &t, &component) && component == 1);
	assert_false(btf_info(b, 23, &t) && btf_component(b, &t, &component));
}

static void check_iteration(const struct btf *b)
{
	struct btf_iter it;
	struct btf_info t = { 0 };
	u32 id = 1;

	for (btf_iter_init(&it, b, 1); btf_next(&it); id++) {
		assert_int_equal(it.t.id, id);
		assert_true(btf_info(b, id, &t) && t.raw == it.t.raw);
	}
	assert_int_equal(id, 25);
	assert_false(btf_next(&it));
	btf_iter_init(&it, b, 24);
	assert_true(btf_next(&it) && it.t.id == 24);
	assert_false(btf_next(&it));
	btf_iter_init(&it, b, 25);
	assert_false(btf_next(&it));
}

static void check_all(const struct btf *b)
{
	struct btf_error e;

	check_plain(b);
	check_entries(b);
	check_tags(b);
	check_iteration(b);
	assert_int_equal(btf_find(b, BTF_KIND_STRUCT, "file"), 3);
	assert_int_equal(btf_find(b, BTF_KIND_FWD, "file"), 12);
	assert_int_equal(btf_find(b, 0, "u"), 13);
	assert_int_equal(btf_find(b, BTF_KIND_DATASEC, ".data"), 20);
	if (!btf_check(b, &e))
		fail_msg("%s", e.text);
	assert_true(btf_index(b));
	check_plain(b);
}

static void every_kind(bool swapped)
{
	struct btf_build w = { .swapped = swapped };
	struct btf_error e;
	struct btf_file f;
	struct btf *b;
	size_t n;
	const void *p;

	write_kinds(&w);
	p = btf_build_file(&w, &n);
	b = btf_open_memory(p, n, &e);
	if (!b)
		fail_msg("%s", e.text);
	check_all(b);
	btf_file(b, &f);
	assert_true(f.n == n && f.bytes == p && f.mapped);
	assert_true(f.big_endian == (swapped == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)));
	btf_unref(b);
	btf_build_free(&w);
}

static void reads_every_kind(void **state)
{
	(void)state;
	every_kind(false);
}

static void reads_the_other_byte_order(void **state)
{
	(void)state;
	every_kind(true);
}

static void reads_what_is_not_mapped(void **state)
{
	char path[] = "/tmp/memtap-btf-XXXXXX";
	struct btf_build w = { 0 };
	struct btf_error e;
	struct btf_file f;
	struct btf *b;
	int fd = mkstemp(path);
	size_t n;
	const void *p;

	(void)state;
	write_kinds(&w);
	p = btf_build_file(&w, &n);
	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	close(fd);
	b = btf_open_how(path, NULL, true, &e);
	unlink(path);
	if (!b)
		fail_msg("%s", e.text);
	check_all(b);
	btf_file(b, &f);
	assert_true(!f.bytes && !f.mapped && f.n == n);
	btf_unref(b);
	btf_build_free(&w);
}

static void follows_paths(void **state)
{
	static const struct {
		const char *text, *error;
	} wrong[] = {
		{ "nothing", "struct file has no member 'nothing'" },
		{ "next.a", "'next' is a pointer: use '->'" },
		{ "a->b", "'a' is no pointer: use '.'" },
		{ "name[4]", "index 4 is outside the array of 4" },
		{ "a[0]", "'a' is no array" },
		{ "", "a member's name is missing after ''" },
		{ "next->", "a member's name is missing after 'next->'" },
		{ "a b", "'.', '->' or '[' is expected before ' b'" },
		{ "name[x]", "an index in brackets is a number: '[x]'" },
		{ "a.x", "'x' is looked for in int, which has no members" },
	};
	struct btf_build w = { 0 };
	struct btf_error e;
	struct btf_path p;
	struct btf *b;
	size_t n;
	const void *bytes;

	(void)state;
	write_kinds(&w);
	bytes = btf_build_file(&w, &n);
	b = btf_open_memory(bytes, n, &e);
	assert_true(btf_path(b, 3, "next->next->name[2][1]", &p, &e));
	assert_int_equal(p.n, 5);
	assert_true(p.hop[0].bit_off == 320 && !p.hop[0].deref && p.hop[0].in == 3);
	assert_true(p.hop[1].bit_off == 320 && p.hop[1].deref);
	assert_true(p.hop[2].bit_off == 0 && p.hop[2].deref);
	assert_true(p.hop[3].bit_off == 128 && !p.hop[3].deref && p.hop[3].index == 2);
	assert_true(p.hop[4].bit_off == 8 && p.hop[4].deref && p.type == 9 && p.size == 1);
	assert_true(btf_path(b, 24, "[1].lo", &p, &e));
	assert_true(p.hop[1].bit_off == 288 + 0 && p.hop[1].bit_size == 3 && p.is_signed);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_false(btf_path(b, 3, wrong[i].text, &p, &e));
		assert_string_equal(e.text, wrong[i].error);
		assert_false(btf_path(b, 3, wrong[i].text, &p, NULL));
	}
	btf_unref(b);
	btf_build_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_kind),
		cmocka_unit_test(reads_the_other_byte_order),
		cmocka_unit_test(reads_what_is_not_mapped),
		cmocka_unit_test(follows_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
