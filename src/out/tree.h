/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Figures with names, in objects and lists: how reports that scripts have no part in (memstat, hot
 * keys, sizes) get to the formats. A column says once what its figures are; a format prints any
 * report.
 */
#ifndef OUT_TREE_H
#define OUT_TREE_H

#include "base/buf.h"
#include "base/str.h"

enum column_type {
	COLUMN_LABEL,   /* tells rows apart, or describes */
	COLUMN_TEXT,    /* that too, of any characters */
	COLUMN_GAUGE,   /* as it is now */
	COLUMN_COUNTER, /* since the beginning: only grows */
};

enum column_unit {
	UNIT_NONE,
	UNIT_BYTES,
	UNIT_PAGES,
	UNIT_SECONDS,
	UNIT_MICROSECONDS,
	UNIT_PER_SECOND,
	UNIT_PERCENT,
	UNIT_RATIO, /* 0 to 1 */
};

#define COLUMN_SIGNIFICANT 0x80

struct column {
	const char *name;
	const char *help; /* a line for people; may be NULL */
	u8 type, unit;    /* enum column_type, column_unit */
	u8 digits;        /* of a fraction; from COLUMN_SIGNIFICANT on, so many that count */
};

/* The usual columns: initializers of a struct column. */
/* clang-format off */
#define COL(name, help, type, unit, digits) { name, help, type, unit, digits }
/* clang-format on */
#define COL_LABEL(name, help)        COL(name, help, COLUMN_LABEL, UNIT_NONE, 0)
#define COL_TEXT(name, help)         COL(name, help, COLUMN_TEXT, UNIT_NONE, 0)
#define COL_GAUGE(name, help)        COL(name, help, COLUMN_GAUGE, UNIT_NONE, 0)
#define COL_COUNT(name, help)        COL(name, help, COLUMN_COUNTER, UNIT_NONE, 0)
#define COL_BYTES(name, help)        COL(name, help, COLUMN_GAUGE, UNIT_BYTES, 0)
#define COL_PAGES(name, help)        COL(name, help, COLUMN_COUNTER, UNIT_PAGES, 0)
#define COL_MICROSECONDS(name, help) COL(name, help, COLUMN_GAUGE, UNIT_MICROSECONDS, 1)
#define COL_RATE(name, help)         COL(name, help, COLUMN_GAUGE, UNIT_PER_SECOND, 1)
#define COL_PERCENT(name, help)      COL(name, help, COLUMN_GAUGE, UNIT_PERCENT, 2)
#define COL_RATIO(name, help)        COL(name, help, COLUMN_GAUGE, UNIT_RATIO, 4)

struct figure {
	enum {
		FIGURE_UNKNOWN, /* there is such a thing, but nobody knows */
		FIGURE_WHOLE,
		FIGURE_SIGNED,
		FIGURE_REAL,
		FIGURE_FLAG,
		FIGURE_TEXT,
	} kind;
	union {
		u64 whole; /* and a flag */
		s64 number;
		double real;
		struct str text;
	};
};

struct tree;

/* Of a format. Names are NULL in a list, and that of the whole is. */
struct tree_ops {
	void (*open)(struct tree *t, const char *name, bool list);
	void (*close)(struct tree *t);
	void (*put)(struct tree *t, const struct column *c, const struct figure *f);
};

/* A report that is being printed. */
struct tree {
	struct buf *b;
	const struct tree_ops *ops;
	bool tight;   /* without blanks, where a format can do so */
	bool started; /* what is open has something in it */
	u32 depth;
	u32 lists; /* by depth: a list, not an object */
};

/* JSON: one line. */
extern const struct tree_ops tree_json;

/* Name NULL: in a list, or the whole. */
void tree_object(struct tree *t, const char *name);
void tree_list(struct tree *t, const char *name);
/* Ends the last of them that is open. */
void tree_end(struct tree *t);

/* A fraction, with the digits of its column. */
void tree_print_real(struct buf *b, const struct column *c, double n);
void tree_put(struct tree *t, const struct column *c, const struct figure *f);
void tree_unknown(struct tree *t, const struct column *c);
void tree_whole(struct tree *t, const struct column *c, u64 n);
void tree_signed(struct tree *t, const struct column *c, s64 n);
void tree_real(struct tree *t, const struct column *c, double n);
void tree_flag(struct tree *t, const struct column *c, bool is);
void tree_str(struct tree *t, const struct column *c, struct str text);
/* NULL: not known. */
void tree_text(struct tree *t, const struct column *c, const char *text);

#endif
