/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A compiler, a loader and constructors of libraries ran, and will not again: their code would
 * count as resident for as long as nobody else wants the memory. A page that was written to, as by
 * relocations, is not the file's any more and has to stay: such a mapping has "Anonymous" bytes.
 */
#include "base/trim.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"

#define SMAPS_MOST (4u << 20) /* bytes */

/* The mapping that a line of smaps begins. False: it is one of its figures. */
static bool read_mapping(const char *line, u64 *from, u64 *to)
{
	char rights[5] = "", path[2] = "";
	u64 start, end;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %1s", &start, &end, rights,
	           path) < 3)
		return false;
	*from = start;
	*to = rights[1] != 'w' && rights[3] == 'p' && *path == '/' ? end : start;
	return true;
}

void trim_memory(void)
{
	struct buf text = { 0 };
	struct err ignored = { 0 };
	u64 from = 0, to = 0;
	char *line, *rest;

	malloc_trim(0);
	if (!file_read("/proc/self/smaps", &text, SMAPS_MOST, &ignored))
		text.n = 0;
	line = text.n ? strtok_r(text.p, "\n", &rest) : NULL;
	for (; line; line = strtok_r(NULL, "\n", &rest))
		if (!read_mapping(line, &from, &to) && from < to &&
		    strncmp(line, "Anonymous:", 10) == 0 && strtoull(line + 10, NULL, 10) == 0)
			madvise((void *)(uintptr_t)from, to - from, MADV_DONTNEED);
	buf_free(&text);
}
