/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * User stacks by unwind tables (base/unwind.h). One callback, behind the program, makes one step
 * from a frame to its caller; the kernel calls it as often as there are frames (bpf_loop). What it
 * knows lies in scratch memory, where the verifier does not follow it: kept in registers or on
 * the stack, each of 127 rounds would be a state of its own to check.
 *
 *     span of pc (that of the last frame is tried first) --> row of pc --> CFA
 *     read return address and frame pointer below the CFA --> next pc, sp, bp
 *
 * Both searches are unrolled: halve the distance, look at one entry, move on or not. An address
 * without a row (JIT code, a gap, a rule that did not fit) is left by its frame pointer, and
 * tables are tried again behind it. A return address that a uretprobe has replaced is in no span;
 * the kernel's list of such replacements is searched for the place it was read from.
 *
 * Memory is read without faults: what is not resident ends the stack, which is counted.
 */
#include "gen/emit.h"

#include <string.h>

#include "base/unwind.h"

/* The state, from the start of the program's piece of scratch memory on. */
enum {
	ST_PC,
	ST_SP = 8,
	ST_BP = 16,
	ST_BACK = 24, /* 1: pc is a return address, the call is before it */
	ST_LIMIT = 32,
	ST_FLAGS = 40,
	ST_SPAN = 48, /* the span of the last frame: start, size and bias, rows */
	ST_SIZE = ST_SPAN + 8,
	ST_BIAS = ST_SPAN + 12,
	ST_ROWS = ST_SPAN + 16,
	ST_SPANS = 72,     /* the process's list */
	ST_PAIR = 80,      /* two words just read */
	ST_RETURNS = 96,   /* the replaced return address that is next, 0: not looked for yet */
	ST_INSTANCE = 104, /* ... as read */
	ST_RUN_END = ST_INSTANCE + UNWIND_INSTANCE_MAX, /* of the search: see search() */
	ST_KEYS = ST_RUN_END + 8,                       /* of a chunk: the shelf's, its own */
	ST_FRAMES = ST_KEYS + 8,
	ST_END = ST_FRAMES + sizeof(struct ustack_value),
};

enum {
	FLAG_WHOLE = 1,
	FLAG_FP = 2,      /* a frame was found by the frame pointer */
	FLAG_UNKNOWN = 4, /* an address was in no span */
};

#define MOST_RETURNS    64 /* the kernel replaces no more: MAX_URETPROBE_DEPTH */
#define RETURNS_NO_MORE 1  /* in ST_RETURNS, where else an address is */

#define PT_BP 32
#define PT_IP 128
#define PT_CS 136
#define PT_SP 152

#define USER_CS 0x33 /* 64-bit code: __USER_CS */

#define ST R8 /* the callback's register with the state's address */

/* ---- where things are ---- */

/* The maps exist from the first use on, so that their numbers can be written down. */
struct unwind_places gen_unwind_reserve(struct gen *g)
{
	struct unwind_places p = { .made = true };

	g->found.unwind = true;
	p.state = frame_alloc(g, ST_END);
	p.pid = frame_pointer(g);
	p.proc = frame_pointer(g);
	p.step = code_label(&g->c);
	return p;
}

static struct mem state(const struct gen *g, s32 off)
{
	return mem_at(g->unwind.state, off);
}

struct mem gen_unwind_frames(const struct gen *g)
{
	return state(g, ST_FRAMES);
}

/* Offsets in the kernel's structs, from its BTF; without them nothing is repaired. */
struct returns {
	bool known;
	s32 utask, instances;      /* in task_struct, uprobe_task */
	s32 from, size;            /* the part of return_instance to read */
	s32 stack, original, next; /* in that part */
};

static bool member(const struct btf *b, const char *type, const char *name, s32 *off)
{
	struct btf_field f;
	u32 id = btf_find_c(b, type);

	if (!id || !btf_field_find(b, id, name, &f) || f.bit_off / 8 > INT16_MAX)
		return false;
	*off = (s32)(f.bit_off / 8);
	return true;
}

static struct returns find_returns(struct gen *g)
{
	struct world *w = (struct world *)g->w;
	struct returns r = { 0 };
	struct err e;
	const struct btf *b = w->ops->btf ? w->ops->btf(w, &e) : NULL;

	if (!b || !member(b, "struct task_struct", "utask", &r.utask) ||
	    !member(b, "struct uprobe_task", "return_instances", &r.instances) ||
	    !member(b, "struct return_instance", "stack", &r.stack) ||
	    !member(b, "struct return_instance", "orig_ret_vaddr", &r.original) ||
	    !member(b, "struct return_instance", "next", &r.next))
		return r;
	r.from = MIN(MIN(r.stack, r.original), r.next);
	r.size = MAX(MAX(r.stack, r.original), r.next) + 8 - r.from;
	r.known = r.size <= UNWIND_INSTANCE_MAX;
	r.stack -= r.from;
	r.original -= r.from;
	r.next -= r.from;
	return r;
}

/* ---- pieces of the callback ---- */

/* Where a step can end. */
struct step {
	struct gen *g;
	struct code *c;
	u32 have_span, have_base, have_cfa, have_pair, saved, special, no_table, no_rule, by_fp,
		enough, whole, cut, again;
};

/* r2 = address of a key of chunk(). */
static void chunk_key(struct code *c, s32 which)
{
	code_mov(c, R2, ST);
	code_alu_imm(c, BPF_ADD, R2, ST_KEYS + which);
}

/* r0 = address of the chunk that the reference in r1 names; leaves to `fail`. */
static void chunk(struct step *s, u32 fail)
{
	struct code *c = s->c;
	struct gen *g = s->g;
	u32 shelf = code_label(c), got = code_label(c);

	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_AND, R2, 0xffff);
	code_store(c, 4, ST, ST_KEYS, R2);
	code_alu_imm(c, BPF_RSH, R1, UNWIND_REF_CHUNK);
	code_alu_imm(c, BPF_AND, R1, 0xffff);
	code_store(c, 4, ST, ST_KEYS + 4, R1);
	code_if_imm(c, BPF_JNE, R2, 0, shelf);
	code_map(c, R1, gen_map_of(g, UMAP_CHUNKS));
	chunk_key(c, 4);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_goto(c, got);
	code_bind(c, shelf);
	code_map(c, R1, gen_map_of(g, UMAP_SHELVES));
	chunk_key(c, 0);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_if_imm(c, BPF_JEQ, R0, 0, fail);
	code_mov(c, R1, R0);
	chunk_key(c, 4);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_bind(c, got);
	code_if_imm(c, BPF_JEQ, R0, 0, fail);
}

/*
 * r2 = address of the last entry of a sorted run whose key is not above r7. The reference is in
 * r1, its chunk at r6; `size` bytes an entry, the key at its start in `width` bytes.
 *
 * The run's end is read from memory every time: of a register the verifier would learn something
 * in each comparison, and go on with every combination of what it has learnt.
 */
static void search(struct step *s, u32 entries, u32 size, u32 width)
{
	struct code *c = s->c;
	s32 shift = __builtin_ctz(size), mask = (s32)((entries - 1) * size);

	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_RSH, R1, UNWIND_REF_N);
	code_alu_imm(c, BPF_LSH, R1, shift);
	code_alu_imm(c, BPF_RSH, R2, UNWIND_REF_FIRST);
	code_alu_imm(c, BPF_LSH, R2, shift);
	code_alu_imm(c, BPF_AND, R2, mask);
	code_alu(c, BPF_ADD, R1, R2);
	code_store(c, 8, ST, ST_RUN_END, R1);
	for (u32 half = entries / 2; half; half /= 2) {
		u32 stay = code_label(c);

		code_mov(c, R4, R2);
		code_alu_imm(c, BPF_ADD, R4, (s32)(half * size));
		code_load(c, 8, R3, ST, ST_RUN_END);
		code_if(c, BPF_JGE, R4, R3, stay);
		code_alu_imm(c, BPF_AND, R4, mask);
		code_mov(c, R5, R4);
		code_alu(c, BPF_ADD, R5, R6);
		code_load(c, width, R5, R5, 0);
		code_if(c, BPF_JGT, R5, R7, stay);
		code_mov(c, R2, R4);
		code_bind(c, stay);
	}
	code_alu(c, BPF_ADD, R2, R6);
}

/* Flag is set; uses r1. */
static void set_flag(struct step *s, s32 flag)
{
	code_load(s->c, 8, R1, ST, ST_FLAGS);
	code_alu_imm(s->c, BPF_OR, R1, flag);
	code_store(s->c, 8, ST, ST_FLAGS, R1);
}

/* Reads `size` bytes of user memory at r3 to the state; leaves to `fail`. */
static void read_user(struct step *s, s32 to, u32 size, u32 fail)
{
	code_mov(s->c, R1, ST);
	code_alu_imm(s->c, BPF_ADD, R1, to);
	code_const(s->c, R2, size);
	code_call(s->c, BPF_FUNC_probe_read_user);
	code_if_imm(s->c, BPF_JNE, R0, 0, fail);
}

static void leave(struct step *s, bool stop)
{
	code_const(s->c, R0, stop);
	code_exit(s->c);
}

/* Writes the frame down; r7 = address that its rules are looked up by. */
static void note_frame(struct step *s)
{
	struct code *c = s->c;

	code_load(c, 8, R1, ST, ST_FRAMES);
	code_load(c, 8, R2, ST, ST_LIMIT);
	code_if(c, BPF_JGE, R1, R2, s->enough);
	code_if_imm(c, BPF_JGE, R1, UNIT_STACK_FRAMES, s->cut);
	code_load(c, 8, R7, ST, ST_PC);
	code_mov(c, R3, R1);
	code_alu_imm(c, BPF_LSH, R3, 3);
	code_alu(c, BPF_ADD, R3, ST);
	code_store(c, 8, R3, ST_FRAMES + 8, R7);
	code_alu_imm(c, BPF_ADD, R1, 1);
	code_store(c, 8, ST, ST_FRAMES, R1);
	code_load(c, 8, R1, ST, ST_BACK);
	code_alu(c, BPF_SUB, R7, R1);
}

/* The span of r7 into the state, unless it is there. */
static void find_span(struct step *s)
{
	struct code *c = s->c;
	u32 unknown = code_label(c);

	code_mov(c, R1, R7);
	code_load(c, 8, R2, ST, ST_SPAN);
	code_alu(c, BPF_SUB, R1, R2);
	code_load(c, 4, R2, ST, ST_SIZE);
	code_if(c, BPF_JLT, R1, R2, s->have_span);
	code_load(c, 8, R1, ST, ST_SPANS);
	chunk(s, s->cut);
	code_mov(c, R6, R0);
	code_load(c, 8, R1, ST, ST_SPANS);
	search(s, UNWIND_CHUNK_SPANS, sizeof(struct unwind_span), 8);
	code_load(c, 8, R1, R2, 0);
	code_mov(c, R3, R7);
	code_alu(c, BPF_SUB, R3, R1);
	code_load(c, 4, R4, R2, offsetof(struct unwind_span, size));
	code_if(c, BPF_JGE, R3, R4, unknown);
	code_store(c, 8, ST, ST_SPAN, R1);
	code_load(c, 8, R1, R2, offsetof(struct unwind_span, size));
	code_store(c, 8, ST, ST_SIZE, R1);
	code_load(c, 8, R1, R2, offsetof(struct unwind_span, rows));
	code_store(c, 8, ST, ST_ROWS, R1);
	code_goto(c, s->have_span);
	code_bind(c, unknown);
	set_flag(s, FLAG_UNKNOWN);
	code_goto(c, s->no_table);
}

/* r7 = the rule for r7. */
static void find_rule(struct step *s)
{
	struct code *c = s->c;

	code_bind(c, s->have_span);
	code_load(c, 8, R1, ST, ST_ROWS);
	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_RSH, R2, UNWIND_REF_N);
	code_if_imm(c, BPF_JEQ, R2, 0, s->no_table);
	chunk(s, s->cut);
	code_mov(c, R6, R0);
	code_load(c, 4, R1, ST, ST_BIAS);
	code_alu32(c, BPF_SUB, R7, R1);
	code_load(c, 8, R1, ST, ST_ROWS);
	search(s, UNWIND_CHUNK_ROWS, sizeof(struct unwind_row), 4);
	code_load(c, 4, R7, R2, offsetof(struct unwind_row, rule));
}

/* A rule's signed number of words from bit `from` on, in bytes, into r1. */
static void rule_bytes(struct step *s, s32 from)
{
	code_mov(s->c, R1, R7);
	code_alu_imm(s->c, BPF_LSH, R1, 32);
	code_alu_imm(s->c, BPF_ARSH, R1, 32 + from);
	code_alu_imm(s->c, BPF_LSH, R1, 3);
}

/* r6 = CFA by the two rules that nearly every row has. */
static void plain_cfa(struct step *s)
{
	struct code *c = s->c;
	u32 rbp = code_label(c);

	code_mov(c, R1, R7);
	code_alu_imm(c, BPF_AND, R1, UNWIND_KIND_MASK);
	code_if_imm(c, BPF_JEQ, R1, UNWIND_RBP, rbp);
	code_if_imm(c, BPF_JNE, R1, UNWIND_RSP, s->special);
	code_load(c, 8, R6, ST, ST_SP);
	code_goto(c, s->have_base);
	code_bind(c, rbp);
	code_load(c, 8, R6, ST, ST_BP);
	code_bind(c, s->have_base);
	rule_bytes(s, UNWIND_OFFSET_SHIFT);
	code_alu(c, BPF_ADD, R6, R1);
}

/* From the CFA in r6 to the caller's registers. Callers are above: that ends loops. */
static void to_caller(struct step *s)
{
	struct code *c = s->c;
	u32 address = code_label(c), at_rbp = code_label(c), only_return = code_label(c);

	code_bind(c, s->have_cfa);
	code_load(c, 8, R1, ST, ST_SP);
	code_if(c, BPF_JLE, R6, R1, s->cut);
	code_mov(c, R1, R7);
	code_alu_imm(c, BPF_RSH, R1, UNWIND_FP_SHIFT);
	code_alu_imm(c, BPF_AND, R1, UNWIND_FP_MASK);
	code_if_imm(c, BPF_JEQ, R1, 0, only_return);
	code_if_imm(c, BPF_JEQ, R1, 2, s->have_pair);
	code_if_imm(c, BPF_JEQ, R1, UNWIND_FP_AT_RBP, at_rbp);
	code_alu_imm(c, BPF_LSH, R1, 3);
	code_mov(c, R3, R6);
	code_alu(c, BPF_SUB, R3, R1);
	code_goto(c, address);
	code_bind(c, at_rbp);
	code_load(c, 8, R3, ST, ST_BP);
	code_bind(c, address);
	read_user(s, ST_PAIR, 8, s->cut);
	code_load(c, 8, R1, ST, ST_PAIR);
	code_store(c, 8, ST, ST_BP, R1);
	code_bind(c, only_return);
	code_mov(c, R3, R6);
	code_alu_imm(c, BPF_SUB, R3, 8);
	read_user(s, ST_PAIR + 8, 8, s->cut);
	code_goto(c, s->saved);
	/* Both beside each other, as a function with a frame pointer pushes them. */
	code_bind(c, s->have_pair);
	code_mov(c, R3, R6);
	code_alu_imm(c, BPF_SUB, R3, 16);
	read_user(s, ST_PAIR, 16, s->cut);
	code_load(c, 8, R1, ST, ST_PAIR);
	code_store(c, 8, ST, ST_BP, R1);
	code_bind(c, s->saved);
	code_store(c, 8, ST, ST_SP, R6);
	code_load(c, 8, R1, ST, ST_PAIR + 8);
	code_store(c, 8, ST, ST_PC, R1);
	code_if_imm(c, BPF_JEQ, R1, 0, s->whole);
	code_const(c, R1, 1);
	code_store(c, 8, ST, ST_BACK, R1);
	code_bind(c, s->again);
	leave(s, false);
}

/* ---- the rules that few rows have ---- */

static void plt(struct step *s)
{
	struct code *c = s->c;
	u32 other = code_label(c);

	code_if_imm(c, BPF_JNE, R1, UNWIND_PLT, other);
	code_load(c, 8, R6, ST, ST_SP);
	code_alu_imm(c, BPF_ADD, R6, 8);
	code_load(c, 8, R1, ST, ST_PC);
	code_alu_imm(c, BPF_AND, R1, 15);
	code_mov(c, R2, R7);
	code_alu_imm(c, BPF_RSH, R2, UNWIND_OFFSET_SHIFT);
	code_if(c, BPF_JLT, R1, R2, s->have_cfa);
	code_alu_imm(c, BPF_ADD, R6, 8);
	code_goto(c, s->have_cfa);
	code_bind(c, other);
}

/* The interrupted registers are in the frame; the stack may be another one. */
static void signal_frame(struct step *s)
{
	struct code *c = s->c;
	u32 other = code_label(c);

	code_if_imm(c, BPF_JNE, R1, UNWIND_SIGNAL, other);
	code_load(c, 8, R3, ST, ST_SP);
	code_alu_imm(c, BPF_ADD, R3, UNWIND_SIGNAL_RBP);
	read_user(s, ST_BP, 8, s->cut);
	code_load(c, 8, R3, ST, ST_SP);
	code_alu_imm(c, BPF_ADD, R3, UNWIND_SIGNAL_RSP);
	read_user(s, ST_PAIR, 16, s->cut);
	code_load(c, 8, R1, ST, ST_PAIR);
	code_store(c, 8, ST, ST_SP, R1);
	code_load(c, 8, R1, ST, ST_PAIR + 8);
	code_store(c, 8, ST, ST_PC, R1);
	code_const(c, R1, 0);
	code_store(c, 8, ST, ST_BACK, R1);
	leave(s, false);
	code_bind(c, other);
}

static void deref(struct step *s)
{
	struct code *c = s->c;
	u32 rbp = code_label(c), base = code_label(c);

	code_if_imm(c, BPF_JEQ, R1, UNWIND_DEREF_RBP, rbp);
	code_if_imm(c, BPF_JNE, R1, UNWIND_DEREF_RSP, s->no_rule);
	code_load(c, 8, R3, ST, ST_SP);
	code_goto(c, base);
	code_bind(c, rbp);
	code_load(c, 8, R3, ST, ST_BP);
	code_bind(c, base);
	rule_bytes(s, UNWIND_DEREF_SHIFT);
	code_alu(c, BPF_ADD, R3, R1);
	read_user(s, ST_PAIR, 8, s->cut);
	code_load(c, 8, R6, ST, ST_PAIR);
	code_mov(c, R1, R7);
	code_alu_imm(c, BPF_RSH, R1, UNWIND_OFFSET_SHIFT);
	code_alu_imm(c, BPF_AND, R1, UNWIND_ADD_MASK);
	code_alu_imm(c, BPF_LSH, R1, 3);
	code_alu(c, BPF_ADD, R6, R1);
	code_goto(c, s->have_cfa);
}

static void special_rules(struct step *s)
{
	struct code *c = s->c;

	code_bind(c, s->special);
	code_if_imm(c, BPF_JEQ, R1, UNWIND_END, s->whole);
	plt(s);
	signal_frame(s);
	deref(s);
	code_bind(c, s->no_rule);
	code_if_imm(c, BPF_JEQ, R1, UNWIND_RICH, s->by_fp);
}

/* ---- without a row ---- */

/* r3 = the replacement to look at; leaves when there is none. The latest is the innermost frame's. */
static void next_return(struct step *s, const struct returns *r)
{
	struct code *c = s->c;
	u32 have = code_label(c);

	code_load(c, 8, R3, ST, ST_RETURNS);
	code_if_imm(c, BPF_JEQ, R3, RETURNS_NO_MORE, s->by_fp);
	code_if_imm(c, BPF_JNE, R3, 0, have);
	code_call(c, BPF_FUNC_get_current_task);
	code_mov(c, R3, R0);
	for (u32 i = 0; i < 2; i++) {
		code_alu_imm(c, BPF_ADD, R3, i ? r->instances : r->utask);
		code_mov(c, R1, ST);
		code_alu_imm(c, BPF_ADD, R1, ST_RETURNS);
		code_const(c, R2, 8);
		code_call(c, BPF_FUNC_probe_read_kernel);
		code_load(c, 8, R3, ST, ST_RETURNS);
		code_if_imm(c, BPF_JEQ, R3, 0, s->by_fp);
	}
	code_bind(c, have);
}

/*
 * The return address was read just below the stack pointer that we have now. If the kernel has
 * replaced what was there, the frame is corrected and tried again. One replacement a step: those
 * passed over belong to frames further down.
 */
static void replaced_return(struct step *s)
{
	struct returns r = find_returns(s->g);
	struct code *c = s->c;
	u32 passed = code_label(c), more = code_label(c);

	if (!r.known)
		return;
	code_load(c, 8, R1, ST, ST_BACK);
	code_if_imm(c, BPF_JEQ, R1, 0, s->by_fp);
	next_return(s, &r);
	code_alu_imm(c, BPF_ADD, R3, r.from);
	code_mov(c, R1, ST);
	code_alu_imm(c, BPF_ADD, R1, ST_INSTANCE);
	code_const(c, R2, (u64)r.size);
	code_call(c, BPF_FUNC_probe_read_kernel);
	code_load(c, 8, R1, ST, ST_INSTANCE + r.stack);
	code_alu_imm(c, BPF_ADD, R1, 8);
	code_load(c, 8, R2, ST, ST_SP);
	code_if(c, BPF_JGT, R1, R2, s->by_fp); /* it and those behind it are further up */
	code_if(c, BPF_JNE, R1, R2, passed);
	code_load(c, 8, R1, ST, ST_INSTANCE + r.original);
	code_store(c, 8, ST, ST_PC, R1);
	code_bind(c, passed);
	code_load(c, 8, R1, ST, ST_INSTANCE + r.next);
	code_if_imm(c, BPF_JNE, R1, 0, more);
	code_const(c, R1, RETURNS_NO_MORE);
	code_bind(c, more);
	code_store(c, 8, ST, ST_RETURNS, R1);
	code_load(c, 8, R1, ST, ST_FRAMES);
	code_alu_imm(c, BPF_SUB, R1, 1);
	code_store(c, 8, ST, ST_FRAMES, R1);
	code_goto(c, s->again);
}

/* A frame pointer points to the caller's, the return address is behind it; 0 is the outermost. */
static void frame_pointer_step(struct step *s)
{
	struct code *c = s->c;

	code_bind(c, s->no_table);
	replaced_return(s);
	code_bind(c, s->by_fp);
	code_load(c, 8, R6, ST, ST_BP);
	code_if_imm(c, BPF_JEQ, R6, 0, s->whole);
	set_flag(s, FLAG_FP);
	code_load(c, 8, R1, ST, ST_SP);
	code_if(c, BPF_JLT, R6, R1, s->cut);
	code_mov(c, R1, R6);
	code_alu_imm(c, BPF_AND, R1, 7);
	code_if_imm(c, BPF_JNE, R1, 0, s->cut);
	code_alu_imm(c, BPF_ADD, R6, 16);
	code_goto(c, s->have_pair);
}

void gen_unwind_step(struct gen *g)
{
	struct step s = { .g = g, .c = &g->c };
	u32 *labels[] = { &s.have_span, &s.have_base, &s.have_cfa, &s.have_pair, &s.saved,
		          &s.special,   &s.no_table,  &s.no_rule,  &s.by_fp,     &s.whole,
		          &s.cut,       &s.again,     &s.enough };

	if (!g->unwind.made || !g->unwind.used)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		*labels[i] = code_label(s.c);
	code_func_start(s.c, g->unwind.step);
	code_load(s.c, 8, ST, R2, SCRATCH_HOME);
	code_alu_imm(s.c, BPF_ADD, ST, g->unwind.state.off);
	note_frame(&s);
	find_span(&s);
	find_rule(&s);
	plain_cfa(&s);
	to_caller(&s);
	special_rules(&s);
	frame_pointer_step(&s);
	/* As many frames as were asked for are a whole stack, as many as there is room for are not. */
	code_bind(s.c, s.enough);
	code_if_imm(s.c, BPF_JEQ, R2, UNIT_STACK_FRAMES, s.cut);
	code_bind(s.c, s.whole);
	set_flag(&s, FLAG_WHOLE);
	code_bind(s.c, s.cut);
	leave(&s, true);
}

/* ---- the program's side ---- */

static void key_addr(struct gen *g, enum reg r)
{
	code_mov(&g->c, r, g->frame);
	code_alu_imm(&g->c, BPF_ADD, r, g->unwind.pid);
}

/* Sends the process's number to user space; jumps when it was sent. */
static void send_process(struct gen *g, u32 sent)
{
	struct urecord r = { .action = ACTION_PROCESS, .size = 16, .map = -1, .n_args = 1 };
	struct field *arg = arena_new(&g->u->arena, struct field);
	u32 id = 0;

	while (id < g->u->records.n && g->u->records.v[id].action != ACTION_PROCESS)
		id++;
	if (id == g->u->records.n) {
		*arg = (struct field){ .type = &type_u64, .off = 8 };
		r.args = arg;
		vec_add(&g->u->arena, &g->u->records, r);
	}
	mem_store_imm(g, 8, state(g, ST_PAIR), (s32)id);
	code_load(&g->c, 4, R1, g->frame, g->unwind.pid);
	mem_store(g, 8, state(g, ST_PAIR + 8), R1);
	code_map(&g->c, R1, gen_map_of(g, UMAP_RING));
	mem_addr(g, state(g, ST_PAIR), R2);
	code_const(&g->c, R3, r.size);
	code_const(&g->c, R4, 0);
	code_call(&g->c, BPF_FUNC_ringbuf_output);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, sent);
}

/* First sight of a process: an empty element asks for it once. */
static void ask_for_process(struct gen *g, u32 out)
{
	struct code *c = &g->c;

	mem_zero(g, state(g, ST_SPAN), 0, sizeof(struct unwind_proc));
	code_map(c, R1, gen_map_of(g, UMAP_PROCS));
	key_addr(g, R2);
	mem_addr(g, state(g, ST_SPAN), R3);
	code_const(c, R4, BPF_NOEXIST);
	code_call(c, BPF_FUNC_map_update_elem);
	code_if_imm(c, BPF_JNE, R0, 0, out);
	send_process(g, out);
	code_map(c, R1, gen_map_of(g, UMAP_PROCS)); /* next time */
	key_addr(g, R2);
	code_call(c, BPF_FUNC_map_delete_elem);
	code_goto(c, out);
}

/* From the user's registers to three words of ours, in the order of `regs`; jumps when there is no 64-bit user code behind the event. */
static void user_registers(struct gen *g, struct mem to, u32 none)
{
	static const s32 regs[] = { PT_IP, PT_SP, PT_BP };
	struct code *c = &g->c;
	enum reg from = R0;

	if (attach_kind_is_user(g->v->kind)) {
		from = CTX;
	} else {
		code_call(c, BPF_FUNC_get_current_task_btf);
		code_mov(c, R1, R0);
		code_call(c, BPF_FUNC_task_pt_regs);
	}
	code_load(c, 8, R1, from, PT_CS);
	code_if_imm(c, BPF_JNE, R1, USER_CS, none);
	for (u32 i = 0; i < ARRAY_SIZE(regs); i++) {
		code_load(c, 8, R1, from, regs[i]);
		mem_store(g, 8, mem_at(to, (s32)i * 8), R1);
	}
}

static void count_in_slot(struct gen *g, enum ucount which)
{
	struct code *c = &g->c;

	code_load(c, 8, R1, g->frame, SCRATCH_HOME);
	code_load(c, 8, R2, R1, SCRATCH_COUNTS + 8 * (s32)which);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_store(c, 8, R1, SCRATCH_COUNTS + 8 * (s32)which, R2);
}

/* The process's spans are out of date: asks for them once. Falls through when it has asked. */
static void ask_again(struct gen *g, u32 out)
{
	struct code *c = &g->c;

	code_load(c, 8, R1, g->frame, g->unwind.proc);
	code_const(c, R2, 1);
	code_atomic(c, BPF_XCHG, R1, offsetof(struct unwind_proc, asked), R2);
	code_if_imm(c, BPF_JNE, R2, 0, out);
	send_process(g, out);
	code_load(c, 8, R1, g->frame, g->unwind.proc);
	code_store_imm(c, 8, R1, offsetof(struct unwind_proc, asked), 0);
}

/*
 * The address space is the one the spans were first used in. Another one: the process has called
 * exec, or its number has been given to a new one; the spans are read anew.
 */
static void same_program(struct gen *g, u32 other)
{
	struct world *w = (struct world *)g->w;
	struct code *c = &g->c;
	u32 same = code_label(c), first = code_label(c);
	struct err e;
	const struct btf *b = w->ops->btf ? w->ops->btf(w, &e) : NULL;
	s32 mm;

	if (!b || !member(b, "struct task_struct", "mm", &mm))
		return;
	code_call(c, BPF_FUNC_get_current_task_btf);
	code_load(c, 8, R3, R0, mm);
	code_load(c, 8, R1, g->frame, g->unwind.proc);
	code_load(c, 8, R2, R1, offsetof(struct unwind_proc, mm));
	code_if_imm(c, BPF_JEQ, R2, 0, first);
	code_if(c, BPF_JEQ, R2, R3, same);
	ask_again(g, other);
	code_goto(c, other);
	code_bind(c, first);
	code_store(c, 8, R1, offsetof(struct unwind_proc, mm), R3);
	code_bind(c, same);
}

/* What became of the stack, and whether the process's spans are to be read again. */
static void account(struct gen *g)
{
	struct code *c = &g->c;
	u32 cut = code_label(c), counted = code_label(c), no_fp = code_label(c),
	    out = code_label(c);

	mem_load(g, 8, R0, state(g, ST_FLAGS));
	code_mov(c, R3, R0);
	code_alu_imm(c, BPF_AND, R3, FLAG_WHOLE);
	code_if_imm(c, BPF_JEQ, R3, 0, cut);
	count_in_slot(g, UCOUNT_WHOLE);
	code_goto(c, counted);
	code_bind(c, cut);
	count_in_slot(g, UCOUNT_CUT);
	code_bind(c, counted);
	code_mov(c, R3, R0);
	code_alu_imm(c, BPF_AND, R3, FLAG_FP);
	code_if_imm(c, BPF_JEQ, R3, 0, no_fp);
	count_in_slot(g, UCOUNT_FP);
	code_bind(c, no_fp);
	code_alu_imm(c, BPF_AND, R0, FLAG_UNKNOWN);
	code_if_imm(c, BPF_JEQ, R0, 0, out);
	ask_again(g, out);
	code_bind(c, out);
}

/* r0 = the process's element, its list of spans in the state; jumps when there is none. */
static void find_process(struct gen *g, u32 none)
{
	struct code *c = &g->c;
	u32 known = code_label(c), marked = code_label(c);

	gen_pid_tgid(g);
	code_alu_imm(c, BPF_RSH, R0, 32);
	code_store(c, 4, g->frame, g->unwind.pid, R0);
	code_map(c, R1, gen_map_of(g, UMAP_PROCS));
	key_addr(g, R2);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_if_imm(c, BPF_JNE, R0, 0, known);
	ask_for_process(g, none);
	code_bind(c, known);
	code_load(c, 8, R1, R0, offsetof(struct unwind_proc, spans));
	code_if_imm(c, BPF_JEQ, R1, 0, none);
	mem_store(g, 8, state(g, ST_SPANS), R1);
	code_store(c, 8, g->frame, g->unwind.proc, R0);
	same_program(g, none);
	code_load(c, 8, R0, g->frame, g->unwind.proc);
	code_load(c, 8, R1, R0, offsetof(struct unwind_proc, used));
	code_if_imm(c, BPF_JNE, R1, 0, marked);
	code_store_imm(c, 8, R0, offsetof(struct unwind_proc, used), 1);
	code_bind(c, marked);
}

void gen_unwind(struct gen *g, u32 limit, u32 unknown)
{
	static const s32 cleared[] = { ST_BACK, ST_FLAGS, ST_SPAN, ST_SIZE, ST_RETURNS, ST_FRAMES };
	struct code *c = &g->c;
	u32 walk = code_label(c), none = code_label(c);

	if (!g->unwind.made)
		g->unwind = gen_unwind_reserve(g);
	g->unwind.used = g->found.unwind = g->found.scratch_home = true;
	user_registers(g, state(g, ST_PC), unknown);
	find_process(g, none);
	code_goto(c, walk);
	code_bind(c, none);
	count_in_slot(g, UCOUNT_KERNEL);
	code_goto(c, unknown);
	code_bind(c, walk);
	for (u32 i = 0; i < ARRAY_SIZE(cleared); i++)
		mem_store_imm(g, 8, state(g, cleared[i]), 0);
	mem_store_imm(g, 8, state(g, ST_LIMIT), (s32)limit);
	code_const(c, R1, limit + MOST_RETURNS); /* a replaced return address takes a step */
	gen_call_loop(g, g->unwind.step);
	account(g);
}

/* ---- copies ---- */

static s32 copy_off(size_t member)
{
	return (s32)member;
}

/* Page after page from that of the stack pointer on, until one is not there. */
static void copy_pages(struct gen *g, struct mem copy)
{
	struct code *c = &g->c;
	u32 end = code_label(c);

	mem_store_imm(g, 8, mem_at(copy, copy_off(offsetof(struct unit_copy, n))), 0);
	for (u32 i = 0; i < UNIT_COPY_PAGES; i++) {
		mem_addr(g, mem_at(copy, (s32)(offsetof(struct unit_copy, pages) + i * UNIT_PAGE)),
		         R1);
		code_const(c, R2, UNIT_PAGE);
		mem_load(g, 8, R3, mem_at(copy, copy_off(offsetof(struct unit_copy, sp))));
		code_alu_imm(c, BPF_AND, R3, -(s32)UNIT_PAGE);
		code_alu_imm(c, BPF_ADD, R3, (s32)(i * UNIT_PAGE));
		code_call(c, BPF_FUNC_probe_read_user);
		code_if_imm(c, BPF_JNE, R0, 0, end);
		mem_store_imm(g, 8, mem_at(copy, copy_off(offsetof(struct unit_copy, n))),
		              (s32)i + 1);
	}
	code_bind(c, end);
}

static u32 copy_record(struct gen *g)
{
	struct urecord r = { .action = ACTION_STACK,
		             .size = offsetof(struct unit_copy, pages),
		             .map = -1 };

	gen_map_of(g, UMAP_STACKS); /* where its frames will be */
	gen_map_of(g, UMAP_CHUNKS); /* how they are found */
	gen_map_of(g, UMAP_SHELVES);
	gen_map_of(g, UMAP_PROCS);
	for (u32 id = 0; id < g->u->records.n; id++)
		if (g->u->records.v[id].action == ACTION_STACK)
			return id;
	vec_add(&g->u->arena, &g->u->records, r);
	return g->u->records.n - 1;
}

/* Every copy is a stack of its own: its id is the time and the place. */
static void copy_id(struct gen *g, struct mem copy)
{
	struct code *c = &g->c;

	code_call(c, BPF_FUNC_ktime_get_ns);
	code_const(c, R1, 0x9fb21c651e98df25ull);
	code_alu(c, BPF_MUL, R0, R1);
	mem_load(g, 8, R1, mem_at(copy, copy_off(offsetof(struct unit_copy, sp))));
	code_alu(c, BPF_XOR, R0, R1);
	mem_store(g, 8, mem_at(copy, copy_off(offsetof(struct unit_copy, id))), R0);
	gen_pid_tgid(g);
	code_alu_imm(c, BPF_RSH, R0, 32);
	mem_store(g, 8, mem_at(copy, copy_off(offsetof(struct unit_copy, pid))), R0);
}

void gen_unwind_copy(struct gen *g, u32 limit, struct mem dst, u32 unknown)
{
	struct code *c = &g->c;
	struct mem copy = frame_alloc(g, sizeof(struct unit_copy));
	u32 sent = code_label(c);

	user_registers(g, mem_at(copy, copy_off(offsetof(struct unit_copy, pc))), unknown);
	copy_id(g, copy);
	copy_pages(g, copy);
	mem_store_imm(g, 8, copy, (s32)copy_record(g));
	mem_store_imm(g, 8, mem_at(copy, copy_off(offsetof(struct unit_copy, limit))), (s32)limit);
	mem_copy(g, dst, mem_at(copy, copy_off(offsetof(struct unit_copy, id))), 16);
	code_map(c, R1, gen_map_of(g, UMAP_RING));
	mem_addr(g, copy, R2);
	mem_load(g, 8, R3, mem_at(copy, copy_off(offsetof(struct unit_copy, n))));
	code_alu_imm(c, BPF_AND, R3, 7);
	code_alu_imm(c, BPF_LSH, R3, 12);
	code_alu_imm(c, BPF_ADD, R3, offsetof(struct unit_copy, pages));
	code_if_imm(c, BPF_JGT, R3, sizeof(struct unit_copy), sent);
	code_const(c, R4, 0);
	code_call(c, BPF_FUNC_ringbuf_output);
	code_if_imm(c, BPF_JEQ, R0, 0, sent);
	gen_count_data(g, UDATA_LOST);
	code_bind(c, sent);
}
