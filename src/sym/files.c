/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two bounded caches, one after the other. A slot is a mapped file: known by device, inode and
 * time of change, held by a descriptor (O_PATH: nothing is read before it must be). A table is a
 * set of names: known by build id, so that the same library in ten containers is read once; a file
 * without a build id has its table to itself.
 *
 *     device:inode:mtime --> slot (descriptor) --> build id --> table of names
 *
 * In both the least recently used makes room. A slot keeps its descriptor as long as it lives, so
 * a table that was dropped can be read again.
 */
#include "sym/files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "elf/elf.h"
#include "read/procmaps.h"

#define FILES_MAX  256u
#define TABLES_MAX 128u
#define BYTES_MAX  (128u << 20) /* of names; the table in use may alone be bigger */

#define DELETED " (deleted)"

struct slot {
	u64 inode; /* 0: free */
	u32 dev_major, dev_minor;
	struct timespec changed;
	u64 size;
	u64 used;
	u32 generation;
	int fd;
	bool asked; /* what its table is has been found out */
	s32 table;  /* -1: no names */
	bool id_read;
	char build_id[64]; /* "": none, or not read yet */
};

struct table {
	struct symfile *names; /* NULL: free */
	char build_id[64];     /* "": not shared */
	u64 used;
};

struct files {
	u64 clock;      /* counts uses */
	struct err why; /* the last file could not be opened or read */
	struct slot slots[FILES_MAX];
	struct table tables[TABLES_MAX];
};

struct files *files_new(void)
{
	struct files *s = calloc(1, sizeof(*s));

	if (!s)
		base_no_memory();
	return s;
}

static void slot_clear(struct slot *f)
{
	if (f->inode)
		close(f->fd);
	*f = (struct slot){ .generation = f->generation + 1 };
}

void files_free(struct files *s)
{
	if (!s)
		return;
	for (u32 i = 0; i < FILES_MAX; i++)
		slot_clear(&s->slots[i]);
	for (u32 i = 0; i < TABLES_MAX; i++)
		symfile_free(s->tables[i].names);
	free(s);
}

/* ---- slots ---------------------------------------------------------------------------------- */

/* A regular file held by path only: nothing is read before it must be. */
static int open_regular(const char *path, u64 inode, struct stat *st, struct err *e)
{
	int fd = file_hold(path, e);

	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0 && (!inode || st->st_ino == inode))
		return fd;
	close(fd);
	err_set(e, "there is another file at %s", path);
	return -1;
}

/*
 * The mapped file: by the mapping itself (right even for a deleted file, needs privilege), by its
 * path as the process sees it, or, when the process is gone, by its path as we see it.
 */
static int open_mapped(u32 pid, const struct procmap *m, struct stat *st, struct err *e)
{
	size_t length = strlen(m->path), tail = strlen(DELETED);
	char path[4096 + 64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, m->held_start,
	         m->held_end);
	fd = open_regular(path, 0, st, e);
	if (fd >= 0 || (length > tail && strcmp(m->path + length - tail, DELETED) == 0))
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, m->path);
	fd = open_regular(path, 0, st, e);
	/* The file at that path may be another one by now: the inode decides. */
	return fd >= 0 ? fd : open_regular(m->path, m->inode, st, e);
}

static bool slot_is(const struct slot *f, const struct procmap *m, const struct stat *st)
{
	return f->inode == m->inode && f->dev_major == m->dev_major &&
	       f->dev_minor == m->dev_minor && f->size == (u64)st->st_size &&
	       f->changed.tv_sec == st->st_mtim.tv_sec && f->changed.tv_nsec == st->st_mtim.tv_nsec;
}

/* The file's slot, or else the least recently used one. */
static struct slot *slot_find(struct files *s, const struct procmap *m, const struct stat *st)
{
	struct slot *oldest = &s->slots[0];

	for (u32 i = 0; i < FILES_MAX; i++) {
		if (slot_is(&s->slots[i], m, st))
			return &s->slots[i];
		if (s->slots[i].used < oldest->used)
			oldest = &s->slots[i];
	}
	return oldest;
}

/* The descriptor becomes the slot's, or is closed where there is one. */
static struct file_id slot_take(struct files *s, const struct procmap *m, int fd,
                                const struct stat *st)
{
	struct slot *f = slot_find(s, m, st);

	if (slot_is(f, m, st)) {
		close(fd);
	} else {
		slot_clear(f);
		f->inode = m->inode;
		f->dev_major = m->dev_major;
		f->dev_minor = m->dev_minor;
		f->changed = st->st_mtim;
		f->size = (u64)st->st_size;
		f->fd = fd;
		f->table = -1;
	}
	f->used = ++s->clock;
	return (struct file_id){ (u32)(f - s->slots), f->generation };
}

struct file_id files_bind(struct files *s, u32 pid, const struct procmap *m)
{
	struct stat st;
	int fd;

	if (!m->inode || m->path[0] != '/')
		return (struct file_id){ 0 };
	fd = open_mapped(pid, m, &st, &s->why);
	if (fd < 0)
		return (struct file_id){ 0 };
	return slot_take(s, m, fd, &st);
}

struct file_id files_adopt(struct files *s, int fd)
{
	struct procmap m = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		if (fd >= 0)
			close(fd);
		return (struct file_id){ 0 };
	}
	m.inode = st.st_ino;
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	return slot_take(s, &m, fd, &st);
}

int files_dup(const struct files *s, struct file_id id)
{
	return files_holds(s, id) ? fcntl(s->slots[id.slot].fd, F_DUPFD_CLOEXEC, 3) : -1;
}

bool files_holds(const struct files *s, struct file_id id)
{
	return id.slot < FILES_MAX && s->slots[id.slot].inode &&
	       s->slots[id.slot].generation == id.generation;
}

bool files_is(const struct files *s, struct file_id id, dev_t dev, u64 inode)
{
	const struct slot *f = &s->slots[id.slot];

	return files_holds(s, id) && f->inode == inode &&
	       makedev(f->dev_major, f->dev_minor) == dev;
}

struct files_path files_path(const struct files *s, struct file_id id)
{
	struct files_path p = { "" };

	if (files_holds(s, id))
		snprintf(p.text, sizeof(p.text), "/proc/self/fd/%d", s->slots[id.slot].fd);
	return p;
}

/* ---- tables --------------------------------------------------------------------------------- */

static void table_drop(struct files *s, u32 t)
{
	for (u32 i = 0; i < FILES_MAX; i++)
		if (s->slots[i].inode && s->slots[i].table == (s32)t) {
			s->slots[i].table = -1;
			s->slots[i].asked = false;
		}
	symfile_free(s->tables[t].names);
	s->tables[t] = (struct table){ 0 };
}

static u32 table_oldest(const struct files *s)
{
	u32 oldest = 0;

	for (u32 i = 1; i < TABLES_MAX; i++)
		if (s->tables[i].used < s->tables[oldest].used)
			oldest = i;
	return oldest;
}

/* Drops the least recently used ones until all but `keep` and it take no more than that. */
static void tables_shrink(struct files *s, u32 keep, size_t most)
{
	size_t bytes = 0;

	for (u32 i = 0; i < TABLES_MAX; i++)
		if (s->tables[i].names)
			bytes += symfile_bytes(s->tables[i].names);
	while (bytes > most) {
		s32 oldest = -1;

		for (u32 i = 0; i < TABLES_MAX; i++)
			if (i != keep && s->tables[i].names &&
			    (oldest < 0 || s->tables[i].used < s->tables[oldest].used))
				oldest = (s32)i;
		if (oldest < 0)
			return;
		bytes -= symfile_bytes(s->tables[oldest].names);
		table_drop(s, (u32)oldest);
	}
}

static s32 table_by_id(const struct files *s, const char *build_id)
{
	for (u32 i = 0; i < TABLES_MAX && build_id[0]; i++)
		if (s->tables[i].names && strcmp(s->tables[i].build_id, build_id) == 0)
			return (s32)i;
	return -1;
}

static s32 table_get(struct files *s, const char *path, const struct debugfile_place *where)
{
	char id[64] = "";
	struct elf *f = elf_open(path, &s->why);
	struct symfile *names;
	u32 t;

	if (f && !elf_build_id(f, id))
		id[0] = 0;
	elf_close(f);
	if (table_by_id(s, id) >= 0)
		return table_by_id(s, id);
	names = f ? symfile_read(path, where) : NULL;
	if (!names)
		return -1;
	t = table_oldest(s);
	table_drop(s, t);
	s->tables[t].names = names;
	memcpy(s->tables[t].build_id, id, sizeof(id));
	s->tables[t].used = ++s->clock;
	tables_shrink(s, t, BYTES_MAX);
	return (s32)t;
}

void files_rest(struct files *s)
{
	tables_shrink(s, TABLES_MAX, 0);
}

struct symfile *files_names(struct files *s, struct file_id id, const struct debugfile_place *where)
{
	struct slot *f;

	if (!files_holds(s, id))
		return NULL;
	f = &s->slots[id.slot];
	f->used = ++s->clock;
	if (!f->asked) {
		f->asked = true;
		f->table = table_get(s, files_path(s, id).text, where);
	}
	if (f->table < 0)
		return NULL;
	s->tables[f->table].used = ++s->clock;
	return s->tables[f->table].names;
}

const char *files_why(const struct files *s)
{
	return s->why.text;
}

const char *files_table_id(const struct files *s, struct file_id id)
{
	s32 table = files_holds(s, id) ? s->slots[id.slot].table : -1;

	return table < 0 ? "" : s->tables[table].build_id;
}

const char *files_build_id(struct files *s, struct file_id id)
{
	struct slot *f = &s->slots[id.slot];
	struct elf *elf;
	struct err e;

	if (!files_holds(s, id))
		return "";
	f->used = ++s->clock;
	if (!f->id_read) {
		f->id_read = true;
		elf = elf_open(files_path(s, id).text, &e);
		if (!elf || !elf_build_id(elf, f->build_id))
			f->build_id[0] = 0;
		elf_close(elf);
	}
	return f->build_id;
}
