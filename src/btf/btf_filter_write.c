/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writing the part of BTF that was noted.
 *
 * Types keep their order and get new ids by their rank among those noted; an id that was not noted
 * becomes 0, so pointers to what nobody needs point to void. Words are copied as they are but for
 * ids and names, each text is written once, and the result is in the byte order of its source.
 */
#include "btf/btf_filter_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "base/file.h"

#define HEADER 24u

struct bytes {
	u8 *p;
	size_t n, cap;
};

struct writer {
	const struct btf_subset *s;
	const struct btf *b;
	struct bytes types, strs;
	u32 *slots; /* hash table of offsets into strs, 0 for a free one */
	u32 n_slots, n_texts;
	bool failed; /* memory has run out */
};

static u8 *add(struct writer *w, struct bytes *to, size_t n)
{
	if (to->cap - to->n < n) {
		size_t more = to->cap * 2 + n + 256;
		u8 *p = realloc(to->p, more);

		if (!p) {
			w->failed = true;
			return NULL;
		}
		to->p = p;
		to->cap = more;
	}
	to->n += n;
	return to->p + to->n - n;
}

static void put(const struct writer *w, u8 *at, u32 v)
{
	if (w->b->swap)
		v = __builtin_bswap32(v);
	memcpy(at, &v, sizeof(v));
}

/* ---- texts ----------------------------------------------------------------------------------- */

static u32 *slot_for(const struct writer *w, const char *text)
{
	u32 h = 0x811c9dc5u;

	for (const char *p = text; *p; p++)
		h = (h ^ (u8)*p) * 0x01000193u;
	for (u32 i = h;; i++) {
		u32 *slot = &w->slots[i & (w->n_slots - 1)];

		if (!*slot || strcmp((const char *)w->strs.p + *slot, text) == 0)
			return slot;
	}
}

/* Keeps the table at most half full. */
static bool slots_grow(struct writer *w)
{
	u32 *old = w->slots, n_old = w->n_slots;
	u32 n = n_old ? n_old * 2 : 256;
	u32 *slots;

	if (w->n_texts * 2 < n_old)
		return true;
	slots = calloc(n, sizeof(*slots));
	if (!slots) {
		w->failed = true;
		return false;
	}
	w->slots = slots;
	w->n_slots = n;
	for (u32 i = 0; i < n_old; i++)
		if (old[i])
			*slot_for(w, (const char *)w->strs.p + old[i]) = old[i];
	free(old);
	return true;
}

static u32 text_off(struct writer *w, const char *text)
{
	size_t n = strlen(text) + 1;
	u32 *slot, off;
	u8 *at;

	if (n == 1 || !slots_grow(w))
		return 0;
	slot = slot_for(w, text);
	off = *slot;
	if (off)
		return off;
	off = (u32)w->strs.n;
	at = add(w, &w->strs, n);
	if (!at)
		return 0;
	memcpy(at, text, n);
	*slot = off;
	w->n_texts++;
	return off;
}

/* ---- types ----------------------------------------------------------------------------------- */

static int by_number(const void *x, const void *y)
{
	u32 a = *(const u32 *)x, b = *(const u32 *)y;

	return a < b ? -1 : a > b;
}

static int by_member(const void *x, const void *y)
{
	u64 a = *(const u64 *)x, b = *(const u64 *)y;

	return a < b ? -1 : a > b;
}

static u32 new_id(const struct writer *w, u32 id)
{
	const u32 *types = w->s->types, n = w->s->n_types;
	const u32 *at = n ? bsearch(&id, types, n, sizeof(id), by_number) : NULL;

	return at ? (u32)(at - types) + 1 : 0;
}

/* Whether the last word of a record of this kind is an id. */
static bool refers(u32 kind)
{
	return kind == BTF_KIND_PTR || btf_is_modifier(kind) || kind == BTF_KIND_FUNC ||
	       kind == BTF_KIND_FUNC_PROTO || kind == BTF_KIND_VAR || kind == BTF_KIND_DECL_TAG;
}

/* Where a name and an id stand in an entry of 4-byte words, by kind. */
static const struct entry {
	u8 words;
	bool name, id, id_first;
} entries[] = {
	[BTF_KIND_ARRAY] = { .words = 0 },
	[BTF_KIND_ENUM] = { .words = 2, .name = true },
	[BTF_KIND_FUNC_PROTO] = { .words = 2, .name = true, .id = true },
	[BTF_KIND_DATASEC] = { .words = 3, .id_first = true },
	[BTF_KIND_ENUM64] = { .words = 3, .name = true },
};

static void put_entries(struct writer *w, const struct btf_info *t, u8 *at)
{
	const struct entry *k = t->kind < ARRAY_SIZE(entries) ? &entries[t->kind] : &entries[0];
	const u8 *from = (const u8 *)t->raw + BTF_RECORD;

	for (u32 i = 0; k->words && i < t->vlen; i++, at += k->words * 4, from += k->words * 4) {
		if (k->name) {
			const char *text = btf_string(w->b, btf_load(w->b, from));

			put(w, at, text_off(w, text ? text : ""));
		}
		if (k->id)
			put(w, at + 4, new_id(w, btf_load(w->b, from + 4)));
		if (k->id_first)
			put(w, at, new_id(w, btf_load(w->b, from)));
	}
}

/* Everything but structs and unions: copied, with ids and names replaced. */
static void put_type(struct writer *w, const struct btf_info *t)
{
	const u8 *raw = t->raw;
	u8 *at = add(w, &w->types, t->raw_len);

	if (!at)
		return;
	memcpy(at, raw, t->raw_len);
	put(w, at, text_off(w, t->name));
	if (refers(t->kind))
		put(w, at + 8, new_id(w, t->type));
	if (t->kind == BTF_KIND_ARRAY) {
		put(w, at + BTF_RECORD, new_id(w, btf_load(w->b, raw + BTF_RECORD)));
		put(w, at + BTF_RECORD + 4, new_id(w, btf_load(w->b, raw + BTF_RECORD + 4)));
	}
	put_entries(w, t, at + BTF_RECORD);
}

/* The members noted, sorted; *next is the first that may be of this type. */
static void put_composite(struct writer *w, const struct btf_info *t, u32 *next)
{
	const struct btf_subset *s = w->s;
	size_t start = w->types.n;
	u8 *at = add(w, &w->types, BTF_RECORD);
	struct btf_slot m;
	u32 n = 0;

	if (!at)
		return;
	memcpy(at, t->raw, BTF_RECORD);
	put(w, at, text_off(w, t->name));
	while (*next < s->n_members && s->members[*next] >> 32 < t->id)
		++*next;
	for (; *next < s->n_members && s->members[*next] >> 32 == t->id; ++*next) {
		u32 i = (u32)s->members[*next];

		if (!btf_slot(w->b, t, i, &m))
			continue;
		at = add(w, &w->types, 12);
		if (!at)
			return;
		memcpy(at, (const u8 *)t->raw + BTF_RECORD + (size_t)i * 12, 12);
		put(w, at, text_off(w, m.name));
		put(w, at + 4, new_id(w, m.type));
		n++;
	}
	put(w, w->types.p + start + 4, (u32)t->kind_flag << 31 | t->kind << 24 | n);
}

static void put_types(struct writer *w)
{
	const struct btf_subset *s = w->s;
	struct btf_info t;
	u32 next = 0;

	for (u32 i = 0; i < s->n_types && !w->failed; i++) {
		if (!btf_info(w->b, s->types[i], &t))
			continue; /* it was there when it was noted */
		if (btf_is_composite_kind(t.kind))
			put_composite(w, &t, &next);
		else
			put_type(w, &t);
	}
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Sorted, each member once. */
static void notes_sort(struct btf_subset *s)
{
	u32 n = 0;

	if (s->n_types)
		qsort(s->types, s->n_types, sizeof(*s->types), by_number);
	if (s->n_members)
		qsort(s->members, s->n_members, sizeof(*s->members), by_member);
	for (u32 i = 0; i < s->n_members; i++)
		if (!i || s->members[i] != s->members[i - 1])
			s->members[n++] = s->members[i];
	s->n_members = n;
}

static u8 *join(struct writer *w, size_t *n)
{
	const u32 types = (u32)w->types.n, strs = (u32)w->strs.n;
	const u32 head[] = { 0, HEADER, 0, types, types, strs };
	u16 magic = 0xeb9f;
	u8 *p = malloc(HEADER + w->types.n + w->strs.n);

	if (!p) {
		w->failed = true;
		return NULL;
	}
	for (u32 i = 0; i < ARRAY_SIZE(head); i++)
		put(w, p + i * 4, head[i]);
	if (w->b->swap)
		magic = __builtin_bswap16(magic);
	memcpy(p, &magic, sizeof(magic));
	p[2] = 1; /* version */
	p[3] = 0; /* flags */
	if (types)
		memcpy(p + HEADER, w->types.p, types);
	memcpy(p + HEADER + types, w->strs.p, strs);
	*n = HEADER + (size_t)types + strs;
	return p;
}

bool btf_filter_bytes(struct btf_subset *s, const void **p, size_t *n, struct btf_error *e)
{
	struct writer w = { .s = s, .b = s->target };
	u8 *first = add(&w, &w.strs, 1);

	free(s->out);
	s->out = NULL;
	if (first) {
		*first = 0;
		notes_sort(s);
		put_types(&w);
	}
	if (!w.failed)
		s->out = join(&w, n);
	free(w.types.p);
	free(w.strs.p);
	free(w.slots);
	*p = s->out;
	return !w.failed || btf_fail_sys(e, ENOMEM, "writing BTF");
}

bool btf_filter_save(struct btf_subset *s, const char *path, struct btf_error *e)
{
	const void *p;
	size_t n = 0;
	int code;

	if (!btf_filter_bytes(s, &p, &n, e))
		return false;
	code = file_save(path, p, n);
	return !code || btf_fail_sys(e, code, "%.128s", path);
}
