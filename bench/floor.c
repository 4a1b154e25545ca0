/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of bpf(2) that memtap makes for `BEGIN { exit(); }`, and nothing else: what a start
 * can not cost less than. bench/bench compares the calls of both before it compares times.
 */
#include <stddef.h>

#include "kern/sys_bpf.h"

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })

static int load(int ring, int data)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_ST | BPF_DW | BPF_MEM, BPF_REG_10, 0, -16, 0),
		INSN(BPF_ST | BPF_DW | BPF_MEM, BPF_REG_10, 0, -8, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 16),
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, ring),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -16),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 4, 0),
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, 0, data),
		INSN(0, 0, 0, 0, 16),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 1),
		INSN(BPF_STX | BPF_DW | BPF_ATOMIC, BPF_REG_1, BPF_REG_2, 0, BPF_ADD),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return sys_prog_load(&(struct sys_prog){
		.type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = insns, .n = ARRAY_SIZE(insns) });
}

int main(void)
{
	struct umap ring = { .bpf_type = BPF_MAP_TYPE_RINGBUF, .max_entries = 256u << 10 };
	struct umap data = { .bpf_type = BPF_MAP_TYPE_ARRAY,
		             .key_size = 4,
		             .value_size = 72,
		             .max_entries = 1,
		             .flags = BPF_F_MMAPABLE };
	int ring_fd = sys_map_create(&ring, "ring", -1);
	int data_fd = sys_map_create(&data, "data", -1);
	u32 result;

	return sys_prog_run(load(ring_fd, data_fd), &result) < 0;
}
