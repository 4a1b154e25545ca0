/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whole files: read (for /proc and /sys, whose sizes lie) or mapped.
 *
 * Files of others are opened by file_open() alone. They may be anything, and change at any time:
 *
 *   - only regular files are opened; what is not is never opened at all, for that may have effects
 *   - a path below /proc/PID/root is looked up in that root: links in it do not lead out
 *   - a file that is longer than there is of it (holes) is refused, for what is read of a file is
 *     bounded by its length
 *   - a mapped file that is cut short meanwhile reads as zeros, and that is counted
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the file's bytes to b. Refuses more than `limit` bytes. */
bool file_read(const char *path, struct buf *b, size_t limit, struct err *e);

/* A descriptor to read from; -1 and *e when it can not be opened, or is not to be. */
int file_open(const char *path, struct err *e);
/* The same, for those who only name it (O_PATH). */
int file_hold(const char *path, struct err *e);
/* A socket, looked up as files are: /proc/self/fd/FD is its address. -1 with errno set. */
int file_hold_socket(const char *path);
/* False for what file_open() refuses, and for what is not there. */
bool file_is_regular(const char *path);
/* The path leads through the root of a process: links in it must not lead out, so nothing but these
 * functions may follow it. */
bool file_is_in_root(const char *path);
/* To list a directory; -1 with errno set. */
int file_open_dir(const char *path);
/* As file_open, of a path below the directory `root` that does not lead out of it; a link is not
 * the file. */
int file_open_below(int root, const char *path, struct err *e);
/* As file_read, of a file that file_open() opens. */
bool file_read_regular(const char *path, struct buf *b, size_t limit, struct err *e);

/* A read-only private mapping of a regular file, with a zero after its last byte: a string in it
 * ends, whatever becomes of the file. A file of 0 bytes maps to p = "" and n = 0. */
struct file_map {
	const u8 *p;
	size_t n;
};
bool file_map(const char *path, struct file_map *m, struct err *e);
void file_unmap(struct file_map *m);

/* From here on pages that a mapped file has no more are zeros. For what is mapped by others. */
void file_guard(void);

/* What could not be had of files of others, and how often. */
enum file_lack {
	FILE_HOLES,   /* such a page was read */
	FILE_NAMES,   /* a file has longer symbols, or more in all, than are read */
	FILE_INLINED, /* a file takes too long to find functions that were inlined */
	FILE_LACKS,
};
void file_lack(enum file_lack what);
/* For the user, once: what was lacking since the last call, and how often; NULL: nothing. */
const char *file_lacked(enum file_lack what, u32 *times);

/* Writes all of it, going on after signals and short writes. False with errno set. */
bool file_write_all(int fd, const void *p, size_t n);
/* Writes a whole file: what is written takes the place of the file of that name when it is all
 * there. A device, a pipe or the like stays, and is written to. 0, or errno. */
int file_save(const char *path, const void *p, size_t n);

#endif
