/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps: their keys and values, merged over all uses.
 *
 * The one idea: a key has its own type, made from all key expressions: integers at 64 bits and
 * strings cut to what fits, so that equal keys are equal bytes. Expressions keep their own types
 * and are brought to the key's when the program runs.
 *
 * A key of several parts is a tuple, the same as @m[(a, b)].
 */
#include "lang/infer/infer.h"

#include <linux/bpf.h>
#include <string.h>

#define KEY_MAX     16000u /* half of the memory that a probe has for strings */
#define KEY_MAX_OLD 512u   /* of kernels that take keys no larger than a program's stack */

struct map_info *infer_map_find(struct infer *in, struct node *map)
{
	struct str name = map->map.name;
	void **slot = hmap_find(&in->maps, name.p, name.n);
	struct map_info *m;

	if (!slot) {
		m = arena_new(in->arena, struct map_info);
		m->sym = arena_new(in->arena, struct map_sym);
		m->sym->name = infer_text(in, name);
		m->sym->first = map->loc;
		hmap_put(&in->maps, m->sym->name, name.n, m);
		in->changed = true;
	} else {
		m = *slot;
	}
	if (!m->listed) {
		m->listed = true;
		m->sym->first = map->loc;
		m->sym->index = in->script->maps.n;
		vec_add(in->arena, &in->script->maps, m->sym);
	}
	map->map.sym = m->sym;
	return m;
}

static const struct {
	const char *name;
	u32 type;
} map_kinds[] = {
	{ "hash", BPF_MAP_TYPE_HASH },
	{ "lruhash", BPF_MAP_TYPE_LRU_HASH },
	{ "percpuhash", BPF_MAP_TYPE_PERCPU_HASH },
	{ "percpulruhash", BPF_MAP_TYPE_LRU_PERCPU_HASH },
};

static u32 map_kind(struct infer *in, const struct map_decl *d)
{
	for (size_t i = 0; i < ARRAY_SIZE(map_kinds); i++)
		if (str_is(d->kind, map_kinds[i].name))
			return map_kinds[i].type;
	infer_error_now(in, d->loc, "Unknown kind of map: '%.*s'", STR_ARG(d->kind));
	infer_hint(in, "use one of hash, lruhash, percpuhash, percpulruhash");
	return 0;
}

void infer_map_declare(struct infer *in)
{
	for (const struct map_decl *d = in->script->map_decls; d; d = d->next) {
		struct map_info *m;

		if (hmap_find(&in->maps, d->name.p, d->name.n)) {
			infer_error_now(in, d->loc, "%.*s is declared twice", STR_ARG(d->name));
			continue;
		}
		m = arena_new(in->arena, struct map_info);
		m->sym = arena_new(in->arena, struct map_sym);
		m->sym->name = infer_text(in, d->name);
		m->sym->bpf_type = map_kind(in, d);
		m->sym->max_entries = (u32)MIN(d->n, (u64)UINT32_MAX);
		if (!d->n)
			infer_error_now(in, d->loc, "%s needs room for at least one entry",
			                m->sym->name);
		hmap_put(&in->maps, m->sym->name, d->name.n, m);
	}
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* Strings that may be longer than `cap` are cut there; so are, with all, those that may not. */
static const struct type *cap_strings(struct infer *in, const struct type *t, u32 cap, bool all)
{
	const struct type **types;

	if (t->kind == TYPE_STR)
		return t->count > cap && (all || !t->bounded) ? type_str(in->arena, cap, false) : t;
	if (t->kind != TYPE_TUPLE)
		return t;
	types = arena_array(in->arena, const struct type *, t->n_fields);
	for (u32 i = 0; i < t->n_fields; i++)
		types[i] = cap_strings(in, t->fields[i].type, cap, all);
	return type_retuple(in->arena, t, types);
}

/* Bytes of a key. Maps of larger ones came before programs that sleep. */
static u32 key_room(struct infer *in, const struct type *t)
{
	if (type_slot(t) <= KEY_MAX_OLD ||
	    in->world->ops->features(in->world, FEATURE_SLEEPABLE)->sleepable)
		return KEY_MAX;
	return KEY_MAX_OLD;
}

/* The key's type with its strings cut so that all of it fits; NULL after an error. */
static const struct type *key_fit(struct infer *in, const struct type *t, const char *name,
                                  struct loc loc)
{
	u32 cap = in->config->max_strlen, room;
	const struct type *cut = cap_strings(in, t, cap, false);

	room = key_room(in, cut);
	for (cap = room; cap && type_slot(cut) > room; cap = (cap - cap / 8) & ~7u)
		cut = cap_strings(in, cut, cap, true);
	if (type_slot(cut) > room)
		return infer_error(in, loc,
		                   "the key of %s has %u bytes, more than the %u there is room for",
		                   name, type_slot(t), room);
	return cut;
}

static bool key_mismatch(struct infer *in, const struct map_info *m, const struct type *t,
                         struct loc loc)
{
	infer_error(in, loc,
	            "Argument mismatch for %s: trying to access with arguments: '%s' when map "
	            "expects arguments: '%s'",
	            m->sym->name, type_name(in->arena, t), type_name(in->arena, m->sym->key));
	return false;
}

/* The address of a variable names nothing once the program has ended. */
static bool outlives(struct infer *in, const struct map_info *m, const struct type *t,
                     struct loc loc)
{
	if (t->kind == TYPE_PTR && t->space == SPACE_PACKET) {
		infer_error(in, loc, "%s would outlive the packet that this is a place in",
		            m->sym->name);
		infer_hint(in, "keep the bytes: buf(packet(offset), n)");
		return true;
	}
	if (t->kind == TYPE_PTR && t->space == SPACE_OWN) {
		infer_error(in, loc, "%s would outlive the variable whose address this is",
		            m->sym->name);
		infer_hint(in, "keep the value itself, or the address of a map's value");
		return true;
	}
	for (u32 i = 0; t->kind == TYPE_TUPLE && i < t->n_fields; i++)
		if (outlives(in, m, t->fields[i].type, loc))
			return true;
	return false;
}

static bool merge_key(struct infer *in, struct map_info *m, const struct type *t, struct loc loc)
{
	const struct type *key = m->sym->key;

	if (m->bare) {
		infer_error(in, loc,
		            "Argument mismatch for %s: trying to access with arguments: '%s' when "
		            "map expects no arguments",
		            m->sym->name, type_name(in->arena, t));
		return false;
	}
	m->keyed = true;
	if (outlives(in, m, t, loc))
		return false;
	t = infer_rest(in, t);
	if (key) {
		const struct type *merged = infer_unify(in, key, t);

		if (!merged)
			return key_mismatch(in, m, t, loc);
		t = infer_rest(in, merged);
	}
	t = key_fit(in, t, m->sym->name, loc);
	if (!t)
		return false;
	if (!key || !type_eq(key, t) || key->bounded != t->bounded) {
		m->sym->key = t;
		in->changed = true;
	}
	return true;
}

/* Part i of n of the key so far, NULL when there is none to compare with. */
static const struct type *part_so_far(const struct map_info *m, u32 i, u32 n)
{
	const struct type *key = m->sym->key;

	if (n == 1 || !key)
		return key;
	return key->kind == TYPE_TUPLE && key->n_fields == n ? key->fields[i].type : NULL;
}

/* The type of one part; a literal takes the one its place has. */
static const struct type *key_part(struct infer *in, struct node *n, const struct type *old)
{
	const struct type *t = infer_storable(in, n), *both;

	if (!t || n->kind != NODE_INT || !old)
		return t;
	both = infer_unify_node(in, old, n);
	return both ? both : t;
}

/* Types the key expressions of a MAP node and merges them into the map's key. */
static bool type_keys(struct infer *in, struct node *map)
{
	struct map_info *m = infer_map_find(in, map);
	u32 n = map->map.n_keys, i = 0;
	const struct type **types = arena_array(in->arena, const struct type *, MAX(n, 1u));
	bool known = true;

	for (struct node *k = map->map.keys; k; k = k->next, i++) {
		types[i] = key_part(in, k, part_so_far(m, i, n));
		known &= types[i] != NULL;
	}
	if (!known) {
		m->keyed |= !m->bare;
		return false;
	}
	return merge_key(in, m, n == 1 ? types[0] : type_tuple(in->arena, types, n), map->loc);
}

bool infer_map_key(struct infer *in, struct node *map, struct node *key)
{
	struct map_info *m = infer_map_whole(in, map);
	const struct type *t = key_part(in, key, m ? m->sym->key : NULL);

	return m && t && merge_key(in, m, t, key->loc);
}

/* ---- values --------------------------------------------------------------------------------- */

struct map_info *infer_map_whole(struct infer *in, struct node *n)
{
	struct map_info *m;

	if (n->kind != NODE_MAP || n->map.n_keys)
		return NULL;
	m = infer_map_find(in, n);
	n->type = m->sym->value;
	return m;
}

const struct type *infer_map_readable(const struct type *value)
{
	switch (value->kind) {
	case TYPE_COUNT:
		return &type_s64;
	case TYPE_SUM:
	case TYPE_MIN:
	case TYPE_MAX:
	case TYPE_AVG:
		return type_int(8, value->is_signed);
	case TYPE_STATS:
	case TYPE_HIST:
	case TYPE_LHIST:
	case TYPE_TSERIES:
	case TYPE_AGGS:
		return NULL;
	default:
		return value;
	}
}

/* The key, or that there is none, must be as in other uses. */
static bool check_shape(struct infer *in, struct node *map, struct map_info *m)
{
	if (map->map.n_keys)
		return type_keys(in, map);
	if (m->keyed) {
		infer_error(in, map->loc,
		            "Argument mismatch for %s: trying to access with no arguments when map "
		            "expects arguments: '%s'",
		            m->sym->name,
		            m->sym->key ? type_name(in->arena, m->sym->key) : "a key");
		return false;
	}
	m->bare = true;
	return true;
}

const struct type *infer_map_read(struct infer *in, struct node *map, bool raw)
{
	struct map_info *m = infer_map_find(in, map);
	const struct type *t;

	if (!check_shape(in, map, m) || !m->sym->value)
		return map->type = NULL;
	t = infer_map_readable(m->sym->value);
	if (!t && !raw)
		infer_error(in, map->loc, "%s holds %s, which can only be printed", m->sym->name,
		            type_name(in->arena, m->sym->value));
	map->type = raw ? m->sym->value : t;
	return map->type;
}

static const struct type *unify_agg(struct infer *in, const struct type *old,
                                    const struct type *now, const char *name, struct loc loc);

/* Several under one key are the same everywhere, by name and kind. */
static const struct type *unify_aggs(struct infer *in, const struct type *old,
                                     const struct type *now, const char *name, struct loc loc)
{
	const struct type **types = arena_array(in->arena, const struct type *, old->n_fields);
	const char **names = arena_array(in->arena, const char *, old->n_fields);
	bool same = old->n_fields == now->n_fields;

	for (u32 i = 0; i < old->n_fields && same; i++) {
		const struct field *a = &old->fields[i], *b = &now->fields[i];

		same = strcmp(a->name, b->name) == 0 && a->type->kind == b->type->kind;
		names[i] = a->name;
		types[i] = same ? unify_agg(in, a->type, b->type, name, loc) : NULL;
	}
	if (same)
		return type_aggs(in->arena, types, names, old->n_fields);
	return infer_error(in, loc, "Type mismatch for %s: it holds '%s', not '%s'", name,
	                   type_name(in->arena, old), type_name(in->arena, now));
}

/* Aggregations of one kind merge when they count in the same way. */
static const struct type *unify_agg(struct infer *in, const struct type *old,
                                    const struct type *now, const char *name, struct loc loc)
{
	struct type *both;

	if (old->kind == TYPE_AGGS)
		return unify_aggs(in, old, now, name, loc);
	if (old->kind == TYPE_HIST && old->bits != now->bits)
		return infer_error(in, loc, "%s has a histogram of %u bits, not %u", name,
		                   old->bits, now->bits);
	if (old->kind == TYPE_LHIST &&
	    (old->min != now->min || old->max != now->max || old->step != now->step))
		return infer_error(
			in, loc, "%s has a histogram of other bounds: lhist(n, %lld, %lld, %lld)",
			name, (long long)old->min, (long long)old->max, (long long)old->step);
	if (old->kind == TYPE_TSERIES && !type_eq(old, now) && old->is_signed == now->is_signed)
		return infer_error(in, loc, "%s has a time series of another kind", name);
	if (old->is_signed || !now->is_signed)
		return old;
	both = arena_new(in->arena, struct type);
	*both = *now;
	return both;
}

static const struct type *merge_value(struct infer *in, struct map_info *m,
                                      const struct node *value, const struct type *type,
                                      struct loc loc)
{
	const struct type *old = m->sym->value, *both;

	if (!old)
		return type;
	if (type_is_agg(old) && old->kind == type->kind)
		return unify_agg(in, old, type, m->sym->name, loc);
	both = value ? infer_unify_node(in, old, value) : infer_unify(in, old, type);
	if (!both || type_is_agg(old) || type_is_agg(type))
		return infer_error(
			in, loc,
			"Type mismatch for %s: trying to assign value of type '%s' when map "
			"already has a type '%s'",
			m->sym->name, type_name(in->arena, type), type_name(in->arena, old));
	return both;
}

static void note_filled(struct infer *in, struct map_info *m, const struct node *map)
{
	const struct variant *v = in->variant;

	m->sym->hurried |= !infer_is_calm(v);
	m->sym->many_at_once |= attach_kind_has(v->kind, KIND_TIMER) &&
	                        (in->loops || (m->filled_by == v && m->filled_at != map));
	m->filled_by = v;
	m->filled_at = map;
}

void infer_map_assign(struct infer *in, struct node *map, const struct node *value,
                      const struct type *type, struct loc loc)
{
	struct map_info *m = infer_map_find(in, map);
	bool shape = check_shape(in, map, m);
	const struct type *old = m->sym->value;

	m->assigned = true;
	note_filled(in, m, map);
	if (!shape || !type || outlives(in, m, type, loc)) {
		map->type = m->sym->value;
		return;
	}
	if (value)
		infer_own_take(in, &m->sym->own, value);
	else
		infer_own_add(in, &m->sym->own, type);
	type = merge_value(in, m, value, type, loc);
	if (type && !type_is_agg(type))
		type = cap_strings(in, infer_rest(in, type), in->config->max_strlen, false);
	if (type && (!old || !type_eq(old, type) || old->bounded != type->bounded ||
	             old->space != type->space)) {
		m->sym->value = type;
		in->changed = true;
	}
	map->type = m->sym->value;
}

void infer_map_default(struct infer *in)
{
	for (u32 i = 0; i < in->script->maps.n; i++)
		if (!in->script->maps.v[i]->value)
			in->script->maps.v[i]->value = &type_s64;
}
