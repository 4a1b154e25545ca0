/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The raw dump: each type as it is in the file, one line each and one for each entry, in the form
 * that `bpftool btf dump format raw` has made customary; scripts read that, so it is the same to
 * the byte. The records' words are read directly, since that is what is shown: the library's view
 * of members, for one, resolves old bit-fields. Does not explain and does not check.
 */
#include <string.h>

#include "cmd/btf/cmd_btf.h"

#define WORDS(t)        ((const u8 *)(t)->raw + 12) /* after the record's common part */
#define NAME_MAX_INLINE 1024u

struct raw {
	struct sink *out;
	const struct btf *btf;
	bool swap;
	char *p; /* where the next character goes; at least SINK_ROOM at the start of a line */
};

static const char *const kinds[] = {
	"UNKNOWN", "INT",     "PTR",      "ARRAY",    "STRUCT",   "UNION",  "ENUM",
	"FWD",     "TYPEDEF", "VOLATILE", "CONST",    "RESTRICT", "FUNC",   "FUNC_PROTO",
	"VAR",     "DATASEC", "FLOAT",    "DECL_TAG", "TYPE_TAG", "ENUM64",
};

static u32 word(const struct raw *r, const u8 *p, u32 i)
{
	u32 v;

	memcpy(&v, p + i * 4, sizeof(v));
	return r->swap ? __builtin_bswap32(v) : v;
}

/* ---- pieces of a line ----------------------------------------------------------------------- */

#define PUT(r, literal)                                                                            \
	do {                                                                                       \
		memcpy((r)->p, literal, sizeof(literal) - 1);                                      \
		(r)->p += sizeof(literal) - 1;                                                     \
	} while (0)

static void put_text(struct raw *r, const char *z)
{
	size_t n = strlen(z);

	if (n > NAME_MAX_INLINE) {
		sink_upto(r->out, r->p);
		sink_add(r->out, z, n);
		r->p = sink_room(r->out);
		return;
	}
	memcpy(r->p, z, n);
	r->p += n;
}

static void put_u64(struct raw *r, u64 n)
{
	char text[20], *p = text + sizeof(text);
	size_t len;

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	len = (size_t)(text + sizeof(text) - p);
	memcpy(r->p, p, len);
	r->p += len;
}

static void put_u32(struct raw *r, u32 n)
{
	char text[10], *p = text + sizeof(text);
	size_t len;

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	len = (size_t)(text + sizeof(text) - p);
	memcpy(r->p, p, len);
	r->p += len;
}

static void put_s64(struct raw *r, s64 n)
{
	if (n < 0)
		*r->p++ = '-';
	put_u64(r, n < 0 ? -(u64)n : (u64)n);
}

static void put_name(struct raw *r, u32 off)
{
	const char *name = off ? btf_string(r->btf, off) : "(anon)";

	*r->p++ = '\'';
	put_text(r, name ? name : "(invalid)");
	*r->p++ = '\'';
}

static void next_line(struct raw *r)
{
	sink_upto(r->out, r->p);
	r->p = sink_room(r->out);
}

/* "\n\t": an entry's line begins. */
static void entry(struct raw *r)
{
	next_line(r);
	PUT(r, "\n\t");
}

/* ---- kinds ---------------------------------------------------------------------------------- */

static void put_size_vlen(struct raw *r, const struct btf_info *t)
{
	PUT(r, " size=");
	put_u32(r, t->size);
	PUT(r, " vlen=");
	put_u32(r, t->vlen);
}

static void put_int(struct raw *r, const struct btf_info *t)
{
	static const char *const encodings[16] = { "(none)", "SIGNED", "CHAR", [4] = "BOOL" };
	u32 data = word(r, WORDS(t), 0);
	const char *encoding = encodings[data >> 24 & 15];

	PUT(r, " size=");
	put_u32(r, t->size);
	PUT(r, " bits_offset=");
	put_u32(r, data >> 16 & 255);
	PUT(r, " nr_bits=");
	put_u32(r, data & 255);
	PUT(r, " encoding=");
	put_text(r, encoding ? encoding : "UNKN");
}

static void put_array(struct raw *r, const struct btf_info *t)
{
	PUT(r, " type_id=");
	put_u32(r, word(r, WORDS(t), 0));
	PUT(r, " index_type_id=");
	put_u32(r, word(r, WORDS(t), 1));
	PUT(r, " nr_elems=");
	put_u32(r, word(r, WORDS(t), 2));
}

static void put_members(struct raw *r, const struct btf_info *t)
{
	const u8 *p = WORDS(t);

	put_size_vlen(r, t);
	for (u32 i = 0; i < t->vlen; i++, p += 12) {
		u32 off = word(r, p, 2);

		entry(r);
		put_name(r, word(r, p, 0));
		PUT(r, " type_id=");
		put_u32(r, word(r, p, 1));
		PUT(r, " bits_offset=");
		put_u32(r, t->kind_flag ? off & 0xffffff : off);
		if (t->kind_flag && off >> 24) {
			PUT(r, " bitfield_size=");
			put_u32(r, off >> 24);
		}
	}
}

static void put_enum(struct raw *r, const struct btf_info *t)
{
	bool wide = t->kind == BTF_KIND_ENUM64;
	const u8 *p = WORDS(t);

	PUT(r, " encoding=");
	put_text(r, t->kind_flag ? "SIGNED" : "UNSIGNED");
	put_size_vlen(r, t);
	for (u32 i = 0; i < t->vlen; i++, p += wide ? 12 : 8) {
		u32 low = word(r, p, 1);
		u64 value = wide ? (u64)word(r, p, 2) << 32 | low : low;

		entry(r);
		put_name(r, word(r, p, 0));
		PUT(r, " val=");
		if (!t->kind_flag)
			put_u64(r, value);
		else
			put_s64(r, wide ? (s64)value : (s32)low);
		if (wide)
			put_text(r, t->kind_flag ? "LL" : "ULL");
	}
}

static void put_proto(struct raw *r, const struct btf_info *t)
{
	const u8 *p = WORDS(t);

	PUT(r, " ret_type_id=");
	put_u32(r, t->type);
	PUT(r, " vlen=");
	put_u32(r, t->vlen);
	for (u32 i = 0; i < t->vlen; i++, p += 8) {
		entry(r);
		put_name(r, word(r, p, 0));
		PUT(r, " type_id=");
		put_u32(r, word(r, p, 1));
	}
}

static void put_datasec(struct raw *r, const struct btf_info *t)
{
	const u8 *p = WORDS(t);

	put_size_vlen(r, t);
	for (u32 i = 0; i < t->vlen; i++, p += 12) {
		u32 id = word(r, p, 0);
		struct btf_info var;

		entry(r);
		PUT(r, "type_id=");
		put_u32(r, id);
		PUT(r, " offset=");
		put_u32(r, word(r, p, 1));
		PUT(r, " size=");
		put_u32(r, word(r, p, 2));
		if (!btf_info(r->btf, id, &var))
			continue;
		PUT(r, " (");
		put_text(r, kinds[var.kind < ARRAY_SIZE(kinds) ? var.kind : 0]);
		PUT(r, " ");
		put_name(r, var.name_off);
		PUT(r, ")");
	}
}

static const char *linkage(u32 n)
{
	static const char *const words[] = { "static", "global", "extern" };

	return n < ARRAY_SIZE(words) ? words[n] : "(unknown)";
}

static void put_type(struct raw *r, const struct btf_info *t)
{
	PUT(r, " type_id=");
	put_u32(r, t->type);
}

static void put_rest(struct raw *r, const struct btf_info *t)
{
	switch (t->kind) {
	case BTF_KIND_INT:
		put_int(r, t);
		break;
	case BTF_KIND_ARRAY:
		put_array(r, t);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		put_members(r, t);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		put_enum(r, t);
		break;
	case BTF_KIND_FWD:
		put_text(r, t->kind_flag ? " fwd_kind=union" : " fwd_kind=struct");
		break;
	case BTF_KIND_FUNC:
		put_type(r, t);
		PUT(r, " linkage=");
		put_text(r, linkage(t->vlen));
		break;
	case BTF_KIND_FUNC_PROTO:
		put_proto(r, t);
		break;
	case BTF_KIND_VAR:
		put_type(r, t);
		PUT(r, ", linkage=");
		put_text(r, linkage(word(r, WORDS(t), 0)));
		break;
	case BTF_KIND_DATASEC:
		put_datasec(r, t);
		break;
	case BTF_KIND_FLOAT:
		PUT(r, " size=");
		put_u32(r, t->size);
		break;
	case BTF_KIND_DECL_TAG:
		put_type(r, t);
		PUT(r, " component_idx=");
		put_s64(r, (s32)word(r, WORDS(t), 0));
		break;
	default:
		if (t->kind < ARRAY_SIZE(kinds))
			put_type(r, t);
		break;
	}
}

bool cmd_btf_raw(struct sink *out, const struct btf *b)
{
	struct raw r = { .out = out, .btf = b, .p = sink_room(out) };
	struct btf_iter it;
	struct btf_file f;
	u64 seen = 0;

	btf_file(b, &f);
	r.swap = f.big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	btf_iter_init(&it, b, btf_first(b));
	while (btf_next(&it)) {
		const struct btf_info *t = &it.t;

		PUT(&r, "[");
		put_u32(&r, t->id);
		PUT(&r, "] ");
		put_text(&r, kinds[t->kind < ARRAY_SIZE(kinds) ? t->kind : 0]);
		PUT(&r, " ");
		put_name(&r, t->name_off);
		put_rest(&r, t);
		PUT(&r, "\n");
		next_line(&r);
		seen += t->raw_len;
	}
	sink_upto(out, r.p);
	return seen == f.types_len;
}
