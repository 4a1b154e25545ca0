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
#include "base/sorted.h"
#include "elf/elf.h"
#include "sym/demangle.h"

/* A table of this many entries takes about 60 MB with its names; what is more is left out. */
#define SYMTAB_MAX (1u << 20)
/* Bytes of names, so that their places fit into 30 bits. */
#define NAMES_MAX (1u << 30)

/* How many entries below an address may be looked at for one that reaches over it. */
#define NESTING_MAX 32u

struct entry {
	u64 offset;
	u32 size;
	u32 name : 30; /* in names */
	u32 plain : 1; /* the name was demangled, or needs no demangling */
	u32 open : 1;  /* no size was given: it may reach less far, to the next entry */
};

struct symtab {
	struct entry *v;
	u32 n, cap;
	struct buf names;
};

struct symtab *symtab_new(void)
{
	struct symtab *t = calloc(1, sizeof(*t));

	if (!t)
		base_no_memory();
	return t;
}

static bool add(struct symtab *t, struct entry s, const char *name, size_t length)
{
	if (t->n == SYMTAB_MAX || t->names.n + length >= NAMES_MAX)
		return false;
	if (t->n == t->cap) {
		u32 cap = t->cap ? t->cap * 2 : 256;
		struct entry *v = realloc(t->v, cap * sizeof(*v));

		if (!v)
			return false;
		t->v = v;
		t->cap = cap;
	}
	s.name = (u32)t->names.n & (NAMES_MAX - 1);
	t->v[t->n++] = s;
	buf_add(&t->names, name, length);
	buf_putc(&t->names, 0);
	return true;
}

bool symtab_add(struct symtab *t, u64 offset, u64 size, const char *name, size_t length)
{
	struct entry s = { .offset = offset, .size = (u32)MIN(size, (u64)UINT32_MAX) };

	return add(t, s, name, length);
}

struct adder {
	struct symtab *table;
	struct elf *file;
};

static bool add_symbol(void *ctx, const struct elf_sym *s)
{
	struct adder *a = ctx;
	size_t length = strcspn(s->name, "@"); /* not the version */
	u64 offset, size;

	if (!s->is_func || !length || !elf_offset(a->file, s->value, &offset))
		return true;
	size = s->size ? s->size : s->room;
	return add(a->table,
	           (struct entry){ .offset = offset,
	                           .size = (u32)MIN(size, (u64)UINT32_MAX),
	                           .open = !s->size },
	           s->name, length);
}

void symtab_add_elf(struct symtab *t, struct elf *file, struct elf *symbols)
{
	struct adder a = { t, file };

	elf_each(symbols, add_symbol, &a);
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

static void merge_alias(struct entry *kept, const struct entry *other)
{
	if (kept->open == other->open) {
		kept->size = MAX(kept->size, other->size);
	} else if (kept->open) {
		kept->size = other->size;
		kept->open = 0;
	}
}

/* Keeps the first name of each place, with the largest size that was given to any of them. */
static void drop_aliases(struct symtab *t)
{
	u32 kept = 0;

	for (u32 i = 0; i < t->n; i++) {
		struct entry *last = kept ? &t->v[kept - 1] : NULL;

		if (!last || last->offset != t->v[i].offset)
			t->v[kept++] = t->v[i];
		else
			merge_alias(last, &t->v[i]);
	}
	t->n = kept;
	for (u32 i = 0; i + 1 < kept; i++)
		if (t->v[i].open)
			t->v[i].size = (u32)MIN((u64)t->v[i].size,
			                        t->v[i + 1].offset - t->v[i].offset);
}

void symtab_finish(struct symtab *t)
{
	if (t->n)
		qsort_r(t->v, t->n, sizeof(*t->v), compare_entries, &t->names);
	drop_aliases(t);
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	free(t->v);
	buf_free(&t->names);
	free(t);
}

/* Demangled names are kept in place of the symbols. */
static const char *plain_name(struct symtab *t, struct entry *s)
{
	char *name;

	if (!s->plain && t->names.n < NAMES_MAX - (1u << 20)) {
		s->plain = 1;
		name = demangle(t->names.p + s->name);
		if (name && strlen(name) < 1u << 20) {
			s->name = (u32)t->names.n & (NAMES_MAX - 1);
			buf_add(&t->names, name, strlen(name) + 1);
		}
		free(name);
	}
	return t->names.p + s->name;
}

const char *symtab_name(struct symtab *t, u64 offset, bool demangled, u64 *off)
{
	u32 n = SORTED_NOT_ABOVE(t->v, t->n, offset, offset);

	for (u32 k = 0; k < NESTING_MAX && k < n; k++) {
		struct entry *s = &t->v[n - 1 - k];
		u64 into = offset - s->offset;

		if (into < s->size) {
			*off = into;
			return demangled ? plain_name(t, s) : t->names.p + s->name;
		}
	}
	return NULL;
}

size_t symtab_bytes(const struct symtab *t)
{
	return sizeof(*t) + t->cap * sizeof(*t->v) + t->names.cap;
}
