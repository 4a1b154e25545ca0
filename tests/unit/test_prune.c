/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What pruning removes, and that jumps and callbacks still lead to the same instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interp/check.h"
#include "bpf/dis.h"
#include "bpf/prune.h"

struct lab {
	struct arena arena;
	struct code code;
	struct buf text;
};

static void lab_open(struct lab *l)
{
	*l = (struct lab){ 0 };
	code_init(&l->code, &l->arena);
}

/* Finishes, prunes, checks, and compares with the instructions joined by "; ". */
static void lab_expect(struct lab *l, const char *want)
{
	struct code *c = &l->code;
	struct err e = { 0 };
	u32 at;

	assert_true(code_finish(c, &e));
	prune_code(c);
	for (u32 i = 0; i < c->insns.n;) {
		buf_puts(&l->text, i ? "; " : "");
		i += dis_insn(&l->text, &c->insns.v[i], c->insns.n - i);
	}
	assert_string_equal(buf_text(&l->text), want);
	assert_int_equal(c->locs.n, c->insns.n);
	assert_true(check_insns(c->insns.v, c->insns.n, 1, &at, &e));
	buf_free(&l->text);
	arena_free(&l->arena);
}

static void keeps_what_runs(void **state)
{
	struct lab l;
	u32 end;

	(void)state;
	lab_open(&l);
	end = code_label(&l.code);
	code_const(&l.code, R0, 0);
	code_if_imm(&l.code, BPF_JEQ, R0, 0, end);
	code_const(&l.code, R0, 1);
	code_bind(&l.code, end);
	code_exit(&l.code);
	lab_expect(&l, "r0 = 0; if r0 == 0 goto +1; r0 = 1; exit");
}

static void drops_what_nothing_reaches(void **state)
{
	struct lab l;
	u32 end;

	(void)state;
	lab_open(&l);
	end = code_label(&l.code);
	code_const(&l.code, R0, 7);
	code_goto(&l.code, end);
	code_const(&l.code, R0, 1ull << 40); /* two slots */
	code_alu_imm(&l.code, BPF_ADD, R0, 1);
	code_bind(&l.code, end);
	code_exit(&l.code);
	lab_expect(&l, "r0 = 7; exit");
}

static void shortens_jumps_over_dead_code(void **state)
{
	struct lab l;
	u32 back, out;

	(void)state;
	lab_open(&l);
	back = code_label(&l.code);
	out = code_label(&l.code);
	code_const(&l.code, R0, 3);
	code_bind(&l.code, back);
	code_if_imm(&l.code, BPF_JEQ, R0, 0, out);
	code_alu_imm(&l.code, BPF_SUB, R0, 1);
	code_goto(&l.code, back);
	code_const(&l.code, R0, 9); /* dead */
	code_bind(&l.code, out);
	code_exit(&l.code);
	lab_expect(&l, "r0 = 3; if r0 == 0 goto +2; r0 -= 1; goto -3; exit");
}

static void follows_callbacks(void **state)
{
	struct lab l;
	u32 callback;

	(void)state;
	lab_open(&l);
	callback = code_label(&l.code);
	code_map(&l.code, R1, 0);
	code_func(&l.code, R2, callback);
	code_mov(&l.code, R3, R10);
	code_const(&l.code, R4, 0);
	code_call(&l.code, BPF_FUNC_for_each_map_elem);
	code_exit(&l.code);
	code_const(&l.code, R0, 5); /* dead */
	code_func_start(&l.code, callback);
	code_const(&l.code, R0, 0);
	code_exit(&l.code);
	assert_int_equal(l.code.funcs.v[0], 9);
	lab_expect(&l, "r1 = map[0]; r2 = func +5; r3 = r10; r4 = 0; call for_each_map_elem#164; "
	               "exit; r0 = 0; exit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_runs),
		cmocka_unit_test(drops_what_nothing_reaches),
		cmocka_unit_test(shortens_jumps_over_dead_code),
		cmocka_unit_test(follows_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
