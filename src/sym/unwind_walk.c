/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From frame to frame by rows, in a copy of the stack. Everything read is bounds-checked against
 * the copy; callers lie above, which ends loops. No process is touched.
 */
#include "sym/unwind_walk.h"

#include <string.h>

#include "arch/arch.h"

struct regs {
	u64 pc, sp, fp, link;
	bool back;  /* pc is a return address: the call is before it */
	bool bound; /* sp is not below that, but where is not known */
};

static bool read_word(const struct unwind_stack *s, u64 address, u64 *out)
{
	u64 at = address - s->start;

	if (address < s->start || s->n < 8 || at > s->n - 8)
		return false;
	memcpy(out, s->bytes + at, 8);
	return true;
}

/* The frame pointer, unless it is the same, from below the CFA; then what its caller has. */
static bool restore_fp(const struct unwind_stack *s, struct regs *r, u64 cfa, u32 fp)
{
	u64 saved = r->fp;

	if (fp == UNWIND_FP_AT_FP) {
		if (!read_word(s, r->fp, &saved))
			return false;
	} else if (fp != UNWIND_FP_SAME && !read_word(s, cfa - 8 * (u64)fp, &saved)) {
		return false;
	}
	r->fp = saved;
	r->sp = cfa;
	r->bound = false;
	r->back = true;
	r->pc &= arch_return_mask();
	return true;
}

/* The return address lies `below` the CFA; callers are above, which ends loops. */
static bool restore(const struct unwind_stack *s, struct regs *r, u64 cfa, u32 fp, u64 below)
{
	return cfa > r->sp && read_word(s, cfa - below, &r->pc) && restore_fp(s, r, cfa, fp);
}

/* It may still be in its register, in the innermost frame, which may have no memory; a program
 * starts with 0 in it. */
static bool restore_link(const struct unwind_stack *s, struct regs *r, u64 cfa, u32 rule)
{
	if (unwind_link(rule) != UNWIND_LINK_SAME)
		return restore(s, r, cfa, unwind_fp(rule), 8 * (u64)unwind_link(rule));
	if (r->back || cfa < r->sp)
		return false;
	r->pc = r->link;
	return restore_fp(s, r, cfa, unwind_fp(rule));
}

static bool signal_frame(const struct unwind_stack *s, struct regs *r)
{
	u64 frame = r->sp;

	r->back = false;
	if (!arch.frames.return_below &&
	    !read_word(s, frame + (u64)arch.frames.signal_link, &r->link))
		return false;
	return read_word(s, frame + (u64)arch.frames.signal_fp, &r->fp) &&
	       read_word(s, frame + (u64)arch.frames.signal_sp, &r->sp) &&
	       read_word(s, frame + (u64)arch.frames.signal_sp + 8, &r->pc);
}

/* The caller's lies where it points to, below the return address; what else is in the frame may be
 * above these. */
static bool by_frame_pointer(const struct unwind_stack *s, struct regs *r, bool *whole)
{
	*whole = r->fp == 0;
	if (r->fp < r->sp || r->fp % 8 || !restore(s, r, r->fp + UNWIND_PAIR, UNWIND_PAIR / 8, 8))
		return false;
	r->bound = !arch.frames.return_below;
	return true;
}

/* A frame pointer alone has led here: the CFA is by where the row has that saved. */
static bool by_record(const struct unwind_stack *s, struct regs *r, u32 rule, bool *whole)
{
	u32 fp = unwind_fp(rule);

	if (unwind_kind(rule) != UNWIND_LINK_SP || fp == UNWIND_FP_SAME)
		return by_frame_pointer(s, r, whole);
	return restore_link(s, r, r->fp + 8 * (u64)fp, rule);
}

/* To the caller. False at the end, *whole when that is the outermost frame. */
static bool step(const struct unwind_stack *s, struct regs *r, bool *whole)
{
	u64 cfa, below = arch.frames.return_below;
	u32 rule = UNWIND_GAP, fp;

	if (!s->rule(s->ctx, r->pc - r->back, &rule))
		return by_frame_pointer(s, r, whole);
	fp = unwind_fp(rule);
	if (r->bound && unwind_kind(rule) != UNWIND_END && unwind_kind(rule) != UNWIND_LINK_FP)
		return by_record(s, r, rule, whole);
	switch (unwind_kind(rule)) {
	case UNWIND_END:
		*whole = true;
		return false;
	case UNWIND_SP:
		return restore(s, r, r->sp + (u64)unwind_offset(rule), fp, below);
	case UNWIND_FP:
		return restore(s, r, r->fp + (u64)unwind_offset(rule), fp, below);
	case UNWIND_LINK_SP:
		return restore_link(s, r, r->sp + (u64)unwind_link_offset(rule), rule);
	case UNWIND_LINK_FP:
		return restore_link(s, r, r->fp + (u64)unwind_link_offset(rule), rule);
	case UNWIND_PLT:
		cfa = r->sp + arch.c.stack_at;
		cfa += r->pc % arch.frames.plt_slot >= rule >> UNWIND_OFFSET_SHIFT ? 8 : 0;
		return restore(s, r, cfa, UNWIND_FP_SAME, below);
	case UNWIND_SIGNAL:
		return signal_frame(s, r);
	case UNWIND_DEREF_SP:
	case UNWIND_DEREF_FP:
		cfa = unwind_kind(rule) == UNWIND_DEREF_SP ? r->sp : r->fp;
		return read_word(s, cfa + (u64)unwind_deref_offset(rule), &cfa) &&
		       restore(s, r, cfa + unwind_deref_add(rule), fp, below);
	default:
		return by_frame_pointer(s, r, whole);
	}
}

u32 unwind_walk(const struct unwind_stack *s, u64 *ips, u32 max, bool *whole)
{
	struct regs r = { .pc = s->pc, .sp = s->sp, .fp = s->fp, .link = s->link };
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
