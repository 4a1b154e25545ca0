/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* btf_ext.c against sections written out here, in both byte orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <memtap/btf.h>

#include "base/buf.h"
#include "core_oracle.h"

struct writer {
	struct buf b;
	bool swap;
};

static void word(struct writer *w, u32 v)
{
	if (w->swap)
		v = __builtin_bswap32(v);
	buf_add(&w->b, &v, sizeof(v));
}

static void words(struct writer *w, const u32 *v, u32 n)
{
	for (u32 i = 0; i < n; i++)
		word(w, v[i]);
}

/* The magic, version 1, flags 0. */
static void magic(struct writer *w)
{
	u16 v = w->swap ? 0x9feb : 0xeb9f;

	buf_add(&w->b, &v, sizeof(v));
	buf_putc(&w->b, 1);
	buf_putc(&w->b, 0);
}

static void set_word(struct writer *w, u32 at, u32 v)
{
	if (w->swap)
		v = __builtin_bswap32(v);
	memcpy(w->b.p + at, &v, sizeof(v));
}

/* BTF without types; its strings are "", "sec", "0:1". */
static struct btf *small_btf(struct writer *w, bool swap)
{
	static const u32 head[] = { 24, 0, 0, 0, 9 };
	struct btf *b;

	*w = (struct writer){ .swap = swap };
	magic(w);
	words(w, head, ARRAY_SIZE(head));
	buf_add(&w->b, "\0sec\0000:1", 9);
	b = btf_open_memory(w->b.p, w->b.n, NULL);
	assert_non_null(b);
	return b;
}

/* Two sections of two and one records of 20 bytes, 4 more than known. */
#define RELOS     40u /* where relocations start: the record size */
#define RELOS_LEN (4u + 8 + 40 + 8 + 20)
static void sample(struct writer *w, bool swap)
{
	static const u32 head[] = { 40, 0, 0, 0, 0, 0, RELOS_LEN, 0xdead, 0xbeef };
	static const u32 relos[] = { 20, 1, 2,  8, 7, 5, 0, 99, 16, 8,
		                     5,  2, 99, 1, 1, 0, 9, 5,  12, 99 };

	*w = (struct writer){ .swap = swap };
	magic(w);
	words(w, head, ARRAY_SIZE(head));
	words(w, relos, ARRAY_SIZE(relos));
	assert_int_equal(w->b.n, RELOS + RELOS_LEN);
}

static void expect(struct btf_relo_iter *it, u32 number, u32 insn, u32 type, u32 kind)
{
	assert_true(btf_relo_next(it));
	assert_string_equal(it->r.section, "sec");
	assert_int_equal(it->r.number, number);
	assert_int_equal(it->r.insn_off, insn);
	assert_int_equal(it->r.type, type);
	assert_int_equal(it->r.access_off, 5);
	assert_int_equal(it->r.kind, kind);
}

static void check_order(bool swap)
{
	struct btf_relo_iter it;
	struct btf_error e = { 0 };
	struct writer w, s;
	struct btf *b = small_btf(&s, swap);
	struct btf_ext x;

	sample(&w, swap);
	if (!btf_ext_read(b, w.b.p, w.b.n, &x, &e))
		fail_msg("%s", e.text);
	btf_relo_iter_init(&it, &x);
	expect(&it, 0, 8, 7, BTF_CORE_FIELD_OFFSET);
	expect(&it, 1, 16, 8, BTF_CORE_FIELD_EXISTS);
	expect(&it, 0, 0, 9, BTF_CORE_TYPE_MATCHES);
	assert_false(btf_relo_next(&it));
	assert_false(btf_relo_next(&it));
	btf_unref(b);
	buf_free(&w.b);
	buf_free(&s.b);
}

static void test_orders(void **state)
{
	(void)state;
	check_order(false);
	check_order(true);
}

/* Reads the sample with one word changed; what is said must have `text`. */
static void check_damage(u32 at, u32 v, const char *text)
{
	struct btf_error e = { 0 };
	struct writer w, s;
	struct btf *b = small_btf(&s, false);
	struct btf_ext x;

	sample(&w, false);
	set_word(&w, at, v);
	assert_false(btf_ext_read(b, w.b.p, w.b.n, &x, &e));
	if (!strstr(e.text, text))
		fail_msg("'%s' does not speak of '%s'", e.text, text);
	btf_unref(b);
	buf_free(&w.b);
	buf_free(&s.b);
}

static void test_damage(void **state)
{
	(void)state;
	check_damage(0, 0x01001234, "magic");
	check_damage(0, 0x0002eb9f, "version 2");
	check_damage(4, 20, "20 bytes long");
	check_damage(4, 0xfffffffc, "bytes long");
	check_damage(24, 2, "outside");
	check_damage(24, 0xfffffffc, "outside");
	check_damage(28, RELOS_LEN + 4, "outside");
	check_damage(28, 3, "outside");
	check_damage(28, RELOS_LEN - 4, "count of 1");
	check_damage(RELOS, 12, "12 bytes long");
	check_damage(RELOS, 18, "18 bytes long");
	check_damage(RELOS + 4, 9, "no name");
	check_damage(RELOS + 8, 0, "count of 0");
	check_damage(RELOS + 8, 0xffffffff, "count of 4294967295");
	check_damage(RELOS + 8, 3, "count of"); /* the next section is read amiss */
}

static void test_short(void **state)
{
	struct btf_relo_iter it;
	struct btf_error e = { 0 };
	struct writer w, s;
	struct btf *b = small_btf(&s, false);
	struct btf_ext x;

	(void)state;
	sample(&w, false);
	for (size_t n = 0; n < w.b.n; n++)
		assert_false(btf_ext_read(b, w.b.p, n, &x, &e));
	/* A header from before there were relocations. */
	set_word(&w, 4, 24);
	assert_true(btf_ext_read(b, w.b.p, w.b.n, &x, &e));
	btf_relo_iter_init(&it, &x);
	assert_false(btf_relo_next(&it));
	btf_unref(b);
	buf_free(&w.b);
	buf_free(&s.b);
}

/* An object of the compiler's, in both orders: the same relocations, places, types, decisions. */
static void test_compiled(void **state)
{
	struct btf_relo_iter it[2];
	struct btf *local[2], *target[2];
	struct btf_core *core[2];
	struct btf_error e = { 0 };
	struct btf_ext x[2];
	char path[1100];
	u32 n = 0;

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		local[i] = btf_open(
			oracle_path(path, sizeof(path), i ? "made.bpf.eb.o" : "made.bpf.o"), &e);
		target[i] = btf_open(
			oracle_path(path, sizeof(path), i ? "target.eb.o" : "target.o"), &e);
		assert_true(local[i] && target[i]);
		assert_true(btf_ext_of(local[i], &x[i], &e));
		core[i] = btf_core_new(local[i], &x[i], target[i], NULL, 0, &e);
		assert_non_null(core[i]);
		btf_relo_iter_init(&it[i], &x[i]);
	}
	while (btf_relo_next(&it[0])) {
		struct btf_core_result a = { 0 }, b = { 0 };

		assert_true(btf_relo_next(&it[1]));
		assert_string_equal(it[0].r.section, it[1].r.section);
		assert_int_equal(it[0].r.kind, it[1].r.kind);
		assert_int_equal(btf_core_eval(core[0], &it[0].r, &a, &e),
		                 btf_core_eval(core[1], &it[1].r, &b, &e));
		assert_int_equal(a.poison, b.poison);
		assert_int_equal(a.matches, b.matches);
		/* A left shift depends on the order. */
		if (it[0].r.kind != BTF_CORE_FIELD_LSHIFT)
			assert_int_equal(a.value, b.value);
		n++;
	}
	assert_false(btf_relo_next(&it[1]));
	assert_in_range(n, 150, 1000);
	for (u32 i = 0; i < 2; i++) {
		btf_core_free(core[i]);
		btf_unref(local[i]);
		btf_unref(target[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_compiled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
