/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From names to the string offsets that spell them.
 *
 * The one idea: one pass over the strings for all names, so that types can then be compared by a
 * number. Every string is looked at by its end: the four bytes before its NUL are hashed and looked
 * up in a small bitmap. A file may let a name share the tail of a longer string, and what ends
 * there is found by the same look. Offsets found are kept as bits too; who gets a hit compares
 * the text once more, so hashes may collide.
 *
 *      ...\0task_struct\0vhost_task_struct\0...
 *                 `uct' --> candidates --> "task_struct": at a string's start, seen;
 *                                          and at the tail of another, also marked
 *
 * Names of one and two letters are searched one by one; flavours ("x___old") by their "___".
 */
#include "btf/btf_impl.h"

#include "arch/bytes.h"

#define SLICE       65536u /* bytes between looks at whether all names have been seen */
#define SCRATCH     32768u /* bytes of strings copied out of a file that is not mapped */
#define NAME_MAX_   4096u  /* longer names are never found */
#define LOOKED_AT   3u     /* letters of a name that is looked for by its end, at least */
#define FLAVOR      "___"
#define HASH_FACTOR 0x9e3779b1u
#define LAST4_BITS  15u

/* ---- names ---------------------------------------------------------------------------------- */

/* As libbpf cuts: at the last "___" with something other than "_" on both sides. */
static u32 essential(const char *name, u32 n)
{
	for (u32 i = n; i-- > 1;)
		if (i + 4 <= n && memcmp(name + i, FLAVOR, 3) == 0 && name[i - 1] != '_' &&
		    name[i + 3] != '_')
			return i;
	return n;
}

bool btf_wanted_fits(const struct btf_wanted *w, u32 i, const char *text, u32 kind)
{
	const struct btf_query *q = &w->q[i];
	u32 n = w->len[i];

	if (!n || text[0] != q->name[0] || (q->kind && q->kind != kind) ||
	    strncmp(text, q->name, n) != 0)
		return false;
	return !text[n] || (w->flavors && essential(text, (u32)strlen(text)) == n);
}

/* The four bytes before `end`, with which `look` can compare at once. */
static u32 last_word(const char *end)
{
	u32 v;

	memcpy(&v, end - 4, sizeof(v));
	return v;
}

static u32 last4_hash(u32 word)
{
	return word * HASH_FACTOR >> (32 - LAST4_BITS);
}

static void last4_add(struct btf_wanted *w, u32 word)
{
	u32 h = last4_hash(word);

	w->last4[h / 8] |= (u8)(1u << h % 8);
}

/* Names are in eight groups by their last three letters; those before the NUL at `end` tell. */
static u32 group_of(const char *end)
{
	return last_word(end + 1) * HASH_FACTOR >> 29;
}

/* What may stand before the NUL of a string that is or ends in the name. */
static void ends_add(struct btf_wanted *w, u32 i, const char *name, u32 len)
{
	char last[4] = { 0 }, mask[4] = { 0, -1, -1, -1 };
	u32 group = group_of(name + len);

	if (len > LOOKED_AT) {
		memcpy(last, name + len - 4, 4);
		mask[0] = -1;
		last4_add(w, last_word(last + 4));
	} else {
		memcpy(last + 1, name, LOOKED_AT);
		for (u32 c = 0; c < 256; c++) {
			last[0] = (char)c;
			last4_add(w, last_word(last + 4));
		}
		last[0] = 0;
	}
	w->groups[group] |= 1ull << i;
	w->last[i] = last_word(last + 4);
	w->last_mask[i] = last_word(mask + 4);
	for (u32 j = 0; j < LOOKED_AT; j++) {
		u8 c = (u8)name[len - 1 - j];

		w->ascii &= c < 0x80;
		w->sets[j][0][c & 15] |= (u8)(1u << group);
		w->sets[j][1][c >> 4] |= (u8)(1u << group);
	}
}

void btf_wanted_init(struct btf_wanted *w, const struct btf_query *q, u32 n, unsigned flags)
{
	memset(w, 0, sizeof(*w));
	w->q = q;
	w->n = n;
	w->ascii = true;
	w->flavors = flags & BTF_FIND_FLAVORS;
	w->back = w->flavors ? 512 : 16;
	for (u32 i = 0; i < n; i++) {
		size_t len = strlen(q[i].name);

		if (!len || len > NAME_MAX_)
			continue;
		w->len[i] = (u32)len;
		w->back = MAX(w->back, (u32)len + 1);
		w->unseen++;
		if (len < LOOKED_AT)
			w->n_short++;
		else
			ends_add(w, i, q[i].name, (u32)len);
	}
}

/* ---- a stretch of strings ------------------------------------------------------------------- */

/* Bytes `from` to `to` are searched for the ends of strings; those from 0 on may be looked at. */
struct stretch {
	const char *p;
	u32 from, to;
	u32 off;   /* of p[0] as names count */
	bool head; /* p[0] starts a string */
};

static void mark(struct btf_wanted *w, u32 off)
{
	u32 h = btf_name_hash(off);

	w->names[h / 8] |= (u8)(1u << h % 8);
	w->marked++;
}

static void see(struct btf_wanted *w, u32 i)
{
	if (!w->seen[i])
		w->unseen--;
	w->seen[i] = true;
}

/* The string that ends before p[end] may end in name i. */
static void compare(struct btf_wanted *w, const struct stretch *s, u32 end, u32 i)
{
	u32 n = w->len[i], at = end - n;
	const char *name = w->q[i].name;

	if (!n || n > end || s->p[at] != name[0] || memcmp(s->p + at, name, n) != 0)
		return;
	mark(w, s->off + at);
	if (at ? !s->p[at - 1] : s->head)
		see(w, i);
}

static __attribute__((noinline)) void compare_all(struct btf_wanted *w, const struct stretch *s,
                                                  u32 end, u32 word)
{
	for (u64 m = w->groups[group_of(s->p + end)]; m; m &= m - 1) {
		u32 i = (u32)__builtin_ctzll(m);

		if ((word & w->last_mask[i]) == w->last[i])
			compare(w, s, end, i);
	}
}

static inline void look(struct btf_wanted *w, const struct stretch *s, u32 end)
{
	u32 word = last_word(s->p + end), h = last4_hash(word);

	if (w->last4[h / 8] >> h % 8 & 1)
		compare_all(w, s, end, word);
}

/* Where there are no four bytes before the end yet; returns where there are. */
static u32 ends_head(struct btf_wanted *w, const struct stretch *s)
{
	u32 at = s->from;

	for (; at < 4 && at < s->to; at++)
		for (u32 i = 0; !s->p[at] && i < w->n; i++)
			if (w->len[i] >= LOOKED_AT)
				compare(w, s, at, i);
	return at;
}

static void ends_plain(struct btf_wanted *w, const struct stretch *s, u32 from)
{
	const char *at = s->p + from, *end = s->p + s->to;

	while (at < end && (at = memchr(at, 0, (size_t)(end - at)))) {
		look(w, s, (u32)(at - s->p));
		at++;
	}
}

/*
 * Masks are collected first and looked at then, so that the loop over all bytes has no branch that
 * no processor can foresee.
 */
#define MASKS 512u
static u32 blocks(u32 at, u32 to)
{
	return at < to ? MIN((to - at) / 64, MASKS) : 0;
}

/* Goes from `at` on as far as there is a fast way. The letters of a name are kept as two tables, by
 * their low and high halves. */
static u32 ends_fast(struct btf_wanted *w, const struct stretch *s, u32 at)
{
	u64 masks[MASKS];

	for (u32 n; (n = blocks(at, s->to));) {
		const char *p = s->p + at;

		if (!(w->ascii && bytes_zero_after(p, n, w->sets, masks)) &&
		    !bytes_zero(p, n, masks))
			break;
		for (u32 i = 0; i < n; i++, at += 64)
			for (u64 m = masks[i]; m; m &= m - 1)
				look(w, s, at + (u32)__builtin_ctzll(m));
	}
	return at;
}

static void ends(struct btf_wanted *w, const struct stretch *s)
{
	ends_plain(w, s, ends_fast(w, s, ends_head(w, s)));
}

static void short_name(struct btf_wanted *w, const struct stretch *s, u32 i)
{
	u32 n = w->len[i];
	const char *at = s->p + (s->from > n ? s->from - n : 0), *end = s->p + s->to;

	while ((at = memmem(at, (size_t)(end - at), w->q[i].name, n + 1))) {
		compare(w, s, (u32)(at - s->p) + n, i);
		at++;
	}
}

/* The string around p[at], where a "___" is, may be a flavour of some name. */
static void flavor(struct btf_wanted *w, const struct stretch *s, u32 at)
{
	const char *nul = memrchr(s->p, 0, at);
	const char *text = nul ? nul + 1 : s->p;
	u32 n = (u32)strnlen(text, (size_t)(s->p + s->to - text));
	u32 len = essential(text, n);

	for (u32 i = 0; len < n && i < w->n; i++) {
		if (w->len[i] != len || memcmp(text, w->q[i].name, len) != 0)
			continue;
		mark(w, s->off + (u32)(text - s->p));
		see(w, i);
	}
}

/* No letter of a name but "_" has all bits of "_". */
static u32 flavors_fast(struct btf_wanted *w, const struct stretch *s, u32 at)
{
	u64 masks[MASKS];

	for (u32 n; (n = blocks(at + 2, s->to)) && bytes_three(s->p + at, n, '_', masks);)
		for (u32 i = 0; i < n; i++, at += 64)
			for (u64 m = masks[i]; m; m &= m - 1)
				flavor(w, s, at + (u32)__builtin_ctzll(m));
	return at;
}

/* Strings that begin before the stretch are looked at again: their end was missing. */
static void flavors(struct btf_wanted *w, const struct stretch *s)
{
	u32 at = flavors_fast(w, s, s->from - MIN(s->from, w->back));
	const char *p;

	while (at < s->to && (p = memmem(s->p + at, s->to - at, FLAVOR, 3))) {
		at = (u32)(p - s->p);
		flavor(w, s, at++);
	}
}

/* ---- without a search ----------------------------------------------------------------------- */

static u32 start_hash(u8 a, u8 b, u8 c)
{
	return ((u32)a << 16 | (u32)b << 8 | c) * HASH_FACTOR >> (32 - BTF_NAME_BITS);
}

static void start_add(struct btf_wanted *w, u32 h)
{
	w->names[h / 8] |= (u8)(1u << h % 8);
}

void btf_wanted_by_start(struct btf_wanted *w)
{
	for (u32 i = 0; i < w->n; i++) {
		const u8 *name = (const u8 *)w->q[i].name;
		u8 b = name[0] ? name[1] : 0, c = b ? name[2] : 0;

		start_add(w, start_hash(name[0], b, c));
		/* Of a flavour the "___" may be among the three. */
		if (!c)
			start_add(w, start_hash(name[0], b ? b : '_', '_'));
	}
}

bool btf_wanted_starts(const struct btf_wanted *w, const char *text)
{
	const u8 *t = (const u8 *)text;
	u8 b = t[0] ? t[1] : 0, c = b ? t[2] : 0;
	u32 h = start_hash(t[0], b, c);

	return w->names[h / 8] >> h % 8 & 1;
}

/* ---- the search ----------------------------------------------------------------------------- */

/* Bytes w->pos to `to` of the strings of b. */
static bool stretch_get(const struct btf_wanted *w, const struct btf *b, u32 to, u8 *scratch,
                        struct stretch *s)
{
	struct btf_source *src = &b->own->src;
	u32 from = src->fd < 0 ? 0 : w->pos - MIN(w->pos, w->back);
	u64 strs = (u64)((const u8 *)b->strs - src->p);

	s->p = (const char *)btf_source_view(src, strs + from, to - from, scratch);
	s->from = w->pos - from;
	s->to = to - from;
	s->off = b->strs_first + from;
	s->head = from == 0;
	return s->p != NULL;
}

static void search_level(struct btf_wanted *w, const struct btf *b, bool first)
{
	u32 slice = b->src.fd < 0 ? SLICE : SCRATCH - MIN(w->back, SCRATCH / 2);
	u8 scratch[SCRATCH];
	struct stretch s;

	while (w->pos < b->strs_n && !(first && !w->unseen)) {
		u32 to = w->pos + MIN(slice, b->strs_n - w->pos);

		if (!stretch_get(w, b, to, scratch, &s)) {
			w->pos = b->strs_n;
			return;
		}
		ends(w, &s);
		for (u32 i = 0; w->n_short && i < w->n; i++)
			if (w->len[i] && w->len[i] < LOOKED_AT)
				short_name(w, &s, i);
		if (w->flavors)
			flavors(w, &s);
		w->pos = to;
	}
}

bool btf_wanted_over(const struct btf_wanted *w, const struct btf *b)
{
	return w->level > btf_depth(b);
}

/* A name may start inside another's text, so a prefix is looked for everywhere. */
static void prefix_at(struct btf_wanted *w, const struct stretch *s, u32 at, const char *prefix,
                      u32 n)
{
	if (memcmp(s->p + at, prefix, n) == 0)
		mark(w, s->off + at);
}

/* By its first and last letters. */
static u32 prefix_fast(struct btf_wanted *w, const struct stretch *s, u32 at, const char *prefix,
                       u32 len)
{
	u64 masks[MASKS];

	for (u32 n; (n = blocks(at + len - 1, s->to)) &&
	            bytes_pair(s->p + at, n, prefix[0], prefix[len - 1], len - 1, masks);)
		for (u32 i = 0; i < n; i++, at += 64)
			for (u64 m = masks[i]; m; m &= m - 1)
				prefix_at(w, s, at + (u32)__builtin_ctzll(m), prefix, len);
	return at;
}

static void prefix_in(struct btf_wanted *w, const struct stretch *s, const char *prefix, u32 n)
{
	u32 at = prefix_fast(w, s, s->from - MIN(s->from, n - 1), prefix, n);
	const char *p;

	while (at < s->to && (p = memmem(s->p + at, s->to - at, prefix, n))) {
		at = (u32)(p - s->p);
		prefix_at(w, s, at++, prefix, n);
	}
}

void btf_wanted_prefix(struct btf_wanted *w, const struct btf *b, const char *prefix, u32 n)
{
	u8 scratch[SCRATCH];
	struct stretch s;

	btf_wanted_init(w, NULL, 0, 0);
	w->back = n;
	for (; !btf_wanted_over(w, b); w->level++) {
		const struct btf *in = btf_at_level(b, w->level);
		u32 slice = in->src.fd < 0 ? in->strs_n : SCRATCH - n;

		for (w->pos = 0; w->pos < in->strs_n;) {
			u32 to = w->pos + MIN(slice, in->strs_n - w->pos);

			if (!stretch_get(w, in, to, scratch, &s))
				break;
			prefix_in(w, &s, prefix, n);
			w->pos = to;
		}
	}
}

void btf_wanted_search(struct btf_wanted *w, const struct btf *b, bool first)
{
	while (!btf_wanted_over(w, b)) {
		const struct btf *in = btf_at_level(b, w->level);

		search_level(w, in, first);
		if (w->pos < in->strs_n)
			return;
		w->level++;
		w->pos = 0;
	}
}
