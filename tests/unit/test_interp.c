/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The test interpreter itself, on programs made by hand: what it computes, what its maps and
 * helpers do, and that it refuses what the verifier would refuse.
 */
#include "interp/interp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/code.h"

enum { HASH, ARRAY, RING, N_MAPS };

struct fixture {
	struct unit *u;
	struct code c;
	struct interp *in;
	struct err e;
};

static int set_up(void **state)
{
	static struct fixture f;
	struct umap hash = { .name = "hash",
		             .bpf_type = BPF_MAP_TYPE_HASH,
		             .key_size = 8,
		             .value_size = 8,
		             .max_entries = 2 };
	struct umap array = { .name = "data",
		              .role = UMAP_DATA,
		              .bpf_type = BPF_MAP_TYPE_ARRAY,
		              .key_size = 4,
		              .value_size = 16,
		              .max_entries = 1 };
	struct umap ring = { .name = "ring",
		             .role = UMAP_RING,
		             .bpf_type = BPF_MAP_TYPE_RINGBUF,
		             .max_entries = 4096 };

	f = (struct fixture){ .u = unit_new() };
	vec_add(&f.u->arena, &f.u->maps, hash);
	vec_add(&f.u->arena, &f.u->maps, array);
	vec_add(&f.u->arena, &f.u->maps, ring);
	code_init(&f.c, &f.u->arena);
	f.in = interp_new(f.u);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	interp_free(f->in);
	unit_free(f->u);
	return 0;
}

/* Ends the program, runs it, forgets its instructions. */
static bool run_ctx(struct fixture *f, const void *ctx, u32 n)
{
	struct uprog prog = { .name = "test" };

	code_exit(&f->c);
	assert_true(code_finish(&f->c, &f->e));
	prog.insns = f->c.insns.v;
	prog.n_insns = f->c.insns.n;
	vec_add(&f->u->arena, &f->u->progs, prog);
	code_init(&f->c, &f->u->arena);
	return interp_run(f->in, f->u->progs.n - 1, ctx, n, &f->e);
}

static u64 result(struct fixture *f)
{
	if (!run_ctx(f, NULL, 0))
		fail_msg("%s", f->e.text);
	return interp_result(f->in);
}

static void refused(struct fixture *f, const char *why)
{
	assert_false(run_ctx(f, NULL, 0));
	if (!strstr(f->e.text, why))
		fail_msg("wanted '%s', got '%s'", why, f->e.text);
}

static void test_alu(void **state)
{
	static const struct {
		u8 op;
		bool wide;
		u64 a, b, want;
	} rows[] = {
		{ BPF_ADD, true, UINT64_MAX, 2, 1 },
		{ BPF_ADD, false, UINT32_MAX, 2, 1 },
		{ BPF_SUB, true, 1, 2, UINT64_MAX },
		{ BPF_SUB, false, 1, 2, UINT32_MAX },
		{ BPF_MUL, true, 1ull << 40, 1ull << 23, 1ull << 63 },
		{ BPF_DIV, true, (u64)-7, 2, ((u64)-7) / 2 },
		{ BPF_DIV, true, 7, 0, 0 },
		{ BPF_MOD, true, 7, 0, 7 },
		{ BPF_MOD, false, 0x100000007, 4, 3 },
		{ BPF_OR, true, 12, 3, 15 },
		{ BPF_AND, true, 12, 10, 8 },
		{ BPF_XOR, true, 12, 10, 6 },
		{ BPF_LSH, true, 1, 65, 2 },
		{ BPF_LSH, false, 1, 33, 2 },
		{ BPF_RSH, true, (u64)-1, 60, 15 },
		{ BPF_ARSH, true, (u64)-16, 2, (u64)-4 },
		{ BPF_ARSH, false, 0x80000000, 4, 0xf8000000 },
		{ BPF_MOV, false, 0, UINT64_MAX, UINT32_MAX },
	};
	struct fixture *f = *state;

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		code_const(&f->c, R0, rows[i].a);
		code_const(&f->c, R1, rows[i].b);
		if (rows[i].wide)
			code_alu(&f->c, rows[i].op, R0, R1);
		else
			code_alu32(&f->c, rows[i].op, R0, R1);
		if (result(f) != rows[i].want)
			fail_msg("row %u: 0x%llx", i, (unsigned long long)interp_result(f->in));
	}
	code_const(&f->c, R0, 0x1122334455667788);
	code_bswap(&f->c, R0, 32);
	assert_int_equal(result(f), 0x88776655);
}

static void test_jumps(void **state)
{
	static const struct {
		u8 op;
		u64 a, b;
		bool taken;
	} rows[] = {
		{ BPF_JEQ, 1, 1, true },         { BPF_JNE, 1, 1, false },
		{ BPF_JGT, (u64)-1, 1, true },   { BPF_JSGT, (u64)-1, 1, false },
		{ BPF_JGE, 1, 1, true },         { BPF_JLT, 1, (u64)-1, true },
		{ BPF_JSLT, 1, (u64)-1, false }, { BPF_JLE, 2, 1, false },
		{ BPF_JSLE, (u64)-2, -2, true }, { BPF_JSGE, (u64)-3, -2, false },
		{ BPF_JSET, 6, 2, true },        { BPF_JSET, 4, 2, false },
	};
	struct fixture *f = *state;

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 over = code_label(&f->c);

		code_const(&f->c, R1, rows[i].a);
		code_const(&f->c, R2, rows[i].b);
		code_const(&f->c, R0, 1);
		code_if(&f->c, rows[i].op, R1, R2, over);
		code_const(&f->c, R0, 0);
		code_bind(&f->c, over);
		assert_int_equal(result(f), rows[i].taken);
	}
}

static void test_loop(void **state)
{
	struct fixture *f = *state;
	u32 top = code_label(&f->c);

	code_const(&f->c, R0, 0);
	code_const(&f->c, R1, 10);
	code_bind(&f->c, top);
	code_alu(&f->c, BPF_ADD, R0, R1);
	code_alu_imm(&f->c, BPF_SUB, R1, 1);
	code_if_imm(&f->c, BPF_JNE, R1, 0, top);
	assert_int_equal(result(f), 55);
	assert_int_equal(interp_steps(f->in), 32);

	top = code_label(&f->c);
	code_bind(&f->c, top);
	code_goto(&f->c, top);
	refused(f, "more than 1000000 instructions");
}

/* A function has its own stack and registers; of the caller's r6 to r9 are as they were. */
static void test_own_function(void **state)
{
	struct fixture *f = *state;
	u32 twice = code_label(&f->c), end = code_label(&f->c);

	code_const(&f->c, R6, 100);
	code_store_imm(&f->c, 8, R10, -8, 1);
	code_const(&f->c, R1, 21);
	code_call_func(&f->c, twice);
	code_load(&f->c, 8, R1, R10, -8);
	code_alu(&f->c, BPF_ADD, R0, R6);
	code_alu(&f->c, BPF_ADD, R0, R1);
	code_goto(&f->c, end);
	code_func_start(&f->c, twice);
	code_store(&f->c, 8, R10, -8, R1);
	code_load(&f->c, 8, R6, R10, -8);
	code_mov(&f->c, R0, R6);
	code_alu(&f->c, BPF_ADD, R0, R6);
	code_exit(&f->c);
	code_bind(&f->c, end);
	assert_int_equal(result(f), 143);

	twice = code_label(&f->c);
	end = code_label(&f->c);
	code_const(&f->c, R1, 1);
	code_const(&f->c, R2, 1);
	code_call_func(&f->c, twice);
	code_mov(&f->c, R0, R2); /* lost over the call */
	code_goto(&f->c, end);
	code_func_start(&f->c, twice);
	code_mov(&f->c, R0, R1);
	code_exit(&f->c);
	code_bind(&f->c, end);
	refused(f, "r2");
}

static void test_memory(void **state)
{
	struct fixture *f = *state;
	u64 ctx[2] = { 5, 0x1122334455667788 };

	code_const(&f->c, R1, 0x8899aabbccddeeff);
	code_store(&f->c, 8, R10, -8, R1);
	code_store_imm(&f->c, 1, R10, -8, 1);
	code_load(&f->c, 2, R0, R10, -8);
	assert_int_equal(result(f), 0xee01);

	code_load(&f->c, 2, R0, R1, 10);
	assert_true(run_ctx(f, ctx, sizeof(ctx)));
	assert_int_equal(interp_result(f->in), 0x5566);

	code_store_imm(&f->c, 8, R10, -8, 40);
	code_const(&f->c, R1, 2);
	code_atomic(&f->c, BPF_ADD | BPF_FETCH, R10, -8, R1);
	code_load(&f->c, 8, R0, R10, -8);
	code_alu(&f->c, BPF_ADD, R0, R1);
	assert_int_equal(result(f), 82);
}

static void test_atomics(void **state)
{
	struct fixture *f = *state;

	code_store_imm(&f->c, 8, R10, -8, 7);
	code_const(&f->c, R1, 9);
	code_atomic(&f->c, BPF_XCHG, R10, -8, R1);
	code_const(&f->c, R0, 9);
	code_const(&f->c, R2, 11);
	code_atomic(&f->c, BPF_CMPXCHG, R10, -8, R2); /* 9 == 9: stores 11 */
	code_atomic(&f->c, BPF_CMPXCHG, R10, -8, R1); /* 9 != 11: r0 = 11 */
	code_alu_imm(&f->c, BPF_MUL, R1, 100);
	code_alu(&f->c, BPF_ADD, R0, R1);
	assert_int_equal(result(f), 711);
}

static void test_refusals(void **state)
{
	struct fixture *f = *state;

	code_mov(&f->c, R0, R3);
	refused(f, "r3 is read before it is written");
	refused(f, "r0 is read before it is written");
	code_load(&f->c, 8, R0, R10, -8);
	refused(f, "byte -8 of the stack is read before it is written");
	code_store_imm(&f->c, 4, R10, -8, 0);
	code_load(&f->c, 8, R0, R10, -8);
	refused(f, "byte -4 of the stack");
	code_store_imm(&f->c, 8, R10, -12, 0);
	refused(f, "misaligned");
	code_store_imm(&f->c, 8, R10, -520, 0);
	refused(f, "can not be written");
	code_load(&f->c, 8, R0, R1, 0);
	refused(f, "can not be read");
	code_const(&f->c, R1, 0);
	code_load(&f->c, 8, R0, R1, 0);
	refused(f, "8 bytes at 0x0 can not be read");
	code_call(&f->c, BPF_FUNC_ktime_get_ns);
	code_mov(&f->c, R0, R1);
	refused(f, "r1 is read before it is written");
	code_call(&f->c, BPF_FUNC_sk_release);
	refused(f, "not known");
	code_call(&f->c, BPF_FUNC_map_lookup_elem);
	refused(f, "argument r2 is not set");
	code_map_value(&f->c, R1, ARRAY, 16);
	code_load(&f->c, 8, R0, R1, 0);
	refused(f, "can not be read");
}

/* r0 = update(hash, key, value, flags), with the key at -8 and the value at -16. */
static s64 update(struct fixture *f, u64 key, u64 value, s32 flags)
{
	code_const(&f->c, R0, key);
	code_store(&f->c, 8, R10, -8, R0);
	code_const(&f->c, R0, value);
	code_store(&f->c, 8, R10, -16, R0);
	code_map(&f->c, R1, HASH);
	code_mov(&f->c, R2, R10);
	code_alu_imm(&f->c, BPF_ADD, R2, -8);
	code_mov(&f->c, R3, R10);
	code_alu_imm(&f->c, BPF_ADD, R3, -16);
	code_const(&f->c, R4, (u64)flags);
	code_call(&f->c, BPF_FUNC_map_update_elem);
	return (s64)result(f);
}

static bool count_up(void *ctx, const void *key, const void *value)
{
	u64 k, v;

	memcpy(&k, key, 8);
	memcpy(&v, value, 8);
	*(u64 *)ctx += k * 100 + v;
	return true;
}

static void test_hash(void **state)
{
	struct fixture *f = *state;
	u64 key = 5, sum = 0, value = 9;

	assert_int_equal(update(f, 5, 50, BPF_EXIST), -ENOENT);
	assert_int_equal(update(f, 5, 50, BPF_NOEXIST), 0);
	assert_int_equal(update(f, 5, 51, BPF_NOEXIST), -EEXIST);
	assert_int_equal(update(f, 6, 60, BPF_ANY), 0);
	assert_int_equal(update(f, 7, 70, BPF_ANY), -E2BIG);
	assert_int_equal(update(f, 5, 52, BPF_ANY), 0);
	interp_each(f->in, HASH, count_up, &sum);
	assert_int_equal(sum, 552 + 660);
	assert_int_equal(*(u64 *)interp_find(f->in, HASH, &key), 52);

	code_store_imm(&f->c, 8, R10, -8, 5);
	code_map(&f->c, R1, HASH);
	code_mov(&f->c, R2, R10);
	code_alu_imm(&f->c, BPF_ADD, R2, -8);
	code_call(&f->c, BPF_FUNC_map_delete_elem);
	assert_int_equal(result(f), 0);
	assert_null(interp_find(f->in, HASH, &key));
	assert_int_equal(interp_count(f->in, HASH), 1);
	assert_true(interp_put(f->in, HASH, &key, &value));
	assert_int_equal(interp_count(f->in, HASH), 2);
}

static void test_lookup(void **state)
{
	struct fixture *f = *state;
	u32 end = code_label(&f->c);
	u64 key = 5, value = 70;

	assert_true(interp_put(f->in, HASH, &key, &value));
	code_store_imm(&f->c, 8, R10, -8, 5);
	code_map(&f->c, R1, HASH);
	code_mov(&f->c, R2, R10);
	code_alu_imm(&f->c, BPF_ADD, R2, -8);
	code_call(&f->c, BPF_FUNC_map_lookup_elem);
	code_if_imm(&f->c, BPF_JEQ, R0, 0, end);
	code_const(&f->c, R1, 7);
	code_atomic(&f->c, BPF_ADD, R0, 0, R1);
	code_load(&f->c, 8, R0, R0, 0);
	code_bind(&f->c, end);
	assert_int_equal(result(f), 77);

	code_map_value(&f->c, R1, ARRAY, 8);
	code_store_imm(&f->c, 8, R1, 0, 3);
	code_const(&f->c, R0, 0);
	result(f);
	assert_int_equal(interp_data(f->in, 0), 0);
	assert_int_equal(interp_data(f->in, 1), 3);
	assert_int_equal(interp_data(f->in, 2), 0);

	code_map(&f->c, R1, HASH);
	code_mov(&f->c, R2, R10);
	code_alu_imm(&f->c, BPF_ADD, R2, -8);
	code_call(&f->c, BPF_FUNC_map_lookup_elem);
	refused(f, "byte -8 of the stack is read before");
}

/* Reserves 16 bytes into r6. */
static void reserve(struct fixture *f, u32 end)
{
	code_map(&f->c, R1, RING);
	code_const(&f->c, R2, 16);
	code_const(&f->c, R3, 0);
	code_call(&f->c, BPF_FUNC_ringbuf_reserve);
	code_if_imm(&f->c, BPF_JEQ, R0, 0, end);
	code_mov(&f->c, R6, R0);
	code_store_imm(&f->c, 8, R6, 0, 1);
	code_store_imm(&f->c, 8, R6, 8, 2);
}

static void finish(struct fixture *f, u32 helper, u32 end)
{
	code_mov(&f->c, R1, R6);
	code_const(&f->c, R2, 0);
	code_call(&f->c, helper);
	code_bind(&f->c, end);
	code_const(&f->c, R0, 0);
}

static void test_ring(void **state)
{
	struct fixture *f = *state;
	u32 end = code_label(&f->c);

	reserve(f, end);
	finish(f, BPF_FUNC_ringbuf_submit, end);
	result(f);
	end = code_label(&f->c);
	reserve(f, end);
	finish(f, BPF_FUNC_ringbuf_discard, end);
	result(f);
	assert_int_equal(interp_n_records(f->in), 1);
	assert_int_equal(interp_record(f->in, 0).size, 16);
	assert_int_equal(((const u64 *)interp_record(f->in, 0).bytes)[1], 2);

	interp_env(f->in)->ring_bytes = 60; /* two records of 24 are in */
	end = code_label(&f->c);
	reserve(f, end);
	finish(f, BPF_FUNC_ringbuf_submit, end);
	result(f);
	assert_int_equal(interp_n_records(f->in), 1);
	interp_drain(f->in);
	assert_int_equal(interp_n_records(f->in), 0);

	end = code_label(&f->c);
	reserve(f, end);
	code_bind(&f->c, end);
	code_const(&f->c, R0, 0);
	refused(f, "neither submitted nor discarded");
}

static s64 probe_read(struct fixture *f, u32 helper, u64 addr, s32 n)
{
	code_mov(&f->c, R1, R10);
	code_alu_imm(&f->c, BPF_ADD, R1, -16);
	code_const(&f->c, R2, (u64)n);
	code_const(&f->c, R3, addr);
	code_call(&f->c, helper);
	code_load(&f->c, 1, R1, R10, -16);
	code_alu_imm(&f->c, BPF_LSH, R0, 8);
	code_alu(&f->c, BPF_OR, R0, R1);
	return (s64)result(f);
}

static void test_probe_read(void **state)
{
	struct fixture *f = *state;
	const u64 user = 0x7f0000001000, kernel = 0xffff999900000000;

	interp_memory(f->in, user, "hello", 6);
	interp_memory(f->in, kernel, "kernel", 6);
	assert_int_equal(probe_read(f, BPF_FUNC_probe_read_user, user + 1, 5), 'e');
	assert_int_equal(probe_read(f, BPF_FUNC_probe_read_user, user + 2, 5), -EFAULT * 256);
	assert_int_equal(probe_read(f, BPF_FUNC_probe_read_user, kernel, 4), -EFAULT * 256);
	assert_int_equal(probe_read(f, BPF_FUNC_probe_read_kernel, kernel, 4), 'k');
	assert_int_equal(probe_read(f, BPF_FUNC_probe_read_kernel, user, 4), -EFAULT * 256);
	assert_int_equal(probe_read(f, BPF_FUNC_probe_read_user_str, user, 16), 6 << 8 | 'h');
	assert_int_equal(probe_read(f, BPF_FUNC_probe_read_user_str, user, 3), 3 << 8 | 'h');
	/* no NUL before the memory ends */
	assert_int_equal(probe_read(f, BPF_FUNC_probe_read_kernel_str, kernel, 16), -EFAULT * 256);
}

static void test_env(void **state)
{
	static const u64 frames[] = { 0x1000, 0x2000, 0x3000 };
	struct fixture *f = *state;

	interp_env(f->in)->pid_tgid = 7ull << 32 | 8;
	code_call(&f->c, BPF_FUNC_get_current_pid_tgid);
	assert_int_equal(result(f), 7ull << 32 | 8);

	code_mov(&f->c, R1, R10);
	code_alu_imm(&f->c, BPF_ADD, R1, -16);
	code_const(&f->c, R2, 16);
	code_call(&f->c, BPF_FUNC_get_current_comm);
	code_load(&f->c, 8, R0, R10, -16);
	assert_int_equal(result(f), 0x707265746e69); /* "interp" */

	interp_env(f->in)->user_frames = frames;
	interp_env(f->in)->n_user_frames = 3;
	code_mov(&f->c, R2, R10);
	code_alu_imm(&f->c, BPF_ADD, R2, -16);
	code_const(&f->c, R3, 16);
	code_const(&f->c, R4, BPF_F_USER_STACK);
	code_call(&f->c, BPF_FUNC_get_stack);
	code_load(&f->c, 8, R1, R10, -8);
	code_alu(&f->c, BPF_ADD, R0, R1);
	assert_int_equal(result(f), 0x2000 + 16);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_alu),        T(test_jumps), T(test_loop),     T(test_memory),
		T(test_atomics),    T(test_hash),  T(test_lookup),   T(test_ring),
		T(test_probe_read), T(test_env),   T(test_refusals), T(test_own_function),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
