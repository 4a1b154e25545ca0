/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unwind tables of the processes that are looked at, kept in the memory their programs read
 * (base/unwind.h): files shared by all processes, all of it bounded, processes followed.
 */
#ifndef RUN_UNWIND_H
#define RUN_UNWIND_H

#include "kern/live.h"
#include "out/out.h"
#include "world/stop.h"

struct unwind;

/* True when a program of the unit walks stacks by tables. */
bool unwind_wanted(const struct unit *u);
/* Starts with nothing. `limit` in bytes. */
struct unwind *unwind_new(const struct unit *u, u64 limit);
/* Ends the thread, frees all. NULL is fine. */
void unwind_free(struct unwind *w);

/* Before the unit is loaded: reads the tables of a process, so that there will be room. */
void unwind_prepare(struct unwind *w, u32 pid);
/* How many chunks of memory to load the unit with. */
u32 unwind_chunks(const struct unwind *w);
/* The unit is loaded: from now on tables go into the kernel. */
void unwind_start(struct unwind *w, struct live *l);
/* Once asked to end, no more tables are read, and what is being read is left. NULL is fine. */
void unwind_set_stop(struct unwind *w, const struct stop *stop);

/* Loads what the process has mapped now. Does nothing when it is gone. */
void unwind_note(struct unwind *w, u32 pid);
/* The same in the background, soon: a program has met a process or a file it does not know. */
void unwind_ask(struct unwind *w, const struct unit_meet *met);
/* Reads in the background, before anybody asks, the files that probes are in and what most programs
 * have mapped: the C library. */
void unwind_warm(struct unwind *w);

/* Walks a stack that a program has copied. */
void unwind_copied(struct unwind *w, const struct unit_copy *copy, struct ustack_value *frames);

/* A file by the number that frames have. */
struct unwind_where {
	const char *path; /* as a process saw it; it lives as long as w */
	int fd;           /* O_PATH, the caller's to close; -1 when it is not held any more */
	bool vdso;        /* no file: the kernel's */
};
bool unwind_file(struct unwind *w, u32 number, struct unwind_where *where);

void unwind_stat(struct unwind *w, struct unwind_stat *stat);

#endif
