/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A pass over a finished instruction list. The emitter writes straight code: what follows a
 * `return`, or the jump around an empty else, is left in. The kernel refuses unreachable
 * instructions, so they go here, once, instead of in every emitter.
 */
#include "bpf/prune.h"

#include "bpf/flow.h"

/* Marks where instruction i leads. True when that is before it and was not known. */
static bool mark_from(const struct code *c, bool *live, u32 i)
{
	const struct bpf_insn *in = &c->insns.v[i];
	u32 to = i + 1;
	bool back;

	if (in->code == (BPF_JMP | BPF_EXIT))
		return false;
	if (!flow_is_goto(in))
		live[i + 1] = true;
	if (flow_is_jump(in))
		to += (u32)in->off;
	else if (code_names_func(in))
		to += (u32)in->imm;
	back = to < i && !live[to];
	live[to] = true;
	return back;
}

/* Marks everything that can run. Almost all leads forward, so one way through it is enough. */
static void mark(const struct code *c, bool *live)
{
	bool again = true;

	live[0] = true;
	while (again) {
		again = false;
		for (u32 i = 0; i < c->insns.n; i++)
			if (live[i])
				again |= mark_from(c, live, i);
	}
}

/* A jump over nothing but dead instructions does nothing itself. */
static void drop_empty_jumps(const struct code *c, bool *live)
{
	for (u32 i = c->insns.n; i-- > 0;) {
		const struct bpf_insn *in = &c->insns.v[i];
		bool empty = flow_is_jump(in) && live[i] && in->off >= 0;

		for (s32 k = 0; empty && k < in->off; k++)
			empty = !live[i + 1 + (u32)k];
		if (empty)
			live[i] = false;
	}
}

/* A callback that only dead code named is gone. */
static void move_funcs(struct code *c, const u32 *place)
{
	u32 n = 0;

	for (u32 i = 0; i < c->funcs.n; i++) {
		u32 end = i + 1 < c->funcs.n ? c->funcs.v[i + 1] : c->insns.n;

		if (place[c->funcs.v[i]] != place[end])
			c->funcs.v[n++] = place[c->funcs.v[i]];
	}
	c->funcs.n = n;
}

static void compact(struct code *c, const bool *live, u32 *place)
{
	u32 n = 0;

	for (u32 i = 0; i < c->insns.n; i++) {
		place[i] = n;
		n += live[i];
	}
	place[c->insns.n] = n;
	for (u32 i = 0; i < c->insns.n; i++) {
		u32 to = place[i];
		struct bpf_insn *in = &c->insns.v[to];

		if (!live[i])
			continue;
		*in = c->insns.v[i];
		c->locs.v[to] = c->locs.v[i];
		if (flow_is_jump(in))
			in->off = (s16)((s32)place[i + 1 + (u32)in->off] - (s32)to - 1);
		else if (code_names_func(in))
			in->imm = (s32)place[i + 1 + (u32)in->imm] - (s32)to - 1;
	}
	move_funcs(c, place);
	c->insns.n = n;
	c->locs.n = n;
}

void prune_code(struct code *c)
{
	u32 n = c->insns.n;
	bool *live = arena_array(c->arena, bool, n + 1);

	mark(c, live);
	drop_empty_jumps(c, live);
	compact(c, live, arena_array(c->arena, u32, n + 1));
}
