/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The program of a kprobe and that of its kretprobe as one: what is before them, and that both are
 * whole. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/kprobe_session.h"

#define MOV(r, v) ((struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = r, .imm = v })
#define EXIT      ((struct bpf_insn){ .code = BPF_JMP | BPF_EXIT })

static void test_joined(void **state)
{
	const struct bpf_insn entry[] = { MOV(0, 1), MOV(2, 2), EXIT },
			      back[] = { MOV(0, 3), EXIT };
	const struct bpf_insn want[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1 },
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = 4711 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6 },
		{ .code = BPF_JMP | BPF_JSET | BPF_K, .off = 3, .imm = 1 },
		entry[0],
		entry[1],
		entry[2],
		back[0],
		back[1],
	};
	u32 n = 0;
	struct bpf_insn *all = kprobe_session_join(entry, 3, back, 2, 4711, &n);

	(void)state;
	assert_int_equal(n, ARRAY_SIZE(want));
	assert_memory_equal(all, want, sizeof(want));
	free(all);
}

/* A jump goes no further. */
static void test_too_long(void **state)
{
	struct bpf_insn *entry = calloc(SHRT_MAX + 1, sizeof(*entry)), back = EXIT, *all;
	u32 n = 0;

	(void)state;
	assert_non_null(entry);
	all = kprobe_session_join(entry, SHRT_MAX, &back, 1, 1, &n);
	assert_non_null(all);
	assert_int_equal(n, SHRT_MAX + 5);
	assert_int_equal(all[3].off, SHRT_MAX);
	free(all);
	assert_null(kprobe_session_join(entry, SHRT_MAX + 1, &back, 1, 1, &n));
	free(entry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
