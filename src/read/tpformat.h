/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The `format` file of a tracefs event: its id and the fields of its record.
 */
#ifndef READ_TPFORMAT_H
#define READ_TPFORMAT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct tpfield {
	const char *name;
	const char *type; /* the C type as written, array suffix removed: "const char *", "u64" */
	u32 off, size;    /* bytes in the record */
	u32 count;        /* array elements, 0 when not an array */
	bool is_signed;
	bool data_loc, rel_loc; /* "__data_loc T[]" / "__rel_loc T[]" */
	bool common;            /* one of common_type, common_pid, ... */
};

struct tpformat {
	u32 id;
	const char *name;
	struct tpfield *fields;
	u32 n_fields;
};

/* Nothing from here on is looked at. */
#define TPFORMAT_END "print fmt:"

/* Everything in `out` lives in the arena. False and *e (with line number) on damaged text. */
bool tpformat_parse(struct arena *a, struct str text, struct tpformat *out, struct err *e);

#endif
