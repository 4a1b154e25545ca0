/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Walking over many BTF records at once.
 *
 * A record's length is in the record, so a plain walk is one chain of loads that each wait for the
 * one before: some 7 ns a type, most of it idle. The one idea: guess where types start at eight
 * places of a block, walk from all of them in turn, and believe nothing until it is proven.
 *
 *      block  |--------|--------|--------|-- ... ---|
 *      lane   0======> 1======> 2======> 3
 *              proven  `- a guess: proven when lane 0 ends exactly there
 *
 * Lane 0 starts where the block before ended, so it is right. A lane that ends exactly where the
 * next one began proves that one right too. Where it does not, the guess was wrong (a place inside
 * a long enum, say), and that one lane is walked again from where the last one ended.
 *
 * All lanes take a step in each round, so one counter numbers the types of all of them.
 */
#include "btf/btf_impl.h"

#define GUESS_STEPS 8u   /* sane records in a row that make a guess */
#define GUESS_TRIES 256u /* places tried from a lane's border on */
#define LANE_MIN    512u /* bytes */

/* What a record's first words must look like to be taken for one. */
static bool sane(const struct btf_block *k, u32 off, u64 *next)
{
	const struct btf *b = k->btf;
	const u8 *p = k->p + off;
	u32 word = btf_load(b, p + 4), name = btf_load(b, p);

	*next = off + btf_length(b, word);
	return *next <= k->end && name < b->strs_first + b->strs_n &&
	       (k->btf->layout_n || (word & 0x60ff0000) == 0);
}

/* The first place from `off` on, below `to`, where records seem to start; `to` when there is
 * none. */
static u32 guess(const struct btf_block *k, u32 off, u32 to)
{
	u32 last = MIN(to, off + GUESS_TRIES * 4);

	for (; off < last; off += 4) {
		u64 at = off, next = 0;
		u32 steps = 0;

		while (steps < GUESS_STEPS && at + BTF_RECORD <= k->n && sane(k, (u32)at, &next)) {
			at = next;
			steps++;
		}
		if (steps == GUESS_STEPS)
			return off;
	}
	return to;
}

/* The lanes still walking, packed. */
struct walkers {
	u32 n;
	u32 off[BTF_LANES], end[BTF_LANES];
	struct btf_lane *lane[BTF_LANES];
};

/* The type at `off` is noted if the filter wants it; `swap` and `filter` are constants here. */
static inline __attribute__((always_inline)) void note(struct btf_lane *l, const u8 *p, u32 off,
                                                       u32 nth, u32 kind, bool swap,
                                                       const struct btf_filter *f, const u8 *names)
{
	u32 name, h;

	if (!f)
		return;
	memcpy(&name, p, sizeof(name));
	name = swap ? __builtin_bswap32(name) : name;
	h = btf_name_hash(name);
	if ((names && !(names[h / 8] >> h % 8 & 1)) || !f->kinds[kind])
		return;
	l->hits[l->n_hits++] = (struct btf_hit){ (u16)nth, (u16)(off / 4) };
	if (f->texts)
		__builtin_prefetch(f->texts + name);
}

static void leave(struct walkers *w, u32 i, u32 n, bool bad)
{
	struct btf_lane *l = w->lane[i];

	l->n = n;
	l->stop = w->off[i];
	l->bad = bad;
	w->n--;
	w->off[i] = w->off[w->n];
	w->end[i] = w->end[w->n];
	w->lane[i] = w->lane[w->n];
}

/* The loop all time is spent in; `swap` and `filter` are constants where it is called. */
static inline __attribute__((always_inline)) void walk(const struct btf_block *k, struct walkers *w,
                                                       bool swap, const struct btf_filter *filter,
                                                       const u8 *names)
{
	const u64 *tail = k->btf->tail;

	for (u32 nth = 0; w->n; nth++) {
		if (nth % BTF_LANE_STEP == 0)
			for (u32 i = 0; i < w->n; i++)
				w->lane[i]->step[nth / BTF_LANE_STEP] = w->off[i];
		for (u32 i = 0; i < w->n;) {
			u32 off = w->off[i], word, kind;
			u64 next;

			memcpy(&word, k->p + off + 4, sizeof(word));
			word = swap ? __builtin_bswap32(word) : word;
			kind = btf_kind_of(word);
			next = tail[kind];
			next = (u64)off + (u32)next + (next >> 32) * btf_vlen_of(word);
			/* What lies after the section lies after the lane. */
			if (next >= w->end[i]) {
				if (next <= k->end) {
					note(w->lane[i], k->p + off, off, nth, kind, swap, filter,
					     names);
					w->off[i] = (u32)next;
				}
				leave(w, i, nth + (next <= k->end), next > k->end);
				continue;
			}
			note(w->lane[i], k->p + off, off, nth, kind, swap, filter, names);
			w->off[i++] = (u32)next;
		}
	}
}

static void walkers_add(struct walkers *w, struct btf_lane *l, u32 from, u32 to)
{
	l->start = l->stop = from;
	l->n = l->n_hits = 0;
	l->bad = false;
	if (from >= to)
		return;
	w->off[w->n] = from;
	w->end[w->n] = to;
	w->lane[w->n++] = l;
}

static void walkers_run(const struct btf_block *k, struct walkers *w)
{
	const struct btf_filter *f = k->filter;

	if (k->btf->swap)
		walk(k, w, true, f, f ? f->names : NULL);
	else if (!f)
		walk(k, w, false, NULL, NULL);
	else if (f->names)
		walk(k, w, false, f, f->names);
	else
		walk(k, w, false, f, NULL);
}

void btf_block_walk(struct btf_block *k)
{
	/* A record can be looked at while its first 12 bytes lie in the block. */
	u32 limit = k->n - (BTF_RECORD - 1);
	/* Rounded up, so that eight lanes are enough, and at most BTF_LANE_BYTES. */
	u32 bytes = MAX(LANE_MIN, ROUND_UP(k->n / BTF_LANES + 1, LANE_MIN));
	struct walkers w = { 0 };
	u32 at = 0;

	bytes = MIN(bytes, BTF_LANE_BYTES);
	for (k->n_lanes = 0; k->n_lanes < BTF_LANES && at < limit; at += bytes) {
		u32 to = MIN(limit, at + bytes);

		k->lane[k->n_lanes].hits = k->hits[k->n_lanes];
		walkers_add(&w, &k->lane[k->n_lanes++], at ? guess(k, at, to) : 0, to);
	}
	walkers_run(k, &w);
	at = 0;
	for (u32 i = 0; i < k->n_lanes; i++) {
		struct btf_lane *l = &k->lane[i];
		u32 to = MIN(limit, (i + 1) * bytes);

		if (l->start != at) {
			w = (struct walkers){ 0 };
			walkers_add(&w, l, at, to);
			walkers_run(k, &w);
		}
		at = l->stop;
		if (l->bad)
			k->n_lanes = i + 1;
	}
}
