/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pages of metrics put together: what several collectors have under one name is one family, as
 * the format asks.
 */
#ifndef CMD_SERVE_FAMILIES_H
#define CMD_SERVE_FAMILIES_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hmap.h"
#include "base/str.h"

struct family;

struct families {
	struct arena arena;
	struct hmap by_name;
	VEC(struct family *) all;
	u32 conflicts; /* families left out: another has the name and is of another kind */
};

/* Adds the families of a page, each "# TYPE NAME KIND\n", other lines with '#', samples. The page
 * has to stay until they are printed. */
void families_add(struct families *f, struct str page);
/* In the order in which names came. */
/* The same in pieces of whole lines; borrowed. */
const struct str *families_pieces(struct families *f, u32 *n);
void families_print(const struct families *f, struct buf *b);
void families_free(struct families *f);

#endif
