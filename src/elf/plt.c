/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Procedure linkage tables. The one idea: a stub is known by what it does. Linkers lay the tables
 * out in several ways (lazy or not, with marks of branch protection, short or long), but every stub
 * jumps through a word, and the relocation of that word names the function. So each slot is
 * searched for such a jump, whatever stands before it.
 *
 * Section headers are needed; a file without them keeps its stubs nameless.
 */
#include "elf/plt.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/insn.h"
#include "elf/elf.h"

struct target {
	u64 word; /* address of the word jumped through */
	u32 symbol;
};

struct targets {
	struct arena arena;
	VEC(struct target) list;
};

struct names {
	const u8 *symbols, *strings;
	size_t symbols_n, strings_n;
};

static void read_relocations(struct elf *f, const char *section, struct targets *t)
{
	const u8 *p;
	size_t n;
	u64 vaddr;

	if (!elf_section(f, section, &p, &n, &vaddr))
		return;
	for (size_t i = 0; i + sizeof(Elf64_Rela) <= n; i += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		u64 type;

		memcpy(&r, p + i, sizeof(r));
		type = ELF64_R_TYPE(r.r_info);
		if (type == arch.rel_function || type == arch.rel_data)
			vec_add(&t->arena, &t->list,
			        ((struct target){ r.r_offset, (u32)(r.r_info >> 32) }));
	}
}

static int by_word(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	return x->word < y->word ? -1 : x->word > y->word;
}

static const char *symbol_name(const struct names *n, u32 symbol, size_t *length)
{
	const char *name;
	Elf64_Sym s;

	if (symbol >= n->symbols_n / sizeof(s))
		return NULL;
	memcpy(&s, n->symbols + (size_t)symbol * sizeof(s), sizeof(s));
	if (s.st_name >= n->strings_n)
		return NULL;
	name = (const char *)n->strings + s.st_name;
	*length = strnlen(name, n->strings_n - s.st_name);
	return *length && *length < n->strings_n - s.st_name ? name : NULL;
}

static bool each_slot(struct elf *f, const struct insn_plt *plt, const struct targets *t,
                      const struct names *names,
                      bool (*cb)(void *ctx, u64 vaddr, u64 size, const char *name, size_t length),
                      void *ctx)
{
	const u8 *p;
	size_t n, length;
	u64 vaddr;
	u32 size, head;

	if (!elf_section(f, plt->section, &p, &n, &vaddr))
		return true;
	size = insn_plt_slot(plt, p, n, &head);
	for (size_t i = head; i + size <= n; i += size) {
		struct target key = { .word = insn_plt_word(p + i, size, vaddr + i) };
		const struct target *found = bsearch(&key, t->list.v, t->list.n, sizeof(key),
		                                     by_word);
		const char *name = found ? symbol_name(names, found->symbol, &length) : NULL;

		if (name && !cb(ctx, vaddr + i, size, name, length))
			return false;
	}
	return true;
}

/* False: there are none. The arena of *t is to be freed either way. */
static bool read_tables(struct elf *f, struct targets *t, struct names *n)
{
	u64 vaddr;

	*t = (struct targets){ 0 };
	if (!elf_section(f, ".dynsym", &n->symbols, &n->symbols_n, &vaddr) ||
	    !elf_section(f, ".dynstr", &n->strings, &n->strings_n, &vaddr))
		return false;
	read_relocations(f, ".rela.plt", t);
	read_relocations(f, ".rela.dyn", t);
	return t->list.n != 0;
}

u64 plt_word(struct elf *f, const char *name)
{
	struct targets t;
	struct names n;
	u64 word = 0;

	read_tables(f, &t, &n);
	for (u32 i = 0; i < t.list.n && !word; i++) {
		size_t length = 0;
		const char *is = symbol_name(&n, t.list.v[i].symbol, &length);

		if (is && length == strlen(name) && memcmp(is, name, length) == 0)
			word = t.list.v[i].word;
	}
	arena_free(&t.arena);
	return word;
}

void plt_each(struct elf *f,
              bool (*cb)(void *ctx, u64 vaddr, u64 size, const char *name, size_t length),
              void *ctx)
{
	struct targets t;
	struct names n;

	if (read_tables(f, &t, &n)) {
		qsort(t.list.v, t.list.n, sizeof(*t.list.v), by_word);
		for (const struct insn_plt *plt = insn_plts; plt->section; plt++)
			if (!each_slot(f, plt, &t, &n, cb, ctx))
				break;
	}
	arena_free(&t.arena);
}
