/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Perf maps. The file is found as the process sees it: by its pid in its own namespace, in its
 * own file system. It is only believed when it belongs to the user the process runs as, or to root,
 * and was written since the process began: before, the number was that of another one.
 *
 * The one idea: the file is a log. Compilers append lines as they compile, also for addresses
 * they use anew, so of two lines for one address the later is right, and a file that has grown is
 * read on from where the last reading ended. A file that was replaced, or in which what was read
 * last is not there any more, is read from its beginning. One that is written anew all the time
 * may take a tenth of the time; beyond that the names are those read last.
 */
#include "sym/jit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/sorted.h"
#include "read/perfmap.h"
#include "read/procstat.h"

#define FILE_LIMIT    (128u << 20) /* bytes read of a map */
#define ENTRIES_LIMIT (1u << 20)
#define TAIL          64u /* bytes that must still be there to read on after them */
#define SECOND        1000000000ull
#define FREE_NS       SECOND /* of reading, whatever part of the time that is */
#define SHARE         10u    /* then a tenth */
#define NESTING_MAX   64u    /* entries below an address that may reach over it */

struct entry {
	u64 start, size;
	u32 name;  /* in names */
	u32 order; /* place in the file */
};

struct jit {
	u32 pid, ns_pid;
	uid_t uid;
	int root; /* the process's root directory, or -1 when it is ours */
	char path[64];
	int fd; /* -1: no map so far */
	struct stat seen;
	size_t read; /* bytes of whole lines taken in */
	char tail[TAIL];
	u32 tail_n;
	struct entry *v;
	u32 n, cap, sorted;
	struct buf names;
	u64 began_ns, spent_ns; /* when this began, and how much of it went into reading */
};

/* ---- finding it ----------------------------------------------------------------------------- */

/* The last number of a line of /proc/PID/status, or `otherwise`. */
static u32 status_number(const char *status, const char *key, bool last, u32 otherwise)
{
	const char *p = strstr(status, key), *end;
	char *next;

	if (!p)
		return otherwise;
	p += strlen(key);
	end = strchr(p, '\n');
	for (; end && p < end; p = next) {
		u32 v = (u32)strtoul(p, &next, 10);

		if (next == p || next > end)
			break;
		otherwise = v;
		if (!last)
			break;
	}
	return otherwise;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A descriptor of the process's root, -1 when that is ours (or can not be reached). A mount
 * namespace of its own may show the same root and another /tmp. */
static int open_root(u32 pid)
{
	char path[64], theirs[64] = "", ours[64] = "";
	struct stat a, b;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	if (readlink(path, theirs, sizeof(theirs) - 1) <= 0 ||
	    readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) <= 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && strcmp(theirs, ours) == 0 && fstat(fd, &a) == 0 && stat("/", &b) == 0 &&
	    same_file(&a, &b)) {
		close(fd);
		return -1;
	}
	return fd;
}

struct jit *jit_new(u32 pid)
{
	struct jit *j = calloc(1, sizeof(*j));
	struct buf status = { 0 };
	char path[64];
	struct err e;

	if (!j)
		base_no_memory();
	j->pid = pid;
	j->began_ns = clock_ns(CLOCK_MONOTONIC);
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (!file_read(path, &status, 65536, &e))
		buf_reset(&status);
	j->ns_pid = status_number(buf_text(&status), "\nNSpid:", true, pid);
	j->uid = status_number(buf_text(&status), "\nUid:", false, 0);
	buf_free(&status);
	j->fd = -1;
	j->root = open_root(pid);
	snprintf(j->path, sizeof(j->path), "tmp/perf-%u.map", j->ns_pid);
	return j;
}

void jit_drop(struct jit *j)
{
	free(j->v);
	buf_free(&j->names);
	j->v = NULL;
	j->n = j->cap = j->sorted = j->tail_n = 0;
	j->read = 0;
	j->seen = (struct stat){ 0 };
}

void jit_free(struct jit *j)
{
	if (!j)
		return;
	jit_drop(j);
	if (j->fd >= 0)
		close(j->fd);
	if (j->root >= 0)
		close(j->root);
	free(j);
}

/* When the process began, in nanoseconds as times of files are, to a hundredth of a second; 0 when
 * that is not known. */
static u64 began(u32 pid)
{
	u64 since_boot = clock_ns(CLOCK_BOOTTIME), now = clock_ns(CLOCK_REALTIME);
	u64 ticks = procstat_started(pid);

	return ticks ? now - since_boot + ticks * (SECOND / (u64)sysconf(_SC_CLK_TCK)) : 0;
}

static bool is_older(const struct stat *st, u64 than)
{
	static const u64 blur = SECOND / 10; /* of both clocks, and more */

	return (u64)st->st_mtim.tv_sec * SECOND + (u64)st->st_mtim.tv_nsec + blur < than;
}

/* The directory is one everybody writes to. */
static int open_map(const struct jit *j, struct stat *st)
{
	int root = j->root >= 0 ? j->root : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err ignored;
	int fd = file_open_below(root, j->path, &ignored);

	if (root != j->root)
		close(root);
	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0 && (st->st_uid == j->uid || st->st_uid == 0) &&
	    !is_older(st, began(j->pid)))
		return fd;
	close(fd);
	return -1;
}

void jit_note(struct jit *j)
{
	struct stat st;

	if (j->fd < 0)
		j->fd = open_map(j, &st);
}

/* ---- reading it ----------------------------------------------------------------------------- */

static void add_entry(void *ctx, u64 start, u64 size, struct str name)
{
	struct jit *j = ctx;

	if (j->n == ENTRIES_LIMIT || j->names.n + name.n >= UINT32_MAX)
		return;
	if (j->n == j->cap) {
		u32 cap = j->cap ? j->cap * 2 : 1024;
		struct entry *v = realloc(j->v, cap * sizeof(*v));

		if (!v)
			return;
		j->v = v;
		j->cap = cap;
	}
	j->v[j->n] = (struct entry){ start, size, (u32)j->names.n, j->n };
	j->n++;
	buf_add(&j->names, name.p, name.n);
	buf_putc(&j->names, 0);
}

/* Bytes [from, from + up to limit) of the map. */
static void read_part(const struct jit *j, size_t from, struct buf *text)
{
	char chunk[65536];
	ssize_t n;

	while (text->n + from < FILE_LIMIT &&
	       (n = pread(j->fd, chunk, sizeof(chunk), (off_t)(from + text->n))) > 0)
		buf_add(text, chunk, (size_t)n);
}

/* True when what was read last is still where it was. */
static bool goes_on(const struct jit *j, const struct buf *text)
{
	return text->n >= j->tail_n && memcmp(buf_text(text), j->tail, j->tail_n) == 0;
}

static void take_in(struct jit *j)
{
	struct buf text = { 0 };
	size_t n;

	read_part(j, j->read - j->tail_n, &text);
	if (!goes_on(j, &text)) {
		jit_drop(j);
		buf_reset(&text);
		read_part(j, 0, &text);
	}
	n = perfmap_parse(buf_text(&text) + j->tail_n, text.n - j->tail_n, add_entry, j);
	j->read += n;
	n += j->tail_n;
	j->tail_n = (u32)MIN(n, (size_t)TAIL);
	if (j->tail_n)
		memcpy(j->tail, buf_text(&text) + n - j->tail_n, j->tail_n);
	buf_free(&text);
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
	return same_file(a, b) && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Takes the file at the path, if there is one; the one held may have been replaced. */
static void follow_path(struct jit *j)
{
	struct stat st, held;
	int fd = open_map(j, &st);

	if (fd < 0)
		return;
	if (j->fd >= 0 && fstat(j->fd, &held) == 0 && same_file(&st, &held)) {
		close(fd);
		return;
	}
	if (j->fd >= 0)
		close(j->fd);
	jit_drop(j);
	j->fd = fd;
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* False when enough time has gone into it. */
static bool may_read_on(const struct jit *j)
{
	return j->spent_ns < FREE_NS + (clock_ns(CLOCK_MONOTONIC) - j->began_ns) / SHARE;
}

static void look(struct jit *j)
{
	struct stat st;

	follow_path(j);
	if (j->fd < 0 || fstat(j->fd, &st) < 0 || unchanged(&st, &j->seen))
		return;
	take_in(j);
	j->seen = st; /* of before the reading: what came after it shows next time */
	if (j->sorted != j->n)
		qsort(j->v, j->n, sizeof(*j->v), by_start);
	j->sorted = j->n;
}

static void refresh(struct jit *j)
{
	u64 start = clock_ns(CLOCK_MONOTONIC);

	if (!may_read_on(j))
		return;
	look(j);
	j->spent_ns += clock_ns(CLOCK_MONOTONIC) - start;
}

/* ---- asking --------------------------------------------------------------------------------- */

const char *jit_name(struct jit *j, u64 addr, u64 *off)
{
	const struct entry *best = NULL;
	u32 n;

	refresh(j);
	n = SORTED_NOT_ABOVE(j->v, j->n, start, addr);
	for (u32 k = 0; k < NESTING_MAX && k < n; k++) {
		const struct entry *s = &j->v[n - 1 - k];

		if (addr - s->start < s->size && (!best || s->order > best->order))
			best = s;
	}
	if (!best)
		return NULL;
	*off = addr - best->start;
	return j->names.p + best->name;
}

size_t jit_bytes(const struct jit *j)
{
	return j->cap * sizeof(*j->v) + j->names.cap;
}
