/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The self-check: each complaint is provoked once, and right programs pass. */
#include "interp/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/code.h"

#define MOV_K(r, v)                                                                                \
	{                                                                                          \
		BPF_ALU64 | BPF_K | BPF_MOV, r, 0, 0, v                                            \
	}
#define MOV_X(r, s)                                                                                \
	{                                                                                          \
		BPF_ALU64 | BPF_X | BPF_MOV, r, s, 0, 0                                            \
	}
#define ALU_K(op, r, v)                                                                            \
	{                                                                                          \
		BPF_ALU64 | BPF_K | (op), r, 0, 0, v                                               \
	}
#define ALU32_K(op, r, v)                                                                          \
	{                                                                                          \
		BPF_ALU | BPF_K | (op), r, 0, 0, v                                                 \
	}
#define LOAD(sz, r, b, off)                                                                        \
	{                                                                                          \
		BPF_LDX | BPF_MEM | (sz), r, b, off, 0                                             \
	}
#define STORE(sz, b, off, r)                                                                       \
	{                                                                                          \
		BPF_STX | BPF_MEM | (sz), b, r, off, 0                                             \
	}
#define STORE_K(sz, b, off)                                                                        \
	{                                                                                          \
		BPF_ST | BPF_MEM | (sz), b, 0, off, 1                                              \
	}
#define ATOMIC(op, b, off, r)                                                                      \
	{                                                                                          \
		BPF_STX | BPF_ATOMIC | BPF_DW, b, r, off, op                                       \
	}
#define IF_K(op, r, off)                                                                           \
	{                                                                                          \
		BPF_JMP | BPF_K | (op), r, 0, off, 0                                               \
	}
#define GOTO(off)                                                                                  \
	{                                                                                          \
		BPF_JMP | BPF_JA, 0, 0, off, 0                                                     \
	}
#define CALL(id)                                                                                   \
	{                                                                                          \
		BPF_JMP | BPF_CALL, 0, 0, 0, id                                                    \
	}
#define WIDE(r, src, lo)                                                                           \
	{                                                                                          \
		BPF_LD | BPF_IMM | BPF_DW, r, src, 0, lo                                           \
	}
#define TAIL                                                                                       \
	{                                                                                          \
		0, 0, 0, 0, 0                                                                      \
	}
#define EXIT                                                                                       \
	{                                                                                          \
		BPF_JMP | BPF_EXIT, 0, 0, 0, 0                                                     \
	}

struct row {
	struct bpf_insn insns[8]; /* ends at the last EXIT or GOTO, or at n */
	u32 n;
	u32 at;
	const char *why; /* NULL: well formed */
};

static const struct row rows[] = {
	{ { MOV_K(0, 0), EXIT }, 2, 0, NULL },
	{ { IF_K(BPF_JEQ, 1, 2), MOV_K(0, 0), EXIT, MOV_K(0, 1), GOTO(-3) }, 5, 0, NULL },
	{ { MOV_X(6, 1), CALL(5), MOV_X(0, 6), EXIT }, 4, 0, NULL },
	{ { WIDE(1, BPF_PSEUDO_MAP_FD, 2), TAIL, MOV_K(0, 0), EXIT }, 4, 0, NULL },
	{ { STORE_K(BPF_DW, 10, -512), LOAD(BPF_DW, 0, 10, -512), EXIT }, 3, 0, NULL },
	{ { MOV_K(0, 0), STORE(BPF_B, 10, -1, 0), EXIT }, 3, 0, NULL },
	{ { MOV_K(0, 1), ATOMIC(BPF_XCHG, 1, 0, 0), EXIT }, 3, 0, NULL },
	/* a loop: the register written before it stays written */
	{ { MOV_K(0, 9), ALU_K(BPF_SUB, 0, 1), IF_K(BPF_JNE, 0, -2), EXIT }, 4, 0, NULL },

	{ { MOV_K(0, 0), ATOMIC(BPF_ADD, 1, 0, 10), EXIT }, 3, 0, NULL },

	{ { TAIL }, 0, 0, "a program of 0 instructions" },
	{ { ALU_K(0xe0, 0, 0), EXIT }, 2, 0, "unknown operation" },
	{ { { 0x20, 0, 0, 0, 0 }, EXIT }, 2, 0, "unknown operation" },
	{ { { BPF_JMP | 0xe0, 0, 0, 0, 0 }, EXIT }, 2, 0, "unknown operation" },
	{ { { BPF_JMP32 | BPF_CALL, 0, 0, 0, 5 }, EXIT }, 2, 0, "unknown operation" },
	{ { { BPF_LDX | BPF_ABS | BPF_W, 0, 1, 0, 0 }, EXIT }, 2, 0, "unknown addressing" },
	{ { MOV_K(11, 0), EXIT }, 2, 0, "no such register" },
	{ { MOV_X(0, 11), EXIT }, 2, 0, "no such register" },
	{ { MOV_K(10, 0), EXIT }, 2, 0, "r10 can not be written" },
	{ { LOAD(BPF_DW, 10, 1, 0), EXIT }, 2, 0, "r10 can not be written" },
	{ { ATOMIC(BPF_ADD | BPF_FETCH, 1, 0, 10), EXIT }, 2, 0, "r10 can not be written" },
	{ { MOV_K(0, 1), ALU_K(BPF_DIV, 0, 0), EXIT }, 3, 1, "constant 0" },
	{ { MOV_K(0, 1), ALU_K(BPF_LSH, 0, 64), EXIT }, 3, 1, "wider than the register" },
	{ { MOV_K(0, 1), ALU32_K(BPF_LSH, 0, 32), EXIT }, 3, 1, "wider than the register" },
	{ { MOV_K(0, 1), ALU32_K(BPF_END, 0, 24), EXIT }, 3, 1, "byte swap" },
	{ { MOV_K(0, 1), ALU_K(BPF_NEG, 0, 5), EXIT }, 3, 1, "no operand" },
	{ { { BPF_ALU64 | BPF_K | BPF_MOV, 0, 3, 0, 0 }, EXIT }, 2, 0, "unused field" },
	{ { { BPF_ALU64 | BPF_K | BPF_MOV, 0, 0, 1, 0 }, EXIT }, 2, 0, "must be 0" },
	{ { { BPF_JMP | BPF_EXIT, 0, 0, 0, 7 } }, 1, 0, "unused field" },
	{ { { BPF_JMP | BPF_CALL, 1, 0, 0, 5 }, EXIT }, 2, 0, "unused field" },
	{ { { BPF_JMP | BPF_CALL, 0, 2, 0, 5 }, EXIT }, 2, 0, "unused field" },
	{ { { BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 5 }, EXIT }, 2, 0, "leaves the program" },
	{ { MOV_K(1, 0),
	    { BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1 },
	    EXIT,
	    MOV_X(0, 2),
	    EXIT },
	  5,
	  3,
	  "r2 is read before it is written" },
	{ { { BPF_JMP | BPF_CALL, 0, 0, 1, 5 }, EXIT }, 2, 0, "unused field" },
	{ { { BPF_LDX | BPF_MEM | BPF_B, 0, 1, 0, 7 }, EXIT }, 2, 0, "unused field" },
	{ { STORE_K(BPF_DW, 10, -520), EXIT }, 2, 0, "outside the stack" },
	{ { STORE_K(BPF_DW, 10, 0), EXIT }, 2, 0, "outside the stack" },
	{ { STORE_K(BPF_DW, 10, -4), EXIT }, 2, 0, "outside the stack" },
	{ { STORE_K(BPF_DW, 10, -12), EXIT }, 2, 0, "misaligned" },
	{ { MOV_K(0, 0), ATOMIC(0x77, 1, 0, 0), EXIT }, 3, 1, "unknown atomic" },
	{ { { BPF_STX | BPF_ATOMIC | BPF_B, 1, 1, 0, BPF_ADD }, EXIT }, 2, 0, "4 or 8 bytes" },
	{ { CALL(0), EXIT }, 2, 0, "unknown helper" },
	{ { CALL(99999), EXIT }, 2, 0, "unknown helper" },
	{ { WIDE(1, BPF_PSEUDO_MAP_FD, 3), TAIL, MOV_K(0, 0), EXIT }, 4, 0, "no such map" },
	{ { WIDE(1, BPF_PSEUDO_MAP_VALUE, -1), TAIL, MOV_K(0, 0), EXIT }, 4, 0, "no such map" },
	{ { WIDE(1, 9, 0), TAIL, MOV_K(0, 0), EXIT }, 4, 0, "unknown kind" },
	{ { WIDE(1, 0, 0), MOV_K(0, 0), EXIT }, 3, 0, "second half" },
	{ { WIDE(1, 0, 0) }, 1, 0, "second half" },
	{ { MOV_K(0, 0), WIDE(1, 0, 0), TAIL }, 3, 1, "runs past its end" },
	{ { MOV_K(0, 0) }, 1, 0, "runs past its end" },
	{ { MOV_K(0, 0), IF_K(BPF_JEQ, 0, -1) }, 2, 1, "runs past its end" },
	{ { GOTO(1), EXIT }, 2, 0, "leaves the program" },
	{ { GOTO(-2) }, 1, 0, "leaves the program" },
	{ { GOTO(1), WIDE(0, 0, 0), TAIL, EXIT }, 4, 0, "inside a 64-bit constant" },
	{ { MOV_K(0, 0), EXIT, MOV_K(0, 0), EXIT }, 4, 2, "can not be reached" },
	{ { EXIT }, 1, 0, "r0 is read before" },
	{ { MOV_X(0, 2), EXIT }, 2, 0, "r2 is read before" },
	{ { MOV_K(0, 0), CALL(5), MOV_X(0, 1), EXIT }, 4, 2, "r1 is read before" },
	{ { MOV_X(1, 1), CALL(1), EXIT }, 3, 1, "r2 is read before" },
	{ { MOV_K(2, 0), CALL(132), EXIT }, 3, 2, "r0 is read before" },
	/* written on one way only */
	{ { IF_K(BPF_JEQ, 1, 1), MOV_K(3, 0), MOV_X(0, 3), EXIT }, 4, 2, "r3 is read before" },
};

static void test_rows(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct err e = { 0 };
		u32 at = 0;
		bool ok = check_insns(r->insns, r->n, 3, &at, &e);

		if (ok != !r->why || (r->why && !strstr(e.text, r->why)) || at != r->at)
			fail_msg("row %u: wanted %u '%s', got %u '%s'", i, r->at,
			         r->why ? r->why : "", at, e.text);
	}
}

static void test_message(void **state)
{
	const struct bpf_insn insns[] = { LOAD(BPF_DW, 1, 10, 8), EXIT };
	struct err e;
	u32 at;

	(void)state;
	assert_false(check_insns(insns, 2, 0, &at, &e));
	assert_string_equal(e.text, "instruction 0 (r1 = *(u64 *)(r10 +8)): outside the stack");
}

/* Thousands of branches: the fixpoint stays linear enough. */
static void test_long(void **state)
{
	struct arena a = { 0 };
	struct code c;
	struct err e;
	u32 at;

	(void)state;
	code_init(&c, &a);
	code_const(&c, R0, 0);
	for (u32 i = 0; i < 20000; i++) {
		u32 over = code_label(&c);

		code_if_imm(&c, BPF_JEQ, R0, (s32)i, over);
		code_alu_imm(&c, BPF_ADD, R0, 1);
		code_bind(&c, over);
	}
	code_exit(&c);
	assert_true(code_finish(&c, &e));
	assert_true(check_insns(c.insns.v, c.insns.n, 0, &at, &e));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
