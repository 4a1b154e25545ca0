/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * /proc/PID/maps, a line at a time:
 *
 *     55d0c8a00000-55d0c8a21000 r-xp 00002000 08:01 1311  /usr/bin/x
 *
 * The path is the rest of the line; the kernel writes a newline in it as \012 (seq_file), which
 * is turned back. A mapped file that was removed keeps its " (deleted)" ending.
 */
#include "read/procmaps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/file.h"
#include "base/str.h"

#define MAPS_MAX (64u << 20) /* 65530 mappings, the kernel's default limit, are about 8 MiB */

/* Cuts the next number off *s; it has to end with `end`. */
static bool number(struct str *s, u32 base, char end, u64 *out)
{
	u64 v = 0;
	u32 i = 0;

	for (; i < s->n && s->p[i] != end; i++) {
		char c = s->p[i];
		u32 digit = c >= '0' && c <= '9'   ? (u32)(c - '0')
		            : c >= 'a' && c <= 'f' ? (u32)(c - 'a') + 10
		                                   : 16;

		if (digit >= base || v > (UINT64_MAX - digit) / base)
			return false;
		v = v * base + digit;
	}
	if (!i || i == s->n)
		return false;
	s->p += i + 1;
	s->n -= i + 1;
	*out = v;
	return true;
}

static char *path_copy(struct arena *a, struct str s)
{
	char *path = arena_strndup(a, s.p, s.n), *to = path;

	for (const char *from = path; *from; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
	return path;
}

static bool parse_line(struct arena *a, struct str s, struct procmap *m)
{
	u64 major, minor;
	u32 skip = 0;

	if (!number(&s, 16, '-', &m->start) || !number(&s, 16, ' ', &m->end) || s.n < 5)
		return false;
	m->held_start = m->start;
	m->held_end = m->end;
	m->exec = s.p[2] == 'x';
	s = (struct str){ s.p + 5, s.n - 5 };
	if (!number(&s, 16, ' ', &m->offset) || !number(&s, 16, ':', &major) ||
	    !number(&s, 16, ' ', &minor) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	m->dev_major = (u32)major;
	m->dev_minor = (u32)minor;
	if (!number(&s, 10, ' ', &m->inode))
		return false;
	while (skip < s.n && s.p[skip] == ' ')
		skip++;
	m->path = path_copy(a, (struct str){ s.p + skip, s.n - skip });
	return m->start < m->end;
}

/*
 * The process goes on while the kernel writes its mappings one by one: one that grows, or is merged
 * with others or split meanwhile, comes twice. What comes later is how it is now, and reaches
 * further: the kernel goes on from where the last one ended. Returns how many are left.
 */
static u32 settle(struct procmap *v, u32 n)
{
	u32 kept = 0;

	for (u32 i = 0; i < n; i++) {
		while (kept && v[kept - 1].start >= v[i].start)
			kept--;
		if (kept && v[kept - 1].end > v[i].start)
			v[kept - 1].end = v[i].start;
		v[kept++] = v[i];
	}
	return kept;
}

bool procmaps_parse(struct arena *a, const char *text, size_t n, struct procmaps *out,
                    struct err *e)
{
	VEC(struct procmap) maps = { 0 };
	struct str rest = { text, (u32)MIN(n, (size_t)UINT32_MAX) };

	for (u32 line = 1; rest.p && rest.n; line++) {
		struct str one = str_cut(rest, '\n', &rest);
		struct procmap m = { 0 };

		if (!parse_line(a, one, &m) || (maps.n && m.end <= maps.v[maps.n - 1].end))
			return err_set(e, "line %u of the process's memory map is damaged", line);
		vec_add(a, &maps, m);
	}
	out->v = maps.v;
	out->n = settle(maps.v, maps.n);
	return true;
}

bool procmaps_read(struct arena *a, s32 pid, struct procmaps *out, struct err *e)
{
	struct buf b = { 0 };
	char path[64];
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	ok = file_read(path, &b, MAPS_MAX, e) &&
	     (procmaps_parse(a, buf_text(&b), b.n, out, e) || err_wrap(e, "%s", path));
	if (!ok && (e->code == ENOENT || e->code == ESRCH))
		err_set(e, "there is no process with pid %d", pid);
	if (!ok)
		caps_file(e, path);
	buf_free(&b);
	return ok;
}

static bool is_same_file(const struct procmap *a, const struct procmap *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* The page itself lies as far behind the code as the copy's bytes in the file. */
static const struct procmap *laid_aside(const struct procmaps *maps, const struct procmap *copy)
{
	for (u32 i = 0; i < maps->n; i++) {
		const struct procmap *code = &maps->v[i];
		const struct procmap *page;

		if (code->offset || !is_same_file(code, copy))
			continue;
		page = procmaps_find(maps, code->start + copy->offset);
		return page && page->exec && page->inode && !is_same_file(page, copy) ? page : NULL;
	}
	return NULL;
}

void procmaps_see_through(struct procmaps *maps)
{
	for (u32 i = 0; i < maps->n; i++) {
		struct procmap *m = &maps->v[i];
		const struct procmap *page = m->offset && m->exec &&
		                                             strcmp(m->path, PROCMAPS_COPIES) == 0
		                                     ? laid_aside(maps, m)
		                                     : NULL;
		struct procmap seen;

		if (!page)
			continue;
		seen = *page;
		seen.start = m->start;
		seen.end = m->end;
		*m = seen;
	}
}

int procmaps_ask(int fd, u64 addr, u64 *start, u64 *end)
{
	/* struct procmap_query of <linux/fs.h>, which is younger than some machines' */
	struct {
		u64 size, flags, addr, start, end, vma[4];
		u32 dev[2], name_size, build_id_size;
		u64 name, build_id;
	} q = { .size = sizeof(q), .addr = addr };

	if (ioctl(fd, _IOWR('f', 17, q), &q) < 0)
		return errno == ENOENT ? 0 : -1;
	*start = q.start;
	*end = q.end;
	return 1;
}

const struct procmap *procmaps_find(const struct procmaps *m, u64 addr)
{
	u32 low = 0, high = m->n;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (addr < m->v[mid].start)
			high = mid;
		else if (addr >= m->v[mid].end)
			low = mid + 1;
		else
			return &m->v[mid];
	}
	return NULL;
}
