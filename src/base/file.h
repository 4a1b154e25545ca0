/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whole files: read (for /proc and /sys, whose sizes lie) or mapped.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the file's bytes to b. Refuses more than `limit` bytes. */
bool file_read(const char *path, struct buf *b, size_t limit, struct err *e);

/* A read-only private mapping. A file of 0 bytes maps to p = "" and n = 0. */
struct file_map {
	const u8 *p;
	size_t n;
};
bool file_map(const char *path, struct file_map *m, struct err *e);
void file_unmap(struct file_map *m);

/* Writes all of it, going on after signals and short writes. False with errno set. */
bool file_write_all(int fd, const void *p, size_t n);

#endif
