/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A cheaper place for a probe on a function.
 *
 * A breakpoint on an instruction that the kernel can carry out itself costs about a tenth of one
 * on an instruction that has to be single-stepped (arch/insn.h). free() of glibc starts
 *
 *      compare the argument with 0     expensive
 *      jump if it is 0                 cheap: every call comes by, and nothing has changed yet
 *      push a register                 cheap too, but free(NULL) does not come by
 *
 * so its probe goes on the jump. The one idea: walk from the entry over harmless instructions to
 * the first cheap one, then make sure that this stretch is entered at its top only. A probe there
 * is hit as often as one on the entry, with the same arguments, stack pointer and return address.
 *
 * Who could enter it further down?
 *   - the function itself: decoded from end to end; an indirect jump in it (the table of a
 *     switch) may go anywhere, so then the probe stays;
 *   - other code: all bytes of the file's code that could be a jump, a call or compute an address
 *     are taken for it (insn_leads). Short jumps reach INSN_NEAR bytes; what is that near is
 *     decoded. Either may see a jump where there is none, seldom, and then the probe only costs
 *     more;
 *   - a symbol: a function that starts there.
 */
#include "elf/site.h"

#include <stdlib.h>

#define BODY_MAX    (64u << 10) /* bytes of a function that are looked through */
#define STRETCH_MAX 128u        /* bytes from an entry to its site */
/* Bytes on either side of an entry that are decoded for short jumps: what one reaches, and for
 * chains to meet before, or for the site's own distance. */
#define AROUND (INSN_NEAR + STRETCH_MAX + 14u)

_Static_assert(SITE_STEPS *INSN_LONGEST < STRETCH_MAX, "every step lies in it");

static const char why_entered[] = "code elsewhere may jump into its start";

static void stay(struct site *s, const char *why)
{
	s->moved = 0;
	s->n_steps = 0;
	s->why = why;
}

bool site_code_at(struct elf *f, u64 vaddr, struct site_code *c)
{
	for (u32 i = 0; elf_code(f, i, &c->p, &c->n, &c->vaddr); i++)
		if (vaddr >= c->vaddr && vaddr - c->vaddr < c->n)
			return true;
	return false;
}

bool site_begins(const struct site_code *c, const struct insn_decoder *d, u64 from, u64 at)
{
	struct insn i;

	while (from < at) {
		u64 off = from - c->vaddr;

		if (!insn_read(d, c->p + off, c->n - off, from, &i))
			return true;
		from += i.length;
	}
	return from == at;
}

bool site_is_cheap(const struct site *s, const struct site_code *c, bool nop5)
{
	u64 at = s->entry - c->vaddr;

	return at < c->n && insn_is_cheap(c->p + at, c->n - at, nop5);
}

/* ---- the function itself -------------------------------------------------------------------- */

/* Walks to the first cheap instruction and notes the steps. */
static bool walk(struct site *s, const u8 *p, size_t n, const struct insn_decoder *d, bool nop5)
{
	size_t at = 0;

	while (at < n && !insn_is_cheap(p + at, n - at, nop5)) {
		struct insn i;

		if (s->n_steps == SITE_STEPS || !insn_read(d, p + at, n - at, 0, &i) ||
		    i.flow != INSN_NEXT || !insn_is_harmless(d, p + at, n - at))
			return false;
		at += i.length;
		s->steps[s->n_steps++] = (u8)at;
	}
	s->moved = (u32)at;
	return at < n;
}

/* True when the address is in the stretch, the entry aside. */
static bool is_step(const struct site *s, u64 addr)
{
	u64 off = addr - s->entry;

	for (u32 i = 0; i < s->n_steps; i++)
		if (s->steps[i] == off)
			return true;
	return false;
}

static const char *look_through(const struct site *s, const u8 *p, size_t n,
                                const struct insn_decoder *d)
{
	for (size_t at = 0; at < n;) {
		struct insn i;

		if (!insn_read(d, p + at, n - at, s->entry + at, &i))
			return "not all of it can be decoded";
		if (i.flow == INSN_INDIRECT)
			return "it has an indirect jump";
		if ((i.flow == INSN_JUMP || i.flow == INSN_BRANCH || i.flow == INSN_CALL) &&
		    is_step(s, i.target))
			return "it jumps back into its start";
		at += i.length;
	}
	return NULL;
}

/* The function's code, or NULL: the probe stays then. */
static const u8 *code_of(struct site *s, const struct site_code *c)
{
	u64 at = s->entry - c->vaddr;

	stay(s, NULL);
	if (at >= c->n || s->size > c->n - at)
		stay(s, "its code is not all in the file");
	else if (!s->size)
		stay(s, "its size is not known");
	else if (s->size > BODY_MAX)
		stay(s, "it is too long to be looked through");
	else
		return c->p + at;
	return NULL;
}

static void look(struct site *s, const u8 *p, const struct insn_decoder *d)
{
	const char *why = look_through(s, p, s->size, d);

	if (why)
		stay(s, why);
}

void site_propose(struct site *s, const struct site_code *c, const struct insn_decoder *d,
                  bool nop5)
{
	const u8 *p = code_of(s, c);

	if (!p)
		return;
	if (walk(s, p, s->size, d, nop5))
		look(s, p, d);
	else
		stay(s, "no cheaper instruction comes before something changes");
}

void site_cover(struct site *s, const struct site_code *c, const struct insn_decoder *d, u32 bytes)
{
	const u8 *p = code_of(s, c);
	struct insn i;

	if (!p)
		return;
	for (u32 at = 0; at < bytes; at = s->moved) {
		if (!insn_read(d, p + at, s->size - at, 0, &i) || s->n_steps == SITE_STEPS) {
			stay(s, "it is too short");
			return;
		}
		if (at)
			s->steps[s->n_steps++] = (u8)at;
		s->moved = at + i.length;
	}
	if (s->n_steps)
		look(s, p, d);
}

/* ---- what leads into it --------------------------------------------------------------------- */

static int by_entry(const void *a, const void *b)
{
	u64 x = ((const struct site *)a)->entry, y = ((const struct site *)b)->entry;

	return (x > y) - (x < y);
}

void sites_sort(struct site *v, u32 n)
{
	if (n)
		qsort(v, n, sizeof(*v), by_entry);
}

/* The first site whose entry is at `addr` or after. */
static u32 first_from(const struct site *v, u32 n, u64 addr)
{
	u32 low = 0, high = n;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (v[mid].entry < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* `by`: the address of what leads there; what is in the function itself is known better. */
static void strike_by(struct site *v, u32 n, u64 addr, u64 by, const char *why)
{
	for (u32 i = first_from(v, n, addr - MIN(addr, STRETCH_MAX)); i < n && v[i].entry < addr;
	     i++)
		if (is_step(&v[i], addr) && by - v[i].entry >= v[i].size)
			stay(&v[i], why);
}

void sites_strike(struct site *v, u32 n, u64 addr, const char *why)
{
	strike_by(v, n, addr, UINT64_MAX, why);
}

/*
 * Marks in `seen` where instructions may start in [from, to): decoded from each of the first
 * `tries` bytes on. Of INSN_LONGEST bytes in a row one starts an instruction, and chains that start
 * wrong soon fall in with the right one. What can not be decoded is passed over by a byte.
 */
static void mark_starts(const struct site_code *c, const struct insn_decoder *d, u64 from, u64 to,
                        u32 tries, bool *seen)
{
	for (u32 k = 0; k < tries; k++) {
		for (u64 at = from + k; at < to && !seen[at - from];) {
			struct insn i;
			u64 off = at - c->vaddr;

			seen[at - from] = true;
			at += insn_read(d, c->p + off, c->n - off, at, &i) ? i.length : 1;
		}
	}
}

/* Short jumps into the site from instructions in [from, to), which start nobody knows where (tries
 * INSN_LONGEST) or at `from` (tries 1). */
static void strike_short(struct site *s, const struct site_code *c, const struct insn_decoder *d,
                         u64 from, u64 to, u32 tries)
{
	bool seen[AROUND] = { false };

	from = MAX(from, c->vaddr);
	to = MIN(to, c->vaddr + c->n);
	if (from >= to || to - from > AROUND)
		return;
	mark_starts(c, d, from, to, tries, seen);
	for (u64 at = from; at < to && s->n_steps; at++) {
		u64 off = at - c->vaddr;
		struct insn i;

		if (seen[at - from] && insn_read(d, c->p + off, c->n - off, at, &i) &&
		    (i.flow == INSN_JUMP || i.flow == INSN_BRANCH) && is_step(s, i.target))
			stay(s, why_entered);
	}
}

static void strike_around(struct site *s, const struct site_code *c, const struct insn_decoder *d)
{
	u64 end = s->entry + s->size;

	strike_short(s, c, d, s->entry - MIN(s->entry, AROUND), s->entry, INSN_LONGEST);
	if (s->size < AROUND)
		strike_short(s, c, d, end, s->entry + AROUND, 1);
}

/* All steps of all sites. */
static bool steps_make(struct insn_set *t, const struct site *v, u32 n)
{
	u64 low = UINT64_MAX, high = 0;

	for (u32 i = 0; i < n; i++) {
		if (!v[i].n_steps)
			continue;
		low = MIN(low, v[i].entry);
		high = MAX(high, v[i].entry + STRETCH_MAX);
	}
	if (low >= high || high - low >= INT32_MAX)
		return false;
	t->low = low;
	t->span = (u32)(high - low);
	t->bits = calloc(t->span / 8 + 1, 1);
	if (!t->bits)
		base_no_memory();
	for (u32 i = 0; i < n; i++) {
		for (u32 k = 0; k < v[i].n_steps && v[i].entry - low < t->span; k++) {
			u64 bit = v[i].entry - low + v[i].steps[k];

			t->bits[bit / 8] |= (u8)(1u << bit % 8);
		}
	}
	return true;
}

struct sites {
	struct site *v;
	u32 n;
};

static void strike_led(void *ctx, u64 by, u64 target)
{
	const struct sites *s = ctx;

	strike_by(s->v, s->n, target, by, why_entered);
}

void sites_strike_code(struct site *v, u32 n, const struct site_code *c,
                       const struct insn_decoder *d)
{
	struct sites all = { v, n };
	struct insn_set steps;

	for (u32 i = 0; i < n; i++)
		if (v[i].n_steps)
			strike_around(&v[i], c, d);
	if (!steps_make(&steps, v, n))
		return;
	insn_leads(c->p, c->n, c->vaddr, &steps, strike_led, &all);
	free(steps.bits);
}
