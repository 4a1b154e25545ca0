/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From frame to frame by rows, in a copy of the stack. Everything read is bounds-checked against
 * the copy; callers lie above, which ends loops. No process is touched.
 */
#include "sym/unwind_walk.h"

#include <string.h>

struct regs {
	u64 pc, sp, bp;
	bool back; /* pc is a return address: the call is before it */
};

static bool read_word(const struct unwind_stack *s, u64 address, u64 *out)
{
	u64 at = address - s->start;

	if (address < s->start || s->n < 8 || at > s->n - 8)
		return false;
	memcpy(out, s->bytes + at, 8);
	return true;
}

/* Return address and, unless it is the same, frame pointer, from below the CFA. */
static bool restore(const struct unwind_stack *s, struct regs *r, u64 cfa, u32 fp)
{
	u64 bp = r->bp;

	if (cfa <= r->sp || !read_word(s, cfa - 8, &r->pc))
		return false;
	if (fp == UNWIND_FP_AT_RBP) {
		if (!read_word(s, r->bp, &bp))
			return false;
	} else if (fp != UNWIND_FP_SAME && !read_word(s, cfa - 8 * (u64)fp, &bp)) {
		return false;
	}
	r->bp = bp;
	r->sp = cfa;
	r->back = true;
	return true;
}

static bool signal_frame(const struct unwind_stack *s, struct regs *r)
{
	u64 frame = r->sp;

	r->back = false;
	return read_word(s, frame + UNWIND_SIGNAL_RBP, &r->bp) &&
	       read_word(s, frame + UNWIND_SIGNAL_RSP, &r->sp) &&
	       read_word(s, frame + UNWIND_SIGNAL_RIP, &r->pc);
}

static bool by_frame_pointer(const struct unwind_stack *s, struct regs *r, bool *whole)
{
	*whole = r->bp == 0;
	return r->bp >= r->sp && r->bp % 8 == 0 && restore(s, r, r->bp + 16, 2);
}

/* To the caller. False at the end, *whole when that is the outermost frame. */
static bool step(const struct unwind_stack *s, struct regs *r, bool *whole)
{
	u32 rule = UNWIND_GAP, fp;
	u64 cfa;

	if (!s->rule(s->ctx, r->pc - r->back, &rule))
		return by_frame_pointer(s, r, whole);
	fp = unwind_fp(rule);
	switch (unwind_kind(rule)) {
	case UNWIND_END:
		*whole = true;
		return false;
	case UNWIND_RSP:
		return restore(s, r, r->sp + (u64)unwind_offset(rule), fp);
	case UNWIND_RBP:
		return restore(s, r, r->bp + (u64)unwind_offset(rule), fp);
	case UNWIND_PLT:
		cfa = r->sp + 8 + (r->pc % 16 >= rule >> UNWIND_OFFSET_SHIFT ? 8 : 0);
		return restore(s, r, cfa, UNWIND_FP_SAME);
	case UNWIND_SIGNAL:
		return signal_frame(s, r);
	case UNWIND_DEREF_RSP:
	case UNWIND_DEREF_RBP:
		cfa = unwind_kind(rule) == UNWIND_DEREF_RSP ? r->sp : r->bp;
		return read_word(s, cfa + (u64)unwind_deref_offset(rule), &cfa) &&
		       restore(s, r, cfa + unwind_deref_add(rule), fp);
	default:
		return by_frame_pointer(s, r, whole);
	}
}

u32 unwind_walk(const struct unwind_stack *s, u64 *ips, u32 max, bool *whole)
{
	struct regs r = { s->pc, s->sp, s->bp, false };
	u32 n = 0;

	*whole = false;
	while (n < max) {
		ips[n++] = r.pc;
		if (!step(s, &r, whole))
			break;
		if (!r.pc) {
			*whole = true;
			break;
		}
	}
	return n;
}
