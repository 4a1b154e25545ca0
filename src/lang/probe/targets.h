/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the targets_*.c files: what is known while one attach point is expanded. Not for
 * others; they call targets_expand() of lang.h.
 */
#ifndef LANG_PROBE_TARGETS_H
#define LANG_PROBE_TARGETS_H

#include "lang/parse/lang.h"

struct provider;

struct targets {
	struct arena *arena;
	struct script *script;
	const struct config *config;
	struct world *world;
	struct diags *diags;
	struct probe *probe;
	/* The attach point at work: its row, its parts with $1 replaced, where they are. */
	struct attach *attach;
	const struct provider *provider;
	const char **parts;
	u32 n_parts;
	const char *shown; /* the path of the file at work as the script has it; NULL: as found */
	/* What the probe's predicate and body use; decides which sites share a program. */
	bool uses_args;                  /* `args` */
	bool uses_result;                /* what `retval` points to */
	u32 n_args_used;                 /* 1 + the highest argN, 0 none */
	u32 n_sites;                     /* of the whole script, counted beyond the limit too */
	u32 n_added;                     /* of this attach point */
	const struct event_given *event; /* the attach point was given by the user, or NULL */
	u32 first_variant; /* those before it are not shared: they are of another event */
	bool uses_kstack;
	bool uses_probe;
	bool is_trial;   /* one of several to choose from: a miss is an error of `diags` */
	u32 n_unchecked; /* attach points that may not be looked up */
};

/* One way to write a probe type. */
struct provider {
	const char *name; /* long name, any case; or short name, exact case */
	const char *full; /* the long name, for messages and names of probes */
	enum attach_kind kind;
	u32 min_parts, max_parts;
	const char *form;                  /* how to write it, for messages */
	void (*expand)(struct targets *t); /* NULL: known, not available */
	const char *help;                  /* NULL in rows of other names */
};

/* Adds a site to a variant unless the script is over its limit of probes. The name is
 * "PROVIDER:rest". */
void targets_add(struct targets *t, struct variant *v, struct usite site, const char *rest);
/* True while sites still count towards the limit: beyond it only their number matters. */
bool targets_room(const struct targets *t);
/* So many more that they are not even counted: no other file is looked at. */
bool targets_full(const struct targets *t);
/* What a site of a user probe is bound to. */
s32 targets_pid(const struct targets *t);
/* A variant of the provider's kind that later sites may share, or a new one. */
struct variant *targets_shared(struct targets *t);
struct variant *targets_alone(struct targets *t);

/* An event whose text stands on the command line (targets_event.c). */
struct event_given {
	const regex_t *filter; /* names of places must match it; NULL: all do */
};

/* Where part i of the attach point is written. */
struct loc targets_loc(const struct targets *t, u32 i);
/* An error of the world about part i. */
void targets_failed(struct targets *t, u32 i, const struct err *e);
/* The same of the file in part 0; `missing_probes` is about one that is not there. */
void targets_no_file(struct targets *t, const struct err *e);
/* What part i names does not exist: error, warning or nothing, as configured. `best` is the
 * nearest name or NULL. */
void targets_missing(struct targets *t, u32 i, const char *best, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* This kernel has no probes of the kind at all. */
void targets_unsupported(struct targets *t, const char *hint, const char *text);
/* What to use where functions of the kernel can not be probed: names what this one has. */
const char *targets_instead(struct targets *t);
/* Of the FEATURE_* that probes of the kind need, those that this kernel lacks. */
u32 targets_lacks(struct targets *t, enum attach_kind kind);
/* The kernel has BTF, which fentry and fexit need; false when it was said that it has not. */
bool targets_has_types(struct targets *t);
/* As targets_missing with a whole sentence as hint, or NULL. */
void targets_absent(struct targets *t, u32 i, const char *hint, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

void targets_block(struct targets *t);      /* BEGIN, END */
void targets_counter(struct targets *t);    /* software, hardware */
void targets_clock(struct targets *t);      /* interval, profile */
void targets_tracepoint(struct targets *t); /* tracepoint */
void targets_rawtp(struct targets *t);      /* rawtracepoint, btftracepoint */
void targets_kprobe(struct targets *t);     /* kprobe, kretprobe */
void targets_fentry(struct targets *t);     /* fentry, fexit */
void targets_bpf(struct targets *t);        /* the same of a BPF program */
void targets_uprobe(struct targets *t);     /* uprobe, uretprobe */
void targets_usdt(struct targets *t);       /* usdt */
void targets_standin(struct targets *t);    /* kprobe, kretprobe where the kernel has none */
void targets_by_fentry(struct targets *t);  /* the same where it has fentry */
void targets_watchpoint(struct targets *t); /* watchpoint, asyncwatchpoint */
void targets_iter(struct targets *t);       /* iter */
void targets_packets(struct targets *t);    /* ingress, egress */
void targets_self(struct targets *t);       /* self */
void targets_test(struct targets *t);       /* test */
void targets_event(struct targets *t);      /* event */

/* Expands another attach point for the same probe. */
void targets_attach(struct targets *t, struct attach *a);
/* The same when there is one, and true; else nothing has changed and *why is what stands against
 * it. With `stand_in`, an event that takes its place counts. */
bool targets_try(struct targets *t, struct attach *a, bool stand_in, const char **why);
/* Finds out which arguments the predicate and body of a probe use. */
void targets_note_uses(struct targets *t, struct probe *p);
/* Whether `probe` is a string in the script, or a number that stands for one. */
bool targets_probe_is_text(const struct script *s);
/* True for the name of a kind of probe that others can stand for. */
bool targets_is_kind(struct str name);

/* A tracepoint in BTF: its typedef and the prototype with its arguments' names, 0 unknown. */
bool targets_event_find(struct btf *b, const char *event, u32 *id, u32 *proto);
/* A whole number above 0 in part i, or an error. */
bool targets_number(struct targets *t, u32 i, u64 *n);

/* True when the probe could tell whether it is on a function's entry. */
bool targets_reads_registers(struct probe *p);
/* Moves probes on functions to instructions that cost less. After all is expanded. */
void targets_site(struct targets *t);
/* Leaves out places of user probes that the kernel would make something else of. After
 * targets_site. */
void targets_refuse(struct targets *t);
/* Makes offsets in files that lie in archives offsets in the archives. After targets_site. */
void targets_archives(struct targets *t);

/* uprobe:PATH@FILE:LINE[:COLUMN] */
bool targets_is_line(const struct targets *t);
void targets_line(struct targets *t);
/* Adds the place at that offset of a program's file, by the name "PROVIDER:rest". */
void targets_place(struct targets *t, const char *path, u64 offset, const char *rest);

/* Calls back for each file that a path part means: the one file, or for an empty part or
 * wildcards the files of the traced process. False after an error. */
bool targets_files(struct targets *t, const char *path,
                   void (*cb)(struct targets *t, const char *path, void *ctx), void *ctx);
/* How to show the path that targets_files() called back with: names of probes and messages have
 * what the script wrote, a name that had to be looked up excepted. */
const char *targets_shown(const struct targets *t, const char *path);
/* "fn+0x10" -> "fn" and 16; text without '+' keeps offset 0. False when it is no number. */
bool targets_offset(struct targets *t, const char *text, const char **name, u64 *offset);

#endif
