/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * iovec(p, n, length, each): what an array of `struct iovec` in user memory leads to, as system
 * calls such as writev() take it.
 *
 *     u64 bytes used | u32 length, u32 kept, bytes ... | u32 length, u32 kept, bytes ... | ...
 *
 * Of each piece at most `each` bytes are kept, so heads can be looked at without the bodies
 * between them. The kernel calls a function of ours for each piece (bpf_loop, Linux 5.17); it ends
 * at `length`, the bytes that were really moved, or when no room is left, in which case `length`
 * tells that pieces are missing. A piece that can not be read is all zeros, and counted.
 */
#include "gen/emit.h"

#define PIECES_FEW 16   /* in a loop of the program */
#define PIECES_MAX 1024 /* UIO_MAXIOV: the kernel takes no more */

/* Words of the frame, and the `struct iovec` that was read last. */
struct pieces {
	struct mem dst, address, left, kept, iov;
	u32 room, each;
	struct loc loc;
};

/* r2 = the smaller of r2 and r3. */
static void at_most(struct gen *g)
{
	u32 ok = code_label(&g->c);

	code_if(&g->c, BPF_JLE, R2, R3, ok);
	code_mov(&g->c, R2, R3);
	code_bind(&g->c, ok);
}

/* iov = element r1 of the array; jumps to `end` when it can not be read. */
static void read_element(struct gen *g, const struct pieces *p, u32 end)
{
	u32 ok = code_label(&g->c);

	mem_load(g, 8, R3, p->address);
	code_alu_imm(&g->c, BPF_LSH, R1, 4);
	code_alu(&g->c, BPF_ADD, R3, R1);
	mem_addr(g, p->iov, R1);
	code_const(&g->c, R2, 16);
	code_call(&g->c, BPF_FUNC_probe_read_user);
	code_if_imm(&g->c, BPF_JSGE, R0, 0, ok);
	gen_count_error(g, UERROR_READ, p->loc, "probe_read_user");
	code_goto(&g->c, end);
	code_bind(&g->c, ok);
}

/* r2 = bytes of the piece that were moved, taken from what is left. */
static void take_length(struct gen *g, const struct pieces *p)
{
	mem_load(g, 8, R2, mem_at(p->iov, 8));
	mem_load(g, 8, R3, p->left);
	at_most(g);
	code_alu(&g->c, BPF_SUB, R3, R2);
	mem_store(g, 8, p->left, R3);
}

/* r1 = where the next piece goes; jumps to `full` when it might not fit. Uses r4. */
static void next_place(struct gen *g, const struct pieces *p, u32 full)
{
	mem_load(g, 8, R4, p->dst);
	code_alu_imm(&g->c, BPF_AND, R4, -8); /* it is; the verifier wants to know */
	code_if_imm(&g->c, BPF_JGT, R4, (s32)(p->room - p->each - 8), full);
	mem_addr(g, mem_at(p->dst, 8), R1);
	code_alu(&g->c, BPF_ADD, R1, R4);
}

/* The head of the piece (length r2) goes to r1; r1 moves past it, r2 = bytes to keep. */
static void write_head(struct gen *g, const struct pieces *p)
{
	u32 ok = code_label(&g->c);

	code_store(&g->c, 4, R1, 0, R2);
	code_if_imm(&g->c, BPF_JLE, R2, (s32)p->each, ok);
	code_const(&g->c, R2, p->each);
	code_bind(&g->c, ok);
	code_store(&g->c, 4, R1, 4, R2);
	mem_store(g, 8, p->kept, R2);
	code_alu_imm(&g->c, BPF_ADD, R1, 8);
}

/* dst's length grows by the head and what was kept, rounded up. */
static void grow(struct gen *g, const struct pieces *p)
{
	mem_load(g, 8, R1, p->dst);
	mem_load(g, 8, R2, p->kept);
	code_alu_imm(&g->c, BPF_ADD, R2, 15);
	code_alu_imm(&g->c, BPF_AND, R2, -8);
	code_alu(&g->c, BPF_ADD, R1, R2);
	mem_store(g, 8, p->dst, R1);
}

/* Jumps to `end` when there is no more. */
static void piece(struct gen *g, const struct pieces *p, u32 end)
{
	u32 on = code_label(&g->c), fine = code_label(&g->c);

	mem_load(g, 8, R2, p->left);
	code_if_imm(&g->c, BPF_JEQ, R2, 0, end);
	read_element(g, p, end);
	take_length(g, p);
	code_if_imm(&g->c, BPF_JEQ, R2, 0, on);
	next_place(g, p, end);
	write_head(g, p);
	mem_load(g, 8, R3, p->iov);
	code_call(&g->c, BPF_FUNC_probe_read_user);
	code_if_imm(&g->c, BPF_JSGE, R0, 0, fine);
	gen_count_error(g, UERROR_READ, p->loc, "probe_read_user");
	code_bind(&g->c, fine);
	grow(g, p);
	code_bind(&g->c, on);
}

static void copy_piece(struct gen *g, const void *what)
{
	u32 end = code_label(&g->c);

	piece(g, what, end);
	gen_go_on(g);
	code_bind(&g->c, end);
	gen_stop(g);
}

/* One piece after the other in the program, where the kernel makes no calls. */
static void loop_here(struct gen *g, const struct pieces *p)
{
	struct code *c = &g->c;
	u32 top = code_label(c), end = code_label(c), enough = code_label(c);
	struct mem round = frame_counter(g), count = frame_alloc(g, 8);
	u32 first;

	mem_store(g, 8, count, R1);
	mem_store_const(g, round, 0);
	code_bind(c, top);
	first = c->insns.n;
	mem_load(g, 8, R1, round);
	mem_load(g, 8, R2, count);
	code_if(c, BPF_JGE, R1, R2, end);
	code_if_imm(c, BPF_JGE, R1, PIECES_FEW, enough);
	code_mov(c, R3, R1);
	code_alu_imm(c, BPF_ADD, R3, 1);
	mem_store(g, 8, round, R3);
	piece(g, p, end);
	code_goto(c, top);
	code_bind(c, enough);
	gen_count_error(g, UERROR_LOOP, p->loc, "loop");
	code_bind(c, end);
	gen_repeat(g, first, PIECES_FEW);
}

/* Calls copy_piece for each of the r1 pieces. */
static void each_piece(struct gen *g, const struct pieces *p)
{
	u32 ok = code_label(&g->c);

	if (!gen_has_calls(g)) {
		loop_here(g, p);
		return;
	}
	code_if_imm(&g->c, BPF_JLE, R1, PIECES_MAX, ok);
	code_const(&g->c, R1, PIECES_MAX);
	code_bind(&g->c, ok);
	gen_call_loop(g, gen_callback(g, copy_piece, p, R2));
}

/* The callback does not know where a pointer rests. */
static void through_copy(struct gen *g, const struct node *n, const struct type *t, struct mem dst)
{
	struct mark m = frame_mark(g);
	struct mem copy = frame_alloc(g, type_slot(t));

	gen_iovec(g, n, t, copy, true);
	mem_copy(g, dst, copy, type_slot(t));
	frame_release(g, m);
}

void gen_iovec(struct gen *g, const struct node *n, const struct type *t, struct mem dst, bool pad)
{
	const struct node *array = n->call.args, *count = array->next, *length = count->next;
	struct pieces *p = arena_new(&g->u->arena, struct pieces);
	struct mark m = frame_mark(g);
	struct temp pieces;
	u32 some = code_label(&g->c);

	if (dst.base == MEM_POINTER) {
		through_copy(g, n, t, dst);
		return;
	}
	*p = (struct pieces){ .dst = dst,
		              .address = frame_alloc(g, 8),
		              .left = frame_alloc(g, 8),
		              .kept = frame_alloc(g, 8),
		              .iov = frame_alloc(g, 16),
		              .room = t->count,
		              .each = (u32)length->next->integer.value,
		              .loc = n->loc };
	gen_value(g, array);
	mem_store(g, 8, p->address, R0);
	gen_value(g, count);
	pieces = temp_save(g, R0);
	gen_value(g, length);
	code_if_imm(&g->c, BPF_JSGT, R0, 0, some);
	code_const(&g->c, R0, 0);
	code_bind(&g->c, some);
	mem_store(g, 8, p->left, R0);
	if (pad || dst.base == MEM_STACK)
		mem_zero(g, dst, 8, type_slot(t));
	mem_store_imm(g, 8, dst, 0);
	mem_store_const(g, p->kept, 0);
	mem_zero(g, p->iov, 0, 16);
	mem_forget(g, dst, 8);
	mem_forget(g, p->left, 8);
	temp_load(g, pieces, R1);
	each_piece(g, p);
	frame_release(g, m);
}
