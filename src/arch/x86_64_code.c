/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * x86-64's code by its bytes: what is known of an instruction without decoding it.
 */
#include "arch/insn.h"

#if defined(__x86_64__)

#include <emmintrin.h>
#include <string.h>

static s32 word_at(const u8 *p)
{
	s32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- what the kernel does itself ------------------------------------------------------------ */

static const u8 long_nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

/* arch/x86/kernel/uprobes.c: push, 1-byte nop, direct jumps and calls; newer: the 5-byte nop. */
bool insn_is_cheap(const u8 *p, size_t n, bool nop5)
{
	if (n >= 1 && ((p[0] >= 0x50 && p[0] <= 0x57) || p[0] == 0x90))
		return true; /* push, nop */
	if (n >= 2 && p[0] == 0x41 && p[1] >= 0x50 && p[1] <= 0x57)
		return true; /* push of r8 to r15 */
	if (n >= 2 && (p[0] == 0xeb || (p[0] >= 0x70 && p[0] <= 0x7f)))
		return true; /* jumps near by */
	if (n >= 5 && (p[0] == 0xe8 || p[0] == 0xe9))
		return true;
	if (n >= 6 && p[0] == 0x0f && p[1] >= 0x80 && p[1] <= 0x8f)
		return true;
	return nop5 && n >= sizeof(long_nop) && memcmp(p, long_nop, sizeof(long_nop)) == 0;
}

/*
 * arch/x86/kernel/uprobes.c looks at the last byte of an opcode whatever comes before it. So vpxor
 * (c5 f9 ef) is `out`, which must not be probed, and nobody is told so where the file is mapped
 * later; vmovd (c5 f9 7e) is `jle`, which it carries out itself; vpsubsb (e8) is a call, which
 * leaves a word on the stack; what is a return is not sent back from where its copy was run; after
 * popf the program is left under single step. Push and pop are told by their length, too. A bit for
 * each byte.
 */
static const u16 mistaken[16] = { 0xc0c0, 0xc0c0, 0x8080, 0x8080, 0xffff, 0x0000, 0xf007, 0xffff,
	                          0x0004, 0x2401, 0x0000, 0x0000, 0xfc3c, 0x0070, 0xfff0, 0x8c12 };

bool insn_is_mistaken(const u8 *p, size_t n)
{
	size_t at;

	while (n && (*p == 0x64 || *p == 0x65 || *p == 0x67)) {
		p++;
		n--;
	}
	at = n && *p == 0xc5 ? 2 : n && *p == 0xc4 ? 3 : n && *p == 0x62 ? 4 : 0;
	return at && at < n && mistaken[p[at] >> 4] >> (p[at] & 15) & 1;
}

bool insn_has_nop5(const u8 *p, size_t n)
{
	return memmem(p, n, long_nop, sizeof(long_nop));
}

/* ---- what leads elsewhere ------------------------------------------------------------------- */

/* True when the bytes before p are the head of a jump, a call or a lea with four bytes of
 * distance. */
static bool is_head(const u8 *p, size_t before)
{
	if (before >= 1 && (p[-1] == 0xe8 || p[-1] == 0xe9))
		return true;
	if (before < 2)
		return false;
	return (p[-2] == 0x0f && (p[-1] & 0xf0) == 0x80) || (p[-2] == 0x8d && (p[-1] & 0xc7) == 5);
}

struct search {
	const u8 *p;
	u64 vaddr;
	const struct insn_set *set;
	insn_leads_fn *cb;
	void *ctx;
};

/* The four bytes at `at` as a distance from after them. */
static void follow(const struct search *s, size_t at)
{
	u64 target = s->vaddr + at + 4 + (u64)(s64)word_at(s->p + at), off = target - s->set->low;

	if (off < s->set->span && s->set->bits[off / 8] >> off % 8 & 1)
		s->cb(s->ctx, s->vaddr + at, target);
}

/* One of the 4 bytes at p, p + 1, ... p + 15 leads into the range; `after`: the low half of the
 * address after the first of them, less the range's. */
static bool leads_in(const u8 *p, u32 after, u32 span)
{
	const __m128i sign = _mm_set1_epi32(INT32_MIN);
	const __m128i limit = _mm_xor_si128(_mm_set1_epi32((s32)span), sign);
	__m128i from = _mm_add_epi32(_mm_set1_epi32((s32)after), _mm_setr_epi32(0, 4, 8, 12));
	__m128i found = _mm_setzero_si128();

	for (u32 k = 0; k < 4; k++) {
		__m128i d = _mm_loadu_si128((const __m128i *)(const void *)(p + k));
		__m128i off = _mm_add_epi32(d, from);

		off = _mm_xor_si128(off, sign); /* there is no unsigned compare */
		found = _mm_or_si128(found, _mm_cmplt_epi32(off, limit));
		from = _mm_add_epi32(from, _mm_set1_epi32(1));
	}
	return _mm_movemask_epi8(found) != 0;
}

void insn_leads(const u8 *p, size_t n, u64 vaddr, const struct insn_set *set, insn_leads_fn *cb,
                void *ctx)
{
	const struct search s = { p, vaddr, set, cb, ctx };
	size_t at = 0;

	for (; at + 19 <= n; at += 16) {
		if (!leads_in(p + at, (u32)(vaddr + at + 4 - set->low), set->span))
			continue;
		for (size_t k = at; k < at + 16; k++)
			if (is_head(p + k, k))
				follow(&s, k);
	}
	for (; at + 4 <= n; at++)
		if (is_head(p + at, at))
			follow(&s, at);
}

/* ---- linkage tables ------------------------------------------------------------------------- */

#define JUMP_BYTES 6u /* ff 25 and four bytes of distance */

const struct insn_plt insn_plts[] = {
	{ ".plt", 16 }, { ".plt.sec", 16 }, { ".plt.got", 8 }, { 0 }
};

/* Slots that begin with endbr64 are 16 bytes wide in every table. */
u32 insn_plt_slot(const struct insn_plt *t, const u8 *p, size_t n, u32 *head)
{
	*head = 0;
	return n >= 4 && memcmp(p, "\xf3\x0f\x1e\xfa", 4) == 0 ? 16 : t->slot;
}

/* "jmp *disp(%rip)", whatever stands before it. */
u64 insn_plt_word(const u8 *slot, u32 size, u64 vaddr)
{
	for (u32 i = 0; i + JUMP_BYTES <= size; i++)
		if (slot[i] == 0xff && slot[i + 1] == 0x25)
			return vaddr + i + JUMP_BYTES + (u64)(s64)word_at(slot + i + 2);
	return 0;
}

/* ---- what it does to the stack -------------------------------------------------------------- */

static void move_sp(struct insn_frame *f, s32 by)
{
	if (f->sp == INSN_LOST)
		return;
	f->sp += by;
	if (f->sp < 8 || f->sp > 1 << 20)
		f->sp = INSN_LOST;
}

/* One byte of opcode, perhaps after a prefix for r8 to r15. */
static bool push_or_pop(struct insn_frame *f, const u8 *p, u32 n)
{
	u32 at = n == 2 && (p[0] & 0xfe) == 0x40;
	u8 op = p[at];

	if (n != at + 1 || op < 0x50 || op > 0x5f)
		return (p[0] == 0x6a || p[0] == 0x68 || p[0] == 0x9c) && (move_sp(f, 8), true);
	if (op < 0x58) {
		move_sp(f, 8);
		if (op == 0x55 && !at && !f->save && f->sp != INSN_LOST)
			f->save = f->sp;
		return true;
	}
	move_sp(f, -8);
	if (op == 0x5d && !at)
		f->save = f->fp = 0;
	return true;
}

/* add, sub, lea and mov between stack and frame pointer; anything else that sets the stack
 * pointer. */
static bool calculates(struct insn_frame *f, const u8 *p, u32 n)
{
	if (n < 3 || (p[0] & 0xf8) != 0x48)
		return false;
	if (p[0] == 0x48 && (p[1] == 0x83 || p[1] == 0x81) && (p[2] == 0xec || p[2] == 0xc4)) {
		s32 by = p[1] == 0x83 ? (s8)p[3] : word_at(p + 3);

		move_sp(f, p[2] == 0xec ? by : -by);
	} else if (p[0] == 0x48 && p[1] == 0x8d && p[2] == 0x64 && p[3] == 0x24) {
		move_sp(f, -(s8)p[4]);
	} else if (p[0] == 0x48 && p[1] == 0x8d && p[2] == 0xa4 && p[3] == 0x24) {
		move_sp(f, -word_at(p + 4));
	} else if (p[0] == 0x48 &&
	           ((p[1] == 0x89 && p[2] == 0xe5) || (p[1] == 0x8b && p[2] == 0xec))) {
		f->fp = f->save && f->sp != INSN_LOST ? f->sp : 0;
	} else if (p[0] == 0x48 &&
	           ((p[1] == 0x89 && p[2] == 0xec) || (p[1] == 0x8b && p[2] == 0xe5))) {
		f->sp = f->fp ? f->fp : INSN_LOST;
	} else if (p[0] == 0x48 && p[1] == 0x8d && p[2] == 0x65) {
		f->sp = f->fp ? f->fp - (s8)p[3] : INSN_LOST;
	} else if ((p[1] == 0x83 || p[1] == 0x81) && p[2] == 0xe4) {
		f->sp = INSN_LOST; /* and $-16,%rsp */
	} else if ((p[0] & 1) == 0 && (p[1] == 0x29 || p[1] == 0x89 || p[1] == 0x01) &&
	           (p[2] & 0xc7) == 0xc4) {
		f->sp = INSN_LOST; /* sub, mov, add of a register */
	} else {
		return false;
	}
	return true;
}

void insn_follow(struct insn_frame *f, const u8 *p, u32 n)
{
	if (push_or_pop(f, p, n) || calculates(f, p, n))
		return;
	if (p[0] == 0xc9) { /* leave */
		f->sp = f->fp ? f->fp - 8 : INSN_LOST;
		f->save = f->fp = 0;
	} else if (p[0] == 0xff && (p[1] >> 3 & 7) == 6) {
		move_sp(f, 8);
	} else if (p[0] == 0x8f && (p[1] >> 3 & 7) == 0) {
		move_sp(f, -8);
	}
}

/* A halt does not: musl has it in assertions, and the compiler's code goes on after them. */
bool insn_ends(const u8 *p, u32 n)
{
	u32 at = n > 1 && (p[0] == 0xf3 || p[0] == 0xf2);

	return p[at] == 0xc3 || p[at] == 0xc2 || (p[0] == 0x0f && p[1] == 0x0b);
}

/* The C library's has call frame information. */
bool insn_is_sigreturn(const u8 *p, u64 n)
{
	(void)p;
	(void)n;
	return false;
}

bool insn_is_padding(const u8 *p, u64 n)
{
	return p[0] == 0x90 || p[0] == 0xcc || p[0] == 0x66 || p[0] == 0x2e || p[0] == 0 ||
	       (p[0] == 0x0f && n > 1 && p[1] == 0x1f);
}

#endif
