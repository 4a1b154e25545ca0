/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A unit in the kernel: its maps, programs and links. kern/ is the only folder that talks
 * bpf() and perf_event_open(). Nothing here prints.
 */
#ifndef KERN_LIVE_H
#define KERN_LIVE_H

#include "base/buf.h"
#include "base/err.h"
#include "unit/features.h"
#include "unit/unit.h"

struct live;

/* Asks the kernel for the wanted FEATURE_* that *f does not know yet; each is a system call or a
 * program load (0.1 ms). *f starts as all zero. */
void features_probe(struct features *f, u32 wanted);

struct live_options {
	const struct features *features; /* what is known already; NULL: nothing */
	/* chunks of memory for unwind tables at the start, if the unit has any */
	u32 unwind_chunks;
	u64 map_memory;  /* bytes for maps that are by_memory, and for what is taken out of them;
			      0: as the unit says */
	struct buf *log; /* gets the verifier's whole log when a program is refused; may be NULL */
	bool whole_log;  /* `log` gets it for programs that are accepted too */
	bool (*stopped)(void *ctx); /* true: no more is attached; NULL: never */
	void *ctx;
};

/*
 * Creates the maps and loads the programs. On a verifier complaint *e says at which script
 * line and in a sentence what is wrong. The unit must live as long as the result.
 * NULL on failure, with nothing left in the kernel.
 */
struct live *live_load(const struct unit *u, const struct live_options *o, struct err *e);
/* Closes everything. NULL is fine. */
void live_free(struct live *l);

/* Runs all BEGIN (or END, or SELF) programs, in order. */
bool live_run(struct live *l, enum attach_kind kind, struct err *e);
/* When the next interval of those is over that memtap keeps itself (ATTACH_CLOCK), in ns of the
 * monotonic clock; UINT64_MAX: there are none. */
u64 live_clock_next(const struct live *l);
/* Runs the programs whose time has come. */
bool live_clock_run(struct live *l, struct err *e);
/* Runs program i of kind TEST. Its result (0: passed) and the nanoseconds it took. */
bool live_test(struct live *l, u32 prog, u32 *result, u64 *ns, struct err *e);
/* What became of a program. */
struct live_attached {
	const char *how; /* "uprobe_multi link", "raw tracepoint", ...; NULL: not attached */
	u32 sites, links;
};

/* `loc` is the attach point in the script. */
typedef void live_warn_fn(void *ctx, struct loc loc, const char *text);

/*
 * Attaches all other programs. A site that can not be attached fails the whole (false, *e names
 * probe and reason, everything attached so far is undone), or, when unit->lenient_probes, is
 * reported through `warn` and skipped. *attached counts probes, each once however many places it
 * has; fewer are when live_options.stopped.
 */
bool live_attach(struct live *l, u32 *attached, live_warn_fn *warn, void *ctx, struct err *e);
/* How program i (unit->progs order) was attached, for -v. */
struct live_attached live_attached_by(const struct live *l, u32 prog);
/*
 * Lets the events of one more process pass, where a script looks at one, and attaches the probes of
 * programs to it too. *is_new when it was not followed before. False and *e when that fails, as it
 * does when it has ended.
 */
bool live_follow(struct live *l, s32 pid, bool *is_new, struct err *e);
/* Attaches program `prog` at more sites of files that a followed process has; for all processes
 * where the unit's own sites are (follow_at_once). */
bool live_follow_sites(struct live *l, s32 pid, u32 prog, const struct usite *sites, u32 n,
                       struct err *e);
/* The packets of one more control group, a directory, go to the programs of packets, too. */
bool live_add_group(struct live *l, const char *path, struct err *e);
/* Detaches from those that have ended. */
void live_unfollow_gone(struct live *l);
/* Removes the watchpoints on an address. */
void live_unwatch(struct live *l, u64 address);
/*
 * Reads the iterators that are not pinned to their ends, one after the other. `between` is called
 * often enough that the records in the ring can be taken before it is full; it returns false to
 * stop (which is no failure).
 */
bool live_iterate(struct live *l, bool (*between)(void *ctx), void *ctx, struct err *e);
/* Detaches all at once; programs no longer run when it returns. */
void live_detach(struct live *l);

/* The ring buffer: fd to poll, -1 when the unit has none. */
int live_ring_fd(const struct live *l);
/* A record; false: no more are wanted now. */
typedef bool live_record_fn(void *ctx, const void *record, u32 size);
/* Hands over the records that are there, and that come meanwhile, oldest first. */
void live_ring_read(struct live *l, live_record_fn *cb, void *ctx);
/* Bytes ever read of it and written to it; how many wait, and how many there is room for, in what
 * is fullest where records go several ways. 0 when the unit has none. */
struct live_ring {
	u64 read, reserved;
	u64 waiting, size;
};
struct live_ring live_ring_at(const struct live *l);

/* One word of the data map (enum udata and the error counters after it). */
u64 live_data(const struct live *l, u32 word);
/* What the kernel says this process has of maps: their number, and bytes of all. */
u32 live_maps_held(u64 *bytes);
void live_data_set(struct live *l, u32 word, u64 value);

/* How many elements a map has room for. */
u32 live_map_room(const struct live *l, u32 map);
/* Number of cells in a dumped value: possible CPUs for a per-CPU map, else 1. */
u32 live_cells(const struct live *l, u32 map);
/* An element: key_size key bytes and live_cells() cells of ROUND_UP(value_size, 8) bytes, both gone
 * when it returns. False: no more are wanted. */
typedef bool live_row_fn(void *ctx, const void *key, const void *cells);
/* All elements of a map; of one with two generations those of the one in use. Uses batches where
 * the map type has them. */
bool live_map_each(struct live *l, u32 map, live_row_fn *cb, void *ctx, struct err *e);
/* One element into `cells`; false when absent. */
bool live_map_get(struct live *l, u32 map, const void *key, void *cells);
/* All elements of a hash, which are removed as they are read: each comes once. cb may be NULL. What
 * a program adds to an element while it is removed is lost: for elements that are written once. */
bool live_map_take(struct live *l, u32 map, live_row_fn *cb, void *ctx, struct err *e);
/* Removes all elements (zeroes them in an array). An update that runs at the same time may
 * survive, but not in a map of two generations. */
bool live_map_clear(struct live *l, u32 map, struct err *e);
/* Sets all values to 0 and keeps the keys. */
bool live_map_zero(struct live *l, u32 map, struct err *e);
/*
 * Turns a map of two generations (umap.turn) over and takes all that it held, for print() and
 * clear() in one and to make room in a map that fills: cb gets the elements, each as the programs
 * left it when the last one that could change it had ended; what they count from some instant in
 * this call on is in the map, and is handed over next time. Nothing is lost or handed over twice.
 * cb's result is not looked at; it may be NULL.
 *
 * Takes some milliseconds to tens of them: the kernel's grace period. Maps of one group
 * (umap.together) are turned over at the same instant and wait once: what a later call for another
 * of the group hands over is as of then.
 *
 * A program that may sleep has a second to end, or less with TURN_ALONE: then the map is late, and
 * nothing is handed over.
 *
 * False: *e says why. What was not handed over is handed over by the next call.
 */
bool live_map_turn(struct live *l, u32 map, u32 how, live_row_fn *cb, void *ctx, struct err *e);
/* TURN_KEEPS_KEYS leaves the keys in, with values of 0; TURN_ALONE leaves others of the group
 * alone. */
enum { TURN_KEEPS_KEYS = 1, TURN_ALONE = 2 };
/* Of the memory for such maps one part in so many is the kernel's. */
#define LIVE_KEPT 4u
/* True of a map that is to be emptied as it fills: what has no room is sent, and no program reads
 * it. */
bool live_map_drains(const struct live *l, u32 map);
/* True when it is time for that. */
bool live_map_fills(const struct live *l, u32 map);
/* How often it was turned over, as unit_spill.turn has it. */
u64 live_map_turned(const struct live *l, u32 map);
/* True while there is something to be handed over before what programs count in now: it was turned
 * over for the sake of its group, or could not be taken. live_map_each() does not see it. */
bool live_map_unread(const struct live *l, u32 map);
/* True while the last call of live_map_turn() for it handed nothing over, as a program had not
 * ended. The next one hands that over first, and no more. */
bool live_map_late(const struct live *l, u32 map);

/* ---- unwind tables: memory that programs read (base/unwind.h) ---- */

/* Chunks in a shelf; 0 when there is none with that number. */
u32 live_shelf_chunks(const struct live *l, u32 shelf);
/* UNWIND_CHUNK bytes to read and write. NULL when they can not be mapped. */
void *live_chunk(struct live *l, u32 shelf, u32 chunk);
/* One more shelf of n chunks, *shelf its number. The kernel takes some milliseconds to make sure
 * that no program misses it. */
bool live_shelf_add(struct live *l, u32 n, u32 *shelf, struct err *e);

/* One element of a hash: set (made when absent), removed (false when absent). */
bool live_map_put(struct live *l, u32 map, const void *key, const void *value, struct err *e);
bool live_map_remove(struct live *l, u32 map, const void *key);

/* Instructions the kernel verified for program i (unit->progs order), for -v and the bench; 0
 * before Linux 5.16, which does not say. */
u32 live_insns(const struct live *l, u32 prog);

/* Events for which the kernel did not run program i, because one ran on that processor already or a
 * map was being changed there. 0 before Linux 5.12, and of some kinds before 6.7, which do not say;
 * of a program for each site those of the first. */
u64 live_missed(const struct live *l, u32 prog);
/* A task may have to wait in the middle of a program, and another one's events on that processor
 * are missed meanwhile. */
bool live_interruptible(void);

#endif
