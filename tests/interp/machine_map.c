/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps as flat arrays of slots, searched from the front: slow, and too simple to be wrong.
 * Per-CPU kinds have the one CPU's value.
 */
#include <errno.h>
#include <string.h>

#include "interp/machine.h"

static bool is_array(const struct map_state *m)
{
	return m->def->bpf_type == BPF_MAP_TYPE_ARRAY ||
	       m->def->bpf_type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool is_lru(const struct map_state *m)
{
	return m->def->bpf_type == BPF_MAP_TYPE_LRU_HASH ||
	       m->def->bpf_type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

void map_state_init(struct interp *in, u32 map)
{
	struct map_state *m = &in->maps[map];
	const struct umap *d = &in->u->maps.v[map];

	m->def = d;
	m->stride = ROUND_UP(d->value_size, 8u) + VALUE_GAP;
	if (d->bpf_type == BPF_MAP_TYPE_RINGBUF)
		return;
	m->keys = arena_alloc(&in->arena, (size_t)d->max_entries * d->key_size);
	m->values = arena_alloc(&in->arena, (size_t)d->max_entries * ROUND_UP(d->value_size, 8u));
	m->used = arena_array(&in->arena, bool, d->max_entries);
	if (is_array(m)) {
		memset(m->used, true, d->max_entries);
		m->n = d->max_entries;
		for (u32 i = 0; i < d->max_entries; i++)
			memcpy(m->keys + (size_t)i * d->key_size, &i, sizeof(i));
	}
}

static bool is_pair(const struct umap *m)
{
	return m->turn && m->key;
}

struct map_state *map_of(struct interp *in, u64 handle)
{
	u64 base = handle >= ONE_BASE ? ONE_BASE : MAP_BASE;
	struct map_state *m;

	if (handle < base || handle - base >= in->u->maps.n)
		return machine_fail(in, "0x%llx is no map", (unsigned long long)handle);
	m = &in->maps[handle - base];
	if (is_pair(m->def) != (base == ONE_BASE))
		return machine_fail(in, "%s is a map of maps", m->def->name);
	return m;
}

bool map_is_pair(const struct interp *in, u64 handle)
{
	return handle >= MAP_BASE && handle - MAP_BASE < in->u->maps.n &&
	       is_pair(in->maps[handle - MAP_BASE].def);
}

u8 *map_value_at(const struct map_state *m, u32 slot)
{
	return m->values + (size_t)slot * ROUND_UP(m->def->value_size, 8u);
}

u64 map_value_addr(const struct interp *in, const struct map_state *m, u32 slot)
{
	return VALUE_BASE + (u64)(m - in->maps) * VALUE_STEP + slot * m->stride;
}

s64 map_slot(const struct map_state *m, const u8 *key)
{
	u32 size = m->def->key_size;

	for (u32 i = 0; i < m->def->max_entries; i++)
		if (m->used[i] && memcmp(m->keys + (size_t)i * size, key, size) == 0)
			return i;
	return -1;
}

static s64 free_slot(const struct map_state *m)
{
	for (u32 i = 0; i < m->def->max_entries; i++)
		if (!m->used[i])
			return i;
	return is_lru(m) ? 0 : -1;
}

s64 map_update(struct map_state *m, const u8 *key, const u8 *value, u64 flags)
{
	s64 slot = map_slot(m, key);

	if (flags > BPF_EXIST)
		return -EINVAL;
	if (slot >= 0 && flags == BPF_NOEXIST)
		return -EEXIST;
	if (slot < 0 && (flags == BPF_EXIST || is_array(m)))
		return is_array(m) ? -E2BIG : -ENOENT;
	if (slot < 0) {
		slot = free_slot(m);
		if (slot < 0)
			return -E2BIG;
		m->n += !m->used[slot];
		m->used[slot] = true;
		memcpy(m->keys + (size_t)slot * m->def->key_size, key, m->def->key_size);
	}
	memmove(map_value_at(m, (u32)slot), value, m->def->value_size);
	return 0;
}

s64 map_delete(struct map_state *m, const u8 *key)
{
	s64 slot = map_slot(m, key);

	if (is_array(m))
		return -EINVAL;
	if (slot < 0)
		return -ENOENT;
	m->used[slot] = false;
	m->n--;
	return 0;
}

void map_clear(struct map_state *m, bool keep_keys)
{
	for (u32 i = 0; i < m->def->max_entries; i++) {
		memset(map_value_at(m, i), 0, m->def->value_size);
		m->used[i] = is_array(m) || (keep_keys && m->used[i]);
	}
	m->n = 0;
	for (u32 i = 0; i < m->def->max_entries; i++)
		m->n += m->used[i];
}
