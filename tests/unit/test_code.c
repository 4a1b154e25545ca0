/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each constructor gives the instruction it promises; labels become offsets. */
#include "bpf/code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bpf/dis.h"

/* All instructions of c as text, joined by "; ". */
static const char *text_of(const struct code *c, struct buf *b)
{
	buf_reset(b);
	for (u32 i = 0; i < c->insns.n;) {
		if (i)
			buf_puts(b, "; ");
		i += dis_insn(b, &c->insns.v[i], c->insns.n - i);
	}
	return buf_text(b);
}

static void test_constructors(void **state)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct code c;

	(void)state;
	code_init(&c, &a);
	code_alu(&c, BPF_ADD, R1, R2);
	code_alu_imm(&c, BPF_ARSH, R1, 3);
	code_alu32(&c, BPF_MUL, R1, R2);
	code_alu32_imm(&c, BPF_AND, R1, 255);
	code_mov(&c, R3, R3);
	code_mov(&c, R3, R4);
	code_bswap(&c, R3, 32);
	assert_string_equal(text_of(&c, &b), "r1 += r2; r1 s>>= 3; w1 *= w2; w1 &= 255; r3 = r4; "
	                                     "r3 = be32 r3");
	code_init(&c, &a);
	code_load(&c, 1, R1, R2, 5);
	code_load(&c, 2, R1, R2, 32767);
	code_store(&c, 4, R10, -4, R1);
	code_store_imm(&c, 8, R10, -8, -1);
	code_atomic(&c, BPF_ADD, R0, 16, R1);
	code_call(&c, BPF_FUNC_ktime_get_ns);
	code_map(&c, R1, 7);
	code_map_value(&c, R2, 1, 24);
	code_exit(&c);
	assert_string_equal(text_of(&c, &b),
	                    "r1 = *(u8 *)(r2 +5); r1 = *(u16 *)(r2 +32767); *(u32 *)(r10 -4) = r1; "
	                    "*(u64 *)(r10 -8) = -1; lock *(u64 *)(r0 +16) += r1; "
	                    "call ktime_get_ns#5; r1 = map[7]; r2 = map_value[1]+24; exit");
	buf_free(&b);
	arena_free(&a);
}

static void test_constants(void **state)
{
	static const struct {
		u64 value;
		const char *text;
	} rows[] = {
		{ 0, "r1 = 0" },
		{ UINT64_MAX, "r1 = -1" },
		{ INT32_MAX, "r1 = 2147483647" },
		{ (u64)INT32_MIN, "r1 = -2147483648" },
		{ 0x80000000, "w1 = -2147483648" },
		{ UINT32_MAX, "w1 = -1" },
		{ 0x100000000, "r1 = 0x100000000" },
		{ (u64)INT64_MIN, "r1 = 0x8000000000000000" },
		{ (u64)INT32_MIN - 1, "r1 = 0xffffffff7fffffff" },
	};
	struct arena a = { 0 };
	struct buf b = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct code c;

		code_init(&c, &a);
		code_const(&c, R1, rows[i].value);
		assert_string_equal(text_of(&c, &b), rows[i].text);
	}
	buf_free(&b);
	arena_free(&a);
}

static void test_labels(void **state)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct code c;
	struct err e;
	u32 top, end;

	(void)state;
	code_init(&c, &a);
	top = code_label(&c);
	end = code_label(&c);
	code_bind(&c, top);
	code_if_imm(&c, BPF_JEQ, R1, 0, end);
	code_if(&c, BPF_JSGT, R1, R2, end);
	code_const(&c, R3, 1ull << 40);
	code_goto(&c, top);
	code_bind(&c, end);
	code_exit(&c);
	assert_true(code_finish(&c, &e));
	assert_string_equal(text_of(&c, &b), "if r1 == 0 goto +4; if r1 s> r2 goto +3; "
	                                     "r3 = 0x10000000000; goto -5; exit");
	buf_free(&b);
	arena_free(&a);
}

static void test_long_jump(void **state)
{
	struct arena a = { 0 };
	struct code c;
	struct err e;
	u32 end;

	(void)state;
	code_init(&c, &a);
	end = code_label(&c);
	code_goto(&c, end);
	for (u32 i = 0; i < 32768; i++)
		code_alu_imm(&c, BPF_ADD, R1, 1);
	code_bind(&c, end);
	code_exit(&c);
	assert_false(code_finish(&c, &e));
	assert_non_null(e.text);
	arena_free(&a);
}

static void test_locations(void **state)
{
	struct arena a = { 0 };
	struct code c;

	(void)state;
	code_init(&c, &a);
	code_exit(&c);
	c.loc = 17;
	code_const(&c, R1, UINT64_MAX / 3);
	assert_int_equal(c.locs.n, 3);
	assert_int_equal(c.locs.v[0], 0);
	assert_int_equal(c.locs.v[1], 17);
	assert_int_equal(c.locs.v[2], 17);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constructors), cmocka_unit_test(test_constants),
		cmocka_unit_test(test_labels),       cmocka_unit_test(test_long_jump),
		cmocka_unit_test(test_locations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
