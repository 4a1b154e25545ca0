/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A flame graph beside an earlier recording: folded stacks become a tree again, and each frame
 * learns what it had before.
 *
 * Folded stacks have names alone, unless flame_fold_whole() wrote them. Where frames of one place
 * have the same name in several files, what it had before is shared out among them as they share
 * what it has now.
 */
#include "out/flame.h"

#include <inttypes.h>
#include <string.h>

/* ---- reading ---- */

/* Up to INT64_MAX, 19 digits. */
static bool parse_value(struct str text, s64 *value)
{
	u64 n = 0;

	if (!text.n || text.n > 19)
		return false;
	for (u32 i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
		n = n * 10 + (u64)(text.p[i] - '0');
	}
	*value = (s64)n;
	return n <= INT64_MAX;
}

static void add_frame(struct flame *f, struct str name, struct buf *scratch)
{
	struct frame_name frame = { .module = "", .kind = FRAME_OTHER };
	char *tab;

	buf_reset(scratch);
	buf_add(scratch, name.p, name.n);
	frame.name = buf_text(scratch);
	tab = name.n ? strchr(scratch->p, '\t') : NULL; /* no name has one: they are escaped */
	if (tab) {
		*tab = 0;
		frame.module = scratch->p + 1;
		frame.name = tab + 1;
		if ((u8)(scratch->p[0] - 'a') < N_FRAME_KIND)
			frame.kind = (enum frame_kind)(scratch->p[0] - 'a');
	}
	flame_frame(f, &frame);
}

static bool add_line(struct flame *f, struct str line, struct buf *scratch, struct err *e)
{
	const char *space = memrchr(line.p, ' ', line.n);
	struct str stack, rest;
	u32 depth = 0;
	s64 value;

	if (!space || space == line.p ||
	    !parse_value((struct str){ space + 1, line.n - (u32)(space + 1 - line.p) }, &value))
		return err_set(e, "is no folded stack (\"outermost;...;innermost value\")");
	if ((u64)value > INT64_MAX - f->root.value)
		return err_set(e, "makes the values add up to more than 2^63 - 1");
	flame_begin(f, value);
	for (rest = (struct str){ line.p, (u32)(space - line.p) }; rest.p;) {
		if (++depth > FLAME_DEPTH)
			return err_set(e, "has more than %u frames", FLAME_DEPTH);
		stack = str_cut(rest, ';', &rest);
		add_frame(f, stack, scratch);
	}
	flame_end(f);
	return true;
}

bool flame_unfold(struct flame *f, const char *text, size_t n, struct err *e)
{
	const char *end = text + n, *next;
	struct buf scratch = { 0 };
	bool ok = true;

	for (u32 line = 1; ok && text < end; text = next, line++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		if (stop - text > FLAME_LINE)
			ok = err_set(e, "is longer than %u bytes", FLAME_LINE);
		else if (stop > text)
			ok = add_line(f, (struct str){ text, (u32)(stop - text) }, &scratch, e);
		if (!ok)
			err_wrap(e, "line %u", line);
	}
	if (ok && f->cut)
		ok = err_set(e, "there are more than %u different frames", FLAME_NODES);
	buf_free(&scratch);
	return ok;
}

/* ---- comparing ---- */

/* Frames of one name next to each other: what they have, and the one after them. */
static struct flame_node *namesakes(struct flame_node *first, u64 *sum)
{
	struct flame_node *n = first;

	for (*sum = 0; n && strcmp(n->name, first->name) == 0; n = n->next)
		*sum += n->value;
	return n;
}

static u64 share_of(double share, u64 value)
{
	return share < 1 ? (u64)(share * (double)value + 0.5) : value;
}

/* `share` of what `old` had was this frame's. */
static void compare(struct flame *f, struct flame_node *n, const struct flame_node *old,
                    double share)
{
	struct flame_node *kid = n->kids, *next;
	const struct flame_node *was = old->kids;
	u64 sum;

	n->before = share_of(share, old->value);
	n->before_self = share_of(share, old->self);
	while (kid || was) {
		int order = !kid ? 1 : !was ? -1 : strcmp(kid->name, was->name);

		if (order > 0) {
			f->gone += share_of(share, was->value);
			was = was->next;
			continue;
		}
		next = namesakes(kid, &sum);
		for (; kid != next; kid = kid->next)
			if (order == 0)
				compare(f, kid, was, share * (double)kid->value / (double)sum);
		if (order == 0)
			was = was->next;
	}
}

void flame_compare(struct flame *f, struct flame *old)
{
	flame_sort(f);
	flame_sort(old);
	f->gone = 0;
	compare(f, &f->root, &old->root, 1);
}
