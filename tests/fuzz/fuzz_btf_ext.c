/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as a BPF object: its relocations are evaluated against a small fixed BTF and against
 * its own, and both are reduced to what it needs. An object is an ELF file, or (so that mutations
 * get further) two bytes of length, as much BTF, and a .BTF.ext section.
 */
#include <stdlib.h>
#include <string.h>

#include <memtap/btf.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define RELOS_MAX 64u /* so that large inputs do not take long */

/*
 * 1 int   2 struct s { int a; struct { int b; }; int bits : 3; int many[4]; struct s *p; }
 * 3 anonymous struct in it   4 int[4]   5 struct s *   6 enum e { X = 1 }   7 typedef t = int
 * 8 struct s___old { int a; }   9 enum64 w { X = 1 << 32 }   10 int (*)(int)   11 its prototype
 */
#define KIND(k, vlen) ((u32)(k) << 24 | (vlen))
#define FLAGGED       0x80000000u
/* clang-format off */
static const u32 types[] = {
	1, KIND(BTF_KIND_INT, 0), 4, 1u << 24 | 32, /* 1 */
	5, KIND(BTF_KIND_STRUCT, 5) | FLAGGED, 40, /* 2 */
	7, 1, 0,   0, 3, 32,   11, 1, 3u << 24 | 64,   16, 4, 96,   21, 5, 256,
	0, KIND(BTF_KIND_STRUCT, 1), 4,   9, 1, 0, /* 3 */
	0, KIND(BTF_KIND_ARRAY, 0), 0,   1, 1, 4, /* 4 */
	0, KIND(BTF_KIND_PTR, 0), 2, /* 5 */
	23, KIND(BTF_KIND_ENUM, 1), 4,   25, 1, /* 6 */
	27, KIND(BTF_KIND_TYPEDEF, 0), 1, /* 7 */
	29, KIND(BTF_KIND_STRUCT, 1), 4,   7, 1, 0, /* 8 */
	37, KIND(BTF_KIND_ENUM64, 1), 8,   25, 0, 1, /* 9 */
	0, KIND(BTF_KIND_PTR, 0), 11, /* 10 */
	0, KIND(BTF_KIND_FUNC_PROTO, 1), 1,   0, 1, /* 11 */
};
/* clang-format on */
static const char strings[] = "\0int\0s\0a\0b\0bits\0many\0p\0e\0X\0t\0s___old\0w";

static struct btf *fixed(u8 *room)
{
	const u32 head[] = { 0x0001eb9f, 24, 0, sizeof(types), sizeof(types), sizeof(strings) };

	memcpy(room, head, sizeof(head));
	memcpy(room + sizeof(head), types, sizeof(types));
	memcpy(room + sizeof(head) + sizeof(types), strings, sizeof(strings));
	return btf_open_memory(room, sizeof(head) + sizeof(types) + sizeof(strings), NULL);
}

static bool is_short(const struct btf_ext *x)
{
	struct btf_relo_iter it;
	u32 n = 0;

	btf_relo_iter_init(&it, x);
	while (btf_relo_next(&it))
		n++;
	return n <= RELOS_MAX;
}

static void evaluate(const struct btf *object, const struct btf_ext *x, const struct btf *target,
                     bool at_once)
{
	struct btf_core *c = btf_core_new(object, at_once ? x : NULL, target, NULL, 0, NULL);
	struct btf_core_result r;
	struct btf_relo_iter it;
	struct btf_error e;

	btf_relo_iter_init(&it, x);
	while (c && btf_relo_next(&it)) {
		if (btf_core_eval(c, &it.r, &r, &e) && r.poison && (r.value || !r.why))
			abort();
	}
	btf_core_free(c);
}

static void reduce(const struct btf *object, const struct btf *target)
{
	struct btf_subset *s = btf_filter_new(target, NULL);
	struct btf_error e;
	struct btf *b;
	const void *p;
	size_t n;

	btf_filter_object(s, object, &e);
	btf_filter_type(s, "struct s", &e);
	btf_filter_path(s, "struct s", "p->b", &e);
	if (btf_filter_bytes(s, &p, &n, &e)) {
		b = btf_open_memory(p, n, &e);
		if (!b)
			abort();
		btf_count(b);
		btf_unref(b);
	}
	btf_filter_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	u8 room[24 + sizeof(types) + sizeof(strings)];
	struct btf *object, *target;
	struct btf_ext x;
	bool ok;

	if (n < 4)
		return 0;
	if (memcmp(p, "\177ELF", 4) == 0) {
		object = btf_open_memory(p, n, NULL);
		ok = object && btf_ext_of(object, &x, NULL);
	} else {
		size_t len = MIN((size_t)(p[0] | p[1] << 8), n - 2);

		object = btf_open_memory(p + 2, len, NULL);
		ok = object && btf_ext_read(object, p + 2 + len, n - 2 - len, &x, NULL);
	}
	if (ok && is_short(&x)) {
		target = fixed(room);
		if (!target)
			abort();
		evaluate(object, &x, target, true);
		evaluate(object, &x, object, false);
		reduce(object, target);
		reduce(object, object);
		btf_unref(target);
	}
	btf_unref(object);
	return 0;
}
