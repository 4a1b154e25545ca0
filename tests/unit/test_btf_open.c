/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Split BTF, ELF files, references, threads, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* 1 int   2 struct base { int a }   3 typedef shared = 2 */
static void write_base(struct btf_build *w)
{
	btf_build_type(w, "int", BTF_KIND_INT, 0, 4);
	btf_build_word(w, 1u << 24 | 32);
	btf_build_type(w, "base", BTF_KIND_STRUCT, 1, 4);
	btf_build_three(w, btf_build_name(w, "a"), 1, 0);
	btf_build_type(w, "shared", BTF_KIND_TYPEDEF, 0, 2);
}

/* 4 ptr to 2   5 struct own { base *b; int c }   6 struct base (again, other size) */
static void write_split(struct btf_build *w, const struct btf_build *base, u32 name_of_base)
{
	w->strs_first = (u32)base->strs.n;
	btf_build_type(w, "", BTF_KIND_PTR, 0, 2);
	btf_build_type(w, "own", BTF_KIND_STRUCT, 2, 16);
	btf_build_three(w, btf_build_name(w, "b"), 4, 0);
	btf_build_three(w, btf_build_name(w, "c"), 1, 64);
	btf_build_word(w, name_of_base);
	btf_build_word(w, BTF_KIND_STRUCT << 24);
	btf_build_word(w, 8);
}

static bool add_id(void *ctx, u32 query, u32 id)
{
	buf_printf(ctx, "%u:%u ", query, id);
	return true;
}

static bool add_name(void *ctx, u32 id, const char *name)
{
	buf_printf(ctx, "%u:%s ", id, name);
	return true;
}

static void check_split(const struct btf *m)
{
	struct btf_query q[] = { { "base", BTF_KIND_STRUCT, 0 }, { "own", 0, 0 } };
	struct buf out = { 0 };
	struct btf_error e;
	struct btf_path p;
	struct btf_info t;

	assert_true(btf_first(m) == 4 && btf_count(m) == 7);
	assert_true(btf_info(m, 6, &t) && t.size == 8);
	assert_string_equal(t.name, "base");
	assert_int_equal(btf_find(m, 0, "base"), 2);
	assert_int_equal(btf_find_many(m, q, 2, BTF_FIND_OWN), 2);
	assert_true(q[0].id == 6 && q[1].id == 5);
	btf_find_all(m, q, 2, 0, add_id, &out);
	assert_string_equal(buf_text(&out), "0:2 1:5 0:6 ");
	buf_reset(&out);
	btf_each(m, 0, "*", add_name, &out);
	assert_string_equal(buf_text(&out), "1:int 2:base 3:shared 5:own 6:base ");
	assert_true(btf_path(m, 5, "b->a", &p, &e) && p.type == 1);
	assert_true(btf_check(m, &e));
	buf_free(&out);
}

static void joins_split_and_base(void **state)
{
	struct btf_build base = { 0 }, split = { 0 }, bare = { 0 };
	struct btf *b, *m;
	struct btf_info t;

	(void)state;
	write_base(&base);
	b = must_open(&base, NULL);
	assert_true(btf_info(b, 2, &t));
	write_split(&split, &base, t.name_off);
	m = must_open(&split, b);
	btf_unref(b); /* the split one keeps it */
	assert_ptr_equal(btf_base(m), b);
	check_split(m);
	/* A module without a string of its own. */
	bare.strs_first = (u32)base.strs.n;
	btf_build_three(&bare, t.name_off, BTF_KIND_TYPEDEF << 24, 2);
	b = must_open(&bare, btf_base(m));
	assert_int_equal(btf_find(b, BTF_KIND_TYPEDEF, "base"), 4);
	btf_unref(m);
	assert_int_equal(btf_find(b, 0, "shared"), 3);
	btf_unref(b);
	btf_build_free(&base);
	btf_build_free(&split);
	btf_build_free(&bare);
}

static void refuses_a_base_of_other_order(void **state)
{
	struct btf_build base = { 0 }, split = { .swapped = true, .strs_first = 1 };
	struct btf_error e;
	struct btf *b;
	size_t n;
	const void *p;

	(void)state;
	write_base(&base);
	b = must_open(&base, NULL);
	btf_build_type(&split, "x", BTF_KIND_FLOAT, 0, 4);
	p = btf_build_file(&split, &n);
	assert_null(btf_open_memory_split(p, n, b, &e));
	assert_string_equal(e.text, "split BTF and its base differ in byte order");
	btf_unref(b);
	btf_build_free(&base);
	btf_build_free(&split);
}

static void reads_elf_sections(void **state)
{
	struct btf_build w = { 0 };
	struct btf_error e;
	size_t n;
	const void *p;

	(void)state;
	write_base(&w);
	p = btf_build_file(&w, &n);
	for (u32 i = 0; i < 2; i++) {
		const struct btf_elf_part part = { ".BTF", p, n };
		struct buf f = { 0 };
		struct btf *b;

		btf_build_elf(&f, &part, 1, i, 0);
		b = btf_open_memory(f.p, f.n, &e);
		if (!b)
			fail_msg("%s", e.text);
		assert_int_equal(btf_find(b, 0, "shared"), 3);
		assert_int_equal(btf_pointer_size(b), i ? 8 : 4);
		btf_unref(b);
		for (size_t cut = 4; cut < f.n; cut += 7)
			btf_unref(btf_open_memory(f.p, cut, &e));
		buf_free(&f);
		btf_build_elf(&f, &part, 1, i, 0x800);
		assert_null(btf_open_memory(f.p, f.n, &e));
		assert_string_equal(e.text, "the ELF section .BTF is compressed or empty");
		buf_free(&f);
	}
	btf_build_free(&w);
}

static void takes_longer_headers(void **state)
{
	static const u32 lengths[] = { 24, 32, 40, 64 };
	struct btf_error e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct btf_build w = { .header = lengths[i] };
		struct btf *b;

		write_base(&w);
		b = must_open(&w, NULL);
		assert_int_equal(btf_find(b, 0, "shared"), 3);
		assert_true(btf_check(b, &e));
		btf_unref(b);
		btf_build_free(&w);
	}
}

/* Linux 7.1: a header of 32 bytes, a layout, kinds of 7 bits and 24 bits of entries, names
 * sorted. */
static void reads_the_wider_format(void **state)
{
	static const char strange[] = "\4\10\0\0"; /* 4 bytes, and 8 for each entry */
	struct btf_build w = { .header = 32 };
	struct btf_enumerator v;
	struct btf_error e;
	struct btf_info t;
	struct btf *b;
	u32 x = btf_build_name(&w, "x");

	(void)state;
	buf_fill(&w.layout, 0, 100 * 4);
	buf_add(&w.layout, strange, 4);
	btf_build_type(&w, "", BTF_KIND_PTR, 0, 3);
	btf_build_word(&w, btf_build_name(&w, "a_wide_enum"));
	btf_build_two(&w, BTF_KIND_ENUM << 24 | 100000, 4);
	for (u32 i = 0; i < 100000; i++)
		btf_build_two(&w, x, i);
	btf_build_word(&w, btf_build_name(&w, "a_wide_kind"));
	btf_build_two(&w, 100u << 24 | 70000, 0);
	btf_build_word(&w, 1);
	for (u32 i = 0; i < 70000; i++)
		btf_build_two(&w, BTF_KIND_INT << 24, i);
	btf_build_type(&w, "z_behind_them", BTF_KIND_FLOAT, 0, 4);
	b = must_open(&w, NULL);
	assert_int_equal(btf_count(b), 5);
	assert_true(btf_info(b, 2, &t) && t.vlen == 100000 && btf_enumerator(b, &t, 99999, &v));
	assert_int_equal(v.value, 99999);
	assert_true(btf_info(b, 3, &t) && t.kind == 100 && t.vlen == 70000);
	assert_int_equal(t.raw_len, 12 + 4 + 70000 * 8);
	assert_int_equal(btf_find(b, BTF_KIND_FLOAT, "z_behind_them"), 4);
	assert_int_equal(btf_find(b, 100, "a_wide_kind"), 3);
	assert_true(btf_check(b, &e));
	btf_unref(b);
	btf_build_free(&w);
}

static void names_the_file_in_errors(void **state)
{
	struct btf_error e;

	(void)state;
	assert_null(btf_open("/nonexistent/btf", &e));
	assert_int_equal(e.code, 2);
	assert_string_equal(e.text, "/nonexistent/btf: No such file or directory");
	assert_null(btf_open("/dev/null", &e));
	assert_string_equal(e.text, "/dev/null is not a regular file");
	assert_null(btf_open("Makefile", &e));
	assert_string_equal(e.text, "Makefile: the data is not BTF");
	assert_null(btf_open_module("../vmlinux", NULL, &e));
	assert_null(btf_open("/nonexistent/btf", NULL));
}

/* Its owner may do so at any time, also between a check and a look. */
static void check_copy(const void *p, size_t n)
{
	static const char other[65536] = "other bytes";
	char path[] = "/tmp/memtap-btf-XXXXXX";
	int fd = mkstemp(path);
	struct btf_error e;
	struct btf_file f;
	struct btf *b;

	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	b = btf_open(path, &e);
	unlink(path);
	if (!b)
		fail_msg("%s", e.text);
	assert_true(n <= sizeof(other) && pwrite(fd, other, n, 0) == (ssize_t)n);
	assert_true(btf_check(b, &e) && btf_find(b, BTF_KIND_STRUCT, "base") == 2);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_true(btf_check(b, &e) && btf_find(b, BTF_KIND_TYPEDEF, "shared") == 3);
	btf_file(b, &f);
	assert_true(f.bytes && !f.mapped);
	btf_unref(b);
	close(fd);
}

static void keeps_what_a_file_was(void **state)
{
	struct btf_build w = { 0 };
	struct buf elf = { 0 };
	size_t n;
	const void *p;

	(void)state;
	write_base(&w);
	p = btf_build_file(&w, &n);
	check_copy(p, n);
	btf_build_elf(&elf, &(struct btf_elf_part){ ".BTF", p, n }, 1, true, 0);
	check_copy(elf.p, elf.n);
	buf_free(&elf);
	btf_build_free(&w);
}

static void does_not_wait_for_a_pipe(void **state)
{
	char path[] = "/tmp/memtap-btf-XXXXXX";
	struct btf_error e;

	(void)state;
	assert_int_equal(close(mkstemp(path)) | unlink(path) | mkfifo(path, 0600), 0);
	assert_null(btf_open(path, &e));
	unlink(path);
	assert_non_null(strstr(e.text, "is not a regular file"));
}

static void names_the_place_that_is_wrong(void **state)
{
	static const struct {
		u32 word, value; /* of the types */
		const char *text;
	} cases[] = {
		{ 3, 1u << 24 | 40, "type 1 (int): the integer has 40 bits, more than fit" },
		{ 8, 99, "type 2 (base): refers to type 99, which does not exist" },
		{ 9, 8, "type 2 (base): member 0 lies outside the type" },
		{ 7, 1000, "type 2 (base): member 0 has no name in the strings" },
		{ 12, 3, "type 3 (shared): the chain of modifiers has more than 32 steps" },
		{ 11, 0x7eu << 24,
		  "type 3 (at byte 40 of the types) is cut off or of unknown kind" },
		{ 10, 1000, "type 3: its name lies outside the strings" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct btf_build w = { 0 };
		struct btf_error e;
		struct btf *b;

		write_base(&w);
		memcpy(w.types.p + cases[i].word * 4, &cases[i].value, 4);
		b = must_open(&w, NULL);
		assert_false(btf_check(b, &e));
		assert_string_equal(e.text, cases[i].text);
		btf_unref(b);
		btf_build_free(&w);
	}
}

struct shared {
	struct btf *b;
	u32 ids[4];
};

static void *ask(void *ctx)
{
	static const char *const names[] = { "own", "base", "shared", "int" };
	struct shared *s = ctx;
	struct btf *b = btf_ref(s->b);

	for (u32 i = 0; i < 200; i++)
		s->ids[i % 4] = btf_find(b, 0, names[i % 4]);
	btf_unref(b);
	return NULL;
}

static void serves_many_threads(void **state)
{
	struct btf_build base = { 0 }, split = { 0 };
	struct shared s[4];
	pthread_t threads[4];
	struct btf *b, *m;

	(void)state;
	write_base(&base);
	b = must_open(&base, NULL);
	write_split(&split, &base, btf_build_name(&base, ""));
	m = must_open(&split, b);
	for (u32 i = 0; i < 4; i++) {
		s[i].b = m;
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &s[i]), 0);
	}
	for (u32 i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_true(s[i].ids[0] == 5 && s[i].ids[1] == 2 && s[i].ids[2] == 3);
	}
	btf_unref(m);
	btf_unref(b);
	btf_unref(NULL);
	btf_build_free(&base);
	btf_build_free(&split);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_split_and_base),
		cmocka_unit_test(refuses_a_base_of_other_order),
		cmocka_unit_test(reads_elf_sections),
		cmocka_unit_test(takes_longer_headers),
		cmocka_unit_test(reads_the_wider_format),
		cmocka_unit_test(names_the_file_in_errors),
		cmocka_unit_test(keeps_what_a_file_was),
		cmocka_unit_test(does_not_wait_for_a_pipe),
		cmocka_unit_test(names_the_place_that_is_wrong),
		cmocka_unit_test(serves_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
