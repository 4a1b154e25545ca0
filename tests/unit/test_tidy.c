/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the passes over finished code take away, and what they have to leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interp/check.h"
#include "bpf/dis.h"
#include "bpf/flow.h"
#include "bpf/tidy.h"

struct lab {
	struct arena arena;
	struct code code;
};

static struct code *lab_open(struct lab *l)
{
	*l = (struct lab){ 0 };
	code_init(&l->code, &l->arena);
	return &l->code;
}

/* Ends the program with "r0 = 0; exit", runs all passes, compares with instructions joined by ";
 * ". */
static void lab_expect(struct lab *l, const char *want)
{
	struct code *c = &l->code;
	struct buf text = { 0 };
	struct err e = { 0 };
	u32 at;

	code_const(c, R0, 0);
	code_exit(c);
	assert_true(code_finish(c, &e));
	tidy_code(c);
	hoist_code(c);
	for (u32 i = 0; i < c->insns.n;) {
		buf_puts(&text, i ? "; " : "");
		i += dis_insn(&text, &c->insns.v[i], c->insns.n - i);
	}
	assert_string_equal(buf_text(&text), want);
	assert_int_equal(c->locs.n, c->insns.n);
	assert_true(check_insns(c->insns.v, c->insns.n, 4, &at, &e));
	buf_free(&text);
	arena_free(&l->arena);
}

static void test_copies(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);

	(void)state;
	code_mov(c, R6, R1); /* the context is read before a call: it need not move */
	code_load(c, 8, R0, R6, 24);
	code_mov(c, R3, R0);
	code_alu_imm(c, BPF_ADD, R3, 8);
	code_const(c, R1, 0);
	code_const(c, R2, 0);
	code_call(c, BPF_FUNC_probe_read_kernel);
	code_store(c, 8, R10, -8, R0);
	lab_expect(&l, "r3 = *(u64 *)(r1 +24); r3 += 8; r1 = 0; r2 = 0; "
	               "call probe_read_kernel#113; *(u64 *)(r10 -8) = r0; r0 = 0; exit");
}

static void test_a_copy_kept_over_a_call(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);

	(void)state;
	code_load(c, 8, R0, R1, 0);
	code_mov(c, R7, R0);
	code_call(c, BPF_FUNC_ktime_get_ns);
	code_mov(c, R1, R7);
	code_store(c, 8, R10, -8, R1);
	code_store(c, 8, R10, -16, R0);
	lab_expect(&l, "r7 = *(u64 *)(r1 +0); call ktime_get_ns#5; *(u64 *)(r10 -8) = r7; "
	               "*(u64 *)(r10 -16) = r0; r0 = 0; exit");
}

/* The checker learns a bound from a test: the register that was tested is the one to use. */
static void test_a_tested_copy_stays(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);
	u32 out = code_label(c);

	(void)state;
	code_call(c, BPF_FUNC_get_prandom_u32);
	code_mov(c, R7, R0);
	code_call(c, BPF_FUNC_ktime_get_ns);
	code_mov(c, R1, R7);
	code_if_imm(c, BPF_JGE, R1, 10, out);
	code_alu(c, BPF_ADD, R0, R1);
	code_store(c, 8, R10, -8, R0);
	code_store(c, 8, R10, -16, R7);
	code_bind(c, out);
	lab_expect(&l, "call get_prandom_u32#7; r7 = r0; call ktime_get_ns#5; r1 = r7; "
	               "if r1 >= 10 goto +3; r0 += r1; *(u64 *)(r10 -8) = r0; "
	               "*(u64 *)(r10 -16) = r7; r0 = 0; exit");
}

static void test_unneeded(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);

	(void)state;
	code_const(c, R3, 1ull << 40);
	code_load(c, 4, R4, R1, 0);
	code_alu(c, BPF_ADD, R4, R3);
	code_const(c, R5, 1);
	code_store(c, 8, R10, -8, R5);
	code_atomic(c, BPF_ADD | BPF_FETCH, R10, -8,
	            R5); /* has an effect although r5 is not read */
	lab_expect(&l, "r5 = 1; *(u64 *)(r10 -8) = r5; "
	               "r5 = atomic_fetch_add((u64 *)(r10 -8), r5); r0 = 0; exit");
}

/* What neither changes the register nor the word may stand between. */
static void test_a_stored_word_further_on(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);

	(void)state;
	code_call(c, BPF_FUNC_ktime_get_ns);
	code_store(c, 8, R10, -8, R0);
	code_const(c, R1, 5);
	code_load(c, 8, R2, R10, -8);
	code_alu(c, BPF_ADD, R1, R2);
	code_store(c, 8, R10, -16, R1);
	lab_expect(&l, "call ktime_get_ns#5; *(u64 *)(r10 -8) = r0; r1 = 5; r1 += r0; "
	               "*(u64 *)(r10 -16) = r1; r0 = 0; exit");
}

static void test_stored_words(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);

	(void)state;
	code_call(c, BPF_FUNC_ktime_get_ns);
	code_store(c, 8, R10, -8, R0);
	code_load(c, 8, R0, R10, -8); /* still there */
	code_load(c, 4, R1, R10, -8); /* another width */
	code_alu(c, BPF_ADD, R0, R1);
	code_load(c, 8, R2, R10, -8); /* r0 has changed */
	code_store(c, 8, R10, -16, R0);
	code_store(c, 8, R10, -24, R2);
	lab_expect(&l, "call ktime_get_ns#5; *(u64 *)(r10 -8) = r0; r1 = *(u32 *)(r10 -8); "
	               "r0 += r1; r2 = *(u64 *)(r10 -8); *(u64 *)(r10 -16) = r0; "
	               "*(u64 *)(r10 -24) = r2; r0 = 0; exit");
}

static void test_jumps(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);
	u32 over = code_label(c), there = code_label(c), end = code_label(c);

	(void)state;
	code_call(c, BPF_FUNC_ktime_get_ns);
	code_if_imm(c, BPF_JSLT, R0, 5, over);
	code_goto(c, there);
	code_bind(c, over);
	code_store_imm(c, 8, R10, -8, 1);
	code_goto(c, end);
	code_bind(c, there);
	code_goto(c, end);
	code_bind(c, end);
	lab_expect(&l, "call ktime_get_ns#5; if r0 s>= 5 goto +1; *(u64 *)(r10 -8) = 1; "
	               "r0 = 0; exit");
}

/* A jump that all who came to it now pass by is gone: the kernel refuses what can not be
 * reached. */
static void test_jump_passed_by(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);
	u32 top = code_label(c), on = code_label(c), end = code_label(c);

	(void)state;
	code_bind(c, top);
	code_call(c, BPF_FUNC_ktime_get_ns);
	code_if_imm(c, BPF_JSLT, R0, 5, on);
	code_store_imm(c, 8, R10, -8, 1);
	code_goto(c, end);
	code_bind(c, on);
	code_goto(c, top);
	code_bind(c, end);
	lab_expect(&l, "call ktime_get_ns#5; if r0 s< 5 goto -2; *(u64 *)(r10 -8) = 1; "
	               "r0 = 0; exit");
}

/* A loop: what is needed in the next round is not dropped, and the loop is left as it is. */
static void test_loop(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);
	u32 top = code_label(c);

	(void)state;
	code_const(c, R7, 0);
	code_bind(c, top);
	code_mov(c, R1, R7);
	code_store(c, 8, R10, -8, R1);
	code_alu_imm(c, BPF_ADD, R7, 1);
	code_if_imm(c, BPF_JLT, R7, 4, top);
	lab_expect(&l, "r7 = 0; *(u64 *)(r10 -8) = r7; r7 += 1; if r7 < 4 goto -3; r0 = 0; exit");
}

static void frame_address(struct code *c, enum reg r, s32 off)
{
	code_mov(c, r, R10);
	code_alu_imm(c, BPF_ADD, r, off);
}

static void test_frame_addresses(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);

	(void)state;
	code_store_imm(c, 8, R10, -8, 0);
	for (u32 i = 0; i < 3; i++) {
		code_map(c, R1, 2);
		frame_address(c, R2, -8);
		code_call(c, BPF_FUNC_map_delete_elem);
	}
	lab_expect(&l, "r8 = r10; r8 += -8; r9 = map[2]; *(u64 *)(r10 -8) = 0; "
	               "r1 = r9; r2 = r8; call map_delete_elem#3; "
	               "r1 = r9; r2 = r8; call map_delete_elem#3; "
	               "r1 = r9; r2 = r8; call map_delete_elem#3; r0 = 0; exit");
}

/* Twice is not enough to pay. */
static void test_two_addresses_stay(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);

	(void)state;
	code_store_imm(c, 8, R10, -8, 0);
	for (u32 i = 0; i < 2; i++) {
		code_map(c, R1, 2);
		frame_address(c, R2, -8);
		code_call(c, BPF_FUNC_map_delete_elem);
	}
	lab_expect(&l, "*(u64 *)(r10 -8) = 0; "
	               "r1 = map[2]; r2 = r10; r2 += -8; call map_delete_elem#3; "
	               "r1 = map[2]; r2 = r10; r2 += -8; call map_delete_elem#3; r0 = 0; exit");
}

static void test_counters(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		code_map_value(c, R1, 1, 32 + 8 * i);
		code_const(c, R2, 1);
		code_atomic(c, BPF_ADD, R1, 0, R2);
	}
	lab_expect(&l, "r9 = map_value[1]+0; r2 = 1; lock *(u64 *)(r9 +32) += r2; "
	               "r2 = 1; lock *(u64 *)(r9 +40) += r2; r0 = 0; exit");
}

/* A compare-and-exchange takes r0 as the value to compare with, too: its address stays there. */
static void test_compared_address(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		code_map_value(c, R0, 1, 8 * i);
		code_const(c, R2, 1);
		code_atomic(c, BPF_CMPXCHG, R0, 0, R2);
	}
	lab_expect(&l, "r0 = map_value[1]+0; r2 = 1; r0 = cmpxchg((u64 *)(r0 +0), r0, r2); "
	               "r0 = map_value[1]+8; r2 = 1; r0 = cmpxchg((u64 *)(r0 +0), r0, r2); "
	               "r0 = 0; exit");
}

/* No register is free: all stays. */
static void test_no_free_register(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);

	(void)state;
	for (enum reg r = R6; r <= R9; r++) {
		code_call(c, BPF_FUNC_get_prandom_u32);
		code_mov(c, r, R0);
	}
	code_call(c, BPF_FUNC_get_prandom_u32);
	for (u32 i = 0; i < 3; i++) {
		code_map_value(c, R1, 1, 8 * i);
		code_atomic(c, BPF_ADD, R1, 0, R6 + i);
	}
	code_store(c, 8, R10, -8, R9);
	lab_expect(&l, "call get_prandom_u32#7; r6 = r0; call get_prandom_u32#7; r7 = r0; "
	               "call get_prandom_u32#7; r8 = r0; call get_prandom_u32#7; r9 = r0; "
	               "call get_prandom_u32#7; "
	               "r1 = map_value[1]+0; lock *(u64 *)(r1 +0) += r6; "
	               "r1 = map_value[1]+8; lock *(u64 *)(r1 +0) += r7; "
	               "r1 = map_value[1]+16; lock *(u64 *)(r1 +0) += r8; "
	               "*(u64 *)(r10 -8) = r9; r0 = 0; exit");
}

static void test_reads_and_writes(void **state)
{
	struct lab l;
	struct code *c = lab_open(&l);
	static const struct {
		u16 reads, writes;
	} want[] = {
		{ 1 << 3, 1 << 2 },          /* r2 = r3 */
		{ 1 << 2 | 1 << 3, 1 << 2 }, /* r2 += r3 */
		{ 1 << 4, 1 << 4 },          /* r4 = -r4 */
		{ 0x6, 0x3f },               /* call map_lookup_elem */
		{ 1 << 1 | 1 << 2 | 1, 1 },  /* cmpxchg */
		{ 1 << 1 | 1 << 2, 1 << 2 }, /* xchg */
		{ 1 << 1 | 1 << 2, 0 },      /* atomic add */
		{ 1 << 1, 0 },               /* store of a constant */
	};

	(void)state;
	code_mov(c, R2, R3);
	code_alu(c, BPF_ADD, R2, R3);
	code_alu_imm(c, BPF_NEG, R4, 0);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_atomic(c, BPF_CMPXCHG, R1, 0, R2);
	code_atomic(c, BPF_XCHG, R1, 0, R2);
	code_atomic(c, BPF_ADD, R1, 0, R2);
	code_store_imm(c, 8, R1, 0, 7);
	for (u32 i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(flow_reads(&c->insns.v[i]), want[i].reads);
		assert_int_equal(flow_writes(&c->insns.v[i]), want[i].writes);
	}
	arena_free(&l.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_a_copy_kept_over_a_call),
		cmocka_unit_test(test_a_tested_copy_stays),
		cmocka_unit_test(test_unneeded),
		cmocka_unit_test(test_a_stored_word_further_on),
		cmocka_unit_test(test_stored_words),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_jump_passed_by),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_frame_addresses),
		cmocka_unit_test(test_two_addresses_stay),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_compared_address),
		cmocka_unit_test(test_no_free_register),
		cmocka_unit_test(test_reads_and_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
