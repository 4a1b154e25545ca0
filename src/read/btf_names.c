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
 * Names of less than four letters are searched one by one; flavours ("x___old") by their "___".
 */
#include "read/btf_impl.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define SLICE     65536u /* bytes between looks at whether all names have been seen */
#define SCRATCH   32768u /* bytes of strings copied out of a file that is not mapped */
#define NAME_MAX_ 4096u  /* longer names are never found */
#define FLAVOR    "___"

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

	if (!n || (q->kind && q->kind != kind) || strncmp(text, q->name, n) != 0)
		return false;
	return !text[n] || (w->flavors && essential(text, (u32)strlen(text)) == n);
}

static u32 last4_hash(const char *end)
{
	u32 v;

	memcpy(&v, end - 4, sizeof(v));
	return v * 0x9e3779b1u >> 17;
}

void btf_wanted_init(struct btf_wanted *w, const struct btf_query *q, u32 n, unsigned flags)
{
	memset(w, 0, sizeof(*w));
	w->q = q;
	w->n = n;
	w->flavors = flags & BTF_FIND_FLAVORS;
	w->back = w->flavors ? 512 : 16;
	for (u32 i = 0; i < n; i++) {
		size_t len = strlen(q[i].name);

		if (!len || len > NAME_MAX_)
			continue;
		w->len[i] = (u32)len;
		w->back = MAX(w->back, (u32)len + 1);
		w->unseen++;
		if (len < 4) {
			w->n_short++;
		} else {
			u32 h = last4_hash(q[i].name + len);

			w->last4[h / 8] |= (u8)(1u << h % 8);
		}
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

	if (!n || n > end || memcmp(s->p + at, w->q[i].name, n) != 0)
		return;
	mark(w, s->off + at);
	if (at ? !s->p[at - 1] : s->head)
		see(w, i);
}

static __attribute__((noinline)) void compare_all(struct btf_wanted *w, const struct stretch *s,
                                                  u32 end)
{
	for (u32 i = 0; i < w->n; i++)
		if (w->len[i] >= 4)
			compare(w, s, end, i);
}

static inline void look(struct btf_wanted *w, const struct stretch *s, u32 end)
{
	u32 h;

	if (end < 4)
		return;
	h = last4_hash(s->p + end);
	if (w->last4[h / 8] >> h % 8 & 1)
		compare_all(w, s, end);
}

static void ends_plain(struct btf_wanted *w, const struct stretch *s, u32 from)
{
	const char *at = s->p + from, *end = s->p + s->to;

	while (at < end && (at = memchr(at, 0, (size_t)(end - at)))) {
		look(w, s, (u32)(at - s->p));
		at++;
	}
}

#ifdef __SSE2__
static inline u64 zeros_sse2(const char *p)
{
	const __m128i zero = _mm_setzero_si128();
	u64 mask = 0;

	for (u32 i = 0; i < 4; i++) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i * 16));

		mask |= (u64)(u32)_mm_movemask_epi8(_mm_cmpeq_epi8(v, zero)) << i * 16;
	}
	return mask;
}

__attribute__((target("avx2"))) static inline u64 zeros_avx2(const char *p)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
	__m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));

	return (u32)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, zero)) |
	       (u64)(u32)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, zero)) << 32;
}

#define ENDS(name, zeros)                                                                          \
	static u32 name(struct btf_wanted *w, const struct stretch *s)                             \
	{                                                                                          \
		u32 at = s->from;                                                                  \
                                                                                                   \
		for (; at + 64 <= s->to; at += 64)                                                 \
			for (u64 m = zeros(s->p + at); m; m &= m - 1)                              \
				look(w, s, at + (u32)__builtin_ctzll(m));                          \
		return at;                                                                         \
	}

ENDS(ends_sse2, zeros_sse2)
__attribute__((target("avx2,bmi"))) ENDS(ends_avx2, zeros_avx2)

	static void ends(struct btf_wanted *w, const struct stretch *s)
{
	ends_plain(w, s, __builtin_cpu_supports("avx2") ? ends_avx2(w, s) : ends_sse2(w, s));
}
#else
static void ends(struct btf_wanted *w, const struct stretch *s)
{
	ends_plain(w, s, s->from);
}
#endif

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

static void flavors(struct btf_wanted *w, const struct stretch *s)
{
	const char *at = s->p + s->from - MIN(s->from, w->back), *end = s->p + s->to;

	while ((at = memmem(at, (size_t)(end - at), FLAVOR, 3))) {
		flavor(w, s, (u32)(at - s->p));
		at += 3;
	}
}

/* ---- the search ----------------------------------------------------------------------------- */

/* Bytes w->pos to `to` of the strings of b. */
static bool stretch_get(const struct btf_wanted *w, const struct btf *b, u32 to, u8 *scratch,
                        struct stretch *s)
{
	struct btf_source *src = (struct btf_source *)&b->src;
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
			if (w->len[i] && w->len[i] < 4)
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
