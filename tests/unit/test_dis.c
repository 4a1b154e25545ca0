/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every instruction shape as text. */
#include "bpf/dis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ALU64_K(op) (BPF_ALU64 | BPF_K | (op))
#define ALU64_X(op) (BPF_ALU64 | BPF_X | (op))
#define LD64        (BPF_LD | BPF_IMM | BPF_DW)
#define ATOMIC      (BPF_STX | BPF_ATOMIC | BPF_DW)

static const struct {
	struct bpf_insn insn;
	s32 high;
	const char *text;
} rows[] = {
	{ { ALU64_K(BPF_MOV), 1, 0, 0, -5 }, 0, "r1 = -5" },
	{ { ALU64_X(BPF_MOV), 1, 2, 0, 0 }, 0, "r1 = r2" },
	{ { BPF_ALU | BPF_X | BPF_MOV, 1, 2, 0, 0 }, 0, "w1 = w2" },
	{ { ALU64_X(BPF_ADD), 1, 2, 0, 0 }, 0, "r1 += r2" },
	{ { ALU64_K(BPF_SUB), 1, 0, 0, 7 }, 0, "r1 -= 7" },
	{ { ALU64_X(BPF_MUL), 1, 2, 0, 0 }, 0, "r1 *= r2" },
	{ { ALU64_X(BPF_DIV), 1, 2, 0, 0 }, 0, "r1 /= r2" },
	{ { ALU64_X(BPF_MOD), 1, 2, 0, 0 }, 0, "r1 %= r2" },
	{ { ALU64_X(BPF_OR), 1, 2, 0, 0 }, 0, "r1 |= r2" },
	{ { ALU64_X(BPF_AND), 1, 2, 0, 0 }, 0, "r1 &= r2" },
	{ { ALU64_X(BPF_XOR), 1, 2, 0, 0 }, 0, "r1 ^= r2" },
	{ { BPF_ALU | BPF_K | BPF_LSH, 3, 0, 0, 4 }, 0, "w3 <<= 4" },
	{ { ALU64_K(BPF_RSH), 3, 0, 0, 4 }, 0, "r3 >>= 4" },
	{ { ALU64_K(BPF_ARSH), 3, 0, 0, 4 }, 0, "r3 s>>= 4" },
	{ { ALU64_K(BPF_NEG), 3, 0, 0, 0 }, 0, "r3 = -r3" },
	{ { BPF_ALU | BPF_END | BPF_TO_BE, 3, 0, 0, 16 }, 0, "r3 = be16 r3" },
	{ { BPF_ALU | BPF_END | BPF_TO_LE, 3, 0, 0, 64 }, 0, "r3 = le64 r3" },
	{ { BPF_LDX | BPF_MEM | BPF_DW, 1, 1, 112, 0 }, 0, "r1 = *(u64 *)(r1 +112)" },
	{ { BPF_LDX | BPF_MEM | BPF_B, 1, 10, -8, 0 }, 0, "r1 = *(u8 *)(r10 -8)" },
	{ { BPF_LDX | BPF_MEM | BPF_H, 1, 2, 0, 0 }, 0, "r1 = *(u16 *)(r2 +0)" },
	{ { BPF_STX | BPF_MEM | BPF_W, 10, 1, -4, 0 }, 0, "*(u32 *)(r10 -4) = r1" },
	{ { BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 3 }, 0, "*(u64 *)(r10 -16) = 3" },
	{ { ATOMIC, 0, 1, 0, BPF_ADD }, 0, "lock *(u64 *)(r0 +0) += r1" },
	{ { ATOMIC, 0, 1, 8, BPF_OR }, 0, "lock *(u64 *)(r0 +8) |= r1" },
	{ { ATOMIC, 0, 1, 8, BPF_ADD | BPF_FETCH },
	  0,
	  "r1 = atomic_fetch_add((u64 *)(r0 +8), r1)" },
	{ { ATOMIC, 2, 1, 0, BPF_XCHG }, 0, "r1 = xchg((u64 *)(r2 +0), r1)" },
	{ { ATOMIC, 2, 1, 0, BPF_CMPXCHG }, 0, "r0 = cmpxchg((u64 *)(r2 +0), r0, r1)" },
	{ { BPF_JMP | BPF_JA, 0, 0, 5, 0 }, 0, "goto +5" },
	{ { BPF_JMP | BPF_K | BPF_JEQ, 0, 0, 5, 0 }, 0, "if r0 == 0 goto +5" },
	{ { BPF_JMP | BPF_X | BPF_JSLT, 1, 2, -3, 0 }, 0, "if r1 s< r2 goto -3" },
	{ { BPF_JMP32 | BPF_K | BPF_JSET, 1, 0, 1, 9 }, 0, "if w1 & 9 goto +1" },
	{ { BPF_JMP | BPF_CALL, 0, 0, 0, 112 }, 0, "call probe_read_user#112" },
	{ { BPF_JMP | BPF_CALL, 0, 0, 0, 99999 }, 0, "call helper#99999" },
	{ { BPF_JMP | BPF_CALL, 0, 1, 0, 12 }, 0, "call +12" },
	{ { BPF_JMP | BPF_CALL, 0, 2, 0, 12 }, 0, "call kfunc#12" },
	{ { BPF_JMP | BPF_EXIT, 0, 0, 0, 0 }, 0, "exit" },
	{ { LD64, 1, 0, 0, 0x55667788 }, 0x11223344, "r1 = 0x1122334455667788" },
	{ { LD64, 1, BPF_PSEUDO_MAP_FD, 0, 0 }, 0, "r1 = map[0]" },
	{ { LD64, 1, BPF_PSEUDO_MAP_VALUE, 0, 1 }, 8, "r1 = map_value[1]+8" },
	/* what is no instruction */
	{ { 0xff, 1, 2, 3, 4 }, 0, ".insn 0xff r1 r2 3 4" },
	{ { ALU64_K(0xe0), 1, 0, 0, 0 }, 0, ".insn 0xe7 r1 r0 0 0" },
	{ { BPF_ABS /* of BPF_LD, BPF_W: both 0 */, 0, 0, 0, 1 }, 0, ".insn 0x20 r0 r0 0 1" },
	{ { ATOMIC, 0, 1, 8, 0x77 }, 0, ".insn 0xdb r0 r1 8 119" },
};

static void test_rows(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bpf_insn insns[2] = { rows[i].insn, { .imm = rows[i].high } };
		bool wide = insns[0].code == LD64;
		struct buf b = { 0 };

		assert_int_equal(dis_insn(&b, insns, 2), wide ? 2 : 1);
		assert_string_equal(buf_text(&b), rows[i].text);
		buf_free(&b);
	}
}

static void test_cut_constant(void **state)
{
	struct bpf_insn insn = { LD64, 1, 0, 0, 5 };
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(dis_insn(&b, &insn, 1), 1);
	assert_string_equal(buf_text(&b), ".insn 0x18 r1 r0 0 5");
	buf_free(&b);
}

/* No bytes may crash it. */
static void test_any_bytes(void **state)
{
	struct buf b = { 0 };
	u32 seed = 1;

	(void)state;
	for (u32 code = 0; code < 256; code++)
		for (u32 k = 0; k < 64; k++) {
			struct bpf_insn insns[2] = { { .code = (u8)code }, { 0 } };

			seed = seed * 1103515245 + 12345;
			insns[0].dst_reg = seed >> 28;
			insns[0].src_reg = seed >> 24 & 15;
			insns[0].off = (s16)(seed >> 8);
			insns[0].imm = (s32)seed;
			buf_reset(&b);
			assert_in_range(dis_insn(&b, insns, 2), 1, 2);
			assert_true(b.n > 0);
		}
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_cut_constant),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
