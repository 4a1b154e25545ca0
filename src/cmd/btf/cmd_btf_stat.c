/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `memtap btf stat`: what a BTF file is made of. */
#include <string.h>

#include "cmd/btf/cmd_btf.h"

#define KINDS 128u

struct stat_count {
	u64 n[KINDS], bytes[KINDS], entries[KINDS];
	u32 types;
	bool sorted;
};

static bool has_entries(u32 kind)
{
	switch (kind) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FUNC_PROTO:
	case BTF_KIND_DATASEC:
		return true;
	default:
		return false;
	}
}

/* Sorted means: all anonymous types first, then the others by name. */
static void count(struct stat_count *s, const struct btf *b)
{
	const char *last = "";
	struct btf_iter it;

	s->sorted = true;
	btf_iter_init(&it, b, btf_first(b));
	while (btf_next(&it)) {
		u32 kind = it.t.kind % KINDS;

		s->types++;
		s->n[kind]++;
		s->bytes[kind] += it.t.raw_len;
		s->entries[kind] += has_entries(kind) ? it.t.vlen : 0;
		s->sorted &= strcmp(last, it.t.name) <= 0;
		last = it.t.name;
	}
}

static void section(struct buf *o, const char *name, u32 off, u32 n)
{
	buf_printf(o, "%-10s %10u bytes at %u\n", name, n, off);
}

static void print_file(struct buf *o, const struct btf_job *j)
{
	struct btf_file f;

	btf_file(j->btf, &f);
	buf_printf(o, "%s\n", j->where);
	section(o, "header", 0, f.header_len);
	section(o, "types", f.types_off, f.types_len);
	if (f.layout_len)
		section(o, "layout", f.layout_off, f.layout_len);
	section(o, "strings", f.strings_off, f.strings_len);
	buf_printf(o, "%-10s %10llu bytes\n", "all", (unsigned long long)f.n);
	buf_printf(o, "%s-endian, %u-bit pointers, %s\n", f.big_endian ? "big" : "little",
	           btf_pointer_size(j->btf) * 8,
	           f.mapped  ? "mapped"
	           : f.bytes ? "copied"
	                     : "read in pages");
}

bool cmd_btf_stat(struct btf_job *j, struct err *e)
{
	struct stat_count s = { 0 };
	struct buf o = { 0 };
	u32 first = btf_first(j->btf);

	if (!cmd_btf_check(j->btf, j->where, e))
		return false;
	count(&s, j->btf);
	print_file(&o, j);
	buf_printf(&o, "%u types, ids from %u to %u, %s by name\n\n", s.types, first,
	           first + s.types - 1, s.sorted ? "sorted" : "not sorted");
	buf_printf(&o, "%-12s %8s %10s %10s\n", "kind", "types", "entries", "bytes");
	for (u32 i = 1; i < KINDS; i++)
		if (s.n[i])
			buf_printf(&o, "%-12s %8llu %10llu %10llu\n", cmd_btf_kind(i),
			           (unsigned long long)s.n[i], (unsigned long long)s.entries[i],
			           (unsigned long long)s.bytes[i]);
	sink_take(&j->out, &o);
	buf_free(&o);
	return true;
}
