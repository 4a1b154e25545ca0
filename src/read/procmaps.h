/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * /proc/PID/maps: which file lies where in a process.
 */
#ifndef READ_PROCMAPS_H
#define READ_PROCMAPS_H

#include "base/arena.h"
#include "base/err.h"

/* The file that memtap heap puts into processes. */
#define PROCMAPS_COPIES "/memfd:memtap (deleted)"

struct procmap {
	u64 start, end, offset;
	u64 inode;
	u32 dev_major, dev_minor;
	/* The mapping by which the kernel hands out the file (/proc/PID/map_files): itself, but for
	 * one that stands for another. */
	u64 held_start, held_end;
	bool exec;
	const char *path; /* "" for anonymous, "[heap]", "[vdso]", "/usr/bin/x" */
};

struct procmaps {
	struct procmap *v; /* in the arena, sorted by address */
	u32 n;
};

bool procmaps_read(struct arena *a, s32 pid, struct procmaps *out, struct err *e);
/* Parses the text of such a file; bad lines end with false and *e naming the line. */
bool procmaps_parse(struct arena *a, const char *text, size_t n, struct procmaps *out,
                    struct err *e);
/* Pages that memtap has put copies of in place of (inject/room.h) are those of the file again: the
 * instructions of a copy and what is known of them, names and frames, are the same. */
void procmaps_see_through(struct procmaps *maps);
/* Where the mapping that an address is in begins and ends, of /proc/PID/maps, which fd is: 1; 0
 * when it is in none; -1 when this kernel can not be asked (before Linux 6.11). */
int procmaps_ask(int fd, u64 addr, u64 *start, u64 *end);
const struct procmap *procmaps_find(const struct procmaps *m, u64 addr);

#endif
