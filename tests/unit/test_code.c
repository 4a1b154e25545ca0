/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each constructor gives the instruction it promises; labels become offsets. */
#include "bpf/code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bpf/dis.h"
#include "bpf/kprobe_session.h"

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

/* What is run at a return is after what is run at the entry, and reached by the one jump. */
static void test_session(void **state)
{
	const struct bpf_insn entry[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = R0, .imm = 1 },
		{ .code = BPF_JMP | BPF_JA, .off = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const struct bpf_insn at_return[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = R0, .imm = 2 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct bpf_insn *all, *jump;
	u32 n = 0;

	(void)state;
	all = kprobe_session_join(entry, ARRAY_SIZE(entry), at_return, ARRAY_SIZE(at_return), 77,
	                          &n);
	assert_non_null(all);
	assert_true(n > ARRAY_SIZE(entry) + ARRAY_SIZE(at_return));
	jump = all + n - ARRAY_SIZE(entry) - ARRAY_SIZE(at_return) - 1;
	assert_int_equal(jump->code, BPF_JMP | BPF_JSET | BPF_K);
	assert_int_equal(jump->dst_reg, R0);
	assert_memory_equal(jump + 1, entry, sizeof(entry));
	assert_memory_equal(jump + 1 + jump->off, at_return, sizeof(at_return));
	assert_ptr_equal(jump + 1 + jump->off + ARRAY_SIZE(at_return), all + n);
	assert_int_equal(all[1].imm, 77);
	assert_int_equal(all[1].src_reg, BPF_PSEUDO_KFUNC_CALL);
	free(all);
}

/* A jump reaches 32,767 instructions. */
static void test_long_session(void **state)
{
	struct bpf_insn exit = { .code = BPF_JMP | BPF_EXIT },
			*entry = calloc(32768, sizeof(*entry));
	u32 n = 0;
	struct bpf_insn *all;

	(void)state;
	assert_non_null(entry);
	assert_null(kprobe_session_join(entry, 32768, &exit, 1, 77, &n));
	all = kprobe_session_join(entry, 32767, &exit, 1, 77, &n);
	assert_non_null(all);
	assert_int_equal(all[n - 32769].off, 32767);
	free(all);
	free(entry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constructors), cmocka_unit_test(test_constants),
		cmocka_unit_test(test_labels),       cmocka_unit_test(test_long_jump),
		cmocka_unit_test(test_locations),    cmocka_unit_test(test_session),
		cmocka_unit_test(test_long_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
