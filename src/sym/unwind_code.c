/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The C library musl is built without call frame information, and so are _init, _fini and the few
 * functions that the compiler adds to every file; a program stopped there had a stack of one frame.
 * What a function does to the stack pointer is in its instructions: from one to the next we follow
 * how far the CFA is above it, and where the frame pointer was saved.
 *
 *      push a register     CFA = sp + 16
 *      sub 32 from sp      CFA = sp + 48
 *      jump, perhaps, to 1 ... so it is there, too
 *      add 32 to sp        CFA = sp + 16
 *      pop the register    CFA = sp + 8
 *      return
 *   1:                     CFA = sp + 48
 *
 * What a jump says is kept for its target, and calls and symbols say where functions begin. A block
 * after a jump or a return may be reached from further down only, so there are several passes from
 * low to high; what is reached from nowhere is taken for a function by the later ones, of which the
 * last writes the rows. Where the stack pointer becomes what nobody can tell (alloca, alignment)
 * the frame pointer counts if there is one, else there is no rule. A function that was entered with
 * something else on the stack is taken wrongly, as every debugger without symbols would.
 */
#include "sym/unwind_code.h"

#include <stdlib.h>

#include "arch/arch.h"

#define BYTES_MAX (1u << 20) /* of one file: what has more is made without on purpose (JIT, Go) */
#define PASSES    8
#define SURE      4  /* of these take nothing for a function that nobody says is one */
#define PARTS     4  /* sections */
#define PADDING   64 /* fewer bytes between two functions may only align the second */

struct state {
	struct insn_frame f;
	bool outermost;
	/* nobody says that a function begins where this one did; padding also looks so */
	bool guessed;
};

static const struct state lost = { .f.sp = INSN_LOST };

/* At a function's entry the CFA is where arguments in memory start. */
static struct state entered(bool guessed)
{
	return (struct state){ .f.sp = (s32)arch.c.stack_at, .guessed = guessed };
}

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

/* ---- rows ---- */

static u32 rule_of(const struct state *s)
{
	const struct insn_frame *f = &s->f;
	u32 kind = f->fp ? UNWIND_FP : UNWIND_SP;
	s32 off = f->fp ? f->fp : f->sp;

	if (s->outermost)
		return UNWIND_END;
	if (off == INSN_LOST || off % 8 || f->save / 8 > (s32)UNWIND_FP_MAX)
		return UNWIND_RICH;
	if (!arch.frames.return_below)
		return unwind_link_rule(f->fp, off / 8, f->save / 8, f->ra / 8);
	return kind | (u32)(f->save / 8) << UNWIND_FP_SHIFT | (u32)(off / 8) << UNWIND_OFFSET_SHIFT;
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
	if (target >= c->to - c->from || c->marks[target] || s->f.sp == INSN_LOST)
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
		*s = entered(false);
		c->table = lost;
	} else if (jumped && (!jumped->guessed || !flows || s->f.sp == INSN_LOST || s->guessed)) {
		*s = *jumped;
	} else if (!flows) {
		*s = c->table.f.sp != INSN_LOST ? c->table : entered(true);
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
	struct state s = entered(false);
	bool flows = false;
	u64 at = c->from;

	c->table = lost;
	for (u32 k = 0; k < c->insns.n; k++) {
		const u8 *p = c->p + (at - c->from);
		const struct read i = c->insns.v[k];

		arrive(c, at, flows, &s);
		add_row(c, at, insn_is_sigreturn(p, c->to - at) ? UNWIND_SIGNAL : rule_of(&s));
		flows = false;
		if (!i.length) {
			at++;
			continue;
		}
		if (i.flow == INSN_JUMP || i.flow == INSN_BRANCH)
			note_jump(c, i.target, &s);
		if (i.flow == INSN_CALL)
			note_start(c, c->from + i.target);
		if (i.flow == INSN_INDIRECT &&
		    s.f.sp != (s32)arch.c.stack_at) /* by a table: no call in last place */
			c->table = s;
		flows = i.flow != INSN_JUMP && i.flow != INSN_INDIRECT && !insn_ends(p, i.length);
		if (i.flow == INSN_CALL || i.flow == INSN_OTHER)
			s.outermost = false;
		insn_follow(&s.f, p, i.length);
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
		base_no_memory();
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

static void fill_gap(void *ctx, u64 from, u64 to)
{
	struct filling *w = ctx;

	w->c->section = w->vaddr;
	/* There are thousands of such gaps. */
	if (to - from < PADDING && insn_is_padding(w->p + (from - w->vaddr), to - from))
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
		base_no_memory();
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

/* A section with code. */
struct part {
	const u8 *p;
	u64 from, to;
};

/* Ascending, as rows are; linkers put them in any order. How many there are. */
static u32 find_parts(struct elf *f, struct part *parts)
{
	/* Linkers describe their tables where a call leaves something on the stack. */
	static const char *const names[] = { ".init", ".text", ".fini", ".plt" };
	const u32 n_names = ARRAY_SIZE(names) - (arch.frames.return_below != 0);
	u32 n = 0;

	_Static_assert(ARRAY_SIZE(names) == PARTS, "room for each");
	for (u32 i = 0; i < n_names; i++) {
		struct part next;
		size_t size;
		u32 at = n;

		if (!elf_section(f, names[i], &next.p, &size, &next.from))
			continue;
		next.to = next.from + size;
		for (; at && parts[at - 1].from > next.from; at--)
			parts[at] = parts[at - 1];
		parts[at] = next;
		n++;
	}
	return n;
}

void unwind_code_fill(struct elf *f, u64 base, struct insn_decoder **decoder,
                      struct ehframe_rows *rows)
{
	struct code c = { .base = base };
	struct filling w = { .c = &c };
	struct part parts[PARTS];
	u32 n = find_parts(f, parts);
	u64 bytes = 0;
	struct err e;

	for (u32 i = 0; i < n; i++)
		bytes += each_gap(rows, base, parts[i].from, parts[i].to, NULL, NULL);
	if (!bytes || bytes > BYTES_MAX)
		return;
	if (!*decoder)
		*decoder = insn_decoder_open(&e);
	if (!*decoder)
		return;
	c.decoder = *decoder;
	find_starts(&c, f);
	c.start = elf_entry(f);
	for (u32 i = 0; i < n; i++) {
		w.p = parts[i].p;
		w.vaddr = parts[i].from;
		each_gap(rows, base, parts[i].from, parts[i].to, fill_gap, &w);
	}
	merge(rows, c.rows.v, c.rows.n);
	arena_free(&c.arena);
}
