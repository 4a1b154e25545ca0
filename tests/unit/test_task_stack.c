/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* gen/gen.c: programs at user probes run on the stack of the task (keep_task_stack). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/code.h"
#include "interp/lab.h"
#include "kern/sys_bpf.h"

/* Of two functions, 304 bytes of stack each: too much together for the stack of the task. */
static const struct bpf_insn deep[] = {
	{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = R10, .off = -304 },
	{ .code = BPF_JMP | BPF_CALL, .src_reg = 1 /* BPF_PSEUDO_CALL */, .imm = 1 },
	{ .code = BPF_JMP | BPF_EXIT },
	{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = R10, .off = -304 },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
	{ .code = BPF_JMP | BPF_EXIT },
};

static const struct uprog *program(struct lab *l, const char *text)
{
	if (!lab_compile(l, text))
		fail_msg("%s\n%s", text, buf_text(&l->problem));
	return &l->u->progs.v[0];
}

static bool is_tail_call(const struct bpf_insn *in)
{
	return in->code == (BPF_JMP | BPF_CALL) && in->imm == BPF_FUNC_tail_call;
}

/* Instructions up to and with the tail call, 0 where there is none. */
static u32 guard_of(const struct uprog *p)
{
	for (u32 i = 0; i < p->n_insns; i++)
		if (is_tail_call(&p->insns[i]))
			return i + 1;
	return 0;
}

/* What the kernel says of the deep functions behind the first n instructions of a program. */
static int load_behind(const struct uprog *p, u32 n)
{
	struct bpf_insn insns[64];
	int prog;

	assert_true(n + ARRAY_SIZE(deep) <= ARRAY_SIZE(insns));
	memcpy(insns, p->insns, n * sizeof(*insns));
	memcpy(insns + n, deep, sizeof(deep));
	prog = sys_prog_load(&(struct sys_prog){
		.type = BPF_PROG_TYPE_KPROBE, .insns = insns, .n = n + (u32)ARRAY_SIZE(deep) });
	if (prog >= 0)
		close(prog);
	return MIN(prog, 0);
}

static void test_kernel_keeps_to_it(void **state)
{
	const struct uprog *p;
	struct lab l;
	int without, with;

	(void)state;
	if (geteuid() != 0) {
		print_message("SKIP: needs root\n");
		skip();
	}
	lab_init(&l);
	p = program(&l, "uprobe:/proc/self/exe:main { @ = count(); }");
	without = load_behind(p, 0);
	with = load_behind(p, guard_of(p));
	lab_free(&l);
	if (without) {
		print_message("SKIP: the kernel has no stacks of processors\n");
		skip();
	}
	assert_int_equal(with, -EACCES);
}

static void test_which_programs(void **state)
{
	static const struct {
		const char *text;
		bool guarded;
	} rows[] = {
		{ "uprobe:/proc/self/exe:main { @ = count(); }", true },
		{ "uretprobe:/proc/self/exe:main { @[ustack] = count(); }", true },
		{ "kprobe:vfs_read { @ = count(); }", false },
		{ "interval:s:1 { @ = count(); }", false },
	};
	struct lab l;

	(void)state;
	lab_init(&l);
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(guard_of(program(&l, rows[i].text)) > 0, rows[i].guarded);
	lab_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_keeps_to_it),
		cmocka_unit_test(test_which_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
