/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unwind tables of processes, in memory that programs read while they are written.
 *
 *     file (device:inode:mtime, build id) --> pieces of rows in chunks, shared
 *                                         --> list of spans in a chunk --> map of files
 *     process --> list of spans in a chunk  --> map of processes
 *
 * Programs ask by records (struct unit_meet): about a process whose file they do not know, and for
 * a list of one with many stacks. A file's number stands for it in the stacks that programs keep.
 *
 * A list is written whole to fresh memory and then put in place by one map update, so a program
 * sees the old one or the new one. Freed memory rests for REST_NS before it is used again: a
 * program that still reads it has left it by then (it runs for microseconds).
 *
 * When memory runs out, processes that have ended give theirs back, then those without a stack
 * since the last time; a file goes when no list names it, the one longest unused first.
 *
 * One thread reads the tables of processes that programs ask for; -p and -c are read before
 * their first event. All of it is under one lock.
 */
#include "run/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hmap.h"
#include "base/host.h"
#include "base/sorted.h"
#include "read/procmaps.h"
#include "run/rights.h"
#include "run/unwind_memory.h"
#include "sym/files.h"
#include "sym/unwind_table.h"
#include "sym/unwind_walk.h"
#include "world/resolve.h"

#define FIRST_CHUNKS 8u  /* the start, when nothing is known: 1 MiB */
#define SHELF_CHUNKS 32u /* what is added at a time: 4 MiB */
#define REST_NS      1000000000ull
#define SPANS_MAX    ((u32)UNWIND_CHUNK_SPANS)
#define PROBED_MAX   16u /* files of probes, the C library: their tables are read beforehand */
#define QUEUE_MAX    256u
/* An address in no span may be none at all (a broken stack): asked again this late, then later. */
#define AGAIN_NS     10000000ull
#define AGAIN_MAX_NS 1000000000ull
#define THREAD_STACK (256u << 10)
#define FILE_SHARE   8192u /* of the memory allowed: as many files as there are of this */
#define FILE_KEYS    3u    /* as /proc/PID/maps has it, by its size, as a program has seen it */

/* Rows of a file in one chunk. */
struct piece {
	struct unwind_extent at;
	u32 n;
	u32 first_pc;
};

struct file {
	struct file_id id;
	char build_id[64];
	bool vdso, read, failed, loaded;
	struct unwind_table table; /* its rows only until they are loaded */
	u32 n_rows, n_rich;
	struct piece *pieces;
	u32 n_pieces;
	u32 users; /* processes whose list names it */
	u64 used;
	u32 number;  /* UNWIND_NUMBER set */
	char *path;  /* as a process saw it */
	bool listed; /* in the map of files, under these keys */
	struct unwind_extent list;
	struct unwind_key keys[FILE_KEYS];
	u32 n_keys;
	ino_t inode; /* as it was seen last */
	struct timespec changed;
};

struct process {
	u32 pid;
	bool listed;
	struct unwind_extent list;
	u32 n_spans;
	struct file **files;
	u32 n_files;
	u64 hash;     /* of the maps it was made from */
	u64 again_ns; /* when the program may ask again, 0: it may */
	u64 pause_ns; /* how long it waited last */
};

/* Freed, but perhaps still read. */
struct resting {
	struct unwind_extent at;
	u64 until_ns;
};

struct unwind {
	const struct unit *unit;
	struct live *live;
	u64 limit;
	u32 procs_map, files_map;
	struct files *names;
	struct insn_decoder *decoder; /* NULL: not needed so far, or not there */
	VEC(struct file *) files;
	VEC(struct process *) procs;
	VEC(struct resting) resting;
	struct arena arena; /* of the three */
	struct unwind_memory memory;
	struct unwind_stat stat;
	u64 copied[N_UCOUNT]; /* stacks walked here */
	u64 clock;

	pthread_mutex_t lock; /* of what is above; tables are read under it, which takes long */
	pthread_t thread;
	const struct stop *stop; /* atomic; may be NULL */

	pthread_mutex_t queue_lock; /* of what is below: to ask never takes long */
	pthread_cond_t wake;
	bool has_thread;
	bool warms;  /* set before the thread starts */
	bool ending; /* atomic */
	struct unit_meet queue[QUEUE_MAX];
	u32 n_queue;
};

static void *must(void *p)
{
	if (!p)
		base_no_memory();
	return p;
}

bool unwind_wanted(const struct unit *u)
{
	return unit_map(u, UMAP_PROCS) >= 0;
}

struct unwind *unwind_new(const struct unit *u, u64 limit)
{
	struct unwind *w = must(calloc(1, sizeof(*w)));
	pthread_condattr_t attr;

	w->unit = u;
	w->limit = limit;
	w->names = files_new();
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->queue_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
	return w;
}

/* ---- memory ---- */

static void rest(struct unwind *w, struct unwind_extent at)
{
	vec_add(&w->arena, &w->resting,
	        ((struct resting){ at, clock_ns(CLOCK_MONOTONIC) + REST_NS }));
}

static void end_rest(struct unwind *w)
{
	u64 now = clock_ns(CLOCK_MONOTONIC);
	u32 kept = 0;

	for (u32 i = 0; i < w->resting.n; i++) {
		if (w->resting.v[i].until_ns <= now)
			unwind_memory_give(&w->memory, w->resting.v[i].at);
		else
			w->resting.v[kept++] = w->resting.v[i];
	}
	w->resting.n = kept;
}

/* Programs no longer find it. */
static void withdraw(struct unwind *w, struct file *f)
{
	for (u32 i = 0; i < f->n_keys; i++)
		live_map_remove(w->live, w->files_map, &f->keys[i]);
	if (f->listed && f->list.n)
		rest(w, f->list);
	f->listed = false;
	f->n_keys = 0;
}

static void unload(struct unwind *w, struct file *f)
{
	withdraw(w, f);
	for (u32 i = 0; i < f->n_pieces; i++)
		rest(w, f->pieces[i].at);
	w->stat.bytes -= (u64)f->n_rows * sizeof(struct unwind_row);
	w->stat.rows -= f->n_rows;
	w->stat.rich -= f->n_rich;
	w->stat.files--;
	free(f->pieces);
	f->pieces = NULL;
	f->n_pieces = 0;
	f->loaded = f->read = false;
}

/* The process's list no longer counts. */
static void unlist(struct unwind *w, struct process *p)
{
	if (p->listed && p->list.n)
		rest(w, p->list);
	for (u32 i = 0; i < p->n_files; i++)
		p->files[i]->users--;
	free(p->files);
	p->files = NULL;
	p->n_files = 0;
	w->stat.processes -= p->listed;
	p->listed = false;
}

static void forget(struct unwind *w, struct process *p)
{
	if (w->live)
		live_map_remove(w->live, w->procs_map, &p->pid);
	unlist(w, p);
	for (u32 i = 0; i < w->procs.n; i++)
		if (w->procs.v[i] == p)
			w->procs.v[i] = w->procs.v[--w->procs.n];
	free(p);
}

/* True when a program has walked a stack of it since the last time this was asked. */
static bool was_used(struct unwind *w, const struct process *p)
{
	struct unwind_proc value;
	struct err e;

	if (!live_map_get(w->live, w->procs_map, &p->pid, &value) || !value.used)
		return false;
	value.used = 0;
	live_map_put(w->live, w->procs_map, &p->pid, &value, &e);
	return true;
}

/* Forgets processes that have ended, else (hard) those not in use; never that with pid `keep`. */
static bool forget_some(struct unwind *w, bool hard, u32 keep)
{
	u32 before = w->procs.n;

	for (u32 i = w->procs.n; i--;) {
		struct process *p = w->procs.v[i];
		bool gone = kill((pid_t)p->pid, 0) < 0 && errno == ESRCH;

		if (p->pid != keep && (gone || (hard && !was_used(w, p))))
			forget(w, p);
	}
	return w->procs.n < before;
}

/* Programs use files without any process's list. */
static void note_use(struct unwind *w, struct file *f)
{
	struct unwind_file value;
	struct err e;

	for (u32 i = 0; i < f->n_keys; i++) {
		if (!live_map_get(w->live, w->files_map, &f->keys[i], &value) || !value.used)
			continue;
		f->used = ++w->clock;
		value.used = 0;
		live_map_put(w->live, w->files_map, &f->keys[i], &value, &e);
	}
}

static bool unload_oldest(struct unwind *w)
{
	struct file *oldest = NULL;

	for (u32 i = 0; i < w->files.n; i++) {
		struct file *f = w->files.v[i];

		note_use(w, f);
		if (f->loaded && f->n_pieces && !f->users && (!oldest || f->used < oldest->used))
			oldest = f;
	}
	if (oldest)
		unload(w, oldest);
	return oldest;
}

static bool add_shelf(struct unwind *w)
{
	u64 have = w->memory.all_units * UNWIND_UNIT;
	u32 n, shelf;
	struct err e;

	if (have >= w->limit)
		return false;
	n = (u32)MIN((u64)SHELF_CHUNKS, (w->limit - have) / UNWIND_CHUNK);
	if (!n || !live_shelf_add(w->live, n, &shelf, &e))
		return false;
	unwind_memory_add(&w->memory, shelf, n);
	return true;
}

/* Makes memory free that has not been used for long; it rests before it is there. */
static void free_some(struct unwind *w, u32 keep)
{
	forget_some(w, false, keep);
	while (unload_oldest(w))
		;
	if (!w->resting.n && forget_some(w, true, keep))
		while (unload_oldest(w))
			;
}

/* Room for `units`, in one piece or (whole = false) in several. */
static bool make_room(struct unwind *w, u32 units, bool whole, u32 keep)
{
	struct unwind_extent at;

	end_rest(w);
	for (;;) {
		if (whole ? unwind_memory_whole(&w->memory, units, &at)
		          : w->memory.free_units >= units)
			break;
		if (add_shelf(w))
			continue;
		free_some(w, keep);
		return false;
	}
	if (whole)
		unwind_memory_give(&w->memory, at);
	return true;
}

/* ---- files ---- */

/* NULL when there are too many: its frames stay addresses. A number is never given again, for
 * stacks that are kept name it. */
static struct file *file_add(struct unwind *w)
{
	struct file *f;

	if (w->files.n >= w->limit / FILE_SHARE) {
		w->stat.no_room++;
		return NULL;
	}
	f = must(calloc(1, sizeof(*f)));
	vec_add(&w->arena, &w->files, f);
	f->number = w->files.n | UNWIND_NUMBER;
	return f;
}

static struct file *file_of_vdso(struct unwind *w)
{
	struct file *f;

	for (u32 i = 0; i < w->files.n; i++)
		if (w->files.v[i]->vdso)
			return w->files.v[i];
	f = file_add(w);
	if (!f)
		return NULL;
	f->vdso = true;
	f->path = must(strdup("[vdso]"));
	return f;
}

static bool same_id(struct file_id a, struct file_id b)
{
	return a.slot == b.slot && a.generation == b.generation;
}

/* The file mapped at m: known by its inode, or by its build id (the same library in a container).
 * NULL when it can not be held, or there are too many. */
static struct file *file_get(struct unwind *w, u32 pid, const struct procmap *m)
{
	struct file_id id;
	char build_id[64] = "";
	struct file *f;

	if (strcmp(m->path, "[vdso]") == 0)
		return file_of_vdso(w);
	id = files_bind(w->names, pid, m);
	if (!id.generation)
		return NULL;
	for (u32 i = 0; i < w->files.n; i++)
		if (same_id(w->files.v[i]->id, id))
			return w->files.v[i];
	if (unwind_table_build_id(files_path(w->names, id).text, build_id))
		for (u32 i = 0; i < w->files.n; i++)
			if (strcmp(w->files.v[i]->build_id, build_id) == 0) {
				w->files.v[i]->id = id;
				return w->files.v[i];
			}
	f = file_add(w);
	if (!f)
		return NULL;
	f->id = id;
	f->path = must(strdup(m->path));
	memcpy(f->build_id, build_id, sizeof(build_id));
	return f;
}

/* Nobody waits for tables any more. */
static bool is_given_up(const void *ctx)
{
	const struct unwind *w = ctx;

	return __atomic_load_n(&w->ending, __ATOMIC_RELAXED) ||
	       stop_asked(__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE));
}

static void file_take(struct unwind *w, struct file *f)
{
	struct err e;
	u64 start = clock_ns(CLOCK_MONOTONIC);
	struct unwind_reading how = { &w->decoder, is_given_up, w };
	bool ok;

	if (f->read || f->failed || is_given_up(w))
		return;
	ok = f->vdso ? unwind_table_vdso(&how, &f->table, &e)
	             : unwind_table_read(files_path(w->names, f->id).text, &how, &f->table, &e);
	if (is_given_up(w)) { /* perhaps not whole */
		unwind_table_free(&f->table);
		return;
	}
	f->read = ok;
	f->failed = !ok;
	f->n_rows = f->table.rows.n;
	f->n_rich = f->table.rows.n_rich;
	w->stat.unreadable += !ok;
	w->stat.ns += clock_ns(CLOCK_MONOTONIC) - start;
}

static u32 units_of_rows(u32 rows)
{
	return (rows + 3) / 4;
}

/* Copies rows from `from` on to one piece of free memory. */
static bool load_piece(struct unwind *w, struct file *f, u32 from)
{
	const struct unwind_row *rows = f->table.rows.v + from;
	u32 left = f->n_rows - from;
	struct piece p = { .n = left, .first_pc = rows[0].pc };
	u8 *memory;

	if (!unwind_memory_some(&w->memory, MIN(units_of_rows(left), UNWIND_CHUNK_UNITS), &p.at))
		return false;
	memory = live_chunk(w->live, p.at.shelf, p.at.chunk);
	p.n = MIN(left, p.at.n * 4u);
	f->pieces = must(realloc(f->pieces, (f->n_pieces + 1) * sizeof(p)));
	f->pieces[f->n_pieces++] = p;
	if (!memory)
		return false;
	memcpy(memory + (size_t)p.at.first * UNWIND_UNIT, rows, p.n * sizeof(*rows));
	return true;
}

/* The rows of a file into the kernel; false when there is no room. */
static bool file_load(struct unwind *w, struct file *f, u32 keep)
{
	u64 start = clock_ns(CLOCK_MONOTONIC);
	u32 from = 0;

	f->used = ++w->clock;
	file_take(w, f);
	if (f->loaded || !f->read || !f->n_rows)
		return true;
	if (!make_room(w, units_of_rows(f->n_rows), false, keep))
		return false;
	while (from < f->n_rows && load_piece(w, f, from))
		from += f->pieces[f->n_pieces - 1].n;
	w->stat.files++;
	w->stat.rows += f->n_rows;
	w->stat.rich += f->n_rich;
	w->stat.bytes += (u64)f->n_rows * sizeof(struct unwind_row);
	w->stat.ns += clock_ns(CLOCK_MONOTONIC) - start;
	f->loaded = true;
	ehframe_free(&f->table.rows);
	if (from == f->n_rows)
		return true;
	unload(w, f);
	return false;
}

/* ---- processes ---- */

struct list {
	struct unwind *w;
	struct process *p;
	struct unwind_span spans[SPANS_MAX];
	u32 n;
	struct file **files;
	u32 n_files;
	u64 mm; /* whose they are, 0: not known */
	bool raw;
	const struct unit_meet *met; /* by what the process was met, NULL: not by a record */
};

static void span_add(struct list *l, struct unwind_span s)
{
	if (l->n < SPANS_MAX)
		l->spans[l->n++] = s;
	else
		l->w->stat.no_room++;
}

/* Code without a table. */
static void span_bare(struct list *l, const struct procmap *m, const struct file *f)
{
	span_add(l, (struct unwind_span){ .start = m->start,
	                                  .size = (u32)MIN(m->end - m->start, UINT32_MAX),
	                                  .file = f ? f->number : 0,
	                                  .delta = (u32)(m->start - m->offset) });
}

static int by_start(const void *a, const void *b)
{
	const struct unwind_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* One span for each piece of the file's rows that lies in the mapping. */
static void spans_of_file(struct list *l, const struct procmap *m, const struct file *f)
{
	u64 vaddr, from, to;
	u32 delta = (u32)(m->start - m->offset);

	if (!f->loaded || !unwind_table_vaddr(&f->table, m->offset, &vaddr) ||
	    vaddr < f->table.base) {
		span_bare(l, m, f);
		return;
	}
	from = vaddr - f->table.base;
	to = from + (m->end - m->start);
	for (u32 i = 0; i < f->n_pieces; i++) {
		const struct piece *p = &f->pieces[i];
		u64 first = MAX(p->first_pc, from),
		    end = i + 1 < f->n_pieces ? f->pieces[i + 1].first_pc : UINT32_MAX;

		end = MIN(end, to);
		if (first >= end)
			continue;
		span_add(l, (struct unwind_span){
				    .start = m->start + (first - from),
				    .size = (u32)(end - first),
				    .bias = (u32)(m->start - from),
				    .rows = UNWIND_REF(p->at.shelf, p->at.chunk, p->at.first * 4u,
		                                       p->n),
				    .file = f->number,
				    .delta = delta,
			    });
	}
}

/* Writes the list to fresh memory, its place to *at. */
static bool list_write(struct list *l, u32 keep, struct unwind_extent *at)
{
	struct unwind *w = l->w;
	u8 *memory;

	if (!make_room(w, l->n, true, keep) || !unwind_memory_whole(&w->memory, l->n, at))
		return false;
	memory = live_chunk(w->live, at->shelf, at->chunk);
	if (memory) {
		memcpy(memory + (size_t)at->first * UNWIND_UNIT, l->spans, l->n * UNWIND_UNIT);
		return true;
	}
	unwind_memory_give(&w->memory, *at);
	return false;
}

/* The file's own list, by offsets. */
static void file_publish(struct unwind *w, struct file *f, u32 keep)
{
	struct list *l = must(calloc(1, sizeof(*l)));

	l->w = w;
	for (u32 i = 0; f->loaded && i < f->table.n_codes; i++) {
		const struct unwind_code *c = &f->table.code[i];
		struct procmap m = { 0 };

		unwind_table_mapped(c, &m.start, &m.end);
		m.offset = m.start;
		spans_of_file(l, &m, f);
	}
	qsort(l->spans, l->n, sizeof(*l->spans), by_start);
	f->listed = true;
	f->list = (struct unwind_extent){ 0 };
	if (l->n && !list_write(l, keep, &f->list)) {
		f->list.n = 0;
		w->stat.no_room++;
	}
	free(l);
}

/* Programs find the file by this key from now on; false when they did already. */
static bool file_put(struct unwind *w, struct file *f, const struct unwind_key *key)
{
	struct unwind_file value = { .number = f->number };
	struct err e;

	for (u32 i = 0; i < f->n_keys; i++)
		if (memcmp(&f->keys[i], key, sizeof(*key)) == 0)
			return false;
	if (f->list.n)
		value.spans = UNWIND_REF(f->list.shelf, f->list.chunk, f->list.first, f->list.n);
	if (f->n_keys == FILE_KEYS) /* it was changed, or is one of many copies */
		live_map_remove(w->live, w->files_map, &f->keys[--f->n_keys]);
	if (live_map_put(w->live, w->files_map, key, &value, &e))
		f->keys[f->n_keys++] = *key;
	return true;
}

static bool is_overlay(struct unwind *w, const struct file *f)
{
	struct statfs st;

	return statfs(files_path(w->names, f->id).text, &st) == 0 &&
	       st.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* As the mapping and the file say it, and as the program has seen it. */
static void file_known(struct unwind *w, const struct procmap *m, struct file *f, u32 keep,
                       const struct unit_meet *met)
{
	struct unwind_key key = { 0 };
	struct stat st;

	if (w->files_map == UINT32_MAX)
		return;
	if (!f->listed)
		file_publish(w, f, keep);
	if (f->vdso) {
		file_put(w, f, &key);
		return;
	}
	if (stat(files_path(w->names, f->id).text, &st) == 0) {
		f->inode = st.st_ino;
		f->changed = st.st_ctim;
		key.inode = m->inode;
		key.device = (u64)m->dev_major << 20 | m->dev_minor;
		key.seconds = (u64)st.st_ctim.tv_sec;
		key.nanoseconds = (u64)st.st_ctim.tv_nsec;
		if (file_put(w, f, &key) && is_overlay(w, f)) {
			key.inode = st.st_ino;
			key.device = UNWIND_SIZE | (u64)st.st_size;
			file_put(w, f, &key);
		}
	}
	/* What the program has seen of a copy's address is the copy. */
	if (met && m->start == m->held_start && met->address - m->start < m->end - m->start) {
		memcpy(&key, met->key, sizeof(key));
		file_put(w, f, &key);
	}
}

static void file_name(struct list *l, struct file *f)
{
	for (u32 i = 0; i < l->n_files; i++)
		if (l->files[i] == f)
			return;
	l->files = must(realloc(l->files, (l->n_files + 1) * sizeof(struct file *)));
	l->files[l->n_files++] = f;
	f->users++; /* at once, so that no later file of this process takes its place */
}

static void spans_of_map(struct list *l, const struct procmap *m)
{
	struct file *f = file_get(l->w, l->p->pid, m);

	if (f)
		file_name(l, f);
	if (f && !file_load(l->w, f, l->p->pid))
		l->w->stat.no_room++;
	if (f)
		spans_of_file(l, m, f);
	else
		span_bare(l, m, NULL);
	if (f)
		file_known(l->w, m, f, l->p->pid, l->met);
}

/* Writes the list to fresh memory and puts it in place. */
static bool publish(struct list *l)
{
	struct unwind *w = l->w;
	struct process *p = l->p;
	struct unwind_extent at;
	struct unwind_proc value = { .used = 1, .mm = l->mm, .raw = l->raw };
	struct err e;

	if (!list_write(l, p->pid, &at))
		return false;
	value.spans = UNWIND_REF(at.shelf, at.chunk, at.first, l->n);
	if (!live_map_put(w->live, w->procs_map, &p->pid, &value, &e)) {
		unwind_memory_give(&w->memory, at);
		return false;
	}
	unlist(w, p);
	p->list = at;
	p->n_spans = l->n;
	p->files = l->files;
	p->n_files = l->n_files;
	p->listed = true;
	w->stat.processes++;
	return true;
}

static void list_make(struct unwind *w, struct process *p, const struct procmaps *maps,
                      const struct unit_meet *met)
{
	struct list *l = must(calloc(1, sizeof(*l)));

	l->w = w;
	l->p = p;
	l->met = met;
	l->mm = met ? met->mm : 0;
	l->raw = met && met->raw;
	for (u32 i = 0; i < maps->n; i++)
		if (maps->v[i].exec)
			spans_of_map(l, &maps->v[i]);
	if (!l->n || !publish(l)) {
		for (u32 i = 0; i < l->n_files; i++)
			l->files[i]->users--;
		free(l->files);
	}
	free(l);
}

static struct process *process_get(struct unwind *w, u32 pid)
{
	struct process *p;

	for (u32 i = 0; i < w->procs.n; i++)
		if (w->procs.v[i]->pid == pid)
			return w->procs.v[i];
	if (w->procs.n >= w->unit->maps.v[w->procs_map].max_entries)
		forget_some(w, false, 0);
	p = must(calloc(1, sizeof(*p)));
	p->pid = pid;
	vec_add(&w->arena, &w->procs, p);
	return p;
}

/* What counts of the maps: where which code is. */
static u64 maps_hash(const struct procmaps *maps)
{
	u64 h = 14695981039346656037ull;

	for (u32 i = 0; i < maps->n; i++) {
		const struct procmap *m = &maps->v[i];
		u64 words[] = { m->start, m->end, m->offset, m->inode,
			        (u64)m->dev_major << 32 | m->dev_minor };

		for (u32 j = 0; m->exec && j < ARRAY_SIZE(words); j++)
			h = (h ^ words[j]) * 1099511628211ull;
	}
	return h;
}

/* Lets programs ask about this process again. */
static void may_ask(struct unwind *w, struct process *p)
{
	struct unwind_proc value;
	struct err e;

	p->again_ns = 0;
	if (!live_map_get(w->live, w->procs_map, &p->pid, &value))
		return;
	value.asked = 0;
	live_map_put(w->live, w->procs_map, &p->pid, &value, &e);
}

/* The same code at the same places, perhaps in a new address space. False when programs have
 * forgotten the process: there were too many others. */
static bool same_again(struct unwind *w, struct process *p, const struct unit_meet *met)
{
	u64 mm = met ? met->mm : 0;
	struct unwind_proc value;
	struct err e;

	if (!live_map_get(w->live, w->procs_map, &p->pid, &value) || !value.spans)
		return false;
	if (value.mm != mm) {
		value.mm = mm;
		live_map_put(w->live, w->procs_map, &p->pid, &value, &e);
	}
	return true;
}

/* `met` is NULL when it was not by a record. */
static void note(struct unwind *w, u32 pid, const struct unit_meet *met)
{
	struct arena arena = { 0 };
	struct procmaps maps;
	struct process *p;
	struct err e;
	u64 hash;

	if (!procmaps_read(&arena, (s32)pid, &maps, &e) || !maps.n) {
		arena_free(&arena);
		return;
	}
	procmaps_see_through(&maps);
	p = process_get(w, pid);
	hash = maps_hash(&maps);
	if (p->listed && hash == p->hash && same_again(w, p, met)) {
		p->pause_ns = MIN(MAX(p->pause_ns * 2, AGAIN_NS), AGAIN_MAX_NS);
		p->again_ns = clock_ns(CLOCK_MONOTONIC) + p->pause_ns;
	} else {
		p->hash = hash;
		p->pause_ns = 0;
		list_make(w, p, &maps, met);
	}
	arena_free(&arena);
}

void unwind_note(struct unwind *w, u32 pid)
{
	if (!w->live || !pid)
		return;
	pthread_mutex_lock(&w->lock);
	note(w, pid, NULL);
	pthread_mutex_unlock(&w->lock);
}

/* ---- what everybody has ---- */

/* Our own program is as large as its libraries together, and hardly anybody looks at it. */
static bool is_ours(const struct procmap *m, const struct stat *self)
{
	return m->inode == self->st_ino;
}

/* Files that are mapped for a moment, so that they are among our own mappings. */
struct mapped {
	const char *paths[PROBED_MAX];
	void *pages[PROBED_MAX]; /* the page of their first byte */
	u32 n;
};

static void map_file(struct mapped *all, const char *path)
{
	struct err ignored;
	int fd;

	for (u32 i = 0; i < all->n; i++)
		if (strcmp(all->paths[i], path) == 0)
			return;
	if (all->n == PROBED_MAX)
		return;
	fd = file_open(path, &ignored);
	all->paths[all->n] = path;
	all->pages[all->n] = fd < 0 ? MAP_FAILED
	                            : mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	all->n += all->pages[all->n] != MAP_FAILED;
	if (fd >= 0)
		close(fd);
}

/* The programs and libraries that probes are in. */
static void map_probed(struct mapped *all, const struct unit *u)
{
	for (u32 i = 0; i < u->progs.n; i++) {
		const struct uprog *p = &u->progs.v[i];

		for (u32 k = 0; attach_kind_has(p->kind, KIND_USER) && k < p->n_sites; k++)
			if (!p->sites[k].zip)
				map_file(all, p->sites[k].path);
	}
}

/* The one file has no libraries mapped. */
static void map_libc(struct mapped *all, struct arena *arena)
{
	const struct resolver r = { .arena = arena, .root = "", .path = "" };
	const char *path = host_is_static() ? resolve_library(&r, "libc.so.6") : NULL;

	if (path)
		map_file(all, path);
}

/* Loads what probes are in, whose processes may be over before they are looked at, and the
 * libraries that we have mapped ourselves: the C library is likely to be everybody's. */
static void warm(struct unwind *w)
{
	struct mapped probed = { .n = 0 };
	struct stat self = { 0 };
	struct arena arena = { 0 };
	struct procmaps maps;
	u32 pid = (u32)getpid();
	struct err e;

	map_libc(&probed, &arena);
	map_probed(&probed, w->unit);
	if (stat("/proc/self/exe", &self) != 0 || !procmaps_read(&arena, (s32)pid, &maps, &e))
		maps.n = 0;
	for (u32 i = 0; i < maps.n; i++) {
		const struct procmap *m = &maps.v[i];
		struct file *f = m->exec && !is_ours(m, &self) ? file_get(w, pid, m) : NULL;

		if (f && file_load(w, f, 0))
			file_known(w, m, f, 0, NULL);
	}
	for (u32 i = 0; i < probed.n; i++)
		munmap(probed.pages[i], 1);
	arena_free(&arena);
}

/* ---- copied stacks ---- */

struct copied {
	struct unwind *w;
	struct process *p;
};

/* The rows or spans that a reference names; NULL when the chunk can not be mapped. */
static const void *at_ref(struct unwind *w, unwind_ref ref, size_t each)
{
	const u8 *chunk = live_chunk(w->live, ref & 0xffff, ref >> UNWIND_REF_CHUNK & 0xffff);

	return chunk ? chunk + (ref >> UNWIND_REF_FIRST & 0xffff) * each : NULL;
}

static const struct unwind_span *span_at(const struct copied *c, u64 pc)
{
	const struct unwind_extent *at = &c->p->list;
	const struct unwind_span *spans = at_ref(
		c->w, UNWIND_REF(at->shelf, at->chunk, at->first, 0), sizeof(*spans));
	u32 n = spans ? SORTED_NOT_ABOVE(spans, c->p->n_spans, start, pc) : 0;

	return n && pc - spans[n - 1].start < spans[n - 1].size ? &spans[n - 1] : NULL;
}

static bool copied_rule(void *ctx, u64 pc, u32 *rule)
{
	const struct copied *c = ctx;
	const struct unwind_span *s = span_at(c, pc);
	u32 n = s ? (u32)(s->rows >> UNWIND_REF_N) : 0;
	const struct unwind_row *rows = n ? at_ref(c->w, s->rows, sizeof(*rows)) : NULL;

	if (!rows)
		return false;
	n = SORTED_NOT_ABOVE(rows, n, pc, (u32)pc - s->bias);
	if (n)
		*rule = rows[n - 1].rule;
	return n != 0;
}

void unwind_copied(struct unwind *w, const struct unit_copy *copy, struct ustack_value *frames)
{
	u32 limit = (u32)MIN(copy->limit, UNIT_STACK_FRAMES);
	struct copied c = { .w = w };
	struct unwind_stack s = { .pc = copy->pc,
		                  .sp = copy->sp,
		                  .fp = copy->fp,
		                  .link = copy->link,
		                  .bytes = copy->pieces,
		                  .start = copy->sp & ~(u64)(UNIT_PIECE - 1),
		                  .n = MIN(copy->n, UNIT_PIECES) * UNIT_PIECE,
		                  .rule = copied_rule,
		                  .ctx = &c };
	bool whole;

	pthread_mutex_lock(&w->lock);
	c.p = process_get(w, (u32)copy->pid);
	if (!c.p->listed)
		note(w, (u32)copy->pid, NULL);
	frames->n = unwind_walk(&s, frames->ip, limit, &whole);
	if (!whole && frames->n < copy->limit) { /* perhaps it has loaded something meanwhile */
		note(w, (u32)copy->pid, NULL);
		frames->n = unwind_walk(&s, frames->ip, limit, &whole);
	}
	whole |= frames->n == copy->limit;
	w->copied[whole ? UCOUNT_WHOLE : UCOUNT_CUT]++;
	if (!whole)
		frames->n |= (u64)USTACK_CUT << USTACK_FLAGS_SHIFT;
	pthread_mutex_unlock(&w->lock);
}

/* ---- places in files ---- */

/* Its descriptor has gone to another file: perhaps it is still where it was. */
static int file_reopen(const struct file *f)
{
	struct err ignored;
	int fd = f->inode ? file_hold(f->path, &ignored) : -1;
	struct stat st;

	if (fd < 0 ||
	    (fstat(fd, &st) == 0 && st.st_ino == f->inode &&
	     st.st_ctim.tv_sec == f->changed.tv_sec && st.st_ctim.tv_nsec == f->changed.tv_nsec))
		return fd;
	close(fd);
	return -1;
}

bool unwind_file(struct unwind *w, u32 number, struct unwind_where *where)
{
	u32 i = (number & ~UNWIND_NUMBER) - 1;
	const struct file *f;

	pthread_mutex_lock(&w->lock);
	f = i < w->files.n ? w->files.v[i] : NULL;
	if (f) {
		*where = (struct unwind_where){ f->path, -1, f->vdso };
		if (!f->vdso)
			where->fd = files_dup(w->names, f->id);
		if (!f->vdso && where->fd < 0)
			where->fd = file_reopen(f);
	}
	pthread_mutex_unlock(&w->lock);
	return f;
}

/* ---- before the load ---- */

void unwind_prepare(struct unwind *w, u32 pid)
{
	struct arena arena = { 0 };
	struct procmaps maps;
	struct err e;

	if (procmaps_read(&arena, (s32)pid, &maps, &e))
		for (u32 i = 0; i < maps.n; i++) {
			struct file *f = maps.v[i].exec ? file_get(w, pid, &maps.v[i]) : NULL;

			if (f)
				file_take(w, f);
		}
	arena_free(&arena);
}

u32 unwind_chunks(const struct unwind *w)
{
	u64 units = 0;

	for (u32 i = 0; i < w->files.n; i++)
		units += units_of_rows(w->files.v[i]->n_rows);
	/* With room for lists and for what is loaded later. */
	units += units / 8;
	return (u32)MIN(MAX(units / UNWIND_CHUNK_UNITS + 2, FIRST_CHUNKS),
	                MAX(w->limit / UNWIND_CHUNK, 1));
}

void unwind_set_stop(struct unwind *w, const struct stop *stop)
{
	if (w)
		__atomic_store_n(&w->stop, stop, __ATOMIC_RELEASE);
}

void unwind_start(struct unwind *w, struct live *l)
{
	w->live = l;
	w->procs_map = (u32)unit_map(w->unit, UMAP_PROCS);
	w->files_map = (u32)unit_map(w->unit, UMAP_FILES); /* UINT32_MAX: there is none */
	unwind_memory_add(&w->memory, 0, live_shelf_chunks(l, 0));
}

/* ---- in the background ---- */

/* When the first process may ask again; 0 never. */
static u64 next_again(struct unwind *w)
{
	u64 next = 0, now = clock_ns(CLOCK_MONOTONIC);

	for (u32 i = 0; i < w->procs.n; i++) {
		struct process *p = w->procs.v[i];

		if (p->again_ns && p->again_ns <= now)
			may_ask(w, p);
		if (p->again_ns && (!next || p->again_ns < next))
			next = p->again_ns;
	}
	return next;
}

/* Waits for work until then, 0: for ever. False when there is none, or it is time to end. */
static bool take_queued(struct unwind *w, u64 until, struct unit_meet *met)
{
	struct timespec t = { (time_t)(until / 1000000000ull), (long)(until % 1000000000ull) };
	bool taken;

	pthread_mutex_lock(&w->queue_lock);
	if (!w->n_queue && !is_given_up(w)) {
		if (until)
			pthread_cond_timedwait(&w->wake, &w->queue_lock, &t);
		else
			pthread_cond_wait(&w->wake, &w->queue_lock);
	}
	taken = w->n_queue && !is_given_up(w);
	if (taken)
		*met = w->queue[--w->n_queue];
	pthread_mutex_unlock(&w->queue_lock);
	return taken;
}

static void *background(void *ctx)
{
	struct unwind *w = ctx;
	struct unit_meet met;
	u64 until;

	caps_keep(RIGHTS_READ);
	if (w->warms) {
		pthread_mutex_lock(&w->lock);
		warm(w);
		pthread_mutex_unlock(&w->lock);
	}
	while (!is_given_up(w)) {
		pthread_mutex_lock(&w->lock);
		until = next_again(w);
		pthread_mutex_unlock(&w->lock);
		if (!take_queued(w, until, &met))
			continue;
		pthread_mutex_lock(&w->lock);
		note(w, (u32)met.pid, &met);
		pthread_mutex_unlock(&w->lock);
	}
	return NULL;
}

/* Signals are the session's. */
static bool start_thread(struct unwind *w)
{
	pthread_attr_t attr;
	sigset_t all, old;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	w->has_thread = pthread_create(&w->thread, &attr, background, w) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return w->has_thread;
}

void unwind_ask(struct unwind *w, const struct unit_meet *met)
{
	bool alone;

	if (!w->live)
		return;
	pthread_mutex_lock(&w->queue_lock);
	alone = !w->has_thread && !start_thread(w);
	if (!alone && w->n_queue < QUEUE_MAX)
		w->queue[w->n_queue++] = *met;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->queue_lock);
	if (!alone)
		return;
	pthread_mutex_lock(&w->lock);
	note(w, (u32)met->pid, met);
	pthread_mutex_unlock(&w->lock);
}

void unwind_warm(struct unwind *w)
{
	pthread_mutex_lock(&w->queue_lock);
	if (!w->has_thread) {
		w->warms = true;
		start_thread(w);
	}
	pthread_mutex_unlock(&w->queue_lock);
}

void unwind_free(struct unwind *w)
{
	if (!w)
		return;
	if (w->has_thread) {
		pthread_mutex_lock(&w->queue_lock);
		__atomic_store_n(&w->ending, true, __ATOMIC_RELAXED);
		pthread_cond_signal(&w->wake);
		pthread_mutex_unlock(&w->queue_lock);
		pthread_join(w->thread, NULL);
	}
	for (u32 i = 0; i < w->procs.n; i++) {
		free(w->procs.v[i]->files);
		free(w->procs.v[i]);
	}
	for (u32 i = 0; i < w->files.n; i++) {
		unwind_table_free(&w->files.v[i]->table);
		free(w->files.v[i]->path);
		free(w->files.v[i]->pieces);
		free(w->files.v[i]);
	}
	files_free(w->names);
	insn_decoder_close(w->decoder);
	unwind_memory_free(&w->memory);
	arena_free(&w->arena);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->queue_lock);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* ---- figures ---- */

static bool add_counts(void *ctx, const void *key, const void *cells)
{
	struct unwind *w = ctx;
	s32 scratch = unit_map(w->unit, UMAP_SCRATCH);
	u32 n = live_cells(w->live, (u32)scratch), words = w->unit->maps.v[scratch].value_size / 8;

	(void)key;
	for (u32 cell = 0; cell < n; cell++)
		for (u32 i = 0; i < N_UCOUNT; i++)
			w->stat.counts[i] += ((const u64 *)cells)[(size_t)cell * words + 1 + i];
	return true;
}

void unwind_stat(struct unwind *w, struct unwind_stat *stat)
{
	s32 scratch = unit_map(w->unit, UMAP_SCRATCH);
	struct err e;

	pthread_mutex_lock(&w->lock);
	memcpy(w->stat.counts, w->copied, sizeof(w->stat.counts));
	if (w->live && scratch >= 0)
		live_map_each(w->live, (u32)scratch, add_counts, w, &e);
	*stat = w->stat;
	pthread_mutex_unlock(&w->lock);
}
