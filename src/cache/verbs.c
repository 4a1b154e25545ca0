// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counting by command.
 *
 * The idea: names are constants, so they are found by their addresses. The same name at two
 * addresses would be two rows; rows() makes one of them.
 */
#include "cache/verbs.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void verbs_free(struct verbs *s)
{
	free(s->v);
	*s = (struct verbs){ 0 };
}

void verbs_clear(struct verbs *s)
{
	verbs_free(s);
}

__attribute__((noinline)) static struct verb_count *find(struct verbs *s, const char *name)
{
	u32 at = (u32)(hash_mix((uintptr_t)name) % ARRAY_SIZE(s->by_name));

	if (!s->v)
		s->v = calloc(VERBS + 1, sizeof(*s->v));
	if (!s->v)
		base_no_memory();
	for (; s->by_name[at]; at = (at + 1) % ARRAY_SIZE(s->by_name))
		if (s->v[s->by_name[at] - 1].name == name)
			return &s->v[s->by_name[at] - 1];
	if (s->n < VERBS) {
		s->v[s->n].name = name;
		s->by_name[at] = (u16)++s->n;
		return &s->v[s->n - 1];
	}
	s->v[VERBS].name = VERBS_OTHER;
	return &s->v[VERBS];
}

static void add_size(struct size_classes *s, u64 size)
{
	s->n[size ? MIN(64 - (u32)__builtin_clzll(size), SIZE_CLASSES - 1) : 0]++;
}

void verbs_count(struct verbs *s, const struct command *c)
{
	struct verb_count *v = s->last;

	if (!v || v->name != c->verb)
		v = s->last = find(s, c->verb);
	v->calls++;
	v->cpu += c->cpu;
	v->timed += c->cpu != 0;
	if (c->sized && c->outcome != OUTCOME_ERROR)
		add_size(&v->values, c->size);
	add_size(&s->keys, c->key_size);
}

/* ---- as output ------------------------------------------------------------------------------ */

static void merge(struct verb_count *to, const struct verb_count *from)
{
	to->calls += from->calls;
	to->cpu += from->cpu;
	to->timed += from->timed;
	for (u32 i = 0; i < SIZE_CLASSES; i++)
		to->values.n[i] += from->values.n[i];
}

static int by_calls(const void *a, const void *b)
{
	const struct verb_count *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* In order; *n of them, to be freed. */
static struct verb_count *rows(const struct verbs *s, u32 *n)
{
	struct verb_count *to = calloc(VERBS + 1, sizeof(*to));

	if (!to)
		base_no_memory();
	*n = 0;
	for (u32 i = 0; s->v && i <= VERBS; i++) {
		u32 k = 0;

		if (!s->v[i].calls)
			continue;
		while (k < *n && strcmp(to[k].name, s->v[i].name) != 0)
			k++;
		if (k == *n)
			to[(*n)++].name = s->v[i].name;
		merge(&to[k], &s->v[i]);
	}
	qsort(to, *n, sizeof(*to), by_calls);
	return to;
}

static u64 class_from(u32 i)
{
	return i ? 1ull << (i - 1) : 0;
}

static u64 class_to(u32 i)
{
	return i ? (1ull << i) - 1 : 0;
}

static u64 sum_of(const struct size_classes *s)
{
	u64 sum = 0;

	for (u32 i = 0; i < SIZE_CLASSES; i++)
		sum += s->n[i];
	return sum;
}

/* 0, 1, 2-3, 4-7, ..., 512k-1023k. */
static void put_class(struct buf *b, u32 i)
{
	static const char units[] = " kMG";
	u32 unit = i ? (i - 1) / 10 : 0;
	u64 scale = 1ull << (unit * 10);

	buf_printf(b, "%llu", (unsigned long long)(class_from(i) / scale));
	if (class_to(i) / scale > class_from(i) / scale)
		buf_printf(b, "-%llu", (unsigned long long)(class_to(i) / scale));
	if (unit)
		buf_putc(b, units[unit]);
}

static void put_classes(struct buf *b, const struct size_classes *s)
{
	u64 sum = sum_of(s);
	u32 n = 0;

	for (u32 i = 0; i < SIZE_CLASSES; i++) {
		if (!s->n[i])
			continue;
		buf_puts(b, n++ ? ", " : "");
		put_class(b, i);
		buf_printf(b, ": %.1f %%", (double)s->n[i] * 100 / (double)sum);
	}
	buf_puts(b, n ? "\n" : "-\n");
}

void verbs_text(struct buf *b, const struct verbs *s)
{
	u64 calls = 0, cpu = 0;
	u32 n;
	struct verb_count *v = rows(s, &n);

	for (u32 i = 0; i < n; i++) {
		calls += v[i].calls;
		cpu += v[i].cpu;
	}
	buf_printf(b, "%-16s %9s %6s %6s %8s  %s\n", "COMMAND", "CALLS", "CALL%", "CPU%", "CPUus",
	           "BYTES OF THE VALUE");
	for (u32 i = 0; i < n; i++) {
		buf_printf(b, "%-16s %9llu %6.1f ", v[i].name, (unsigned long long)v[i].calls,
		           (double)v[i].calls * 100 / (double)calls);
		if (v[i].timed)
			buf_printf(b, "%6.1f %8.1f  ", (double)v[i].cpu * 100 / (double)cpu,
			           (double)v[i].cpu / 1000 / (double)v[i].timed);
		else
			buf_printf(b, "%6s %8s  ", "-", "-");
		put_classes(b, &v[i].values);
	}
	buf_puts(b, "bytes of the key: ");
	put_classes(b, &s->keys);
	free(v);
}

static const struct column command = COL_LABEL("command", NULL), calls = COL_COUNT("calls", NULL),
			   cpu_us = { "cpu_us", "on the processor, in all", COLUMN_COUNTER,
	                              UNIT_MICROSECONDS, 1 },
			   cpu_calls = COL_COUNT("cpu_calls", "... of so many calls"),
			   from = COL_BYTES("from", NULL), to = COL_BYTES("to", NULL);

static void classes_tree(struct tree *t, const char *name, const struct size_classes *s)
{
	tree_list(t, name);
	for (u32 i = 0; i < SIZE_CLASSES; i++) {
		if (!s->n[i])
			continue;
		tree_object(t, NULL);
		tree_whole(t, &from, class_from(i));
		if (i < SIZE_CLASSES - 1)
			tree_whole(t, &to, class_to(i));
		else
			tree_unknown(t, &to);
		tree_whole(t, &calls, s->n[i]);
		tree_end(t);
	}
	tree_end(t);
}

void verbs_tree(struct tree *t, const struct verbs *s)
{
	u32 n;
	struct verb_count *v = rows(s, &n);

	tree_list(t, "by_command");
	for (u32 i = 0; i < n; i++) {
		tree_object(t, NULL);
		tree_text(t, &command, v[i].name);
		tree_whole(t, &calls, v[i].calls);
		tree_real(t, &cpu_us, (double)v[i].cpu / 1000);
		tree_whole(t, &cpu_calls, v[i].timed);
		classes_tree(t, "value_bytes", &v[i].values);
		tree_end(t);
	}
	tree_end(t);
	classes_tree(t, "key_bytes", &s->keys);
	free(v);
}
