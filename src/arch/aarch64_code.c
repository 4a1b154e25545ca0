/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * arm64's code without a decoder: what the kernel carries out, what leads where, tables of linkage,
 * what is done to the stack.
 */
#include "arch/aarch64_code.h"

#if defined(__aarch64__)

#define X29   29u
#define X30   30u
#define SP    31u
#define PAGES (~(u64)4095)

/* ---- what the kernel does itself ------------------------------------------------------------ */

/*
 * arch/arm64/kernel/probes/: branches, addresses and loads from beside the code. Everything else is
 * single-stepped, but for what can not be probed at all, exclusive loads and stores among it: the
 * kernel refuses those.
 */
bool insn_is_cheap(const u8 *p, size_t n, bool nop5)
{
	u32 w;

	(void)nop5;
	if (n < CODE_BYTES)
		return false;
	w = code_word(p);
	return code_is(w, CODE_B) || code_is(w, CODE_BL) || code_is(w, CODE_BCOND) ||
	       code_is(w, CODE_CBZ) || code_is(w, CODE_TBZ) || code_is(w, CODE_ADR) ||
	       code_is(w, CODE_ADRP) || (w & ~0x3e0u) == 0xd61f0000 ||           /* br */
	       (w & ~0x3e0u) == 0xd63f0000 || (w & ~0x3e0u) == 0xd65f0000 ||     /* blr, ret */
	       (w & 0xbf000000) == 0x18000000 || (w & 0xff000000) == 0x98000000; /* ldr, ldrsw */
}

bool insn_is_mistaken(const u8 *p, size_t n)
{
	(void)p;
	(void)n;
	return false;
}

bool insn_has_nop5(const u8 *p, size_t n)
{
	(void)p;
	(void)n;
	return false;
}

/* ---- what leads elsewhere ------------------------------------------------------------------- */

static bool is_in(const struct insn_set *set, u64 target)
{
	u64 off = target - set->low;

	return off < set->span && set->bits[off / 8] >> off % 8 & 1;
}

/* An address is computed from its page, in a register, and the rest, by an add. */
void insn_leads(const u8 *p, size_t n, u64 vaddr, const struct insn_set *set, insn_leads_fn *cb,
                void *ctx)
{
	u64 pages[32] = { 0 };

	for (size_t at = 0; at + CODE_BYTES <= n; at += CODE_BYTES) {
		u32 w = code_word(p + at);
		u64 pc = vaddr + at, target = pc;

		if (code_is(w, CODE_ADRP))
			pages[w & 31] = (pc & PAGES) + (u64)code_page(w) * 4096;
		else if (code_is(w, CODE_ADR))
			target = pc + (u64)code_page(w);
		else if (code_is(w, CODE_ADD) && pages[w >> 5 & 31])
			target = pages[w >> 5 & 31] + (u64)code_constant(w);
		else
			target = pc + (u64)code_distance(w);
		if (target != pc && is_in(set, target))
			cb(ctx, pc, target);
	}
}

/* ---- linkage tables ------------------------------------------------------------------------- */

#define PLT_HEAD  32u         /* the first slot, which the others jump to */
#define PLT_PUSH  0xa9bf7bf0u /* stp x16, x30, [sp, -16]! */
#define PLT_JUMP  0xd61f0220u /* br x17 */
#define PLT_SMALL 16u
#define PLT_WIDE  24u /* with bti or a check of the address */

const struct insn_plt insn_plts[] = { { ".plt", PLT_SMALL }, { 0 } };

u32 insn_plt_slot(const struct insn_plt *t, const u8 *p, size_t n, u32 *head)
{
	*head = 0;
	for (u32 at = 0; at <= CODE_BYTES && at + CODE_BYTES <= n; at += CODE_BYTES)
		if (code_word(p + at) == PLT_PUSH)
			*head = PLT_HEAD;
	for (u32 at = *head; at + CODE_BYTES <= n && at < *head + PLT_WIDE; at += CODE_BYTES)
		if (code_word(p + at) == PLT_JUMP) /* at the end of the slot, or before a nop */
			return at - *head < t->slot ? t->slot : PLT_WIDE;
	return t->slot;
}

/* "adrp x16, page; ldr x17, [x16, offset]" */
u64 insn_plt_word(const u8 *slot, u32 size, u64 vaddr)
{
	for (u32 i = 0; i + 2 * CODE_BYTES <= size; i += CODE_BYTES) {
		u32 page = code_word(slot + i), load = code_word(slot + i + CODE_BYTES);

		if (code_is(page, CODE_ADRP) && (page & 31) == 16 &&
		    (load & 0xffc003ff) == 0xf9400211)
			return ((vaddr + i) & PAGES) + (u64)code_page(page) * 4096 +
			       (load >> 10 & 0xfff) * 8;
	}
	return 0;
}

/* ---- what it does to the stack -------------------------------------------------------------- */

static void move_sp(struct insn_frame *f, s32 by)
{
	if (f->sp == INSN_LOST)
		return;
	f->sp += by;
	if (f->sp < 0 || f->sp > 1 << 20)
		f->sp = INSN_LOST;
}

/* A register is stored `above` bytes above the stack pointer, or loaded from there. */
static void moved(struct insn_frame *f, u32 reg, s32 above, bool is_load)
{
	s32 *saved = reg == X29 ? &f->save : reg == X30 ? &f->ra : NULL;

	if (!saved || f->sp == INSN_LOST)
		return;
	if (is_load)
		*saved = 0;
	else if (!*saved && f->sp > above)
		*saved = f->sp - above;
	if (is_load && reg == X29)
		f->fp = 0;
}

/* A load or a store by the stack pointer, which may move it: `form` 1 after it, 3 before it. */
static void by_stack(struct insn_frame *f, u32 form, s32 off, u32 first, u32 second, s32 size,
                     bool is_load)
{
	s32 above = form == 1 ? 0 : off;

	if (form == 3) {
		move_sp(f, -off);
		above = 0;
	}
	moved(f, first, above, is_load);
	moved(f, second, above + size, is_load);
	if (form == 1)
		move_sp(f, -off);
}

#define NO_REG 99u

/* ldp, stp, ldr and str, of SIMD registers, too. */
static bool moves(struct insn_frame *f, u32 w)
{
	bool simd = w >> 26 & 1, is_load = w >> 22 & 1;
	u32 first = simd ? NO_REG : w & 31, second = simd ? NO_REG : w >> 10 & 31;
	s32 size;

	if ((w >> 5 & 31) != SP)
		return false;
	if ((w & 0x3a000000) == 0x28000000) { /* pairs */
		size = simd ? 4 << (w >> 30) : w >> 31 ? 8 : 4;
		by_stack(f, w >> 23 & 3, (s32)code_signed(w, 15, 7) * size, first, second, size,
		         is_load);
		return true;
	}
	if ((w & 0x3b200000) == 0x38000000) { /* one, by a signed number of bytes */
		by_stack(f, w >> 10 & 3, (s32)code_signed(w, 12, 9), first, NO_REG, 0, w >> 22 & 3);
		return true;
	}
	if ((w & 0xff800000) == 0xf9000000) { /* one of 8 bytes, above */
		by_stack(f, 2, (s32)(w >> 10 & 0xfff) * 8, first, NO_REG, 0, is_load);
		return true;
	}
	return false;
}

/* add and sub of constants, of the stack and the frame pointer. */
static bool calculates(struct insn_frame *f, u32 w)
{
	u32 to = w & 31, from = w >> 5 & 31;
	s32 by = code_constant(w);

	if (code_is(w, CODE_ADD))
		by = -by;
	else if (!code_is(w, CODE_SUB))
		return false;
	if (to == SP && from == SP)
		move_sp(f, by);
	else if (to == SP)
		f->sp = from == X29 && f->fp ? f->fp + by : INSN_LOST;
	else if (to == X29 && from == SP)
		f->fp = f->save && f->sp != INSN_LOST ? f->sp + by : 0;
	else if (to == X29)
		f->fp = 0;
	return true;
}

void insn_follow(struct insn_frame *f, const u8 *p, u32 n)
{
	u32 w;

	if (n < CODE_BYTES)
		return;
	w = code_word(p);
	if (moves(f, w) || calculates(f, w))
		return;
	/* add, sub of registers and the logical operations of constants: alloca, alignment. */
	if ((w & 31) == SP && ((w & 0x3fe00000) == 0x0b200000 || (w & 0x1f800000) == 0x12000000) &&
	    (w >> 29 & 3) != 3)
		f->sp = INSN_LOST;
}

bool insn_ends(const u8 *p, u32 n)
{
	u32 w = n < CODE_BYTES ? 0 : code_word(p);

	return code_is(w, CODE_RET) || code_is(w, CODE_BRK) || w >> 16 == 0;
}

/* All of it: where signals return to begins with a "nop", too. */
bool insn_is_padding(const u8 *p, u64 n)
{
	for (; n >= CODE_BYTES; p += CODE_BYTES, n -= CODE_BYTES)
		if (code_word(p) != CODE_NOP && code_word(p) != 0)
			return false;
	return true;
}

#define SIGRETURN 0xd2801168u /* mov x8, 139 */

/* The kernel has "nop; mov x8, 139; svc 0", and returns to the second; the first is there for those
 * who look up the place before an address that is returned to. */
bool insn_is_sigreturn(const u8 *p, u64 n)
{
	u64 at = n >= CODE_BYTES && code_word(p) == CODE_NOP ? CODE_BYTES : 0;

	return n >= at + 2 * CODE_BYTES && code_word(p + at) == SIGRETURN &&
	       code_is(code_word(p + at + CODE_BYTES), CODE_SVC);
}

#endif
