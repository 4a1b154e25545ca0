/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names for addresses of processes, also of processes that have ended.
 *
 * The one idea: two small caches. A process is a copy of its /proc/PID/maps; a file is the device
 * and inode that mapping names, held by a descriptor until its symbols are wanted and by a table
 * of symbols from then on. Both outlive the process, and files are shared by all processes, in
 * whatever mount namespace these see them:
 *
 *   pid, addr --> maps --> device:inode, file offset --> table of symbols --> name+off
 *
 * Both caches are bounded; the least recently used entry makes room. Code without a file (JIT)
 * has no name here.
 */
#include "sym/usym.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "read/procmaps.h"
#include "sym/symtab.h"

#define PROCS_MAX  256u
#define FILES_MAX  128u
#define MAPS_LIMIT (16u << 20)

/* Maps are read again when they are older than this: a process may have called exec ... */
#define MAPS_AGE_NS 1000000000ull
/* ... or, for an address that is in no mapping: it may have called dlopen. Often the address is
 * none at all (a stack walked without frame pointers), so such reads are free until they have
 * brought nothing new for this long, and then ever rarer, up to MAPS_AGE_NS. */
#define VAIN_NS 10000000ull
/* Addresses a process can have mapped: above mmap_min_addr, in the lower half. */
#define ADDRESS_MIN 0x10000ull
#define ADDRESS_MAX (1ull << 56)

#define DELETED " (deleted)"

struct proc {
	u32 pid; /* 0: free */
	u64 used;
	u64 read_ns; /* when maps were last looked at */
	u64 vain_ns; /* spent on reads that brought nothing new, see VAIN_NS */
	u64 miss_ns; /* age at which they are read for an address in no mapping */
	u64 hash;    /* of the text of the maps */
	struct arena arena;
	struct procmaps maps;
};

struct file {
	u64 inode; /* 0: free */
	u32 dev_major, dev_minor;
	u64 used;
	u32 opener; /* the process by which it was last tried to open */
	int fd;     /* -1 once the symbols were read, or when it could not be opened */
	bool read;
	struct symtab *table; /* NULL: no symbols */
};

struct usym {
	u64 clock; /* counts uses */
	struct proc procs[PROCS_MAX];
	struct file files[FILES_MAX];
};

struct usym *usym_new(void)
{
	return calloc(1, sizeof(struct usym));
}

static void proc_free(struct proc *p)
{
	arena_free(&p->arena);
	memset(p, 0, sizeof(*p));
}

static void file_free(struct file *f)
{
	if (f->inode && f->fd >= 0)
		close(f->fd);
	symtab_free(f->table);
	memset(f, 0, sizeof(*f));
}

void usym_free(struct usym *u)
{
	if (!u)
		return;
	for (u32 i = 0; i < PROCS_MAX; i++)
		proc_free(&u->procs[i]);
	for (u32 i = 0; i < FILES_MAX; i++)
		file_free(&u->files[i]);
	free(u);
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static u64 hash_text(const struct buf *b)
{
	u64 h = 14695981039346656037ull;

	for (size_t i = 0; i < b->n; i++)
		h = (h ^ (u8)b->p[i]) * 1099511628211ull;
	return h;
}

/* ---- files --------------------------------------------------------------------------------- */

/* A regular file held by path only: opening devices and pipes may have effects. */
static int open_regular(const char *path, u64 inode)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (!inode || st.st_ino == inode))
		return fd;
	close(fd);
	return -1;
}

/*
 * The mapped file: by the mapping itself (right even for a deleted file, needs privilege), by its
 * path as the process sees it, or, when the process is gone, by its path as we see it.
 */
static int open_mapped(u32 pid, const struct procmap *m)
{
	size_t length = strlen(m->path), tail = strlen(DELETED);
	char path[4096 + 64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
	         m->end);
	fd = open_regular(path, 0);
	if (fd >= 0 || (length > tail && strcmp(m->path + length - tail, DELETED) == 0))
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, m->path);
	fd = open_regular(path, 0);
	/* The file at that path may be another one by now: the inode decides. */
	return fd >= 0 ? fd : open_regular(m->path, m->inode);
}

static bool map_is_code(const struct procmap *m)
{
	return m->exec && m->inode && m->path[0] == '/';
}

static bool file_is(const struct file *f, const struct procmap *m)
{
	return f->inode == m->inode && f->dev_major == m->dev_major && f->dev_minor == m->dev_minor;
}

/* The file's slot, or else the least recently used one, emptied. */
static struct file *file_slot(struct usym *u, const struct procmap *m)
{
	struct file *oldest = &u->files[0];

	for (u32 i = 0; i < FILES_MAX; i++) {
		if (file_is(&u->files[i], m))
			return &u->files[i];
		if (u->files[i].used < oldest->used)
			oldest = &u->files[i];
	}
	file_free(oldest);
	oldest->inode = m->inode;
	oldest->dev_major = m->dev_major;
	oldest->dev_minor = m->dev_minor;
	oldest->fd = -1;
	return oldest;
}

static struct file *file_get(struct usym *u, u32 pid, const struct procmap *m)
{
	struct file *f = file_slot(u, m);

	f->used = ++u->clock;
	/* What was out of reach through one process may be within reach of another. */
	if (!f->read && f->fd < 0 && f->opener != pid) {
		f->opener = pid;
		f->fd = open_mapped(pid, m);
	}
	return f;
}

static const struct symtab *file_table(struct file *f)
{
	char path[64];

	if (f->read || f->fd < 0)
		return f->table;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	f->table = symtab_read(path);
	f->read = true;
	close(f->fd);
	f->fd = -1;
	return f->table;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Takes over new maps; those of a process that is ending are empty and are not taken. */
static void proc_parse(struct proc *p, const struct buf *text)
{
	struct arena arena = { 0 };
	struct procmaps maps;
	struct err e;

	if (!procmaps_parse(&arena, buf_text(text), text->n, &maps, &e) || !maps.n) {
		arena_free(&arena);
		return;
	}
	arena_free(&p->arena);
	p->arena = arena;
	p->maps = maps;
	p->hash = hash_text(text);
}

/* Maps of a process, by any thread of it: those of one that has ended are empty. */
static void read_maps(u32 pid, struct buf *text)
{
	char path[300];
	struct dirent *d;
	struct err e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if (!file_read(path, text, MAPS_LIMIT, &e) || text->n)
		return;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && !text->n && (d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%u/task/%s/maps", pid, d->d_name);
		if (d->d_name[0] != '.' && !file_read(path, text, MAPS_LIMIT, &e))
			buf_reset(text);
	}
	if (dir)
		closedir(dir);
}

/* True when they are others than before. */
static bool proc_refresh(struct proc *p)
{
	struct buf text = { 0 };
	u64 old = p->hash;

	p->read_ns = now_ns();
	read_maps(p->pid, &text);
	if (text.n && hash_text(&text) != p->hash)
		proc_parse(p, &text);
	buf_free(&text);
	return p->hash != old;
}

static struct proc *proc_get(struct usym *u, u32 pid)
{
	struct proc *p = &u->procs[0];

	for (u32 i = 0; i < PROCS_MAX && p->pid != pid; i++) {
		struct proc *c = &u->procs[i];

		if (c->pid == pid || c->used < p->used)
			p = c;
	}
	if (p->pid != pid)
		proc_free(p);
	p->pid = pid;
	p->used = ++u->clock;
	return p;
}

/* An address is in no mapping: looks again, as often as that is worth its time. */
static void proc_missed(struct proc *p)
{
	if (proc_refresh(p)) {
		p->vain_ns = p->miss_ns = 0;
		return;
	}
	p->vain_ns += now_ns() - p->read_ns;
	if (p->vain_ns > VAIN_NS)
		p->miss_ns = MIN(p->miss_ns * 2 + VAIN_NS, MAPS_AGE_NS);
}

static const struct procmap *proc_map(struct proc *p, u64 addr)
{
	const struct procmap *m;
	u64 age = now_ns() - p->read_ns;

	if (age > MAPS_AGE_NS)
		proc_refresh(p);
	m = procmaps_find(&p->maps, addr);
	if (m || addr < ADDRESS_MIN || addr >= ADDRESS_MAX || age < p->miss_ns || age > MAPS_AGE_NS)
		return m;
	proc_missed(p);
	return procmaps_find(&p->maps, addr);
}

void usym_note(struct usym *u, u32 pid)
{
	struct proc *p;

	if (!pid)
		return;
	p = proc_get(u, pid);
	proc_refresh(p);
	for (u32 i = 0; i < p->maps.n; i++)
		if (map_is_code(&p->maps.v[i]))
			file_get(u, pid, &p->maps.v[i]);
}

struct usym_place usym_find(struct usym *u, u32 pid, u64 addr)
{
	struct usym_place place = { .module = "" };
	const struct symtab *table;
	const struct procmap *m;

	m = pid ? proc_map(proc_get(u, pid), addr) : NULL;
	if (!m)
		return place;
	place.module = m->path;
	if (strcmp(m->path, "[vdso]") == 0 || strcmp(m->path, "[vsyscall]") == 0) {
		place.name = m->path;
		place.off = addr - m->start;
	} else if (map_is_code(m)) {
		table = file_table(file_get(u, pid, m));
		if (table)
			place.name = symtab_name(table, addr - m->start + m->offset, &place.off);
	}
	return place;
}
