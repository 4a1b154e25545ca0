/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps: made from their description, read in batches, emptied, zeroed. A batch call moves a
 * thousand elements per system call where one element each would cost a call for the key and
 * one for the value. Bytes go through untouched: merging per-CPU cells is agg/'s work.
 */
#include "kern/kern.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BATCH_BYTES  (1u << 20)
#define ROOM_MOST    (1u << 24)  /* keys of any map */
#define ROOM_DRAINED 512u        /* of one that is emptied as it fills, at least */
#define ROOM_MADE    64u         /* of one whose elements are made at the start, at least */
#define KEYS_BYTES   (16u << 20) /* of a list of keys */
#define CHAIN_BYTES  16u         /* of the table that the kernel finds elements by */

/* Kernel names: at most 15 characters of [A-Za-z0-9_.]. */
static void kernel_name(char out[BPF_OBJ_NAME_LEN], const char *name)
{
	u32 n = 0;

	for (; *name && n < BPF_OBJ_NAME_LEN - 1; name++) {
		bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
		             (*name >= '0' && *name <= '9') || *name == '_' || *name == '.';

		if (plain)
			out[n++] = *name;
	}
	out[n] = 0;
}

static bool is_per_cpu(const struct umap *m)
{
	return m->bpf_type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       m->bpf_type == BPF_MAP_TYPE_PERCPU_HASH ||
	       m->bpf_type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static bool is_array(const struct umap *m)
{
	return m->bpf_type == BPF_MAP_TYPE_ARRAY || m->bpf_type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool count_processors(struct live *l, struct err *e)
{
	u32 expected = l->unit->n_cpus;

	l->n_cells = sys_possible_cpus(e);
	if (!l->n_cells || !expected || expected == l->n_cells)
		return l->n_cells;
	err_set(e, "the kernel has %u possible processors, and the script was compiled for %u",
	        l->n_cells, expected);
	return err_hint(e, "/sys/devices/system/cpu/possible is missing, or not this kernel's");
}

u32 live_cells(const struct live *l, u32 map)
{
	return is_per_cpu(&l->unit->maps.v[map]) ? l->n_cells : 1;
}

/* Bytes of the kernel's an element takes: its list entry and key, and its cells or a pointer to
 * them. */
static u64 element_bytes(const struct live *l, const struct umap *m)
{
	u64 cells = (u64)ROUND_UP(m->value_size, 8u) * (m->per_cpu ? l->n_cells : 1);

	return 48 + ROUND_UP(m->key_size, 8u) + 8 + cells;
}

u64 kern_map_fits(u64 bytes, u64 element)
{
	u64 chains = 1, more;

	while (chains * 2 * (element + CHAIN_BYTES) <= bytes)
		chains *= 2;
	if (chains * 2 * CHAIN_BYTES >= bytes)
		return chains;
	more = (bytes - chains * 2 * CHAIN_BYTES) / element;
	return more >= chains + chains / 4 ? more : chains;
}

/*
 * What is emptied as it fills has a part of its memory here, the rest is for what was taken out of
 * it. Others have all of it, but where nobody asks for so much no more than the first: a hash has a
 * table of chains for all its keys from the start. Where the elements are there from the start too,
 * it is max_entries, if there is memory for so many.
 */
u32 live_map_room(const struct live *l, u32 map)
{
	const struct umap *m = &l->unit->maps.v[map];
	bool drains = live_map_drains(l, map);
	bool made = !(m->flags & BPF_F_NO_PREALLOC) && !l->map_memory_asked;
	u64 sharing = 0, bytes, room;

	if (m->role == UMAP_KEYS || m->role == UMAP_FRESH)
		return MIN(unit_keys_room(live_map_room(l, m->of)), KEYS_BYTES / m->value_size);
	if (!m->by_memory)
		return m->max_entries;
	for (u32 i = 0; i < l->unit->maps.n; i++)
		if (l->unit->maps.v[i].by_memory)
			sharing += l->unit->maps.v[i].turn ? 2 : 1; /* generations */
	bytes = l->map_memory / MAX(sharing, 1ull);
	if (drains || (!made && !l->map_memory_asked))
		bytes /= LIVE_KEPT;
	room = kern_map_fits(bytes, element_bytes(l, m));
	if (made) /* at the start, used or not */
		return (u32)MIN(MAX(room, (u64)ROOM_MADE), (u64)m->max_entries);
	room = MAX(room, drains ? (u64)ROOM_DRAINED : (u64)m->max_entries);
	return (u32)MIN(room, (u64)ROOM_MOST);
}

bool kern_map_create(struct live *l, u32 map, struct err *e)
{
	struct umap sized = l->unit->maps.v[map];
	const struct umap *m = &sized;
	char name[BPF_OBJ_NAME_LEN];
	int fd;

	if (!l->n_cells && (is_per_cpu(m) || m->per_cpu) && !count_processors(l, e))
		return false;
	sized.max_entries = live_map_room(l, map);
	kernel_name(name, m->name);
	if (m->role == UMAP_CHUNKS || m->role == UMAP_SHELVES)
		fd = kern_unwind_create(l, m, name);
	else if (m->turn && m->key)
		fd = kern_turn_create(l, map, name);
	else
		fd = sys_map_create(m, name, -1);
	if (fd == -EPERM || fd == -EACCES) {
		sys_refused(e, -fd, "the kernel does not let this user make BPF maps");
		return false;
	}
	if (fd == -ENOMEM || fd == -E2BIG) {
		err_sys(e, -fd, "no room for map %s: %u entries of %u + %u bytes", m->name,
		        m->max_entries, m->key_size, m->value_size);
		return err_hint(e, "set max_map_keys or max_strlen lower in the script's config");
	}
	if (fd < 0)
		return err_sys(e, -fd, "can not make map %s", m->name);
	l->maps[map] = fd;
	return true;
}

/* ---- the data words ---- */

bool kern_map_data_open(struct live *l, struct err *e)
{
	const struct umap *m;
	void *p;

	if (l->data_map < 0)
		return true;
	m = &l->unit->maps.v[l->data_map];
	assert(m->flags & BPF_F_MMAPABLE);
	l->data_size = m->value_size;
	p = mmap(NULL, l->data_size, PROT_READ | PROT_WRITE, MAP_SHARED, l->maps[l->data_map], 0);
	if (p == MAP_FAILED)
		return err_sys(e, errno, "can not map the data words");
	l->data = p;
	return true;
}

u64 live_data(const struct live *l, u32 word)
{
	if (!l->data || (u64)word * 8 >= l->data_size)
		return 0;
	return __atomic_load_n(&l->data[word], __ATOMIC_RELAXED);
}

void live_data_set(struct live *l, u32 word, u64 value)
{
	if (l->data && (u64)word * 8 < l->data_size)
		__atomic_store_n(&l->data[word], value, __ATOMIC_RELAXED);
}

/* ---- all elements ---- */

size_t kern_map_element(const struct live *l, u32 map)
{
	const struct umap *m = &l->unit->maps.v[map];

	assert(m->value_size % 8 == 0);
	return (size_t)m->value_size * live_cells(l, map);
}

int kern_map_fd(const struct live *l, u32 map)
{
	const struct umap *m = &l->unit->maps.v[map];

	return m->turn && m->key ? l->pairs[map].fds[kern_turn_now(l, map)] : l->maps[map];
}

/* Room for one batch of keys and values, and where the next batch starts. */
struct batch {
	u8 *keys, *values;
	u32 room, n;    /* elements */
	u64 *from, *to; /* the kernel's cursor: key_size bytes at most, at least 4 */
	bool started;
};

static void batch_free(struct batch *b)
{
	free(b->keys);
	free(b->values);
	free(b->from);
	free(b->to);
}

static bool batch_init(struct batch *b, const struct umap *m, size_t element, struct err *e)
{
	size_t each = m->key_size + element;
	u32 room = (u32)MIN((size_t)m->max_entries, MAX(BATCH_BYTES / each, (size_t)16));

	*b = (struct batch){ .room = MAX(room, 1u) };
	b->keys = malloc((size_t)b->room * m->key_size);
	b->values = malloc((size_t)b->room * element);
	b->from = calloc(1, m->key_size + 8);
	b->to = calloc(1, m->key_size + 8);
	if (b->keys && b->values && b->from && b->to)
		return true;
	batch_free(b);
	err_set(e, "no memory to read map %s", m->name);
	return false;
}

/* A hash bucket is moved whole, so a long chain can be longer than the batch: double it. */
static bool batch_grow(struct batch *b, const struct umap *m, size_t element, struct err *e)
{
	u32 room = b->room * 2;
	u8 *keys = malloc((size_t)room * m->key_size), *values = malloc((size_t)room * element);

	if (!keys || !values) {
		free(keys);
		free(values);
		return err_set(e, "no memory to read map %s", m->name);
	}
	free(b->keys);
	free(b->values);
	b->keys = keys;
	b->values = values;
	b->room = room;
	return true;
}

/* Reads the next elements into b; *last is set with the final ones. */
static bool batch_next(struct live *l, u32 map, int fd, struct batch *b, bool removes, bool *last,
                       struct err *e)
{
	const struct umap *m = &l->unit->maps.v[map];

	for (;;) {
		struct sys_batch next = { .from = b->started ? b->from : NULL,
			                  .to = b->to,
			                  .keys = b->keys,
			                  .values = b->values,
			                  .n = b->room };
		int r = sys_map_batch(fd, removes, &next);

		b->n = next.n;
		if (r == -ENOSPC) {
			if (!batch_grow(b, m, kern_map_element(l, map), e))
				return false;
			continue;
		}
		if (r < 0 && r != -ENOENT)
			return err_sys(e, -r, "can not read map %s", m->name);
		*last = r == -ENOENT;
		b->started = true;
		memcpy(b->from, b->to, m->key_size + 8);
		return true;
	}
}

/* All elements of a map of that kind. */
static bool each(struct live *l, u32 map, int fd, bool removes, live_row_fn *cb, void *ctx,
                 struct err *e)
{
	const struct umap *m = &l->unit->maps.v[map];
	size_t element = kern_map_element(l, map);
	struct batch b;
	bool ok = true, last = false, more = true;

	if (!batch_init(&b, m, element, e))
		return false;
	while (ok && more && !last) {
		ok = batch_next(l, map, fd, &b, removes, &last, e);
		for (u32 i = 0; cb && ok && more && i < b.n; i++)
			more = cb(ctx, b.keys + (size_t)i * m->key_size, b.values + i * element);
	}
	batch_free(&b);
	return ok;
}

/* One after the other: arrays of cells have no batches before 5.13. Of a map of the script's, which
 * has no key then, the element that programs use. */
static bool each_of_array(struct live *l, u32 map, live_row_fn *cb, void *ctx, struct err *e)
{
	const struct umap *m = &l->unit->maps.v[map];
	u32 n = m->role == UMAP_USER ? 1 : m->max_entries;
	u8 *cells = malloc(kern_map_element(l, map));
	bool ok = cells, more = true;

	for (u32 i = 0; ok && more && i < n; i++) {
		const void *key = kern_turn_key(l, map, &i);

		ok = sys_map_lookup(l->maps[map], key, cells) == 0;
		more = ok && cb(ctx, key, cells);
	}
	free(cells);
	return ok || err_set(e, "can not read map %s", m->name);
}

bool live_map_each(struct live *l, u32 map, live_row_fn *cb, void *ctx, struct err *e)
{
	const struct umap *m = &l->unit->maps.v[map];

	if (is_array(m))
		return each_of_array(l, map, cb, ctx, e);
	return each(l, map, kern_map_fd(l, map), false, cb, ctx, e);
}

bool live_map_get(struct live *l, u32 map, const void *key, void *cells)
{
	return sys_map_lookup(kern_map_fd(l, map), kern_turn_key(l, map, key), cells) == 0;
}

bool kern_map_empty(struct live *l, u32 map, int fd, live_row_fn *cb, void *ctx, struct err *e)
{
	return each(l, map, fd, true, cb, ctx, e);
}

bool live_map_take(struct live *l, u32 map, live_row_fn *cb, void *ctx, struct err *e)
{
	return kern_map_empty(l, map, kern_map_fd(l, map), cb, ctx, e);
}

/* Also what is there since the last turn. */
static bool drop(struct live *l, u32 map, u32 how, struct err *e)
{
	how |= TURN_ALONE;
	return (!live_map_unread(l, map) || live_map_turn(l, map, how, NULL, NULL, e)) &&
	       live_map_turn(l, map, how, NULL, NULL, e);
}

bool live_map_clear(struct live *l, u32 map, struct err *e)
{
	if (l->unit->maps.v[map].turn)
		return drop(l, map, 0, e);
	if (is_array(&l->unit->maps.v[map]))
		return live_map_zero(l, map, e);
	return live_map_take(l, map, NULL, NULL, e);
}

struct zeroing {
	int fd;
	const void *zeros;
	const struct umap *map;
	int error;
};

/* BPF_EXIST: a key that a program deleted meanwhile stays deleted. */
static bool zero_one(void *ctx, const void *key, const void *cells)
{
	struct zeroing *z = ctx;
	int r = sys_map_update(z->fd, key, z->zeros, is_array(z->map) ? BPF_ANY : BPF_EXIST);

	(void)cells;
	if (r < 0 && r != -ENOENT)
		z->error = -r;
	return z->error == 0;
}

bool live_map_zero(struct live *l, u32 map, struct err *e)
{
	struct zeroing z = { .fd = l->maps[map], .map = &l->unit->maps.v[map] };
	void *zeros;
	bool ok;

	if (z.map->turn)
		return drop(l, map, TURN_KEEPS_KEYS, e);
	zeros = calloc(1, kern_map_element(l, map));
	if (!zeros)
		return err_set(e, "no memory to zero map %s", z.map->name);
	z.zeros = zeros;
	ok = live_map_each(l, map, zero_one, &z, e);
	free(zeros);
	if (ok && z.error)
		return err_sys(e, z.error, "can not zero map %s", z.map->name);
	return ok;
}
