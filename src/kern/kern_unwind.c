/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory for unwind tables: arrays of chunks mapped into our address space, so that tables are
 * written without system calls and read by programs without helpers. What there is room for at the
 * start lies in a map of its own, which programs reach at once; later shelves hang in a map of
 * maps, because a program's maps are fixed when it is loaded. Adding one waits for all programs
 * that are running (a grace period of the kernel), so shelves are big. Knows nothing of tables.
 */
#include "kern/kern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/unwind.h"

/* Later shelves differ in size, which maps of one map of maps only may with this flag. */
static struct umap shelf_map(u32 n)
{
	return (struct umap){ .bpf_type = BPF_MAP_TYPE_ARRAY,
		              .flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP,
		              .key_size = 4,
		              .value_size = UNWIND_CHUNK,
		              .max_entries = n };
}

int kern_unwind_create(struct live *l, const struct umap *m, const char *name)
{
	struct umap inner = shelf_map(1), chunks = *m;
	int fd, template;

	if (m->role == UMAP_CHUNKS) {
		chunks.max_entries = l->unwind_chunks;
		fd = sys_map_create(&chunks, name, -1);
		if (fd >= 0)
			l->shelves[0].n = l->unwind_chunks;
		return fd;
	}
	template = sys_map_create(&inner, name, -1);
	if (template <0)
		return template;
	fd = sys_map_create(m, name, template);
	close(template);
	return fd;
}

void kern_unwind_close(struct live *l)
{
	for (u32 i = 0; i < UNIT_SHELVES; i++) {
		struct shelf *s = &l->shelves[i];

		if (s->memory)
			munmap(s->memory, (size_t)s->n * UNWIND_CHUNK);
		if (i && s->n)
			close(s->fd);
		*s = (struct shelf){ 0 };
	}
}

u32 live_shelf_chunks(const struct live *l, u32 shelf)
{
	return shelf < UNIT_SHELVES ? l->shelves[shelf].n : 0;
}

void *live_chunk(struct live *l, u32 shelf, u32 chunk)
{
	struct shelf *s = &l->shelves[shelf];
	void *p;

	if (!s->memory) {
		int fd = shelf ? s->fd : l->maps[unit_map(l->unit, UMAP_CHUNKS)];

		p = mmap(NULL, (size_t)s->n * UNWIND_CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		         0);
		if (p == MAP_FAILED)
			return NULL;
		s->memory = p;
	}
	return s->memory + (size_t)chunk * UNWIND_CHUNK;
}

bool live_shelf_add(struct live *l, u32 n, u32 *shelf, struct err *e)
{
	s32 outer = unit_map(l->unit, UMAP_SHELVES);
	struct umap m = shelf_map(n);
	u32 at = 1;
	int fd, r;

	while (at < UNIT_SHELVES && l->shelves[at].n)
		at++;
	if (outer < 0 || at == UNIT_SHELVES)
		return err_set(e, "no more room for unwind tables");
	fd = sys_map_create(&m, "shelf", -1);
	if (fd < 0)
		return err_sys(e, -fd, "can not make a map for unwind tables");
	r = sys_map_update(l->maps[outer], &at, &fd, BPF_ANY);
	if (r < 0) {
		close(fd);
		return err_sys(e, -r, "can not add a map for unwind tables");
	}
	l->shelves[at] = (struct shelf){ .n = n, .fd = fd };
	*shelf = at;
	return true;
}

bool live_map_put(struct live *l, u32 map, const void *key, const void *value, struct err *e)
{
	const struct umap *m = &l->unit->maps.v[map];
	u64 set = 1;
	u8 *with_set = NULL;
	int r;

	if (m->role == UMAP_USER && unit_has_set(m->key, m->value)) {
		with_set = calloc(1, m->value_size);
		if (!with_set)
			return err_set(e, "no memory to write to map %s", m->name);
		memcpy(with_set, value, type_cell(m->value));
		memcpy(with_set + type_cell(m->value), &set, sizeof(set));
		value = with_set;
	}
	r = sys_map_update(kern_map_fd(l, map), kern_turn_key(l, map, key), value, BPF_ANY);
	free(with_set);
	return r >= 0 || err_sys(e, -r, "can not write to map %s", m->name);
}

bool live_map_remove(struct live *l, u32 map, const void *key)
{
	return sys_map_delete(kern_map_fd(l, map), key) == 0;
}
