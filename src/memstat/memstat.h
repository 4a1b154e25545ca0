/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the kernel says about memory without any tracing: one look, the difference of two, and what
 * of it looks bad. Bytes, pages and nanoseconds as each name says.
 */
#ifndef MEMSTAT_MEMSTAT_H
#define MEMSTAT_MEMSTAT_H

#include "base/arena.h"
#include "base/buf.h"
#include "out/metrics.h"
#include "out/tree.h"

/* Of /proc/meminfo, in bytes (HugePages_*: pages). */
enum memstat_mem {
	MEM_TOTAL,
	MEM_FREE,
	MEM_AVAILABLE,
	MEM_BUFFERS,
	MEM_CACHED,
	MEM_DIRTY,
	MEM_WRITEBACK,
	MEM_ANON,
	MEM_MAPPED,
	MEM_SHMEM,
	MEM_SLAB,
	MEM_SLAB_FIXED, /* SUnreclaim */
	MEM_PAGE_TABLES,
	MEM_KERNEL_STACK,
	MEM_SWAP_TOTAL,
	MEM_SWAP_FREE,
	MEM_SWAP_CACHED,
	MEM_ZSWAPPED,
	MEM_COMMITTED,
	MEM_COMMIT_LIMIT,
	MEM_THP,
	MEM_HUGE_TOTAL,
	MEM_HUGE_FREE,
	MEM_HUGE_RESERVED,
	MEM_HUGE_SIZE,
	N_MEM,
};

/* Of /proc/vmstat: events since boot. */
enum memstat_event {
	EVENT_FAULT,
	EVENT_MAJOR,
	EVENT_SWAP_IN,
	EVENT_SWAP_OUT,
	EVENT_SCAN_KSWAPD,
	EVENT_SCAN_DIRECT,
	EVENT_SCAN_OTHER, /* khugepaged, memory.reclaim */
	EVENT_SCAN_ALL,   /* those for the limits of control groups too, which have no number */
	EVENT_STEAL_ALL,
	EVENT_STALL,
	EVENT_REFAULT,
	EVENT_COMPACT,
	EVENT_THP,
	EVENT_THP_FALLBACK,
	EVENT_OOM_KILL,
	N_EVENT,
};

struct memstat_swap {
	const char *name, *kind;
	u64 size, used; /* bytes */
	s32 priority;
};

/* Of /proc/pressure/memory: percent of the time, in hundredths, and microseconds since boot. */
struct memstat_pressure {
	bool known;
	u32 some10, some60, some300, full10, full60, full300;
	u64 some_us, full_us;
};

struct memstat_process {
	u32 pid;
	char comm[64];
	u64 rss, swap, pss; /* bytes; swap and pss of those that are shown only */
	u64 minor, major;   /* faults since it started */
	u64 start;          /* clock ticks since boot: with the pid, which process it is */
	bool has_pss;
};

/* The tightest limit over the group that memstat runs in. */
struct memstat_group {
	const char *path; /* NULL: not known */
	u64 used, limit;  /* bytes; limit 0: none */
	u64 oom_kills;
};

struct memstat_kill {
	u64 usec; /* since boot */
	u32 pid;
	char comm[64];
	bool by_limit; /* of a control group */
};

#define MEMSTAT_KILLS 5u

/* One look. What could not be read is 0. */
struct memstat {
	struct arena arena;
	u64 ns; /* CLOCK_BOOTTIME */
	u64 mem[N_MEM], events[N_EVENT];
	VEC(struct memstat_swap) swaps;
	VEC(struct memstat_process) processes; /* by pid */
	struct memstat_pressure pressure;
	struct memstat_group group;
	struct memstat_kill kills[MEMSTAT_KILLS]; /* the last, oldest first */
	u32 n_kills;                              /* in kills */
	u64 log_kills; /* in the kernel's log, which may have lost older ones */
	int log_error; /* errno when the log could not be read */
};

/* `root` is put before all paths: "" but in tests. */
void memstat_read(struct memstat *m, const char *root);
/* The same without processes, their group and the kernel's log. */
void memstat_read_totals(struct memstat *m, const char *root);
void memstat_free(struct memstat *m);

/* Each number of mem and events with what it is. */
void memstat_each_total(const struct memstat *m,
                        void (*fn)(void *ctx, const struct column *c, u64 n), void *ctx);
/* Those and the pressure, a family each: memory_available_bytes, memory_major_faults_total. */
void memstat_metrics(struct buf *b, enum metrics_form form, const struct memstat *m);

/* What figures of mem and events are called. */
extern const struct column memstat_mem_columns[N_MEM], memstat_event_columns[N_EVENT];

#define MEMSTAT_MOMENTS   121u /* ten minutes and what the first is compared with */
#define MEMSTAT_MOMENT_MS 5000u

struct memstat_moment {
	u64 real_ms, ns;
	u64 mem[N_MEM], events[N_EVENT];
	u64 some_us, full_us;
};

/* All zero is empty. */
struct memstat_history {
	struct memstat_moment v[MEMSTAT_MOMENTS]; /* a ring */
	u32 n, next;
};

void memstat_history_add(struct memstat_history *h, const struct memstat *m);
/* Lists by column, the oldest moment first; what is counted, as so much a second. */
void memstat_history_tree(struct tree *t, const struct memstat_history *h);

/* Two looks, and what they show together. */
struct memstat_view {
	const struct memstat *now, *before;
	double seconds;
	const char *root;
	struct memstat_process *top; /* of now, by RSS; minor and major are since before */
	u32 n_top;
	u64 boot_to_real; /* ns to add to a time since boot */
	bool pss;
};

/* What is shown of two looks. */
struct memstat_view memstat_between(const struct memstat *now, const struct memstat *before);
/* Fills `top` with at most n processes, from the arena of `now`. */
void memstat_top(struct memstat_view *v, struct memstat *now, u32 n);
/* Events a second between the two looks. */
double memstat_rate(const struct memstat_view *v, enum memstat_event e);
/* Pages scanned a second for the limits of control groups. */
double memstat_limit_scan(const struct memstat_view *v);

/* Something that looks bad: what, and what to run next. */
struct memstat_advice {
	char text[160];
	char command[64];
};
#define MEMSTAT_ADVICE 20u
/* How many there are, the gravest first. */
u32 memstat_advise(const struct memstat_view *v, struct memstat_advice out[MEMSTAT_ADVICE]);

/* The screen. */
void memstat_text(struct buf *b, const struct memstat_view *v);
/* All of it, for a format. */
void memstat_tree(struct tree *t, const struct memstat_view *v);
/* The local time of this moment, as strftime has it. */
void memstat_time(struct buf *b, u64 real_ns, const char *format);

#endif
