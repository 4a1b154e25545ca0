/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses made once. A map's descriptor, a place of the stack frame and a place in a map that
 * holds one value take two instructions each time; kept in one of r6 to r9 that the program has no
 * other use for, they take one, or none where memory after them is read or written directly:
 *
 *     r1 = map_value[1]+40             r8 = map_value[1]+0     (at the start)
 *     r2 = 1                           r2 = 1
 *     lock *(u64 *)(r1 +0) += r2       lock *(u64 *)(r8 +40) += r2
 *
 * The kind that saves most is taken first. Callbacks have registers of their own and are left
 * alone.
 */
#include "bpf/tidy.h"

#include <string.h>

#include "bpf/flow.h"
#include "bpf/prune.h"

#define KINDS_MAX 64u
#define SAVED_MIN 2 /* instructions that making an address at the start takes */

enum address_kind { ADDRESS_NONE, ADDRESS_FRAME, ADDRESS_MAP, ADDRESS_VALUE };

/* One address, or with VALUE all places in one map's value. */
struct address {
	enum address_kind kind;
	s32 key;     /* FRAME: offset from r10; MAP, VALUE: map */
	s32 base;    /* VALUE: offset that the register will hold */
	bool copied; /* VALUE: somewhere the address itself is needed, so base is that one */
	s32 saved;   /* instructions, those at the start not yet taken off */
};

struct hoist {
	struct flow flow;
	u32 end; /* of the program itself: callbacks follow */
	struct address kinds[KINDS_MAX];
	u32 n_kinds;
};

/* ---- finding -------------------------------------------------------------------------------- */

/* The address that instruction i, with the slot after it, puts into its dst. */
static struct address address_at(const struct hoist *h, u32 i)
{
	const struct bpf_insn *in = &h->flow.c->insns.v[i];

	if (flow_is_wide(in)) {
		if (in->src_reg == BPF_PSEUDO_MAP_FD)
			return (struct address){ .kind = ADDRESS_MAP, .key = in->imm };
		if (in->src_reg == BPF_PSEUDO_MAP_VALUE)
			return (struct address){ .kind = ADDRESS_VALUE,
				                 .key = in->imm,
				                 .base = in[1].imm };
	} else if (i + 1 < h->end && in->code == (BPF_ALU64 | BPF_MOV | BPF_X) &&
	           in->src_reg == R10 && in[1].code == (BPF_ALU64 | BPF_ADD) && /* of a constant */
	           in[1].dst_reg == in->dst_reg && !h->flow.target[i + 1]) {
		return (struct address){ .kind = ADDRESS_FRAME, .key = in[1].imm };
	}
	return (struct address){ .kind = ADDRESS_NONE };
}

/* An access to memory at [reg + off] that needs nothing else of reg. */
static bool is_access(const struct bpf_insn *in, u32 reg)
{
	switch (BPF_CLASS(in->code)) {
	case BPF_LDX:
		return in->src_reg == reg;
	case BPF_ST:
		return in->dst_reg == reg;
	case BPF_STX:
		return in->dst_reg == reg && in->src_reg != reg &&
		       !(reg == R0 && BPF_MODE(in->code) == BPF_ATOMIC && in->imm == BPF_CMPXCHG);
	default:
		return false;
	}
}

/* After instruction i, wide, whose dst is only used to access memory until it is needed no more:
 * the index after the last use; 0 when that is not so. */
static u32 accesses_end(const struct hoist *h, u32 i)
{
	u32 reg = h->flow.c->insns.v[i].dst_reg;

	for (u32 k = i + 2; k < h->end && !h->flow.target[k]; k++) {
		const struct bpf_insn *in = &h->flow.c->insns.v[k];

		if (flow_reads(in) >> reg & 1 && !is_access(in, reg))
			return 0;
		if (flow_writes(in) >> reg & 1 || !(h->flow.live[k] >> reg & 1))
			return k + 1;
		if (flow_is_jump(in) && !flow_is_nothing(in))
			return 0;
	}
	return 0;
}

static struct address *same_kind(struct hoist *h, const struct address *a)
{
	for (u32 i = 0; i < h->n_kinds; i++)
		if (h->kinds[i].kind == a->kind && h->kinds[i].key == a->key)
			return &h->kinds[i];
	if (h->n_kinds == KINDS_MAX)
		return NULL;
	h->kinds[h->n_kinds] = (struct address){ .kind = a->kind, .key = a->key };
	return &h->kinds[h->n_kinds++];
}

static void count_use(struct hoist *h, u32 i, const struct address *a)
{
	struct address *kind = same_kind(h, a);

	if (!kind)
		return;
	if (a->kind != ADDRESS_VALUE) {
		kind->saved++;
	} else if (accesses_end(h, i)) {
		kind->saved += 2;
	} else if (!kind->copied || kind->base == a->base) {
		kind->copied = true;
		kind->base = a->base;
		kind->saved++;
	}
}

static void find_kinds(struct hoist *h)
{
	h->n_kinds = 0;
	for (u32 i = 0; i < h->end; i++) {
		struct address a = address_at(h, i);

		if (a.kind != ADDRESS_NONE)
			count_use(h, i, &a);
		i += flow_is_wide(&h->flow.c->insns.v[i]);
	}
}

/* What could be saved at best, were every place in a map's value only accessed: whether that is so
 * takes knowing what is live, which costs the most here. */
static bool is_worth_a_look(struct hoist *h)
{
	bool worth = false;

	h->n_kinds = 0;
	for (u32 i = 0; i < h->end && !worth; i++) {
		struct address a = address_at(h, i), *kind = NULL;

		if (a.kind != ADDRESS_NONE)
			kind = same_kind(h, &a);
		if (kind) {
			kind->saved += a.kind == ADDRESS_VALUE ? 2 : 1;
			worth = kind->saved > SAVED_MIN;
		}
		i += flow_is_wide(&h->flow.c->insns.v[i]);
	}
	return worth;
}

/* ---- changing ------------------------------------------------------------------------------- */

static bool far(s32 off)
{
	return off != (s16)off;
}

/* Accesses after instruction i go through `reg`, which holds the address at `base`. */
static void access_through(struct hoist *h, u32 i, s32 shift, u32 reg)
{
	u32 old = h->flow.c->insns.v[i].dst_reg, end = accesses_end(h, i);

	for (u32 k = i + 2; k < end; k++) {
		struct bpf_insn *in = &h->flow.c->insns.v[k];

		if (!(flow_reads(in) >> old & 1))
			continue;
		if (BPF_CLASS(in->code) == BPF_LDX)
			in->src_reg = reg & 0xf;
		else
			in->dst_reg = reg & 0xf;
		in->off = (s16)(in->off + shift);
	}
	flow_remove(&h->flow, i);
}

/* Can all accesses after instruction i be reached from the base? */
static bool in_reach(const struct hoist *h, u32 i, s32 shift)
{
	u32 old = h->flow.c->insns.v[i].dst_reg, end = accesses_end(h, i);

	for (u32 k = i + 2; k < end; k++) {
		const struct bpf_insn *in = &h->flow.c->insns.v[k];

		if (flow_reads(in) >> old & 1 && far(in->off + shift))
			return false;
	}
	return end != 0;
}

/* Instruction i makes address a. False when its register can not give it. */
static bool use(struct hoist *h, u32 i, const struct address *a, const struct address *kept,
                u32 reg)
{
	struct bpf_insn *in = &h->flow.c->insns.v[i];
	s32 shift = a->base - kept->base;

	if (a->kind == ADDRESS_VALUE && in_reach(h, i, shift)) {
		access_through(h, i, shift, reg);
		return true;
	}
	if (shift)
		return false;
	*in = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X,
		                 .dst_reg = in->dst_reg,
		                 .src_reg = reg & 0xf };
	in[1] = FLOW_NOTHING;
	return true;
}

/* Puts the two instructions that make the address before all others. */
static void make_at_start(struct code *c, const struct address *a, u32 reg)
{
	struct code start;
	u32 n = c->insns.n;

	code_init(&start, c->arena);
	start.loc = c->locs.v[0];
	if (a->kind == ADDRESS_FRAME) {
		code_mov(&start, reg, R10);
		code_alu_imm(&start, BPF_ADD, reg, a->key);
	} else if (a->kind == ADDRESS_MAP) {
		code_map(&start, reg, (u32)a->key);
	} else {
		code_map_value(&start, reg, (u32)a->key, (u32)a->base);
	}
	for (u32 i = 0; i < start.insns.n; i++)
		code_add(c, FLOW_NOTHING);
	memmove(c->insns.v + start.insns.n, c->insns.v, n * sizeof(*c->insns.v));
	memmove(c->locs.v + start.insns.n, c->locs.v, n * sizeof(*c->locs.v));
	memcpy(c->insns.v, start.insns.v, start.insns.n * sizeof(*c->insns.v));
	memcpy(c->locs.v, start.locs.v, start.insns.n * sizeof(*c->locs.v));
	for (u32 i = 0; i < c->funcs.n; i++)
		c->funcs.v[i] += start.insns.n;
}

/* Bits of the registers that the program uses. */
static u16 used_registers(const struct code *c, u32 end)
{
	u16 used = 0;

	for (u32 i = 0; i < end; i++)
		used |= flow_reads(&c->insns.v[i]) | flow_writes(&c->insns.v[i]);
	return used;
}

static struct address *best_of(struct hoist *h)
{
	struct address *best = NULL;

	for (u32 i = 0; i < h->n_kinds; i++)
		if (h->kinds[i].saved > SAVED_MIN && (!best || h->kinds[i].saved > best->saved))
			best = &h->kinds[i];
	return best;
}

/* All uses of a kind go through reg. False when some could not. */
static bool use_all(struct hoist *h, const struct address *kept, u32 reg)
{
	bool all = true;

	for (u32 i = 0; i < h->end; i++) {
		struct address a = address_at(h, i);
		bool wide = flow_is_wide(&h->flow.c->insns.v[i]);

		if (a.kind == kept->kind && a.key == kept->key)
			all &= use(h, i, &a, kept, reg);
		i += wide;
	}
	return all;
}

/* Takes what saves most, for as many registers as are free; what is live and what is saved by one
 * kind does not change by taking another. True when what is left of a kind may be worth a register
 * of its own. */
static bool hoist_round(struct code *c, bool *changed)
{
	struct hoist h = { .end = c->funcs.n ? c->funcs.v[0] : c->insns.n };
	u16 used = used_registers(c, h.end);
	struct address *best, taken[R9 - R6 + 1];
	u32 regs[R9 - R6 + 1], n = 0;
	bool all = true;

	h.flow.c = c;
	if ((used >> R6 & 0xf) == 0xf)
		return false;
	flow_open(&h.flow, c);
	if (!is_worth_a_look(&h))
		return false;
	flow_update(&h.flow);
	find_kinds(&h);
	for (u32 reg = R9; reg >= R6; reg--) {
		if (used >> reg & 1)
			continue;
		best = best_of(&h);
		if (!best)
			break;
		all &= use_all(&h, best, reg);
		regs[n] = reg;
		taken[n++] = *best;
		best->saved = 0;
	}
	for (u32 i = 0; i < n; i++)
		make_at_start(c, &taken[i], regs[i]);
	*changed |= n > 0;
	return !all;
}

void hoist_code(struct code *c)
{
	bool changed = false;

	while (hoist_round(c, &changed))
		;
	if (changed)
		prune_code(c);
}
