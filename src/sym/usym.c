/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names for addresses of processes, also of processes that have ended.
 *
 * The one idea: a process is a copy of its /proc/PID/maps and the files these name, held open, so
 * that it can be asked about when it is gone:
 *
 *   pid, addr --> maps --> file (files.c), offset --> table of names --> name+off
 *                  |
 *                  +-----> code without a name in a file: the process's perf map (jit.c)
 *
 * Bounded: the least recently used process makes room. Files and their names are shared by all
 * processes, in whatever mount namespace these see them.
 */
#include "sym/usym.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hmap.h"
#include "base/unwind.h"
#include "read/procmaps.h"
#include "sym/files.h"
#include "sym/jit.h"

#define PROCS_MAX  256u
#define DENIED_MAX 65536u
#define MAPS_LIMIT (16u << 20)
#define JIT_MAX    (128u << 20) /* bytes of perf maps; the one in use may alone be bigger */

/* Maps are read again when they are older than this: a process may have called exec ... */
#define MAPS_AGE_NS 1000000000ull
/* ... or, for an address that is in no mapping: it may have called dlopen. Often the address is
 * none at all (a stack walked without frame pointers), so such reads are free until they have
 * brought nothing new for this long, and then ever rarer, up to MAPS_AGE_NS. */
#define VAIN_NS 10000000ull
/* Addresses a process can have mapped: above mmap_min_addr, in the lower half. */
#define ADDRESS_MIN 0x10000ull
#define ADDRESS_MAX (1ull << 56)

struct proc {
	u32 pid; /* 0: free */
	u64 used;
	u64 read_ns; /* when maps were last looked at */
	u64 vain_ns; /* spent on reads that brought nothing new, see VAIN_NS */
	u64 miss_ns; /* age at which they are read for an address in no mapping */
	u64 hash;    /* of the text of the maps */
	struct arena arena;
	struct procmaps maps;
	struct file_id *files; /* one for each mapping */
	struct jit *jit;
};

/* A file that frames name by its number. */
struct numbered {
	const char *path; /* NULL: not looked for */
	bool lost;        /* it can not be reached, or is none: the vdso */
	struct file_id file;
};

struct usym {
	bool demangled;
	bool fetch_lines;        /* debug files for them */
	usym_file_fn *find_file; /* NULL: no address is a place in a file */
	void *find_ctx;
	struct numbered *numbered; /* by number */
	u32 n_numbered;
	struct arena arena; /* of their paths */
	u64 clock;          /* counts uses */
	struct files *files;
	struct symfile *vdso;
	bool vdso_tried;
	struct hmap denied;     /* processes whose maps we may not read */
	u64 unread;             /* addresses whose file could not be read */
	char first_unread[256]; /* its path and why */
	struct proc procs[PROCS_MAX];
};

struct usym *usym_new(bool demangled, bool fetch_lines)
{
	struct usym *u = calloc(1, sizeof(*u));

	if (!u)
		base_no_memory();
	u->demangled = demangled;
	u->fetch_lines = fetch_lines;
	u->files = files_new();
	return u;
}

void usym_rest(struct usym *u)
{
	files_rest(u->files);
}

static void proc_free(struct proc *p)
{
	arena_free(&p->arena);
	jit_free(p->jit);
	memset(p, 0, sizeof(*p));
}

void usym_free(struct usym *u)
{
	if (!u)
		return;
	for (u32 i = 0; i < PROCS_MAX; i++)
		proc_free(&u->procs[i]);
	free(u->numbered);
	arena_free(&u->arena);
	files_free(u->files);
	hmap_free(&u->denied);
	symfile_free(u->vdso);
	free(u);
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static u64 hash_text(const struct buf *b)
{
	u64 h = 14695981039346656037ull;

	for (size_t i = 0; i < b->n; i++)
		h = (h ^ (u8)b->p[i]) * 1099511628211ull;
	return h;
}

/* ---- processes ------------------------------------------------------------------------------- */

static bool same_mapping(const struct procmap *a, const struct procmap *b)
{
	return a->start == b->start && a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && strcmp(a->path, b->path) == 0;
}

/* Opens the files whose code is mapped. What was mapped before stays as it is: that file is
 * held, and its path may lead to another one by now. */
static struct file_id *bind_files(struct usym *u, const struct proc *p, struct arena *a,
                                  const struct procmaps *maps)
{
	struct file_id *files = arena_array(a, struct file_id, maps->n);

	for (u32 i = 0; i < maps->n; i++) {
		const struct procmap *m = &maps->v[i], *old = procmaps_find(&p->maps, m->start);

		if (old && same_mapping(old, m) && files_holds(u->files, p->files[old - p->maps.v]))
			files[i] = p->files[old - p->maps.v];
		else if (m->exec)
			files[i] = files_bind(u->files, p->pid, m);
	}
	return files;
}

/* Takes over new maps; those of a process that is ending are empty and are not taken. */
static void proc_parse(struct usym *u, struct proc *p, const struct buf *text)
{
	struct arena arena = { 0 };
	struct procmaps maps;
	struct file_id *files;
	struct err e;

	if (!procmaps_parse(&arena, buf_text(text), text->n, &maps, &e) || !maps.n) {
		arena_free(&arena);
		return;
	}
	procmaps_see_through(&maps);
	files = bind_files(u, p, &arena, &maps);
	arena_free(&p->arena);
	p->arena = arena;
	p->maps = maps;
	p->files = files;
	p->hash = hash_text(text);
}

static void note_denied(struct usym *u, u32 pid)
{
	u32 *key;

	if (u->denied.n >= DENIED_MAX || hmap_find(&u->denied, &pid, sizeof(pid)))
		return;
	key = arena_new(&u->arena, u32);
	*key = pid;
	hmap_put(&u->denied, key, sizeof(*key), key);
}

u32 usym_denied(const struct usym *u)
{
	return u->denied.n;
}

u64 usym_unread(const struct usym *u, const char **first)
{
	*first = u->first_unread;
	return u->unread;
}

/* Maps of a process, by any thread of it: those of one that has ended are empty. */
static void read_maps(struct usym *u, u32 pid, struct buf *text)
{
	char path[300];
	struct dirent *d;
	struct err e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if (!file_read(path, text, MAPS_LIMIT, &e)) {
		if (e.code == EACCES)
			note_denied(u, pid);
		return;
	}
	if (text->n)
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
static bool proc_refresh(struct usym *u, struct proc *p)
{
	struct buf text = { 0 };
	u64 old = p->hash;

	p->read_ns = clock_ns(CLOCK_MONOTONIC);
	read_maps(u, p->pid, &text);
	if (text.n && hash_text(&text) != p->hash)
		proc_parse(u, p, &text);
	buf_free(&text);
	if (!p->jit)
		p->jit = jit_new(p->pid);
	jit_note(p->jit);
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
static void proc_missed(struct usym *u, struct proc *p)
{
	if (proc_refresh(u, p)) {
		p->vain_ns = p->miss_ns = 0;
		return;
	}
	p->vain_ns += clock_ns(CLOCK_MONOTONIC) - p->read_ns;
	if (p->vain_ns > VAIN_NS)
		p->miss_ns = MIN(p->miss_ns * 2 + VAIN_NS, MAPS_AGE_NS);
}

static const struct procmap *proc_map(struct usym *u, struct proc *p, u64 addr)
{
	const struct procmap *m;
	u64 age = clock_ns(CLOCK_MONOTONIC) - p->read_ns;

	if (age > MAPS_AGE_NS)
		proc_refresh(u, p);
	m = procmaps_find(&p->maps, addr);
	if (m || addr < ADDRESS_MIN || addr >= ADDRESS_MAX || age < p->miss_ns || age > MAPS_AGE_NS)
		return m;
	proc_missed(u, p);
	return procmaps_find(&p->maps, addr);
}

void usym_note(struct usym *u, u32 pid)
{
	if (pid)
		proc_refresh(u, proc_get(u, pid));
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The one image the kernel maps into all 64-bit processes is mapped here too. */
static struct symfile *vdso_names(struct usym *u)
{
	u64 start = getauxval(AT_SYSINFO_EHDR);
	struct arena a = { 0 };
	struct procmaps maps;
	struct err e;

	if (u->vdso_tried)
		return u->vdso;
	u->vdso_tried = true;
	if (start && procmaps_read(&a, (s32)getpid(), &maps, &e)) {
		const struct procmap *m = procmaps_find(&maps, start);

		if (m)
			u->vdso = symfile_read_memory((const void *)(uintptr_t)m->start,
			                              m->end - m->start);
	}
	arena_free(&a);
	return u->vdso;
}

/* Where the file that is mapped can be found by those who look for its debug file. */
struct whereabouts {
	char root[32];
	struct debugfile_place place;
};

static void locate(struct whereabouts *w, u32 pid, const struct procmap *m)
{
	struct stat st;

	snprintf(w->root, sizeof(w->root), "/proc/%u/root", pid);
	if (stat(w->root, &st) != 0)
		w->root[0] = 0;
	w->place = (struct debugfile_place){ .root = w->root, .name = m->path };
}

static struct file_id map_file(struct usym *u, struct proc *p, const struct procmap *m)
{
	struct file_id *id = &p->files[m - p->maps.v];

	if (!files_holds(u->files, *id))
		*id = files_bind(u->files, p->pid, m);
	return *id;
}

static struct symfile *map_names(struct usym *u, struct proc *p, const struct procmap *m)
{
	struct whereabouts w;

	if (strcmp(m->path, "[vdso]") == 0)
		return vdso_names(u);
	if (!m->inode || m->path[0] != '/')
		return NULL;
	locate(&w, p->pid, m);
	return files_names(u->files, map_file(u, p, m), &w.place);
}

/* Makes room for the perf map just used. */
static void shrink_jits(struct usym *u, const struct proc *keep)
{
	size_t bytes = 0;

	for (u32 i = 0; i < PROCS_MAX; i++)
		if (u->procs[i].jit)
			bytes += jit_bytes(u->procs[i].jit);
	for (u32 i = 0; i < PROCS_MAX && bytes > JIT_MAX; i++) {
		if (!u->procs[i].jit || &u->procs[i] == keep)
			continue;
		bytes -= jit_bytes(u->procs[i].jit);
		jit_drop(u->procs[i].jit);
	}
}

static void find_in_jit(struct usym *u, struct proc *p, u64 addr, struct usym_place *place)
{
	place->name = jit_name(p->jit, addr, &place->off);
	if (place->name)
		shrink_jits(u, p);
}

/* ---- places in files by number -------------------------------------------------------------- */

void usym_set_files(struct usym *u, usym_file_fn *find, void *ctx)
{
	u->find_file = find;
	u->find_ctx = ctx;
}

/* Room for a number that there is. */
static struct numbered *numbered_room(struct usym *u, u32 number)
{
	u32 room = MAX(number + 1, u->n_numbered * 2);

	if (number < u->n_numbered)
		return &u->numbered[number];
	u->numbered = realloc(u->numbered, room * sizeof(*u->numbered));
	if (!u->numbered)
		base_no_memory();
	memset(u->numbered + u->n_numbered, 0, (room - u->n_numbered) * sizeof(*u->numbered));
	u->n_numbered = room;
	return &u->numbered[number];
}

/* With its file held, if that can be; NULL when the number is nobody's: an address that is none
 * looks like one. */
static struct numbered *numbered_get(struct usym *u, u32 number)
{
	struct numbered *n = number < u->n_numbered ? &u->numbered[number] : NULL;
	struct usym_file f = { .fd = -1 };

	if (n && n->path && (n->lost || files_holds(u->files, n->file)))
		return n;
	if (!u->find_file(u->find_ctx, number, &f))
		return NULL;
	n = numbered_room(u, number);
	n->file = files_adopt(u->files, f.fd);
	n->lost = f.fd < 0;
	if (!n->path)
		n->path = arena_strndup(&u->arena, f.path, strlen(f.path));
	return n;
}

/* Its names; the file is looked for as we see it, for the process may be gone. */
static struct symfile *numbered_names(struct usym *u, const struct numbered *n)
{
	struct debugfile_place where = { .root = "", .name = n->path };

	if (strcmp(n->path, "[vdso]") == 0)
		return vdso_names(u);
	return files_names(u->files, n->file, &where);
}

/* What the tables of its file say of an offset. */
static void place_in(struct usym *u, struct usym_place *place, struct symfile *names,
                     struct file_id file, u64 offset)
{
	place->module_off = symfile_vaddr(names, offset);
	place->name = symfile_name(names, offset, u->demangled, &place->off);
	place->segment = symfile_segment(names, offset);
	place->build_id = names == u->vdso ? "" : files_table_id(u->files, file);
}

static bool is_numbered(const struct usym *u, u64 addr)
{
	return u->find_file && addr & UNWIND_FRAME;
}

/* A frame's number is below bit 31, its offset in the file in the lower half. */
static struct numbered *numbered_of(struct usym *u, u64 addr, u64 *offset)
{
	*offset = (u32)addr;
	return numbered_get(u, (u32)(addr >> UNWIND_FRAME_SHIFT) & ~UNWIND_NUMBER);
}

static struct usym_place find_numbered(struct usym *u, u64 addr)
{
	struct usym_place place = { .module = "", .build_id = "" };
	struct symfile *names;
	struct numbered *n;
	u64 offset;

	n = numbered_of(u, addr, &offset);
	if (!n)
		return place;
	names = numbered_names(u, n);
	place.module = n->path;
	place.module_off = offset;
	if (names)
		place_in(u, &place, names, n->file, offset);
	return place;
}

static u32 numbered_lines(struct usym *u, u64 addr, struct line_frame *out, u32 max)
{
	struct debugfile_place where = { "", "", u->fetch_lines };
	struct files_path path;
	struct symfile *names;
	struct numbered *n;
	u64 offset;

	n = numbered_of(u, addr, &offset);
	names = n ? numbered_names(u, n) : NULL;
	if (!names || names == u->vdso)
		return 0;
	where.name = n->path;
	path = files_path(u->files, n->file);
	return symfile_lines(names, path.text, &where, symfile_vaddr(names, offset), u->demangled,
	                     out, max);
}

static const char *numbered_build_id(struct usym *u, u64 addr, u64 *off)
{
	struct numbered *n = numbered_of(u, addr, off);

	return n && n->path[0] == '/' ? files_build_id(u->files, n->file) : "";
}

/* ---- addresses ------------------------------------------------------------------------------ */

/* The reason names the descriptor by which the file is held, if it is. */
static void note_unread(struct usym *u, const char *path)
{
	const char *why = files_why(u->files);
	int skip = 0;

	if (u->unread++)
		return;
	sscanf(why, "/proc/self/fd/%*d %n", &skip);
	snprintf(u->first_unread, sizeof(u->first_unread), "%s%s %s", path, skip ? "" : ":",
	         why + skip);
}

bool usym_is_in(struct usym *u, u32 pid, u64 addr, dev_t dev, u64 inode)
{
	const struct procmap *m;
	struct numbered *n;
	struct proc *p;
	u64 offset;

	if (is_numbered(u, addr)) {
		n = numbered_of(u, addr, &offset);
		return n && files_is(u->files, n->file, dev, inode);
	}
	p = pid ? proc_get(u, pid) : NULL;
	m = p ? proc_map(u, p, addr) : NULL;
	return m && m->inode == inode && makedev(m->dev_major, m->dev_minor) == dev;
}

static struct usym_place find_address(struct usym *u, u32 pid, u64 addr)
{
	struct usym_place place = { .module = "", .build_id = "" };
	struct proc *p = pid ? proc_get(u, pid) : NULL;
	const struct procmap *m = p ? proc_map(u, p, addr) : NULL;
	struct symfile *names;
	u64 offset;

	if (!m)
		return place;
	names = map_names(u, p, m);
	offset = addr - m->start + m->offset;
	place.module = m->path[0] ? m->path : "[anon]";
	place.module_off = m->inode ? offset : addr - m->start;
	if (names)
		place_in(u, &place, names, p->files[m - p->maps.v], offset);
	if (!place.name && m->exec)
		find_in_jit(u, p, addr, &place);
	if (!place.name && !names && m->exec && m->inode && m->path[0] == '/')
		note_unread(u, m->path);
	return place;
}

static u32 address_lines(struct usym *u, u32 pid, u64 addr, struct line_frame *out, u32 max)
{
	struct proc *p = pid ? proc_get(u, pid) : NULL;
	const struct procmap *m = p ? proc_map(u, p, addr) : NULL;
	struct symfile *names = m ? map_names(u, p, m) : NULL;
	struct files_path path;
	struct whereabouts w;

	if (!names || names == u->vdso)
		return 0;
	locate(&w, pid, m);
	w.place.fetch = u->fetch_lines;
	path = files_path(u->files, map_file(u, p, m));
	return symfile_lines(names, path.text, &w.place,
	                     symfile_vaddr(names, addr - m->start + m->offset), u->demangled, out,
	                     max);
}

static const char *address_build_id(struct usym *u, u32 pid, u64 addr, u64 *off)
{
	struct proc *p = pid ? proc_get(u, pid) : NULL;
	const struct procmap *m = p ? proc_map(u, p, addr) : NULL;

	if (!m || !m->inode || m->path[0] != '/')
		return "";
	*off = addr - m->start + m->offset;
	return files_build_id(u->files, map_file(u, p, m));
}

/* ---- either ---------------------------------------------------------------------------------- */

struct usym_place usym_find(struct usym *u, u32 pid, u64 addr)
{
	return is_numbered(u, addr) ? find_numbered(u, addr) : find_address(u, pid, addr);
}

u32 usym_lines(struct usym *u, u32 pid, u64 addr, struct line_frame *out, u32 max)
{
	if (is_numbered(u, addr))
		return numbered_lines(u, addr, out, max);
	return address_lines(u, pid, addr, out, max);
}

const char *usym_build_id(struct usym *u, u32 pid, u64 addr, u64 *off)
{
	if (is_numbered(u, addr))
		return numbered_build_id(u, addr, off);
	return address_build_id(u, pid, addr, off);
}
