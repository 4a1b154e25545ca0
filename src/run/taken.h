/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rows of a session's maps: those that programs count in now, those that were taken out of the
 * kernel and not printed yet, and those that found no room there, as one table.
 */
#ifndef RUN_TAKEN_H
#define RUN_TAKEN_H

#include "agg/held.h"
#include "kern/live.h"

struct taken {
	const struct unit *unit;
	struct live *live;
	struct held *held; /* by map */
	bool *zeroed;      /* ... one without key, which is there with its 0 */
	u64 limit;         /* bytes of what is held */
	u64 most, rows;    /* bytes and rows when most was held */
	u64 drained;       /* how often a map was emptied because it filled */
	bool overflowed;   /* the kernel's maps had no room for something */
	u64 n_lost;        /* counts for which there was no memory here either */
};

/* `memory` in bytes: what the kernel's maps do not have of it is for rows held here. */
void taken_init(struct taken *t, const struct unit *u, struct live *l, u64 memory);
void taken_free(struct taken *t);
/* Empties the maps that fill into what is held here; to be called often. */
bool taken_check(struct taken *t, struct err *e);
/* Adds all rows of a map to a table that is empty, in no order. On failure (*e) those that could be
 * had. */
bool taken_look(struct taken *t, u32 map, struct table *rows, struct err *e);
/* The same, and they are gone from the map; with keeps_keys the keys stay, with values of 0. Only
 * of maps of two generations. One that is late (live_map_late()) has none yet. */
bool taken_take(struct taken *t, u32 map, bool keeps_keys, struct table *rows, struct err *e);
/* Adds the row of a key, of zeros when it is not there. */
void taken_look_up(struct taken *t, u32 map, const void *key, struct table *rows);
/* Removes a row; false when it is not there. What is counted meanwhile in one that the kernel has
 * may be lost. */
bool taken_remove(struct taken *t, u32 map, const void *key);
/* Calls cb with the rows that are held here: key and one cell. */
void taken_held(const struct taken *t, u32 map, live_row_fn *cb, void *ctx);
/* Removes all rows, or with keeps_keys sets their values to 0. */
bool taken_drop(struct taken *t, u32 map, bool keeps_keys, struct err *e);
/* What one event adds that found no room in the map. When that is full, it is emptied into what is
 * held here. */
bool taken_spill(struct taken *t, u32 map, const struct unit_spill *spill, struct err *e);

#endif
