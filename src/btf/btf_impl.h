/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files of the BTF reader share. Nothing here leaves the library.
 *
 *     btf_open     headers, sections, references        btf_find   names -> ids
 *     btf_elf      where an ELF file keeps BTF          btf_names  names -> string offsets
 *     btf_source   bytes, mapped or read in pages       btf_info   one record and its entries
 *     btf_lanes    many records at once                 btf_field, btf_path, btf_enum
 *     btf_walk     passes over all types, ids           btf_check  everything
 *     btf_relocate split BTF from one base to another
 */
#ifndef BTF_BTF_IMPL_H
#define BTF_BTF_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <memtap/btf.h>

#include "base/base.h"

#pragma GCC visibility push(hidden)

#define BTF_RECORD     12u
#define BTF_CHAIN_MAX  32u /* modifiers before one type */
#define BTF_NEST_MAX   16u /* anonymous members in each other */
#define BTF_FILE_MAX   (256u << 20)
#define BTF_WORK_MAX   100000u /* steps for one question */
#define BTF_FIELDS_MAX 20000u  /* members looked at for one question */
#define BTF_MARKS_MAX  3600u   /* marks of the index, 28 KiB */
#define BTF_RECENT     512u    /* remembered answers, 4 KiB */
#define BTF_PAGE       4096u   /* what one read of a sysfs file gives at most */
#define BTF_KINDS      128u

/* Where type `id` starts in the type section. */
struct btf_mark {
	u32 id, off;
};

/*
 * What is known about where types start: marks every `stride` ids or a little more, up to the
 * id `known`, which starts at `known_off`. It only grows, under the lock; readers see a prefix.
 */
struct btf_marks {
	u32 stride;
	atomic_uint n, known;
	atomic_bool whole; /* no type lies after `known` */
	u32 known_off;
	_Atomic u64 recent[BTF_RECENT]; /* hash of kind and name << 32 | id */
	_Atomic u64 places[BTF_RECENT]; /* id << 32 | offset of types asked about */
	struct btf_mark v[BTF_MARKS_MAX];
};

/* The file's bytes: at `p`, all of them or, with fd >= 0, the pages noted in `pages`. A copy has
 * all that will be asked about, and zeros for the rest. */
struct btf_source {
	const u8 *p;
	u64 n;
	void *map; /* to be unmapped, or NULL for borrowed bytes */
	size_t map_n;
	int fd;
	bool is_copy;
	_Atomic u64 *pages;
	pthread_mutex_t lock;
};

struct btf {
	atomic_uint refs;
	struct btf *own; /* itself: what is found out later is kept, also of a const one */
	struct btf *base;
	struct btf_source src;
	u64 start; /* of the header in the source */
	const u8 *types;
	const char *strs;
	u32 types_n, strs_n, layout_n;              /* bytes */
	u32 types_at, strs_at, layout_at, header_n; /* from the header */
	bool swap;                                  /* the file has the other byte order */
	u32 strs_first;    /* offset of strs[0] as names count: the base's strings come before */
	atomic_uint first; /* btf_first, 0 while unknown */
	atomic_uint ptr_size;
	pthread_mutex_t lock;   /* growing marks */
	atomic_bool marks_made; /* see btf_marks_get */
	_Atomic(u32 *) all;     /* btf_index */
	atomic_bool full_ints;  /* known then: no INT has fewer bits than its bytes */
	/* Bytes of a type: the low half of its kind's word, and the high half for each entry. */
	u64 tail[BTF_KINDS];
	struct btf_marks marks; /* last: no page of it is touched before it is needed */
};

static inline u32 btf_load(const struct btf *b, const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return b->swap ? __builtin_bswap32(v) : v;
}

static inline u32 btf_kind_of(u32 word)
{
	return word >> 24 & 0x7f;
}

static inline u32 btf_vlen_of(u32 word)
{
	return word & 0xffffff;
}

/* Bytes of a record with its entries, from its second word; longer than any file when unknown. */
static inline u64 btf_length(const struct btf *b, u32 word)
{
	u64 tail = b->tail[btf_kind_of(word)];

	return (u32)tail + (tail >> 32) * btf_vlen_of(word);
}

static inline bool btf_is_modifier(u32 kind)
{
	return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE ||
	       kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG;
}

static inline bool btf_is_composite_kind(u32 kind)
{
	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
}

static inline bool btf_is_enum_kind(u32 kind)
{
	return kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64;
}

/* btf_open.c. Always false. e may be NULL. */
bool btf_fail(struct btf_error *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool btf_fail_sys(struct btf_error *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Any file, as if it could not be mapped when `window` is set. */
struct btf *btf_open_how(const char *path, struct btf *base, bool window, struct btf_error *e);

/* As btf_open_memory_split, of a mapping that is taken over, on failure too. */
struct btf *btf_open_mapping(void *p, size_t n, struct btf *base, struct btf_error *e);

/* btf_elf.c: the named section of an ELF file. False, with `e` set, when there is none. */
bool btf_elf_section(struct btf_source *s, const char *name, u64 *at, u64 *len, bool *is_64,
                     struct btf_error *e);
bool btf_elf_is(struct btf_source *s);
/* Reads the sections that have to do with BTF. */
bool btf_elf_fill(struct btf_source *s);

/* btf_source.c */
void btf_source_borrow(struct btf_source *s, const void *p, u64 n);
bool btf_source_open(struct btf_source *s, const char *path, bool window, struct btf_error *e);
void btf_source_close(struct btf_source *s);
/* Reads the pages of these bytes, for a file that is not mapped. */
bool btf_source_fill(struct btf_source *s, u64 at, u64 n);
/* The same for any: true at once where all of them are there. */
static inline bool btf_source_has(struct btf_source *s, u64 at, u64 n)
{
	return s->fd < 0 || btf_source_fill(s, at, n);
}
/* No more is read of a file that is to be a copy. */
void btf_source_settle(struct btf_source *s);
/* Bytes for one look: in place, or copied to `scratch`. NULL on a failed read. */
const u8 *btf_source_view(struct btf_source *s, u64 at, u64 n, u8 *scratch);

/* Makes n bytes of the types or strings, whose bounds have been checked, readable in place. */
static inline bool btf_need(const struct btf *b, const void *p, u64 n)
{
	struct btf_source *s = &b->own->src;

	return btf_source_has(s, (u64)((const u8 *)p - s->p), n);
}

/*
 * btf_lanes.c: a stretch of the type section that is walked in several places at once.
 */
#define BTF_LANES      8u
#define BTF_LANE_BYTES 8192u
#define BTF_BLOCK      (BTF_LANES * BTF_LANE_BYTES)
#define BTF_LANE_TYPES (BTF_LANE_BYTES / BTF_RECORD + 1)
#define BTF_LANE_STEP  32u /* a lane notes every 32nd of its types */

/* Which types a pass wants: of these kinds, and (names not NULL) with one of these names. */
struct btf_filter {
	u8 kinds[BTF_KINDS];
	const u8 *names; /* a bit for each hash of an offset, see btf_name_hash */
	/* of the strings, fetched ahead for a callback that reads them; or NULL */
	const char *texts;
};

#define BTF_NAME_BITS 16u
static inline u32 btf_name_hash(u32 off)
{
	return off & ((1u << BTF_NAME_BITS) - 1);
}

/* A type that passed: its number in the lane, and its offset in the block in words of 4 bytes. */
struct btf_hit {
	u16 nth, word;
};

struct btf_lane {
	u32 start, stop; /* offsets in the block: first type, end of the last one */
	u32 n;           /* types */
	bool bad;        /* the one at `stop` is damaged */
	u32 n_hits;
	struct btf_hit *hits;                         /* BTF_LANE_TYPES of them */
	u32 step[BTF_LANE_TYPES / BTF_LANE_STEP + 1]; /* offset of type 0, 32, 64, ... */
};

struct btf_block {
	const struct btf *btf;
	const struct btf_filter *filter; /* NULL: none */
	const u8 *p; /* the bytes, of which n may be read; the type section goes on to `end` */
	u32 n;
	u64 end;
	u32 n_lanes;
	struct btf_lane lane[BTF_LANES];
	struct btf_hit hits[BTF_LANES][BTF_LANE_TYPES];
};
/* Walks from p on, where a type starts, to the last one whose record lies in the n bytes. */
void btf_block_walk(struct btf_block *k);

/* btf_walk.c */
/* What was remembered and where types start. */
struct btf_marks *btf_marks_get(const struct btf *b);
/* Where a type of this very file starts. False when the id is none of its. */
bool btf_offset(const struct btf *b, u32 id, u32 *off);
/* The record at an offset of this very file: bounds checked, bytes readable. NULL when damaged. */
const u8 *btf_record_at(const struct btf *b, u32 off, u32 *n);
/* The record of an id of this file or its base; NULL when there is none. *in is its file. */
const u8 *btf_record(const struct btf *b, u32 id, const struct btf **in, u32 *n);
/* A type that passed. Its record is whole, and its first 12 bytes are at p, during the call. */
struct btf_found {
	u32 id, off;
	const u8 *p;
};
typedef bool btf_hit_fn(void *ctx, const struct btf_found *h);
/* Calls back for each type of this very file that passes, in order; false from `cb` stops, and is
 * returned. */
bool btf_pass(const struct btf *b, const struct btf_filter *f, btf_hit_fn *cb, void *ctx);
/* Where the walk over this very file ended: the id after the last type, and its offset. */
void btf_walk_end(const struct btf *b, u32 *id, u32 *off);

/* btf_names.c: the string offsets that spell one of some names. */
#define BTF_WANTED_MAX 64u
struct btf_wanted {
	const struct btf_query *q;
	u32 n;
	bool flavors;
	bool seen[BTF_WANTED_MAX]; /* spelled at the start of a string at least once */
	u32 len[BTF_WANTED_MAX];
	u32 unseen, back, n_short;
	bool ascii;
	u64 groups[8];     /* a bit for each name, by its end */
	u8 sets[3][2][16]; /* last letters, from the last on, see bytes_zero_after() */
	u32 marked;        /* bits of `names` that were set, with repetitions */
	u32 level, pos; /* where the search goes on: files from the root of split BTF on, bytes */
	u8 last4[4096]; /* a bit for each hash of the last four bytes of a name */
	u32 last[BTF_WANTED_MAX], last_mask[BTF_WANTED_MAX];
	u8 names[1u << BTF_NAME_BITS >> 3]; /* a bit for each hash of an offset */
};
void btf_wanted_init(struct btf_wanted *w, const struct btf_query *q, u32 n, unsigned flags);
/* Goes on through the strings to their end, or (first) until each name has been seen. */
void btf_wanted_search(struct btf_wanted *w, const struct btf *b, bool first);
/* True if the search has come to the end of the strings. */
bool btf_wanted_over(const struct btf_wanted *w, const struct btf *b);
/* Instead of a search: which texts can be one of the names is told by how they start. */
void btf_wanted_by_start(struct btf_wanted *w);
bool btf_wanted_starts(const struct btf_wanted *w, const char *text);
/* Marks every place of the strings where the n bytes stand, 1 to BTF_PREFIX_MAX of them. */
#define BTF_PREFIX_MAX 1024u
void btf_wanted_prefix(struct btf_wanted *w, const struct btf *b, const char *prefix, u32 n);
/* Whether a type of that name and kind is an answer to query i. */
bool btf_wanted_fits(const struct btf_wanted *w, u32 i, const char *text, u32 kind);

/* btf_open.c: files below in split BTF, at most BTF_LEVELS_MAX, and the one `level` from the
 * root. */
#define BTF_LEVELS_MAX 8u
u32 btf_depth(const struct btf *b);
const struct btf *btf_at_level(const struct btf *b, u32 level);

/* The text at an offset, as btf_string gives it, but for a look: where the file is not mapped it is
 * copied to `scratch` rather than a page kept for it. */
#define BTF_TEXT_MAX 128u
const char *btf_text(const struct btf *b, u32 off, char scratch[BTF_TEXT_MAX]);

/* btf_info.c: fills from a record; the name must be in range. */
bool btf_info_read(const struct btf *b, u32 id, const u8 *p, u32 n, struct btf_info *t);

#pragma GCC visibility pop

#endif
