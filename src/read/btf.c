/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BTF read in place.
 *
 *     header | types: 12-byte records, each with a tail by kind | ... | strings, NUL-terminated
 *
 * The one idea: the file is an array of bytes, and everything is looked up in it when it is
 * asked for. A type can only be found by walking over all types before it, so the first
 * question by id or name makes one walk that notes where each type starts (4 bytes a type);
 * the walk checks every type's bounds, all else is checked at use. Names are compared
 * strings-first: the wanted name is searched once in the string section, and the types are then
 * compared by the number of their name. Because a file may share the tails of strings, a miss
 * is only believed when the bytes of the name end no other string, or after comparing texts.
 *
 *     open:   map, check the header                          some 20 us
 *     index:  one walk                                       about 1 ms for a kernel
 *     find:   one search in strings, one pass over types     about 0.5 ms for a kernel
 *
 * Newer files have a 32-byte header with a layout section that gives sizes for kinds this
 * reader does not know; vlen has 24 bits and kind 7 (16 and 5 before, the rest being 0).
 *
 * It does not read split (module) BTF, relocation records or files of the other byte order.
 */
#include "read/btf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define BTF_FILE_MAX    (256u << 20)
#define BTF_HEADER_OLD  24u
#define BTF_HEADER_NEW  32u
#define BTF_VLEN_MASK   0xffffffu
#define BTF_MAGIC_LOW   0x9fu /* the magic number 0xeb9f, as little-endian bytes */
#define BTF_MAGIC_HIGH  0xebu
#define BTF_CHAIN_MAX   32u
#define BTF_NEST_MAX    16u
#define BTF_MEMBERS_MAX 100000u /* work for one question about members */

struct index {
	u32 *offs; /* offs[id - 1]: where type `id` starts */
	u32 n;
	bool built;
};

struct btf {
	struct file_map map; /* n is 0 when not mapped */
	struct buf heap;     /* the bytes, where the file could not be mapped */
	const u8 *types, *layout;
	const char *strs;
	u32 types_n, strs_n, layout_n;
	struct index *index; /* apart, because questions are asked of a const struct btf */
};

/* ---- opening -------------------------------------------------------------------------------- */

static u32 load32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* A section of the file: *p and *n from the header words at `at`. */
static bool section(const u8 *file, size_t n, u32 at, const u8 **p, u32 *len)
{
	u64 off = load32(file + at), bytes = load32(file + at + 4);

	off += load32(file + 4);
	if (off + bytes > n)
		return false;
	*p = file + off;
	*len = (u32)bytes;
	return true;
}

static bool header_check(const u8 *file, size_t n, struct err *e)
{
	u32 len;

	if (n < BTF_HEADER_OLD)
		return err_set(e, "the BTF data is too short");
	if (file[0] == BTF_MAGIC_HIGH && file[1] == BTF_MAGIC_LOW)
		return err_set(e, "the BTF data is big-endian; only little-endian is supported");
	if (file[0] != BTF_MAGIC_LOW || file[1] != BTF_MAGIC_HIGH)
		return err_set(e, "the data is not BTF");
	if (file[2] != 1)
		return err_set(e, "the BTF data has version %u; only version 1 is supported",
		               file[2]);
	len = load32(file + 4);
	if (len < BTF_HEADER_OLD || len > n)
		return err_set(e, "the BTF header is damaged");
	return true;
}

static bool load(struct btf *b, const u8 *file, size_t n, struct err *e)
{
	const u8 *strs;

	if (!header_check(file, n, e))
		return false;
	if (!section(file, n, 8, &b->types, &b->types_n) ||
	    !section(file, n, 16, &strs, &b->strs_n))
		return err_set(e, "the BTF sections lie outside the data");
	if (load32(file + 4) >= BTF_HEADER_NEW && !section(file, n, 24, &b->layout, &b->layout_n))
		return err_set(e, "the BTF layout section lies outside the data");
	b->strs = (const char *)strs;
	if (!b->strs_n || b->strs[0] || b->strs[b->strs_n - 1])
		return err_set(e, "the BTF string section is damaged");
	return true;
}

static struct btf *btf_new(void)
{
	struct btf *b = calloc(1, sizeof(*b));

	if (!b || !(b->index = calloc(1, sizeof(*b->index))))
		abort();
	return b;
}

struct btf *btf_open_memory(const void *p, size_t n, struct err *e)
{
	struct btf *b = btf_new();

	if (load(b, p, n, e))
		return b;
	btf_close(b);
	return NULL;
}

/* Kernels before 6.16 can not map their BTF, they only copy it out. */
static bool load_file(struct btf *b, const char *path, struct err *e)
{
	if (file_map(path, &b->map, e))
		return load(b, b->map.p, b->map.n, e);
	if (e->code == ENOENT || e->code == EACCES)
		return false;
	return file_read(path, &b->heap, BTF_FILE_MAX, e) &&
	       load(b, (const u8 *)buf_text(&b->heap), b->heap.n, e);
}

struct btf *btf_open(const char *path, struct err *e)
{
	struct btf *b = btf_new();

	if (load_file(b, path, e))
		return b;
	if (!e->code)
		err_wrap(e, "%s", path);
	btf_close(b);
	return NULL;
}

void btf_close(struct btf *b)
{
	if (!b)
		return;
	file_unmap(&b->map);
	buf_free(&b->heap);
	free(b->index->offs);
	free(b->index);
	free(b);
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* The fixed part of a type, as in struct btf_type, its parts taken out. */
struct record {
	const u8 *p; /* the record, its tail at p + 12 */
	u32 name, kind, vlen, size_or_type;
	bool kind_flag;
};

#define RECORD_SIZE 12u

static void record_at(const struct btf *b, u32 off, struct record *r)
{
	u32 info;

	r->p = b->types + off;
	r->name = load32(r->p);
	info = load32(r->p + 4);
	r->size_or_type = load32(r->p + 8);
	r->vlen = info & BTF_VLEN_MASK;
	r->kind = info >> 24 & 0x7f;
	r->kind_flag = info >> 31;
}

/* Bytes behind the fixed part: `fixed` once and `each` vlen times. */
struct tail {
	u8 fixed, each;
	bool known;
};

static const struct tail tails[] = {
	[BTF_KIND_INT] = { 4, 0, true },        [BTF_KIND_PTR] = { 0, 0, true },
	[BTF_KIND_ARRAY] = { 12, 0, true },     [BTF_KIND_STRUCT] = { 0, 12, true },
	[BTF_KIND_UNION] = { 0, 12, true },     [BTF_KIND_ENUM] = { 0, 8, true },
	[BTF_KIND_FWD] = { 0, 0, true },        [BTF_KIND_TYPEDEF] = { 0, 0, true },
	[BTF_KIND_VOLATILE] = { 0, 0, true },   [BTF_KIND_CONST] = { 0, 0, true },
	[BTF_KIND_RESTRICT] = { 0, 0, true },   [BTF_KIND_FUNC] = { 0, 0, true },
	[BTF_KIND_FUNC_PROTO] = { 0, 8, true }, [BTF_KIND_VAR] = { 4, 0, true },
	[BTF_KIND_DATASEC] = { 0, 12, true },   [BTF_KIND_FLOAT] = { 0, 0, true },
	[BTF_KIND_DECL_TAG] = { 4, 0, true },   [BTF_KIND_TYPE_TAG] = { 0, 0, true },
	[BTF_KIND_ENUM64] = { 0, 12, true },
};

/* For kinds from the future: { u8 fixed; u8 each; u16 flags } per kind in the layout section. */
static struct tail tail_of(const struct btf *b, u32 kind)
{
	struct tail t = { 0 };
	size_t at;

	if (kind < ARRAY_SIZE(tails))
		return tails[kind];
	at = (size_t)kind * 4;
	if (at + 4 <= b->layout_n)
		t = (struct tail){ b->layout[at], b->layout[at + 1], true };
	return t;
}

/* Offset of the type behind the one at off; 0 when that one is cut off or of unknown size. */
static u32 step(const struct btf *b, u32 off)
{
	struct record r;
	struct tail t;
	u64 end;

	if (b->types_n - off < RECORD_SIZE)
		return 0;
	record_at(b, off, &r);
	t = tail_of(b, r.kind);
	end = (u64)off + RECORD_SIZE + t.fixed + (u64)t.each * r.vlen;
	return t.known && end <= b->types_n ? (u32)end : 0;
}

/* Types behind a damaged one can not be found; those before it stay usable. */
static void index_build(const struct btf *b)
{
	struct index *x = b->index;
	u32 cap = b->types_n / RECORD_SIZE, off = 0, next;

	x->built = true;
	x->offs = calloc((size_t)cap + 1, sizeof(*x->offs));
	if (!x->offs)
		abort();
	for (; off < b->types_n && (next = step(b, off)); off = next)
		x->offs[x->n++] = off;
}

static const struct index *index_get(const struct btf *b)
{
	if (!b->index->built)
		index_build(b);
	return b->index;
}

static bool record_get(const struct btf *b, u32 id, struct record *r)
{
	const struct index *x = index_get(b);

	if (!id || id > x->n)
		return false;
	record_at(b, x->offs[id - 1], r);
	return r->name < b->strs_n;
}

/* ---- one type ------------------------------------------------------------------------------- */

static bool has_size(u32 kind)
{
	return kind == BTF_KIND_INT || kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64 ||
	       kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_FLOAT ||
	       kind == BTF_KIND_DATASEC;
}

static bool is_modifier(u32 kind)
{
	return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE ||
	       kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG;
}

static bool is_composite(u32 kind)
{
	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
}

static bool is_enum(u32 kind)
{
	return kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64;
}

bool btf_info(const struct btf *b, u32 id, struct btf_info *info)
{
	struct record r;

	if (!record_get(b, id, &r))
		return false;
	*info = (struct btf_info){ .kind = r.kind, .vlen = r.vlen, .kind_flag = r.kind_flag };
	info->name = b->strs + r.name;
	if (has_size(r.kind))
		info->size = r.size_or_type;
	else if (r.kind != BTF_KIND_ARRAY && r.kind != BTF_KIND_FWD)
		info->type = r.size_or_type;
	return true;
}

u32 btf_skip(const struct btf *b, u32 id)
{
	struct record r;

	for (u32 hops = 0; hops < BTF_CHAIN_MAX && record_get(b, id, &r); hops++) {
		if (!is_modifier(r.kind))
			return id;
		id = r.size_or_type;
	}
	return 0;
}

bool btf_array(const struct btf *b, u32 id, u32 *elem, u32 *count)
{
	struct record r;

	if (!record_get(b, id, &r) || r.kind != BTF_KIND_ARRAY)
		return false;
	*elem = load32(r.p + RECORD_SIZE);
	*count = load32(r.p + RECORD_SIZE + 8);
	return true;
}

u32 btf_size(const struct btf *b, u32 id)
{
	u64 times = 1;

	for (u32 hops = 0; hops < BTF_CHAIN_MAX; hops++) {
		struct record r;
		u32 count;

		id = btf_skip(b, id);
		if (!record_get(b, id, &r))
			return 0;
		if (btf_array(b, id, &id, &count)) {
			times *= count;
		} else if (r.kind == BTF_KIND_VAR) {
			id = r.size_or_type;
		} else {
			times *= r.kind == BTF_KIND_PTR ? 8 : has_size(r.kind) ? r.size_or_type : 0;
			return times <= UINT32_MAX ? (u32)times : 0;
		}
		if (times > UINT32_MAX)
			return 0;
	}
	return 0;
}

/* The word behind an INT: encoding << 24 | offset << 16 | width, the latter two in bits. */
#define INT_SIGNED(word) ((word) >> 24 & 1)
#define INT_CHAR(word)   ((word) >> 24 & 2)
#define INT_BOOL(word)   ((word) >> 24 & 4)
#define INT_OFFSET(word) ((word) >> 16 & 0xff)
#define INT_BITS(word)   ((word)&0xff)

static bool int_word(const struct btf *b, u32 id, u32 *word)
{
	struct record r;

	if (!record_get(b, id, &r) || r.kind != BTF_KIND_INT)
		return false;
	*word = load32(r.p + RECORD_SIZE);
	return true;
}

bool btf_int(const struct btf *b, u32 id, bool *is_signed, bool *is_bool, bool *is_char)
{
	u32 word;

	if (!int_word(b, id, &word))
		return false;
	*is_signed = INT_SIGNED(word);
	*is_bool = INT_BOOL(word);
	*is_char = INT_CHAR(word);
	return true;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* A name being looked for: the string offsets that spell it. */
struct wanted {
	const char *name;
	size_t n;
	u32 offs[8];
	u32 n_offs;
	bool by_text; /* compare texts instead of offsets */
	bool partial; /* there are more spellings than offs holds: some end other strings */
};

static void wanted_init(const struct btf *b, struct wanted *w, const char *name)
{
	const char *p = b->strs, *end = b->strs + b->strs_n;

	*w = (struct wanted){ .name = name, .n = strlen(name) };
	if (!w->n)
		return;
	while ((p = memmem(p, (size_t)(end - p), name, w->n + 1))) {
		if (p[-1] == 0 && w->n_offs < ARRAY_SIZE(w->offs))
			w->offs[w->n_offs++] = (u32)(p - b->strs);
		else
			w->partial = true;
		p += w->n;
	}
}

static bool wanted_is(const struct btf *b, const struct wanted *w, u32 name)
{
	if (w->by_text)
		return name && name < b->strs_n && strcmp(b->strs + name, w->name) == 0;
	for (u32 i = 0; i < w->n_offs; i++)
		if (w->offs[i] == name)
			return true;
	return false;
}

/* Runs `pass` by offsets, and once more by texts when that could find more. */
static u32 wanted_find(const struct btf *b, const char *name,
                       u32 (*pass)(const struct btf *b, const struct wanted *w, void *ctx),
                       void *ctx)
{
	struct wanted w;
	u32 id = 0;

	wanted_init(b, &w, name);
	if (w.n_offs)
		id = pass(b, &w, ctx);
	if (!id && w.partial) {
		w.by_text = true;
		id = pass(b, &w, ctx);
	}
	return id;
}

static u32 pass_types(const struct btf *b, const struct wanted *w, void *ctx)
{
	const struct index *x = index_get(b);
	u32 kind = *(u32 *)ctx;

	for (u32 i = 0; i < x->n; i++) {
		struct record r;

		record_at(b, x->offs[i], &r);
		if ((!kind || r.kind == kind) && wanted_is(b, w, r.name))
			return i + 1;
	}
	return 0;
}

u32 btf_find(const struct btf *b, u32 kind, const char *name)
{
	return wanted_find(b, name, pass_types, &kind);
}

/* ---- names as written in C ------------------------------------------------------------------ */

/* The words of an integer type, counted. */
struct int_words {
	u32 n_long, n_short, n_char, n_int, n_signed, n_unsigned, n_other;
};

static void count_word(struct int_words *c, struct str word)
{
	const struct {
		const char *word;
		u32 *n;
	} known[] = {
		{ "long", &c->n_long }, { "short", &c->n_short },   { "char", &c->n_char },
		{ "int", &c->n_int },   { "signed", &c->n_signed }, { "unsigned", &c->n_unsigned },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (str_is(word, known[i].word)) {
			++*known[i].n;
			return;
		}
	}
	c->n_other++;
}

/* How compilers spell an integer type in debug information; NULL when it is none. */
static const char *int_name(const struct int_words *c)
{
	if (c->n_other || c->n_long > 2)
		return NULL;
	if (c->n_char)
		return c->n_unsigned ? "unsigned char" : c->n_signed ? "signed char" : "char";
	if (c->n_short)
		return c->n_unsigned ? "short unsigned int" : "short int";
	if (c->n_long == 2)
		return c->n_unsigned ? "long long unsigned int" : "long long int";
	if (c->n_long)
		return c->n_unsigned ? "long unsigned int" : "long int";
	return c->n_unsigned ? "unsigned int" : "int";
}

/* Splits at blanks, leaves out qualifiers, joins with single blanks. False when too long. */
static bool c_words(struct str s, char *out, size_t size, struct int_words *c)
{
	struct str rest = s;
	size_t n = 0;

	while (rest.p && rest.n) {
		struct str word = str_cut(rest, ' ', &rest);

		if (!word.n || str_is(word, "const") || str_is(word, "volatile"))
			continue;
		count_word(c, word);
		if (n + word.n + 2 > size)
			return false;
		if (n)
			out[n++] = ' ';
		memcpy(out + n, word.p, word.n);
		n += word.n;
	}
	out[n] = 0;
	return n > 0;
}

u32 btf_find_c(const struct btf *b, struct str name)
{
	struct int_words c = { 0 };
	const char *as_int;
	char z[256];
	u32 id;

	if (!c_words(name, z, sizeof(z), &c))
		return 0;
	if (strncmp(z, "struct ", 7) == 0)
		return btf_find(b, BTF_KIND_STRUCT, z + 7);
	if (strncmp(z, "union ", 6) == 0)
		return btf_find(b, BTF_KIND_UNION, z + 6);
	if (strncmp(z, "enum ", 5) == 0) {
		id = btf_find(b, BTF_KIND_ENUM, z + 5);
		return id ? id : btf_find(b, BTF_KIND_ENUM64, z + 5);
	}
	as_int = int_name(&c);
	if (as_int)
		return btf_find(b, BTF_KIND_INT, as_int);
	id = btf_find(b, BTF_KIND_TYPEDEF, z);
	if (!id)
		id = btf_find(b, BTF_KIND_INT, z);
	return id ? id : btf_find(b, BTF_KIND_FLOAT, z);
}

void btf_each(const struct btf *b, u32 kind, struct str glob,
              bool (*cb)(void *ctx, u32 id, const char *name), void *ctx)
{
	const struct index *x = index_get(b);

	for (u32 i = 0; i < x->n; i++) {
		struct record r;
		const char *name;

		record_at(b, x->offs[i], &r);
		if ((kind && r.kind != kind) || !r.name || r.name >= b->strs_n)
			continue;
		name = b->strs + r.name;
		if (glob_match(glob, str_of(name)) && !cb(ctx, i + 1, name))
			return;
	}
}

/* ---- members -------------------------------------------------------------------------------- */

/*
 * Before kind_flag existed a bit-field was an INT narrower than its bytes, with an offset of its
 * own in it.
 */
static void old_bit_field(const struct btf *b, struct btf_member *m, u64 *off)
{
	u32 id = btf_skip(b, m->type), word;

	if (!int_word(b, id, &word))
		return;
	if (INT_OFFSET(word) || INT_BITS(word) != btf_size(b, id) * 8) {
		m->bit_size = INT_BITS(word);
		*off += INT_OFFSET(word);
	}
}

/* Member i of a record known to be a struct or union, `base` bits into the outermost one. */
static bool member_read(const struct btf *b, const struct record *r, u32 i, u64 base,
                        struct btf_member *m)
{
	const u8 *p = r->p + RECORD_SIZE + (size_t)i * 12;
	u32 name = load32(p), place = load32(p + 8);
	/* With kind_flag the upper byte is the width of a bit-field. */
	u64 off = base + (r->kind_flag ? place & 0xffffff : place);

	if (name >= b->strs_n)
		return false;
	m->name = b->strs + name;
	m->type = load32(p + 4);
	m->bit_size = r->kind_flag ? place >> 24 : 0;
	if (!r->kind_flag)
		old_bit_field(b, m, &off);
	m->bit_off = (u32)off;
	return off <= UINT32_MAX;
}

bool btf_member_at(const struct btf *b, u32 id, u32 i, struct btf_member *m)
{
	struct record r;

	return record_get(b, id, &r) && is_composite(r.kind) && i < r.vlen &&
	       member_read(b, &r, i, 0, m);
}

/* A walk over members with the anonymous ones opened; visit returns false to stop. */
struct member_walk {
	bool (*visit)(void *ctx, const struct btf_member *m);
	void *ctx;
	u32 budget; /* members still looked at: hostile types nest exponentially */
};

/* False when the walk is over. */
static bool members_walk(const struct btf *b, struct member_walk *w, u32 id, u64 base, u32 depth)
{
	struct record r;

	if (depth > BTF_NEST_MAX || !record_get(b, id, &r) || !is_composite(r.kind))
		return true;
	for (u32 i = 0; i < r.vlen; i++) {
		struct btf_member m;

		if (!w->budget--) {
			w->budget = 0;
			return false;
		}
		if (!member_read(b, &r, i, base, &m))
			continue;
		if (m.name[0] ? !w->visit(w->ctx, &m)
		              : !members_walk(b, w, btf_skip(b, m.type), m.bit_off, depth + 1))
			return false;
	}
	return true;
}

struct member_search {
	const char *name;
	struct btf_member *out;
	bool found;
};

static bool visit_find(void *ctx, const struct btf_member *m)
{
	struct member_search *s = ctx;

	if (strcmp(m->name, s->name) != 0)
		return true;
	*s->out = *m;
	s->found = true;
	return false;
}

bool btf_member_find(const struct btf *b, u32 id, const char *name, struct btf_member *m)
{
	struct member_search s = { .name = name, .out = m };
	struct member_walk w = { visit_find, &s, BTF_MEMBERS_MAX };

	members_walk(b, &w, id, 0, 0);
	return s.found;
}

struct member_names {
	void (*cb)(void *ctx, const char *name);
	void *ctx;
};

static bool visit_name(void *ctx, const struct btf_member *m)
{
	struct member_names *s = ctx;

	s->cb(s->ctx, m->name);
	return true;
}

void btf_member_each(const struct btf *b, u32 id, void (*cb)(void *ctx, const char *name),
                     void *ctx)
{
	struct member_names s = { cb, ctx };
	struct member_walk w = { visit_name, &s, BTF_MEMBERS_MAX };

	members_walk(b, &w, id, 0, 0);
}

/* ---- functions ------------------------------------------------------------------------------ */

/* From a FUNC, a pointer or a typedef of one to the FUNC_PROTO. */
static bool proto_record(const struct btf *b, u32 id, struct record *r)
{
	for (u32 hops = 0; hops < BTF_CHAIN_MAX; hops++) {
		if (!record_get(b, btf_skip(b, id), r))
			return false;
		if (r->kind == BTF_KIND_FUNC_PROTO)
			return true;
		if (r->kind != BTF_KIND_FUNC && r->kind != BTF_KIND_PTR)
			return false;
		id = r->size_or_type;
	}
	return false;
}

/* Parameters without the (no name, void) pair that stands for "...". */
static u32 param_count(const struct record *r)
{
	const u8 *last;

	if (!r->vlen)
		return 0;
	last = r->p + RECORD_SIZE + ((size_t)r->vlen - 1) * 8;
	return load32(last) == 0 && load32(last + 4) == 0 ? r->vlen - 1 : r->vlen;
}

bool btf_proto(const struct btf *b, u32 id, u32 *ret, u32 *n_params)
{
	struct record r;

	if (!proto_record(b, id, &r))
		return false;
	*ret = r.size_or_type;
	*n_params = param_count(&r);
	return true;
}

bool btf_param(const struct btf *b, u32 id, u32 i, const char **name, u32 *type)
{
	struct record r;
	const u8 *p;

	if (!proto_record(b, id, &r) || i >= param_count(&r))
		return false;
	p = r.p + RECORD_SIZE + (size_t)i * 8;
	if (load32(p) >= b->strs_n)
		return false;
	*name = b->strs + load32(p);
	*type = load32(p + 4);
	return true;
}

/* ---- enumerators ---------------------------------------------------------------------------- */

/* Where enumerator i lies: name, then 32 bits of value, or two halves of 64. */
static const u8 *enumerator_at(const struct record *r, u32 i)
{
	return r->p + RECORD_SIZE + (size_t)i * (r->kind == BTF_KIND_ENUM64 ? 12 : 8);
}

static s64 enumerator_value(const struct record *r, const u8 *p)
{
	u32 low = load32(p + 4);

	if (r->kind == BTF_KIND_ENUM64)
		return (s64)((u64)load32(p + 8) << 32 | low);
	return r->kind_flag ? (s64)(s32)low : (s64)low;
}

bool btf_enum_at(const struct btf *b, u32 id, u32 i, const char **name, s64 *value)
{
	struct record r;
	const u8 *p;

	if (!record_get(b, id, &r) || !is_enum(r.kind) || i >= r.vlen)
		return false;
	p = enumerator_at(&r, i);
	if (load32(p) >= b->strs_n)
		return false;
	*name = b->strs + load32(p);
	*value = enumerator_value(&r, p);
	return true;
}

static u32 pass_enumerators(const struct btf *b, const struct wanted *w, void *ctx)
{
	const struct index *x = index_get(b);
	s64 *value = ctx;

	for (u32 id = 1; id <= x->n; id++) {
		struct record r;

		record_at(b, x->offs[id - 1], &r);
		if (!is_enum(r.kind))
			continue;
		for (u32 i = 0; i < r.vlen; i++) {
			const u8 *p = enumerator_at(&r, i);

			if (!wanted_is(b, w, load32(p)))
				continue;
			*value = enumerator_value(&r, p);
			return id;
		}
	}
	return 0;
}

bool btf_enum_find(const struct btf *b, const char *name, s64 *value, u32 *id)
{
	*id = wanted_find(b, name, pass_enumerators, value);
	return *id != 0;
}
