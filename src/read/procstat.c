/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "read/procstat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* proc(5): the 22nd field; the second, a name, may have blanks and ends with the last ')'. */
u64 procstat_started(u32 pid)
{
	struct buf stat = { 0 };
	char path[64];
	const char *p;
	struct err e;
	u64 ticks;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	p = file_read(path, &stat, 65536, &e) ? strrchr(buf_text(&stat), ')') : NULL;
	for (u32 field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	ticks = p ? strtoull(p, NULL, 10) : 0;
	buf_free(&stat);
	return ticks;
}
