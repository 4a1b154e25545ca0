/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * User stacks by unwind tables (base/unwind.h). One callback, after the program, makes one step
 * from a frame to its caller; the kernel calls it as often as there are frames (bpf_loop). What it
 * knows lies in scratch memory, where the verifier does not follow it: kept in registers or on
 * the stack, each of 127 rounds would be a state of its own to check.
 *
 *     span of pc (that of the last frame is tried first) --> row of pc --> CFA
 *     read return address and frame pointer below the CFA --> next pc, sp, fp
 *
 * Where a call leaves the return address in a register, a frame pointer points to the low end of
 * its frame, not to its top: the caller's stack pointer is not known then (FLAG_BOUND), and its CFA
 * is where its row says that the frame pointer was saved, which is where that points.
 *
 * Both searches are unrolled: halve the distance, look at one entry, move on or not. An address
 * without a row (JIT code, a gap, a rule that did not fit) is left by its frame pointer, and
 * tables are tried again after it. A return address that a uretprobe has replaced is in no span;
 * the kernel's list of such replacements is searched for the place it was read from.
 *
 * Memory is read without faults: what is not resident ends the stack, which is counted.
 */
#include "gen/gen_unwind.h"

#include "arch/arch.h"

/* Offsets in the kernel's structs, from its BTF; without them nothing is repaired. */
struct returns {
	bool known;
	s32 utask, instances;      /* in task_struct, uprobe_task */
	s32 from, size;            /* the part of return_instance to read */
	s32 stack, original, next; /* in that part */
};

static struct returns find_returns(const struct gen *g)
{
	struct returns r = { 0 };

	if (!gen_unwind_member(g, "struct task_struct", "utask", &r.utask) ||
	    !gen_unwind_member(g, "struct uprobe_task", "return_instances", &r.instances) ||
	    !gen_unwind_member(g, "struct return_instance", "stack", &r.stack) ||
	    !gen_unwind_member(g, "struct return_instance", "orig_ret_vaddr", &r.original) ||
	    !gen_unwind_member(g, "struct return_instance", "next", &r.next))
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

/* r2 = address of a key of gen_unwind_chunk(). */
static void chunk_key(struct code *c, s32 which)
{
	code_mov(c, R2, ST);
	code_alu_imm(c, BPF_ADD, R2, ST_KEYS + which);
}

void gen_unwind_chunk(struct step *s, u32 fail)
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
 * The run's end is read from memory every time: of a register the verifier would learn something
 * in each comparison, and go on with every combination of what it has learnt.
 */
void gen_unwind_search(struct step *s, u32 entries, u32 size, u32 width)
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

/* Jumps to `label` when a frame pointer alone has led here; uses r1. */
static void if_bound(struct step *s, u32 label)
{
	if (arch.frames.return_below)
		return;
	code_load(s->c, 8, R1, ST, ST_FLAGS);
	code_alu_imm(s->c, BPF_AND, R1, FLAG_BOUND);
	code_if_imm(s->c, BPF_JNE, R1, 0, label);
}

void gen_unwind_flag(struct step *s, s32 flag)
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

/* The span of r7 in the process's list into the state; leaves to `none` when it is not in it. */
static void find_listed(struct step *s, u32 none)
{
	struct code *c = s->c;

	code_load(c, 8, R1, ST, ST_SPANS);
	code_if_imm(c, BPF_JEQ, R1, 0, none);
	gen_unwind_chunk(s, s->cut);
	code_mov(c, R6, R0);
	code_load(c, 8, R1, ST, ST_SPANS);
	gen_unwind_search(s, UNWIND_CHUNK_SPANS, sizeof(struct unwind_span), 8);
	code_load(c, 8, R1, R2, 0);
	code_mov(c, R3, R7);
	code_alu(c, BPF_SUB, R3, R1);
	code_load(c, 4, R4, R2, offsetof(struct unwind_span, size));
	code_if(c, BPF_JGE, R3, R4, none);
	code_store(c, 8, ST, ST_SPAN, R1);
	for (s32 off = 8; off < (s32)sizeof(struct unwind_span); off += 8) {
		code_load(c, 8, R1, R2, off);
		code_store(c, 8, ST, ST_SPAN + off, R1);
	}
	code_goto(c, s->have_span);
}

/* The span of r7 into the state, unless it is there. */
static void find_span(struct step *s)
{
	struct code *c = s->c;
	u32 unlisted = code_label(c);

	code_mov(c, R1, R7);
	code_load(c, 8, R2, ST, ST_SPAN);
	code_alu(c, BPF_SUB, R1, R2);
	code_load(c, 4, R2, ST, ST_SIZE);
	code_if(c, BPF_JLT, R1, R2, s->have_span);
	find_listed(s, unlisted);
	code_bind(c, unlisted);
	if (gen_unwind_maps(s->g)) {
		gen_unwind_mapping(s);
	} else {
		gen_unwind_flag(s, FLAG_UNKNOWN);
	}
	code_bind(c, s->unknown);
	gen_unwind_flag(s, FLAG_ADDRESS);
	code_goto(c, s->no_table);
}

/* The frame that was written down as an address becomes a place in its file. */
static void place_frame(struct step *s)
{
	struct code *c = s->c;
	u32 address = code_label(c), done = code_label(c);

	code_load(c, 4, R2, ST, ST_FILE);
	code_if_imm(c, BPF_JEQ, R2, 0, address);
	code_load(c, 8, R1, ST, ST_FLAGS);
	code_alu_imm(c, BPF_AND, R1, FLAG_RAW);
	code_if_imm(c, BPF_JNE, R1, 0, address);
	code_load(c, 8, R3, ST, ST_PC);
	code_load(c, 4, R4, ST, ST_DELTA);
	code_alu32(c, BPF_SUB, R3, R4);
	code_alu_imm(c, BPF_LSH, R2, UNWIND_FRAME_SHIFT);
	code_alu(c, BPF_OR, R2, R3);
	code_load(c, 8, R1, ST, ST_FRAMES);
	code_alu_imm(c, BPF_AND, R1, 127);
	code_alu_imm(c, BPF_LSH, R1, 3);
	code_alu(c, BPF_ADD, R1, ST);
	code_store(c, 8, R1, ST_FRAMES, R2);
	code_goto(c, done);
	code_bind(c, address);
	gen_unwind_flag(s, FLAG_ADDRESS);
	code_bind(c, done);
}

/* r7 = the rule for r7. */
static void find_rule(struct step *s)
{
	struct code *c = s->c;

	code_bind(c, s->have_span);
	place_frame(s);
	code_load(c, 8, R1, ST, ST_ROWS);
	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_RSH, R2, UNWIND_REF_N);
	code_if_imm(c, BPF_JEQ, R2, 0, s->no_table);
	gen_unwind_chunk(s, s->cut);
	code_mov(c, R6, R0);
	code_load(c, 4, R1, ST, ST_BIAS);
	code_alu32(c, BPF_SUB, R7, R1);
	code_load(c, 8, R1, ST, ST_ROWS);
	gen_unwind_search(s, UNWIND_CHUNK_ROWS, sizeof(struct unwind_row), 4);
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

/* r6 = CFA of a frame that its frame pointer points into, by where the row has that saved. */
static void cfa_by_record(struct step *s)
{
	struct code *c = s->c;

	code_mov(c, R6, R7);
	code_alu_imm(c, BPF_RSH, R6, UNWIND_FP_SHIFT);
	code_alu_imm(c, BPF_AND, R6, UNWIND_FP_MASK);
	code_if_imm(c, BPF_JEQ, R6, UNWIND_FP_SAME, s->by_fp);
	code_alu_imm(c, BPF_LSH, R6, 3);
	code_load(c, 8, R1, ST, ST_FP);
	code_alu(c, BPF_ADD, R6, R1);
	code_goto(c, s->have_cfa);
}

/* r6 = CFA by the two rules that nearly every row has. */
static void plain_cfa(struct step *s)
{
	struct code *c = s->c;
	u32 by_fp = code_label(c), by_record = code_label(c);
	bool has_link = !arch.frames.return_below;

	code_mov(c, R1, R7);
	code_alu_imm(c, BPF_AND, R1, UNWIND_KIND_MASK);
	code_if_imm(c, BPF_JEQ, R1, has_link ? UNWIND_LINK_FP : UNWIND_FP, by_fp);
	code_if_imm(c, BPF_JNE, R1, has_link ? UNWIND_LINK_SP : UNWIND_SP, s->special);
	if_bound(s, by_record);
	code_load(c, 8, R6, ST, ST_SP);
	code_goto(c, s->have_base);
	code_bind(c, by_record);
	if (has_link)
		cfa_by_record(s);
	code_bind(c, by_fp);
	code_load(c, 8, R6, ST, ST_FP);
	code_bind(c, s->have_base);
	rule_bytes(s, has_link ? UNWIND_LINK_SHIFT : UNWIND_OFFSET_SHIFT);
	code_alu(c, BPF_ADD, R6, R1);
}

/* A return address that was read loses its signature. */
static void strip(struct step *s, enum reg r)
{
	u64 mask = arch_return_mask();
	s32 above = mask == UINT64_MAX ? 0 : __builtin_clzll(mask);

	if (!above)
		return;
	code_alu_imm(s->c, BPF_LSH, r, above);
	code_alu_imm(s->c, BPF_RSH, r, above);
}

/* Where a call puts the return address into memory: r3 = its place. */
static void return_in_memory(struct step *s)
{
	code_mov(s->c, R3, R6);
	code_alu_imm(s->c, BPF_SUB, R3, arch.frames.return_below);
	read_user(s, ST_PAIR + 8, 8, s->cut);
}

/* Leaves when this frame has called another one, so that the register is that one's. */
static void needs_link(struct step *s)
{
	code_load(s->c, 8, R1, ST, ST_BACK);
	code_if_imm(s->c, BPF_JNE, R1, 0, s->cut);
}

/*
 * Where it leaves it in a register: that of the innermost frame is known until the first call, and
 * with it the CFA may be where the stack pointer is. A program starts with 0 in it.
 */
static void return_in_register(struct step *s)
{
	struct code *c = s->c;
	u32 saved = code_label(c), done = code_label(c);

	code_mov(c, R1, R7);
	code_alu_imm(c, BPF_RSH, R1, UNWIND_OFFSET_SHIFT);
	code_alu_imm(c, BPF_AND, R1, UNWIND_LINK_MASK);
	code_if_imm(c, BPF_JNE, R1, UNWIND_LINK_SAME, saved);
	needs_link(s);
	code_load(c, 8, R1, ST, ST_LINK);
	code_store(c, 8, ST, ST_PAIR + 8, R1);
	code_goto(c, done);
	code_bind(c, saved);
	code_alu_imm(c, BPF_LSH, R1, 3);
	code_mov(c, R3, R6);
	code_alu(c, BPF_SUB, R3, R1);
	read_user(s, ST_PAIR + 8, 8, s->cut);
	code_bind(c, done);
}

/* Leaves when the CFA in r6 is not above the stack pointer, or at it while the register is
 * known. */
static void ends_loops(struct step *s)
{
	struct code *c = s->c;
	u32 above = code_label(c);

	code_load(c, 8, R1, ST, ST_SP);
	if (arch.frames.return_below) {
		code_if(c, BPF_JLE, R6, R1, s->cut);
		return;
	}
	code_if(c, BPF_JGT, R6, R1, above);
	code_if(c, BPF_JNE, R6, R1, s->cut);
	needs_link(s);
	code_bind(c, above);
}

static void clear_flag(struct step *s, s32 flag)
{
	code_load(s->c, 8, R1, ST, ST_FLAGS);
	code_alu_imm(s->c, BPF_AND, R1, ~flag);
	code_store(s->c, 8, ST, ST_FLAGS, R1);
}

/* From the CFA in r6 to the caller's registers. Callers are above: that ends loops. */
static void to_caller(struct step *s)
{
	struct code *c = s->c;
	u32 address = code_label(c), at_fp = code_label(c), only_return = code_label(c);

	code_bind(c, s->have_cfa);
	ends_loops(s);
	code_mov(c, R1, R7);
	code_alu_imm(c, BPF_RSH, R1, UNWIND_FP_SHIFT);
	code_alu_imm(c, BPF_AND, R1, UNWIND_FP_MASK);
	code_if_imm(c, BPF_JEQ, R1, 0, only_return);
	if (arch.frames.return_below)
		code_if_imm(c, BPF_JEQ, R1, UNWIND_PAIR / 8, s->have_pair);
	code_if_imm(c, BPF_JEQ, R1, UNWIND_FP_AT_FP, at_fp);
	code_alu_imm(c, BPF_LSH, R1, 3);
	code_mov(c, R3, R6);
	code_alu(c, BPF_SUB, R3, R1);
	code_goto(c, address);
	code_bind(c, at_fp);
	code_load(c, 8, R3, ST, ST_FP);
	code_bind(c, address);
	read_user(s, ST_PAIR, 8, s->cut);
	code_load(c, 8, R1, ST, ST_PAIR);
	code_store(c, 8, ST, ST_FP, R1);
	code_bind(c, only_return);
	if (arch.frames.return_below) {
		return_in_memory(s);
	} else {
		return_in_register(s);
		clear_flag(s, FLAG_BOUND);
	}
	code_goto(c, s->saved);
	/* Both beside each other, as a function with a frame pointer pushes them. */
	code_bind(c, s->have_pair);
	code_mov(c, R3, R6);
	code_alu_imm(c, BPF_SUB, R3, UNWIND_PAIR);
	read_user(s, ST_PAIR, 16, s->cut);
	code_load(c, 8, R1, ST, ST_PAIR);
	code_store(c, 8, ST, ST_FP, R1);
	code_bind(c, s->saved);
	code_store(c, 8, ST, ST_SP, R6);
	code_load(c, 8, R1, ST, ST_PAIR + 8);
	strip(s, R1);
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
	code_alu_imm(c, BPF_ADD, R6, (s32)arch.c.stack_at);
	code_load(c, 8, R1, ST, ST_PC);
	code_alu_imm(c, BPF_AND, R1, arch.frames.plt_slot - 1);
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
	code_alu_imm(c, BPF_ADD, R3, arch.frames.signal_fp);
	read_user(s, ST_FP, 8, s->cut);
	if (!arch.frames.return_below) {
		code_load(c, 8, R3, ST, ST_SP);
		code_alu_imm(c, BPF_ADD, R3, arch.frames.signal_link);
		read_user(s, ST_LINK, 8, s->cut);
	}
	code_load(c, 8, R3, ST, ST_SP);
	code_alu_imm(c, BPF_ADD, R3, arch.frames.signal_sp);
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
	u32 by_fp = code_label(c), base = code_label(c);

	code_if_imm(c, BPF_JEQ, R1, UNWIND_DEREF_FP, by_fp);
	code_if_imm(c, BPF_JNE, R1, UNWIND_DEREF_SP, s->no_rule);
	code_load(c, 8, R3, ST, ST_SP);
	code_goto(c, base);
	code_bind(c, by_fp);
	code_load(c, 8, R3, ST, ST_FP);
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

/* These go by the stack pointer; r1 = the kind, still. */
static void special_if_bound(struct step *s)
{
	if (arch.frames.return_below)
		return;
	if_bound(s, s->by_fp);
	code_mov(s->c, R1, R7);
	code_alu_imm(s->c, BPF_AND, R1, UNWIND_KIND_MASK);
}

static void special_rules(struct step *s)
{
	struct code *c = s->c;

	code_bind(c, s->special);
	code_if_imm(c, BPF_JEQ, R1, UNWIND_END, s->whole);
	special_if_bound(s);
	plt(s);
	signal_frame(s);
	deref(s);
	code_bind(c, s->no_rule);
	code_if_imm(c, BPF_JEQ, R1, UNWIND_RICH, s->by_fp);
}

/* ---- without a row ---- */

/* r3 = the replacement to look at; leaves when there is none. The latest is the innermost
 * frame's. */
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
	code_alu_imm(c, BPF_ADD, R1, arch.frames.return_below);
	code_load(c, 8, R2, ST, ST_SP);
	code_if(c, BPF_JGT, R1, R2, s->by_fp); /* it and those after it are further up */
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

/* A frame pointer points to the caller's, the return address is after it; 0 is the outermost. */
static void frame_pointer_step(struct step *s)
{
	struct code *c = s->c;

	code_bind(c, s->no_table);
	replaced_return(s);
	code_bind(c, s->by_fp);
	code_load(c, 8, R6, ST, ST_FP);
	code_if_imm(c, BPF_JEQ, R6, 0, s->whole);
	gen_unwind_flag(s, arch.frames.return_below ? FLAG_FP : FLAG_FP | FLAG_BOUND);
	code_load(c, 8, R1, ST, ST_SP);
	code_if(c, BPF_JLT, R6, R1, s->cut);
	code_mov(c, R1, R6);
	code_alu_imm(c, BPF_AND, R1, 7);
	code_if_imm(c, BPF_JNE, R1, 0, s->cut);
	code_alu_imm(c, BPF_ADD, R6, UNWIND_PAIR);
	code_goto(c, s->have_pair);
}

/* A callback is given the program's frame, a function the number of the scratch slot. */
static void find_state(struct step *s)
{
	struct code *c = s->c;
	struct gen *g = s->g;

	if (!g->unwind.slot) {
		if (gen_unwind_maps(g))
			code_mov(c, CTX_OF_STEP, R2);
		code_load(c, 8, ST, R2, SCRATCH_HOME);
	} else {
		gen_find_slot(g, -8, s->cut);
		code_mov(c, ST, R0);
	}
	code_alu_imm(c, BPF_ADD, ST, g->unwind.state.off);
}

/* Apart from the question whether there is one, which each start asks. */
static __attribute__((noinline)) void step_function(struct gen *g)
{
	struct step s = { .g = g, .c = &g->c };
	u32 *labels[] = { &s.have_span, &s.have_base, &s.have_cfa, &s.have_pair, &s.saved,
		          &s.special,   &s.no_table,  &s.no_rule,  &s.by_fp,     &s.whole,
		          &s.cut,       &s.again,     &s.enough,   &s.unknown };

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		*labels[i] = code_label(s.c);
	code_func_start(s.c, g->unwind.step);
	find_state(&s);
	note_frame(&s);
	find_span(&s);
	find_rule(&s);
	plain_cfa(&s);
	to_caller(&s);
	special_rules(&s);
	frame_pointer_step(&s);
	/* As many frames as were asked for are a whole stack, as many as there is room for are
	 * not. */
	code_bind(s.c, s.enough);
	code_if_imm(s.c, BPF_JEQ, R2, UNIT_STACK_FRAMES, s.cut);
	code_bind(s.c, s.whole);
	gen_unwind_flag(&s, FLAG_WHOLE);
	code_bind(s.c, s.cut);
	leave(&s, true);
	if (gen_unwind_maps(g))
		gen_unwind_map_step(g);
}

void gen_unwind_step(struct gen *g)
{
	if (g->unwind.made && g->unwind.used)
		step_function(g);
}
