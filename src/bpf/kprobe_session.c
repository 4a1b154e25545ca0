/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two programs as one: a session runs the same program when a function is entered and when it
 * returns, and asks which of the two it is.
 *
 *     r6 = r1; call bpf_session_is_return; r1 = r6; if (r0 & 1) goto at_return; entry...;
 *     at_return...
 *
 * Both are whole programs without callbacks, so that what is in them is only moved. Does not know
 * where the function's number comes from.
 */
#include "bpf/kprobe_session.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
struct bpf_insn *kprobe_session_join(const struct bpf_insn *entry, u32 n_entry,
                                     const struct bpf_insn *at_return, u32 n_return, u32 is_return,
                                     u32 *n)
{
	const struct bpf_insn head[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_6, .src_reg = BPF_REG_1 },
		{ .code = BPF_JMP | BPF_CALL,
		  .src_reg = BPF_PSEUDO_KFUNC_CALL,
		  .imm = (s32)is_return },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_6 },
		{ .code = BPF_JMP | BPF_JSET | BPF_K, .off = (s16)n_entry, .imm = 1 },
	};
	struct bpf_insn *all;

	if (n_entry > SHRT_MAX)
		return NULL;
	*n = (u32)ARRAY_SIZE(head) + n_entry + n_return;
	all = malloc(*n * sizeof(*all));
	if (!all)
		base_no_memory();
	memcpy(all, head, sizeof(head));
	memcpy(all + ARRAY_SIZE(head), entry, n_entry * sizeof(*all));
	memcpy(all + ARRAY_SIZE(head) + n_entry, at_return, n_return * sizeof(*all));
	return all;
}
