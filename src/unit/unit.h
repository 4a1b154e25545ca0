/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The waist of the hourglass: all that the compiler hands to the part that
 * talks to the kernel and prints. Plain data, owned by the unit's arena. It can
 * be printed (unit_print), run in the test interpreter, or loaded.
 */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <linux/bpf.h>

#include "base/arena.h"
#include "base/buf.h"
#include "unit/kinds.h"
#include "unit/type.h"

/* A place in the script, for messages: byte range of the source text. */
struct loc {
	u32 off, len;
};

/* ---- maps --------------------------------------------------------------------------------- */

enum umap_role {
	UMAP_USER,    /* a @map of the script */
	UMAP_DATA,    /* one-element array: the words of enum udata, then one per runtime error */
	UMAP_RING,    /* ring buffer for records */
	UMAP_SCRATCH, /* per-CPU array, UNIT_SCRATCH_SLOTS elements: u64 busy flag, then memory */
	UMAP_STACKS,  /* hash: u64 stack id -> struct ustack_value */
	UMAP_ZERO,    /* one-element array, never written: what new elements start as */
	UMAP_CHUNKS,  /* array of UNWIND_CHUNK bytes: unwind tables; sized by the loader */
	UMAP_SHELVES, /* array of maps like UMAP_CHUNKS, for tables there was no room for */
	UMAP_PROCS,   /* LRU hash: u32 pid -> struct unwind_proc */
	UMAP_FAMILY,  /* hash: u32 pid -> anything; processes looked at, see ACTION_FOLLOW */
	UMAP_FILES,   /* hash: struct unwind_key -> struct unwind_file */
	UMAP_SEEN,    /* LRU hash: u32 pid, command name -> anything; processes reported */
	UMAP_TURNS,   /* one-element array: the words of enum uturn */
	UMAP_LANES,   /* array of struct unit_lane */
	UMAP_PARTS,   /* array: their bytes, see struct unit_lanes */
	/* Where the kernel does not go through maps (before Linux 5.13): of a map the keys, which
	 * user space puts down before it runs a program: an array, element 0 has how many */
	UMAP_KEYS,
	UMAP_FRESH, /* hash: key that such a program put in -> u64 element of UMAP_KEYS */
};

#define UNIT_KEYS (1u << 17) /* elements of UMAP_KEYS at most */

/* Elements of UMAP_KEYS for a map of so many: with as many again for keys that come and go while
 * a program runs. */
u32 unit_keys_room(u32 elements);

/*
 * Records of programs that wake nobody (poll_ms) go into lanes, of which a processor uses one. A
 * lane is `part` bytes `parts` times. Each part is an element of UMAP_PARTS, with room behind its
 * end for a record that begins in it: so that is in one piece, and the next begins as far from the
 * beginning of the next part. Positions only grow.
 *
 * The place of a record is taken by moving `end` on, and all zeros until the record is complete;
 * user space clears it again before it moves `read` on. Records of all lanes are in order by time.
 */
struct unit_lane {
	u64 read; /* user space's */
	u64 unused[7];
	u64 end; /* programs' */
	u64 unused_too[7];
};

struct unit_lane_head {
	u64 size; /* of the record after it, written last; 0: it is not complete */
	u64 time; /* ns, monotonic clock */
};

#define UNIT_LANES     4u
#define UNIT_LANE_PART (1u << 20)

/* All but `most` are powers of two. */
struct unit_lanes {
	u32 n; /* 0: there are none */
	u32 part, parts;
	u32 most; /* bytes of a record */
};

#define UNIT_SCRATCH_SLOTS 4u
#define UNIT_SHELVES       32u

/* Counters of each scratch slot, after its busy flag: of user stacks walked by unwind tables. */
enum ucount {
	UCOUNT_WHOLE,  /* up to the outermost frame */
	UCOUNT_CUT,    /* not so far */
	UCOUNT_FP,     /* of both: with frames found by the frame pointer */
	UCOUNT_KERNEL, /* not by tables: walked by the kernel, by frame pointers */
	UCOUNT_LOST,   /* there was no room for it */
	N_UCOUNT,
};

#define UNIT_STACKS_DRAIN 2048u /* a power of two; the map has room for several times as many */
#define UNIT_STACK_FRAMES 127u
#define UNIT_ZERO_WORDS   4u

/*
 * Value of the stacks map: as many frames as were found, innermost first. A frame is an address, or
 * in a stack of a process a place in a file (UNWIND_FRAME in base/unwind.h). The low bits of a
 * stack's number (USTACK_ID_N) are its number of frames.
 */
struct ustack_value {
	u64 n; /* frames, and above USTACK_FLAGS_SHIFT what there is besides */
	u64 ip[UNIT_STACK_FRAMES];
};
#define USTACK_N           0xffu
#define USTACK_FLAGS_SHIFT 32
#define USTACK_CUT         1u /* the outermost frame is not among them */
#define USTACK_EXEC        2u /* none: the program was being replaced by execve() */
#define USTACK_ID_N        127u

/* A user stack to be walked in user space: pieces of memory from that of sp on, each of which lies
 * in one page, for no machine has smaller ones. */
#define UNIT_PIECES 5u /* 16 KiB and a part of a piece at least */
#define UNIT_PIECE  4096u
struct unit_copy {
	u64 record;           /* index into unit->records */
	u64 id, pid;          /* the words of the value */
	u64 pc, sp, fp, link; /* link: see arch/arch.h */
	u64 limit;            /* frames */
	u64 n;                /* pieces that could be read */
	u8 pieces[UNIT_PIECES * UNIT_PIECE];
};

/* What a walk over a user stack has met and knows no tables of. */
struct unit_meet {
	u64 record; /* index into unit->records */
	u64 pid;
	u64 mm;      /* its address space as the kernel knows it, 0: not known */
	u64 address; /* in a file of which key is not known, else 0 */
	u64 key[4];  /* struct unwind_key */
	u64 raw;     /* 1: addresses are kept that only its memory map can name */
};

/* What one event adds to a map of two generations that had no room for its key; the key follows the
 * cells, one for each aggregation of the value. */
struct unit_spill {
	u64 record;    /* index into unit->records */
	u64 why;       /* the low 32 bits: the kernel's answer plus EEXIST, 0 none */
	u64 turn;      /* how often the map had been turned over */
	u64 cell[][2]; /* of one to be merged: as its words; of a histogram the bucket's number */
};

/* Words of the data map that user space fills in before probes are attached. */
enum udata {
	UDATA_START, /* bpf_ktime_get_boot_ns() at start, for `elapsed` */
	UDATA_CPID,  /* pid of the -c child, else 0 */
	UDATA_LOST,  /* records lost because the ring was full (written by programs) */
	UDATA_BUSY,  /* events dropped because all scratch slots were taken (by programs) */
	UDATA_ZERO,  /* four words that stay 0: what a new element starts as */
	UDATA_STACKS = UDATA_ZERO + UNIT_ZERO_WORDS, /* stacks put into their map (by programs) */
	UDATA_ERRORS, /* first of unit->n_errors counters (by programs) */
};

/*
 * A map of two generations can be taken: programs count in one of them, and user space reads and
 * empties the other. Which one is said by a word, which programs read at each access and user space
 * changes (live_map_turn()): one word for all maps that are taken at the same instant. With a key
 * the map is, to programs, an array of two maps; without one, an array of two elements.
 *
 * Who waits until nobody counts in the old generation any more waits for the kernel's grace period,
 * and that says nothing about programs that may sleep. Those add 1 to a cell before they read the
 * word, and take it away again when they have counted. A cell is of a CPU and of the epoch, whose
 * last bit user space changes, so that a cell which is no longer chosen comes to 0 under any load.
 */
enum uturn {
	UTURN_EPOCH,
	UTURN_CELLS = 8, /* UTURN_CPUS lines of 64 bytes, two words used: by the epoch's last bit */
	UTURN_FIRST = UTURN_CELLS + 8 * 64, /* then of each map the words of enum uturn_map */
};

enum uturn_map {
	UTURN_NOW,  /* 0 or 1; of the first map of a group that of all (umap.now) */
	UTURN_DONE, /* how often it was turned over */
	UTURN_KEYS, /* keys that programs put in since then (by programs) */
	UTURN_TELL, /* with so many a program says that it is time to empty the map; 0: never */
	UTURN_WORDS,
};
#define UTURN_CPUS 64u /* a power of two; other CPUs share the cells */

/* What a map is as a metric, where the script says it. */
struct umetric {
	const char *name;
	const char *help;          /* "" none */
	const char *unit;          /* of values: "bytes"; "ns", "us", "ms" of seconds; "" none */
	const char *const *labels; /* of the parts of its key; NULL: they are as usual */
};

struct umap {
	const char *name; /* "@bytes"; internal maps have names without '@' */
	enum umap_role role;
	u32 bpf_type; /* BPF_MAP_TYPE_* */
	u32 flags;    /* BPF_F_NO_PREALLOC ... */
	u32 key_size, value_size, max_entries;
	/* Script maps: NULL key for a map without one (then a one-element array, key u32 0). A
	 * key of several parts is a tuple. */
	const struct type *key, *value;
	bool per_cpu; /* value is one cell per possible CPU */
	/* Takes as many keys as fit the unit's map_memory: max_entries at least, or at most if it
	 * has its elements from the start. */
	bool by_memory;
	bool sized;   /* the script says how many elements it has room for: let @x = hash(N) */
	u32 turn;     /* two generations: its words in the map of turns (enum uturn); 0: one */
	u32 now;      /* ... and the word that says which is in use */
	bool spills;  /* ... what has no room is sent, and the map emptied as it fills */
	u32 together; /* maps with the same number are taken at the same instant; 0: by itself */
	bool is_read; /* by programs, which would miss what is taken for the sake of room */
	u32 of;       /* UMAP_KEYS, UMAP_FRESH: the map that the keys are of */
	const struct umetric *metric; /* NULL: as it is called here */
};

/* ---- records: what programs send through the ring ------------------------------------------ */

#define UNIT_RING_PAGE 4096u /* bytes that ring_pages counts; no machine has smaller pages */

enum action {
	ACTION_PRINTF,     /* args with names: the fields of a row */
	ACTION_PRINT_MAP,  /* map, top, div; or text = a template of rows instead of div */
	ACTION_PRINT_CELL, /* print(@m[k]) of an aggregation: map, args[0] = key; its cells are read
			       and merged on arrival */
	ACTION_PRINT_VALUE, /* args[0] */
	ACTION_CLEAR,       /* map */
	ACTION_ZERO,        /* map */
	ACTION_TIME,        /* text = strftime format */
	ACTION_CAT,         /* text = path format, args */
	ACTION_SYSTEM,      /* text = command format, args */
	ACTION_JOIN,        /* args[0..n-1] strings, text = separator; empty ones end the list */
	ACTION_EXIT,        /* args[0] = exit code */
	ACTION_ERRORF,      /* printf to stderr with the source position */
	ACTION_WARNF,
	/* printf that is not there in JSON; with a map it is held back until that is printed, and
	 * nothing when there is nothing to print */
	ACTION_HEADING,
	ACTION_UNWATCH, /* args[0] = address: watchpoints on it are removed */
	/* args[0] = pid: looked at from now on, as the process of -p or -c is, with the files it
	 * has now; args[1] = when, as bpf_ktime_get_boot_ns() says it */
	ACTION_FOLLOW,
	ACTION_STACK, /* a copied stack: the bytes of struct unit_copy */
	/* the map of stacks has UNIT_STACKS_DRAIN more, or a map fills (UTURN_TELL) */
	ACTION_DRAIN,
	ACTION_SPILL, /* map, args[0] = key: the bytes of struct unit_spill and the key */
	ACTION_MEET,  /* a process or a file without unwind tables: the bytes of struct unit_meet */
	ACTION_PROCESS, /* first sight of a process whose addresses are printed: args[0] = pid */
};

/* Bytes of a record in the ring: u64 index into unit->records, then the args by their offsets. A
 * long string or buffer is laid out last and the record ends with it, so it may be shorter than
 * size. */
struct urecord {
	enum action action;
	u32 size; /* whole record, header included; a multiple of 8 */
	const struct field *args;
	u32 n_args;
	const char *text;
	s32 map;      /* index, -1 none */
	u32 top, div; /* 0 when not given */
	/* PRINT_MAP: what is printed is taken out of the map, ... */
	bool takes;
	bool keeps_keys; /* ... which keeps the keys, with values of 0 */
	struct loc loc;
};

/* ---- programs -------------------------------------------------------------------------------- */

/* Of watchpoints, as in linux/hw_breakpoint.h, whose TYPE_MAX is a name of ours, too. */
#define HW_BREAKPOINT_R 1u
#define HW_BREAKPOINT_W 2u
#define HW_BREAKPOINT_X 4u

/* One place a program is attached to. */
struct usite {
	const char *name;   /* full probe name as printed by `probe` */
	const char *path;   /* UPROBE, URETPROBE, USDT: file to open; ITER: where to pin, or NULL */
	const char *zip;    /* ... the archive it lies in, which is opened then, else NULL */
	u64 offset;         /* ... file offset of the instruction; KPROBE: offset in the function,
			      without event: the address; WATCHPOINT: address */
	u64 size;           /* UPROBE on a function by its name: its bytes, else 0 */
	u32 moved;          /* ... bytes that offset lies after the function's start */
	bool once;          /* ... because a call may pass the start twice, as Go's do */
	const char *stays;  /* ... why a probe on an expensive instruction was not moved, or NULL */
	u64 ref_ctr;        /* USDT: file offset of the semaphore, 0 none */
	const char *event;  /* TRACEPOINT "group:name"; RAWTP name; KPROBE, FENTRY... function;
			      ITER kind of object */
	u64 address;        /* KPROBE, KRETPROBE: of the function, when one of many; 0 not known */
	u64 tracepoint_id;  /* TRACEPOINT: the id of tracefs */
	u32 btf_id;         /* TPBTF, FENTRY, FEXIT: id of the function (or btf_trace_ typedef) */
	const char *module; /* ... the module it is of, NULL the kernel itself */
	u32 bpf_prog;       /* ... the BPF program it is of, by its id, 0 none */
	u32 perf_config;    /* SOFTWARE, HARDWARE: PERF_COUNT_*; WATCHPOINT: HW_BREAKPOINT_* */
	u64 period;         /* SOFTWARE, HARDWARE: events; INTERVAL, PROFILE: nanoseconds;
			      WATCHPOINT: bytes watched */
	s32 pid;            /* only this process (tgid); 0 any */
	u64 cookie;         /* bpf_get_attach_cookie(): index into unit->probe_names */
	struct loc loc;     /* of the attach point */
	/* One of several that a script names together: it may be refused, with a warning. */
	bool optional;
};

struct uprog {
	const char *name; /* name of the first site's probe, for messages and dumps */
	enum attach_kind kind;
	const struct bpf_insn *insns;
	const u32 *locs; /* per instruction: byte offset in the source text */
	u32 n_insns;
	const u32 *funcs; /* where callbacks start, ascending; the program itself starts at 0 */
	u32 n_funcs;
	const struct usite *sites;
	u32 n_sites;
	bool may_sleep; /* load as sleepable: it may bring user pages in */
	struct loc loc;
};

/* ---- runtime errors -------------------------------------------------------------------------- */

enum uerror_kind {
	UERROR_DIV_ZERO,
	UERROR_UPDATE, /* the kernel refused an update of a map, a row for each answer */
	UERROR_SPILL,  /* what a map has no room for was lost: the ring was half full */
	UERROR_DELETE, /* delete of a missing key; shown with -k */
	UERROR_READ,   /* memory could not be read; shown with -k */
	UERROR_LOOKUP, /* shown with -k */
	UERROR_STACK,  /* a stack could not be read or stored */
	UERROR_BOUNDS, /* array index */
	UERROR_CUT,    /* a string did not fit its place in a map and was cut */
	UERROR_LOOP,   /* a while loop hit its limit */
};

/* What the kernel answers to an update, by these bits of it; 0 also when another processor took the
 * new key away. They tell E2BIG, ENOMEM, EBUSY, EEXIST, EDEADLK and ETIMEDOUT apart. */
#define UERROR_ANSWERS 16

/* A place in the script that counts its failures in the data map. */
struct uerror {
	enum uerror_kind kind;
	struct loc loc;
	const char *what; /* the helper or map concerned, e.g. "@x", "probe_read_user" */
	u32 answer;       /* of UERROR_ANSWERS rows for UERROR_UPDATE: its bits */
};

/* Where a program can be attached in files that a followed process loads later. */
struct ulate {
	u32 prog;         /* index into progs */
	const char *text; /* the attach point: "uprobe:*:malloc" */
	bool exact;       /* not moved off the entry of functions */
};

/* Where the text of an imported file, or of the command line, begins in the source. */
struct usource {
	const char *name;
	u32 off;
	bool typed; /* it stood on the command line */
	bool made;  /* of pieces of the others, see struct source's pieces */
};

/* ---- the unit -------------------------------------------------------------------------------- */

struct unit {
	struct arena arena;
	const char *source_name; /* "stdin" for -e, as printed in messages */
	const char *source;      /* text of the script, NUL-terminated */
	u32 source_n;            /* its bytes */
	VEC(u32) lines;          /* where they begin in it */
	/* In their order after the script's own text. */
	VEC(struct usource) imports;
	VEC(struct umap) maps;
	VEC(struct uprog) progs;
	VEC(struct urecord) records;
	VEC(struct uerror) errors;
	VEC(struct ulate) late; /* by ascending prog; none unless the script calls follow() */
	VEC(const char *) probe_names;
	VEC(const char *) notes; /* what was chosen where a script leaves a choice, for -v */
	u32 n_cpus;              /* possible processors, where programs count on it; 0: none does */
	u32 max_strlen;
	const char *cut_mark; /* printed after a string that may be cut: ".." */
	bool print_maps_on_exit;
	u32 max_cat_bytes; /* of a file that cat() prints */
	/* records of printf() whose text holds this are printed; NULL all */
	const char *only_lines;
	/* bpf_session_is_return() in the kernel's BTF; 0: unknown, or not needed */
	u32 session_kfunc;
	u32 max_lines;       /* of those, then it ends; 0 never */
	bool no_lines;       /* stacks without source lines */
	bool mangled;        /* names of C++ and Rust functions as the linker sees them */
	bool lenient_probes; /* missing_probes = warn or ignore: all may be refused */
	bool silent_probes;  /* missing_probes = ignore: without a warning */
	enum stack_mode stack_mode;
	u32 ring_pages; /* of UNIT_RING_PAGE bytes */
	struct unit_lanes lanes;
	u32 map_memory, stack_memory, unwind_memory; /* MiB */
	bool map_memory_set; /* also for maps whose elements are made at the start */
	const char *view;    /* the C view of the script (run/view.h), NULL none */
	/* user probes are in all processes and ask for the number themselves */
	bool follow_at_once;
	u32 poll_ms; /* records wake nobody: look for them that often; 0: they do */
};

/*
 * A map without a key has its element from the start. What a program puts there is never all zeros,
 * so that one that nothing was put into is known: where the value itself may be, a word behind its
 * cell is set. True when there is one, at the offset type_cell(value).
 */
bool unit_has_set(const struct type *key, const struct type *value);
/* Bytes of an element of a script's map. */
u32 unit_element(const struct type *key, const struct type *value);
/* Bytes of struct unit_spill with its cells: where the key is. */
u32 unit_spill_key(const struct type *value);

struct unit *unit_new(void);
void unit_free(struct unit *u);
/* Index of the map with that role, -1 when the unit needs none. */
s32 unit_map(const struct unit *u, enum umap_role role);
bool unit_uses(const struct uprog *p, u32 map);
/* The whole unit as text (`-d unit`): maps, records, programs. */
void unit_print(struct buf *b, const struct unit *u);
/* One program as text (`-d bpf`), source lines as comments. */
void unit_print_prog(struct buf *b, const struct unit *u, const struct uprog *p);
const char *attach_kind_name(enum attach_kind kind); /* "uprobe", "tracepoint", ... */
/* True of uprobe, uretprobe and usdt: probes in files of programs. */
bool attach_kind_is_user(enum attach_kind kind);
/* Has any of these, a sum of enum kind_trait. */
bool attach_kind_has(enum attach_kind kind, u32 traits);
/* FEATURE_* without which a kernel has no such probes; and those that they make use of. */
u32 attach_kind_needs(enum attach_kind kind);
u32 attach_kind_uses(enum attach_kind kind);
enum kind_args attach_kind_args(enum attach_kind kind);
/* Both are borrowed. */
void unit_set_source(struct unit *u, const char *name, const char *text);
/* The file that an offset of the source is in. */
const char *unit_file(const struct unit *u, u32 off);
/* Line and column (both from 1) of a byte offset in the source; of its end, where that is
 * less. */
void unit_line(const struct unit *u, u32 off, u32 *line, u32 *column);

#endif
