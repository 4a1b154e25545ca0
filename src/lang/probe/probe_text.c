/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether `probe` has to be a string.
 *
 * The one idea: where a probe's name is only printed or counted by, a number stands for it and one
 * program serves thousands of places. Anything else that a script does with it, such as comparing,
 * takes a string, which is another one in each place and so needs a program for each. It is the
 * one or the other for the whole script, so that maps have one type.
 */
#include "lang/probe/targets.h"

#include "base/hmap.h"

/* A map of whose keys some part, or whose value, is `probe`. Bits are parts of the key. */
struct used {
	u64 probes, texts;
	bool is_probe, is_text; /* the value */
};

struct uses {
	struct arena *arena;
	u32 n_all;        /* `probe` in the script */
	u32 n_plain;      /* ... where a number will do */
	struct hmap maps; /* name -> struct used */
	bool is_text;     /* of one of them a part has to be */
};

static bool is_probe(const struct node *n)
{
	return n->kind == NODE_BUILTIN && n->builtin.b && n->builtin.b->id == BUILTIN_PROBE;
}

static bool is_text(const struct node *n)
{
	return n->kind == NODE_STRING ||
	       (n->kind == NODE_CALL && n->call.f && n->call.f->id == FUNC_STR) ||
	       (n->kind == NODE_BUILTIN && n->builtin.b && n->builtin.b->id == BUILTIN_COMM);
}

/* `probe` itself, or a part of a tuple. */
static u32 count_plain(const struct node *n)
{
	u32 count = is_probe(n);

	for (const struct node *i = n->kind == NODE_TUPLE ? n->tuple.items : NULL; i; i = i->next)
		count += is_probe(i);
	return count;
}

static struct used *used_map(struct uses *u, const struct node *map)
{
	void **known = hmap_find(&u->maps, map->map.name.p, map->map.name.n);
	struct used *new;

	if (known)
		return *known;
	new = arena_new(u->arena, struct used);
	hmap_put(&u->maps, map->map.name.p, map->map.name.n, new);
	return new;
}

static void weigh(struct uses *u, const struct used *m)
{
	u->is_text |= (m->probes & m->texts) || (m->is_probe && m->is_text);
}

static void look_at_keys(struct uses *u, const struct node *map)
{
	struct used *used = used_map(u, map);
	u64 part = 1;

	for (const struct node *k = map->map.keys; k; k = k->next, part <<= 1) {
		u->n_plain += count_plain(k);
		used->probes |= is_probe(k) ? part : 0;
		used->texts |= is_text(k) ? part : 0;
	}
	weigh(u, used);
}

static void look_at_value(struct uses *u, const struct node *assign)
{
	struct used *used = used_map(u, assign->assign.to);

	u->n_plain += count_plain(assign->assign.e);
	used->is_probe |= is_probe(assign->assign.e);
	used->is_text |= is_text(assign->assign.e);
	weigh(u, used);
}

/* Functions that take a probe's name as it is: those that print, and those of maps. */
static bool takes_any(const struct func *f)
{
	switch (f ? f->id : FUNC_STR) {
	case FUNC_PRINT:
	case FUNC_PRINTF:
	case FUNC_SENT:
	case FUNC_HEADING:
	case FUNC_ERRORF:
	case FUNC_WARNF:
	case FUNC_DELETE:
	case FUNC_HAS_KEY:
		return true;
	default:
		return false;
	}
}

static bool look(void *ctx, const struct node *n)
{
	struct uses *u = ctx;

	u->n_all += is_probe(n);
	if (n->kind == NODE_MAP)
		look_at_keys(u, n);
	else if (n->kind == NODE_ASSIGN && n->assign.to->kind == NODE_MAP)
		look_at_value(u, n);
	else if (n->kind == NODE_CALL && takes_any(n->call.f))
		for (const struct node *a = n->call.args; a; a = a->next)
			u->n_plain += count_plain(a);
	return true;
}

bool targets_probe_is_text(const struct script *s)
{
	struct uses u = { .arena = s->arena };

	for (const struct probe *p = s->probes; p; p = p->next) {
		if (p->pred)
			ast_look(p->pred, look, &u);
		ast_look(p->body, look, &u);
	}
	hmap_free(&u.maps);
	return u.is_text || u.n_all > u.n_plain;
}
