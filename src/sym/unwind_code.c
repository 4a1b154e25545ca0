/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The C library musl is built without call frame information, and so are _init, _fini and the few
 * functions that the compiler adds to every file; a program stopped there had a stack of one frame.
 * What a function does to the stack pointer is in its instructions: from one to the next we follow
 * how far the CFA is above it, and where the frame pointer was saved.
 *
 *      push %rbx           CFA = rsp + 16
 *      sub  $32,%rsp       CFA = rsp + 48
 *      je   1f             ... so it is at 1, too
 *      add  $32,%rsp       CFA = rsp + 16
 *      pop  %rbx           CFA = rsp + 8
 *      ret
 *   1:                     CFA = rsp + 48
 *
 * What a jump says is kept for its target, and calls and symbols say where functions begin. A block
 * after a jump or a return may be reached from further down only, so there are several passes from
 * low to high; what is reached from nowhere is taken for a function by the later ones, of which the
 * last writes the rows. Where the stack pointer becomes what nobody can tell (alloca, alignment)
 * the frame pointer counts if there is one, else there is no rule. A function that was entered with
 * something else on the stack is told wrong, as every debugger without symbols would.
 */
#include "sym/unwind_code.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (1u << 20) /* of one file: what has more is made without on purpose (JIT, Go) */
#define PASSES    8
#define SURE      4 /* of these take nothing for a function that nobody says is one */
#define UNKNOWN   (-1)

struct state {
	s32 sp;   /* bytes from the stack pointer up to the CFA, UNKNOWN */
	s32 bp;   /* ... from the frame pointer, where it is one, else 0 */
	s32 save; /* bytes from the CFA down to where the frame pointer was saved, 0: it was not */
	bool outermost;
	/* nobody says that a function begins where this one did; padding also looks so */
	bool guessed;
};

static const struct state entered = { .sp = 8 }, guess = { .sp = 8, .guessed = true },
			  lost = { .sp = UNKNOWN };

/* An instruction, read once for all passes: decoding takes far longer than following it. */
struct read {
	u32 target; /* from the gap's start on, its end: it is elsewhere */
	u8 length;  /* 0: no instruction, a byte that is passed over */
	u8 flow;    /* enum insn_flow */
};

struct code {
	const struct insn_decoder *decoder;
	const u8 *p;
	u64 from, to;       /* addresses of the gap */
	u64 start;          /* of the program, 0 none */
	u64 section;        /* where its section begins */
	u32 pass;           /* from 1 on */
	struct state table; /* at the last jump by a table of this function */
	/* for each byte: 0, 1 a function's start, 2 + i: it is jumped to with states[i] */
	u32 *marks;
	struct arena arena;
	VEC(u64) starts; /* of functions with a name, sorted */
	VEC(struct state) states;
	VEC(struct read) insns; /* of the gap */
	VEC(struct unwind_row) rows;
	u64 base;
};

/* ---- what an instruction does ---- */

static s32 word_at(const u8 *p)
{
	s32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void move_sp(struct state *s, s32 by)
{
	if (s->sp == UNKNOWN)
		return;
	s->sp += by;
	if (s->sp < 8 || s->sp > 1 << 20)
		s->sp = UNKNOWN;
}

/* One byte of opcode, perhaps after a prefix for r8 to r15. */
static bool push_or_pop(struct state *s, const u8 *p, u32 n)
{
	u32 at = n == 2 && (p[0] & 0xfe) == 0x40;
	u8 op = p[at];

	if (n != at + 1 || op < 0x50 || op > 0x5f)
		return (p[0] == 0x6a || p[0] == 0x68 || p[0] == 0x9c) && (move_sp(s, 8), true);
	if (op < 0x58) {
		move_sp(s, 8);
		if (op == 0x55 && !at && !s->save && s->sp != UNKNOWN)
			s->save = s->sp;
		return true;
	}
	move_sp(s, -8);
	if (op == 0x5d && !at)
		s->save = s->bp = 0;
	return true;
}

/* add, sub, lea and mov between stack and frame pointer; anything else that sets the stack
 * pointer. */
static bool calculates(struct state *s, const u8 *p, u32 n)
{
	if (n < 3 || (p[0] & 0xf8) != 0x48)
		return false;
	if (p[0] == 0x48 && (p[1] == 0x83 || p[1] == 0x81) && (p[2] == 0xec || p[2] == 0xc4)) {
		s32 by = p[1] == 0x83 ? (s8)p[3] : word_at(p + 3);

		move_sp(s, p[2] == 0xec ? by : -by);
	} else if (p[0] == 0x48 && p[1] == 0x8d && p[2] == 0x64 && p[3] == 0x24) {
		move_sp(s, -(s8)p[4]);
	} else if (p[0] == 0x48 && p[1] == 0x8d && p[2] == 0xa4 && p[3] == 0x24) {
		move_sp(s, -word_at(p + 4));
	} else if (p[0] == 0x48 &&
	           ((p[1] == 0x89 && p[2] == 0xe5) || (p[1] == 0x8b && p[2] == 0xec))) {
		s->bp = s->save && s->sp != UNKNOWN ? s->sp : 0;
	} else if (p[0] == 0x48 &&
	           ((p[1] == 0x89 && p[2] == 0xec) || (p[1] == 0x8b && p[2] == 0xe5))) {
		s->sp = s->bp ? s->bp : UNKNOWN;
	} else if (p[0] == 0x48 && p[1] == 0x8d && p[2] == 0x65) {
		s->sp = s->bp ? s->bp - (s8)p[3] : UNKNOWN;
	} else if ((p[1] == 0x83 || p[1] == 0x81) && p[2] == 0xe4) {
		s->sp = UNKNOWN; /* and $-16,%rsp */
	} else if ((p[0] & 1) == 0 && (p[1] == 0x29 || p[1] == 0x89 || p[1] == 0x01) &&
	           (p[2] & 0xc7) == 0xc4) {
		s->sp = UNKNOWN; /* sub, mov, add of a register */
	} else {
		return false;
	}
	return true;
}

static void step(struct state *s, const u8 *p, u32 n)
{
	if (push_or_pop(s, p, n) || calculates(s, p, n))
		return;
	if (p[0] == 0xc9) { /* leave */
		s->sp = s->bp ? s->bp - 8 : UNKNOWN;
		s->save = s->bp = 0;
	} else if (p[0] == 0xff && (p[1] >> 3 & 7) == 6) {
		move_sp(s, 8);
	} else if (p[0] == 0x8f && (p[1] >> 3 & 7) == 0) {
		move_sp(s, -8);
	}
}

/* Return, undefined instruction. A halt does not: musl has it in assertions, and the
 * compiler's code goes on after them. */
static bool ends(const u8 *p, u32 n)
{
	u32 at = n > 1 && (p[0] == 0xf3 || p[0] == 0xf2);

	return p[at] == 0xc3 || p[at] == 0xc2 || (p[0] == 0x0f && p[1] == 0x0b);
}

/* ---- rows ---- */

static u32 rule_of(const struct state *s)
{
	u32 kind = s->bp ? UNWIND_FP : UNWIND_SP;
	s32 off = s->bp ? s->bp : s->sp;

	if (s->outermost)
		return UNWIND_END;
	if (off == UNKNOWN || off % 8 || s->save / 8 > (s32)UNWIND_FP_MAX)
		return UNWIND_RICH;
	return kind | (u32)(s->save / 8) << UNWIND_FP_SHIFT | (u32)(off / 8) << UNWIND_OFFSET_SHIFT;
}

static void add_row(struct code *c, u64 at, u32 rule)
{
	u32 pc = (u32)(at - c->base);

	if (c->pass < PASSES)
		return;
	if (c->rows.n && c->rows.v[c->rows.n - 1].rule == rule)
		return;
	vec_add(&c->arena, &c->rows, ((struct unwind_row){ pc, rule }));
}

/* The state at the target of a jump, unless one is known. */
static void note_jump(struct code *c, u32 target, const struct state *s)
{
	if (target >= c->to - c->from || c->marks[target] || s->sp == UNKNOWN)
		return;
	vec_add(&c->arena, &c->states, *s);
	c->marks[target] = 1 + c->states.n;
}

static void note_start(struct code *c, u64 at)
{
	if (at >= c->from && at < c->to)
		c->marks[at - c->from] = 1;
}

/* The state at `at`, in *s that after the instruction before, which goes on to it or (flows =
 * false) does not. A call may not return, so what a jump says counts more. */
static void arrive(struct code *c, u64 at, bool flows, struct state *s)
{
	u32 mark = c->marks[at - c->from];
	const struct state *jumped = mark > 1 ? &c->states.v[mark - 2] : NULL;

	if (mark == 1) {
		*s = entered;
		c->table = lost;
	} else if (jumped && (!jumped->guessed || !flows || s->sp == UNKNOWN || s->guessed)) {
		*s = *jumped;
	} else if (!flows) {
		*s = c->table.sp != UNKNOWN ? c->table : guess;
		s->guessed = true;
		if (c->pass <= SURE)
			*s = lost;
	}
	s->outermost |= at == c->start && at;
}

static void read_insns(struct code *c)
{
	u64 size = c->to - c->from;
	struct insn i;

	c->insns.n = 0;
	for (u64 at = 0; at < size;) {
		bool ok = insn_read(c->decoder, c->p + at, size - at, c->from + at, &i);
		struct read r = { .target = (u32)size };

		if (ok) {
			r.length = i.length;
			r.flow = (u8)i.flow;
			r.target = (u32)MIN(i.target - c->from, size);
		}
		vec_add(&c->arena, &c->insns, r);
		at += ok ? i.length : 1;
	}
}

static void sweep(struct code *c)
{
	struct state s = entered;
	bool flows = false;
	u64 at = c->from;

	c->table = lost;
	for (u32 k = 0; k < c->insns.n; k++) {
		const u8 *p = c->p + (at - c->from);
		const struct read i = c->insns.v[k];

		arrive(c, at, flows, &s);
		add_row(c, at, rule_of(&s));
		flows = false;
		if (!i.length) {
			at++;
			continue;
		}
		if (i.flow == INSN_JUMP || i.flow == INSN_BRANCH)
			note_jump(c, i.target, &s);
		if (i.flow == INSN_CALL)
			note_start(c, c->from + i.target);
		if (i.flow == INSN_INDIRECT && s.sp != 8) /* by a table: no call in last place */
			c->table = s;
		flows = i.flow != INSN_JUMP && i.flow != INSN_INDIRECT && !ends(p, i.length);
		if (i.flow == INSN_CALL || i.flow == INSN_OTHER)
			s.outermost = false;
		step(&s, p, i.length);
		at += i.length;
	}
}

/* ---- gaps ---- */

static bool add_start(void *ctx, const struct elf_sym *sym)
{
	struct code *c = ctx;

	if (sym->is_func)
		vec_add(&c->arena, &c->starts, sym->value);
	return true;
}

static int by_address(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void find_starts(struct code *c, struct elf *f)
{
	elf_each(f, add_start, c);
	if (c->starts.n)
		qsort(c->starts.v, c->starts.n, sizeof(u64), by_address);
}

static void mark_starts(struct code *c)
{
	u32 low = 0, high = c->starts.n;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (c->starts.v[middle] < c->from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < c->starts.n && c->starts.v[low] < c->to; low++)
		note_start(c, c->starts.v[low]);
}

/* Rows of the bytes at p, addresses [from, to). */
static void gap(struct code *c, const u8 *p, u64 from, u64 to)
{
	c->p = p;
	c->from = from;
	c->to = to;
	c->states.n = 0;
	c->marks = calloc(to - from, sizeof(*c->marks));
	if (!c->marks)
		abort(); /* out of memory, see base/arena.h */
	mark_starts(c);
	note_start(c, c->section);
	read_insns(c);
	for (c->pass = 1; c->pass <= PASSES; c->pass++)
		sweep(c);
	free(c->marks);
}

/* The parts of [from, to) that `rows` leave as gaps, to cb; how many bytes they are. */
static u64 each_gap(const struct ehframe_rows *rows, u64 base, u64 from, u64 to,
                    void (*cb)(void *ctx, u64 from, u64 to), void *ctx)
{
	u64 bytes = 0;

	for (u32 i = 0; i < rows->n; i++) {
		u64 start = MAX(base + rows->v[i].pc, from),
		    end = i + 1 < rows->n ? MIN(base + rows->v[i + 1].pc, to) : to;

		if (unwind_kind(rows->v[i].rule) != UNWIND_GAP || start >= end)
			continue;
		bytes += end - start;
		if (cb)
			cb(ctx, start, end);
	}
	return bytes;
}

struct filling {
	struct code *c;
	const u8 *p;
	u64 vaddr;
};

/* What lies between two functions so that the second is aligned: there are thousands of such
 * gaps. */
static bool is_padding(const u8 *p, u64 n)
{
	return n < 64 && (p[0] == 0x90 || p[0] == 0xcc || p[0] == 0x66 || p[0] == 0x2e ||
	                  p[0] == 0 || (p[0] == 0x0f && n > 1 && p[1] == 0x1f));
}

static void fill_gap(void *ctx, u64 from, u64 to)
{
	struct filling *w = ctx;

	w->c->section = w->vaddr;
	if (is_padding(w->p + (from - w->vaddr), to - from))
		return;
	gap(w->c, w->p + (from - w->vaddr), from, to);
	vec_add(&w->c->arena, &w->c->rows,
	        ((struct unwind_row){ (u32)(to - w->c->base), UNWIND_GAP }));
}

/* Both are ascending; a new row counts where the old ones have a gap. */
static void merge(struct ehframe_rows *rows, const struct unwind_row *v, u32 n)
{
	struct unwind_row *all = malloc((rows->n + (size_t)n) * sizeof(*all));
	u32 kept = 0, i = 0, k = 0;

	if (!all)
		abort(); /* out of memory, see base/arena.h */
	while (i < rows->n || k < n) {
		bool old = k == n || (i < rows->n && rows->v[i].pc < v[k].pc);
		struct unwind_row next = old ? rows->v[i++] : v[k++];

		if (!old && i < rows->n && rows->v[i].pc == next.pc) {
			/* A gap's end is where the next function begins. */
			if (unwind_kind(rows->v[i].rule) != UNWIND_GAP)
				next = rows->v[i];
			i++;
		}
		if (!kept || all[kept - 1].rule != next.rule)
			all[kept++] = next;
	}
	free(rows->v);
	rows->v = all;
	rows->n = kept;
}

void unwind_code_fill(struct elf *f, u64 base, struct insn_decoder **decoder,
                      struct ehframe_rows *rows)
{
	static const char *const names[] = { ".init", ".text", ".fini" };
	struct code c = { .base = base };
	struct filling w = { .c = &c };
	struct err e;
	size_t n;
	u64 bytes = 0;

	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (elf_section(f, names[i], &w.p, &n, &w.vaddr))
			bytes += each_gap(rows, base, w.vaddr, w.vaddr + n, NULL, NULL);
	if (!bytes || bytes > BYTES_MAX)
		return;
	if (!*decoder)
		*decoder = insn_decoder_open(&e);
	if (!*decoder)
		return;
	c.decoder = *decoder;
	find_starts(&c, f);
	c.start = elf_entry(f);
	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (elf_section(f, names[i], &w.p, &n, &w.vaddr))
			each_gap(rows, base, w.vaddr, w.vaddr + n, fill_gap, &w);
	merge(rows, c.rows.v, c.rows.n);
	arena_free(&c.arena);
}
