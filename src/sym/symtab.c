/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Function symbols of one file, sorted.
 *
 * The one idea: entries are keyed by file offset, not by address. A mapping in /proc/PID/maps
 * says which file offset lies at which address, so position-independent and fixed executables
 * need no distinction, and the file can be closed once its names are copied.
 *
 * Several names for one place (malloc, __libc_malloc): the one with the fewest leading
 * underscores wins, then the shorter, then the first in the alphabet.
 */
#include "sym/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "read/elf.h"

/* A table of this many entries takes about 60 MB with its names; what is more is left out. */
#define SYMTAB_MAX (1u << 20)

/* How many entries below an address may be looked at for one that reaches over it. */
#define NESTING_MAX 32u

struct entry {
	u64 offset;
	u32 size; /* 0: unknown, reaches to the next entry */
	u32 name; /* in names */
};

struct symtab {
	struct entry *v;
	u32 n, cap;
	struct buf names;
};

static bool add_symbol(void *ctx, const struct elf_sym *s)
{
	struct symtab *t = ctx;
	size_t length = strcspn(s->name, "@"); /* not the version */

	if (!s->is_func || !s->has_offset || !length)
		return true;
	if (t->n == SYMTAB_MAX || t->names.n > UINT32_MAX / 2)
		return false;
	if (t->n == t->cap) {
		u32 cap = t->cap ? t->cap * 2 : 256;
		struct entry *v = realloc(t->v, cap * sizeof(*v));

		if (!v)
			return false;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n++] = (struct entry){
		.offset = s->offset,
		.size = (u32)MIN(s->size, (u64)UINT32_MAX),
		.name = (u32)t->names.n,
	};
	buf_add(&t->names, s->name, length);
	buf_putc(&t->names, 0);
	return true;
}

static int compare_names(const char *a, const char *b)
{
	size_t bars_a = strspn(a, "_"), bars_b = strspn(b, "_");
	size_t na = strlen(a), nb = strlen(b);

	if (bars_a != bars_b)
		return bars_a < bars_b ? -1 : 1;
	if (na != nb)
		return na < nb ? -1 : 1;
	return strcmp(a, b);
}

static int compare_entries(const void *x, const void *y, void *ctx)
{
	const struct entry *a = x, *b = y;
	const struct buf *names = ctx;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return compare_names(names->p + a->name, names->p + b->name);
}

/* Keeps the first name of each place, with the largest size any of them has. */
static void drop_aliases(struct symtab *t)
{
	u32 kept = 0;

	for (u32 i = 0; i < t->n; i++) {
		struct entry *last = kept ? &t->v[kept - 1] : NULL;

		if (last && last->offset == t->v[i].offset)
			last->size = MAX(last->size, t->v[i].size);
		else
			t->v[kept++] = t->v[i];
	}
	t->n = kept;
}

struct symtab *symtab_read(const char *path)
{
	struct symtab *t;
	struct elf *f;
	struct err e;

	f = elf_open(path, &e);
	if (!f)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (t)
		elf_each(f, add_symbol, t);
	elf_close(f);
	if (!t || !t->n) {
		symtab_free(t);
		return NULL;
	}
	qsort_r(t->v, t->n, sizeof(*t->v), compare_entries, &t->names);
	drop_aliases(t);
	return t;
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	free(t->v);
	buf_free(&t->names);
	free(t);
}

/* Number of entries that start at or below the offset. */
static u32 entries_below(const struct symtab *t, u64 offset)
{
	u32 low = 0, high = t->n;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (t->v[mid].offset <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const char *symtab_name(const struct symtab *t, u64 offset, u64 *off)
{
	u32 n = entries_below(t, offset);

	for (u32 k = 0; k < NESTING_MAX && k < n; k++) {
		const struct entry *s = &t->v[n - 1 - k];
		u64 into = offset - s->offset;

		/* Without a size only the nearest entry can be meant. */
		if (into < s->size || (s->size == 0 && k == 0)) {
			*off = into;
			return t->names.p + s->name;
		}
	}
	return NULL;
}

u32 symtab_count(const struct symtab *t)
{
	return t->n;
}
