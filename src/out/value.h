/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A cursor over a value in memory, for everything that turns values into text. A value is either
 * at rest (ours: scalars are one word) or foreign (inside a C struct or array: scalars have their
 * own width, and there may be less memory than the type says).
 */
#ifndef OUT_VALUE_H
#define OUT_VALUE_H

#include "out/out.h"

struct value {
	const struct type *type;
	const u8 *p;
	u32 room; /* bytes that may be read at p */
	bool foreign;
	u8 bit_off, bit_size; /* foreign bit-field; bit_size 0 otherwise */
};

struct value value_at_rest(const struct type *t, const void *bytes);
/* Fields of a tuple or struct, elements of an array; 0 for everything else. */
u32 value_parts(const struct value *v);
struct value value_part(const struct value *v, u32 i);
/* The 64-bit word of a scalar, sign- or zero-extended by its type; what lies beyond the room
 * counts as 0. */
u64 value_word(const struct value *v);
/* Content of a buffer. */
struct str value_bytes(const struct value *v);

/* Values may hold or name what others control: all of that passes here, and is escaped as
 * o->escape says. */
void value_text(struct buf *b, const struct out *o, const struct value *v);
/* The last half of that: escapes what b has from `from` on, the text of v. */
void value_escape(struct buf *b, size_t from, const struct out *o, const struct value *v);

/* How values of a kind are printed. */
struct value_kind {
	void (*text)(struct buf *b, const struct out *o, const struct value *v);
	enum {
		AS_STRING,
		AS_WORD, /* the text, but no string: true, null */
		AS_INT,
		AS_UNSIGNED,
		AS_ADDRESS, /* a number, and in a row, where it is named, its text */
		AS_PARTS,
		AS_BYTES,
	} object;    /* in a format of objects */
	bool blanks; /* in its text are part of it; else they stand between parts */
};
const struct value_kind *value_kind_of(const struct type *t);

/* How the content of a buffer is written. */
enum hex_style {
	HEX_MIXED,   /* printable ASCII as it is, the rest as \xNN: %r */
	HEX_ESCAPED, /* all as \xNN: %rx */
	HEX_SPACED,  /* two digits each, blanks between: %rh */
};
void value_hex(struct buf *b, struct str bytes, enum hex_style style);

/* A merged cell as one line of text; div divides numbers. Not for histograms (see bars.h). */
void value_cell(struct buf *b, const struct out *o, const struct type *t, const struct cell *c,
                u32 div);
/* The number of a cell divided by div: a plain integer, COUNT, SUM, MIN, MAX, and the average of
 * AVG and STATS. */
s64 value_number(const struct type *t, const struct cell *c, u32 div);

/* join(): the string arguments up to the first empty one, with r->text between them. */
void value_join(struct buf *b, const struct out *o, const struct urecord *r, const void *record);

static inline bool value_is_hist(const struct type *t)
{
	return t->kind == TYPE_HIST || t->kind == TYPE_LHIST;
}

#endif
