/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files of this folder share: the live unit itself and the steps it is made of.
 * Nobody outside kern/ includes this.
 */
#ifndef KERN_KERN_H
#define KERN_KERN_H

#include <linux/perf_event.h>

#include "base/arena.h"
#include "base/hmap.h"
#include "kern/live.h"
#include "kern/sys_bpf.h"

/*
 * One attachment. Closing `link` stops the program at once. `event` is kept where tearing the
 * probe down may take the kernel long (4 to 100 ms), so that this can be left to another
 * process; see detach.c.
 */
struct handle {
	int link;
	int event; /* -1: none, or the link's own reference is enough */
	u64 watch; /* the address of a watchpoint, 0 others */
	s32 pid;   /* the process that follow() was called with, 0 others */
};

struct loaded {
	int *fds; /* one for each site where sites need a program each, else one */
	u32 n;
	/* why a site that may be missing has no program (its descriptor is -1) */
	const char *refused;
	struct live_attached attached;
	s32 partner; /* the program at the other end of a session, -1 none */
};

/* Memory for unwind tables. */
struct shelf {
	u8 *memory; /* NULL: not mapped yet */
	u32 n;      /* chunks; 0: there is no such shelf */
	int fd;     /* of shelves from 1 on */
};

/* The generations of a map; unread: the one that programs do not use may hold something. */
struct pair {
	int fds[2]; /* -1 none: also of maps without key, which are elements of one array */
	bool unread;
	bool behind; /* both places of the map of maps have the one in use */
	bool late;   /* ... and a program had not ended when it was to be read */
	bool forget; /* ... and it was to be cleared */
	u32 how;     /* ... and how it was to be taken: live_map_turn() */
};

/* The ring buffer, mapped; all zero when the unit has none. */
struct ring {
	u64 *read;           /* how far it was read */
	const u64 *reserved; /* how far programs have written, or are going to */
	const u8 *data;
	size_t size;   /* of the data */
	size_t mapped; /* of it and its second time */
};

/* The lanes, mapped; all zero when the unit has none. */
struct lanes {
	struct unit_lanes shape;
	struct unit_lane *lanes;
	u8 *data;
	size_t stride, data_size; /* of a part, of all */
	u64 at[UNIT_LANES];       /* how far each was read */
};

/* An interval that memtap keeps. */
struct clock {
	u32 prog;
	u64 period, next; /* ns */
};

struct live {
	const struct unit *unit;
	struct arena arena;
	struct features features;
	int *maps;
	struct loaded *progs;
	VEC(struct handle) handles;
	struct hmap probes; /* of programs, that have a place */
	u32 n_more_places;  /* ... beyond the first of each */
	VEC(struct clock) clocks;
	VEC(s32) followed; /* processes, see live_follow() */
	VEC(int) iters;    /* links among the handles, of iterators to be read */
	struct ring ring;
	struct lanes lanes;
	u64 *data; /* mapped words of the data map, NULL when the unit has none */
	size_t data_size;
	struct shelf shelves[UNIT_SHELVES]; /* 0: the chunks map itself */
	u32 unwind_chunks;                  /* of shelf 0 */
	u64 map_memory;                     /* bytes for all maps that are by_memory */
	bool map_memory_asked;
	bool (*stopped)(void *ctx); /* NULL: never, see live_options */
	void *stopped_ctx;
	s32 data_map, ring_map; /* indices into maps, -1 none */
	struct pair *pairs;     /* by map */
	struct pair gate;       /* a map, and the map of maps that it is in */
	u64 *turns;             /* mapped, see enum uturn; NULL none */
	size_t turns_size;
	bool late;   /* since the last wait a map was turned over: programs may use the other yet */
	bool asleep; /* ... if they may sleep; the kernel has waited for others */
	u64 turned;  /* when that was, ns */
	u32 n_cells; /* possible CPUs, 0 without per-CPU maps */
	u32 *online; /* online CPUs, read on first use */
	u32 n_online;
	int uprobe_type, kprobe_type; /* perf event source types, 0 not read yet */
};

/* ---- features.c ---- */
/* Whether programs of that type can be loaded, and call that helper; iterator as for
 * offers_each(). */
bool features_program(enum bpf_prog_type type, u32 iterator);
bool features_helper(enum bpf_func_id id, u32 iterator);
/* The kernel says of itself that it is that KERNEL_VERSION() or newer. */
bool features_sure(u32 version);
/* Before 5.11 maps and programs count as locked memory, of which 64 KiB are usual. Where it can not
 * be raised, making the maps says so. */
void features_raise_memory(void);

/* ---- kern_map.c ---- */
bool kern_map_create(struct live *l, u32 map, struct err *e);
bool kern_map_data_open(struct live *l, struct err *e);
/* How many elements of that size fit, with the table of chains that the kernel makes at the start:
 * a power of two, as many as elements at least. Twice the table takes milliseconds, so it has to
 * bring a quarter more elements. */
u64 kern_map_fits(u64 bytes, u64 element);
/* The map that programs count in now. */
int kern_map_fd(const struct live *l, u32 map);
/* Bytes of a value with the cells of all CPUs. */
size_t kern_map_element(const struct live *l, u32 map);
/* Hands over all elements of a hash of map's kind and removes them; cb may be NULL. */
bool kern_map_empty(struct live *l, u32 map, int fd, live_row_fn *cb, void *ctx, struct err *e);

/* ---- kern_turn.c ---- */
/* The generations of a map with a key: the descriptor of an array of both, or -errno. */
int kern_turn_create(struct live *l, u32 map, const char *name);
bool kern_turn_open(struct live *l, struct err *e);
void kern_turn_close(struct live *l);
/* The generation in use, 0 of maps that have one. */
u32 kern_turn_now(const struct live *l, u32 map);
/* `key`, or the one of the two elements in use of a map without key. */
const void *kern_turn_key(const struct live *l, u32 map, const void *key);

/* ---- kern_ring.c ---- */
bool kern_ring_open(struct live *l, struct err *e);
void kern_ring_close(struct live *l);

/* ---- kern_lane.c ---- */
bool kern_lanes_open(struct live *l, struct err *e);
void kern_lanes_close(struct live *l);
/* As live_ring_read() and, added to *at, live_ring_at(). */
void kern_lanes_read(struct live *l, live_record_fn *cb, void *ctx);
void kern_lanes_at(const struct live *l, struct live_ring *at);

/* ---- kern_unwind.c ---- */
/* A descriptor, or -errno. */
int kern_unwind_create(struct live *l, const struct umap *m, const char *name);
void kern_unwind_close(struct live *l);

/* ---- kern_module.c ---- */
/* A descriptor of the types of a loaded module, to be closed. */
bool kern_module_types(const char *name, int *fd, struct err *e);

/* ---- kern_prog.c ---- */
/* Loads program i of the unit; logs as the options say. */
bool kern_prog_load(struct live *l, u32 i, const struct live_options *o, struct err *e);
/* The descriptor that serves site `site` of program i. */
int kern_prog_fd(const struct live *l, u32 i, u32 site);
/* True when all sites of the program share one multi link (and it is loaded for that). */
bool kern_prog_uprobe_multi(const struct live *l, const struct uprog *p);
bool kern_prog_kprobe_multi(const struct live *l, const struct uprog *p);
/* What the program is loaded for, and linked as; 0 where the kernel asks for none. */
enum bpf_attach_type kern_prog_attach_type(const struct live *l, const struct uprog *p);

/* The program calls that helper. */
bool kern_prog_calls(const struct uprog *p, s32 helper);
/* The instructions of a program with its maps' descriptors in them, to be freed. */
struct bpf_insn *kern_prog_insns(const struct live *l, const struct uprog *p);

/* ---- kern_session.c: entry and return of functions in one ---- */
/* Finds the pairs, before programs are loaded. */
void kern_session_pair(struct live *l);
/* True when program i is loaded as one of a pair. */
bool kern_session_load(struct live *l, u32 i);
/* True when program i was attached with its partner: then *done is of both. */
bool kern_session_attached(const struct live *l, u32 i, struct live_attached *done);

/* ---- verifier.c: the kernel's complaint in words of the script ---- */
void verifier_explain(const struct unit *u, const struct uprog *p, const char *log, struct err *e);
/* The log says that the program is more than the verifier walks. */
bool verifier_walked_all(const char *reasons);

/* ---- attach.c ---- */
/* One program being attached, passed to every attach function. */
struct attach {
	struct live *l;
	const struct uprog *prog;
	u32 prog_index;
	struct live_attached done; /* so far */
	u32 n_failed;              /* sites that were refused and let pass */
	s32 follows;               /* struct handle's pid */
	live_warn_fn *warn;
	void *ctx;
};

/* Attaches every site of a program: the rows of the table in attach.c. */
typedef bool attach_fn(struct attach *a, struct err *e);
/* One site with a descriptor of its own. */
typedef bool attach_site_fn(struct attach *a, u32 site, struct err *e);

/* Calls fn for each site; a failure ends it or, in a lenient unit, is warned about. */
bool attach_each(struct attach *a, attach_site_fn *fn, struct err *e);
/* A failed site: false to give up, true when the unit lets it pass with a warning. *e becomes
 * "can not attach NAME: ..." at the site's place in the script. */
bool attach_failed(struct attach *a, u32 site, struct err *e);
/* Tries all of sites[0..n) (indices) at once with fn and on failure ever smaller halves, until
 * the sites that are refused are known by name. */
typedef bool attach_many_fn(struct attach *a, const u32 *sites, u32 n, struct err *e);
bool attach_halving(struct attach *a, const u32 *sites, u32 n, attach_many_fn *fn, struct err *e);
void attach_keep(struct attach *a, int link, int event);

attach_fn attach_uprobe, attach_kprobe, attach_tracepoint, attach_counter, attach_interval,
	attach_profile, attach_raw, attach_trampoline, attach_watchpoint, attach_iter,
	attach_cgroup, attach_self, attach_clock;

/* ---- kern_own.c ---- */
/* Runs a program that nothing runs by itself, with the keys listed that it goes through. */
bool kern_run(struct live *l, u32 prog, u32 *result, struct err *e);

/* ---- attach_perf.c ---- */
int attach_perf_open(struct perf_event_attr *attr, s32 pid, s32 cpu);
/* Links site's program to an open perf event, which it takes. slow: see struct handle. */
bool attach_perf_link(struct attach *a, u32 site, int event, bool slow, struct err *e);

/* ---- detach.c ---- */
void detach_all(struct live *l);
/* Closes what was attached to that process by follow(). */
void detach_process(struct live *l, s32 pid);

/* ---- sys.c: numbers of the machine, refused calls ---- */
/* The number in /sys/bus/event_source/devices/NAME/type, 0 when there is none. */
int sys_event_source(const char *name);
/* The online CPUs; *n is 0 when they are not known. */
u32 *sys_online_cpus(struct arena *a, u32 *n);
/* How many CPUs a per-CPU map has cells for; 0 and *e when the kernel does not say. */
u32 sys_possible_cpus(struct err *e);
/* Which capability a refused call wants: sets *e to a sentence for `what`; returns false. */
bool sys_refused(struct err *e, int code, const char *what);
/* The same of perf_event_open(2), which a setting may keep from those who have them, too. */
bool sys_refused_event(struct err *e, int code, const char *what);

#endif
