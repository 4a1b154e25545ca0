/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * /proc/PID/maps: which file lies where in a process.
 */
#ifndef READ_PROCMAPS_H
#define READ_PROCMAPS_H

#include "base/arena.h"
#include "base/err.h"

struct procmap {
	u64 start, end, offset;
	u64 inode;
	u32 dev_major, dev_minor;
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
/* Where the mapping that an address is in begins and ends, of /proc/PID/maps, which fd is: 1; 0
 * when it is in none; -1 when this kernel can not be asked (before Linux 6.11). */
int procmaps_ask(int fd, u64 addr, u64 *start, u64 *end);
const struct procmap *procmaps_find(const struct procmaps *m, u64 addr);

#endif
