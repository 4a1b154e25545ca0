/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks by their numbers. Most of a program's stacks begin alike, so they are a tree: a node is a
 * frame and the node of its caller, there once for all stacks that have this caller, and a stack is
 * the node of its innermost frame. Nodes are found by (caller, frame) in chains, stacks by their
 * number in a table that is never more than three quarters full.
 *
 *     id --> node of leaf() --> node of f() --> node of main() --> 0
 *
 * Nothing is taken out one by one: a sweep makes the tree anew of what is still wanted.
 */
#include "agg/stacks.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_NODES 1024u
#define FIRST_IDS   256u /* powers of two */

struct node {
	u64 frame;
	u32 caller; /* 0: none */
	u32 next;   /* in the chain */
};

struct entry {
	u64 id; /* of an entry in use only */
	u32 leaf;
	u16 age;
	u8 used;
	u8 flags; /* of ustack_value.n, see USTACK_FLAGS */
};

struct stacks {
	u64 limit;
	struct node *nodes; /* the first is none */
	u32 *chains;        /* as many as there is room for nodes */
	u32 n_nodes, room;
	struct entry *ids;
	u32 n_ids, ids_room;
	u16 age;
};

static void *must(void *p)
{
	if (!p)
		base_no_memory();
	return p;
}

static u64 nodes_bytes(u32 room)
{
	return (u64)room * (sizeof(struct node) + sizeof(u32));
}

static u64 bytes_of(const struct stacks *s)
{
	return nodes_bytes(s->room) + (u64)s->ids_room * sizeof(struct entry);
}

static void start(struct stacks *s)
{
	s->room = FIRST_NODES;
	s->nodes = must(calloc(s->room, sizeof(*s->nodes)));
	s->chains = must(calloc(s->room, sizeof(*s->chains)));
	s->n_nodes = 1;
	s->ids_room = FIRST_IDS;
	s->ids = must(calloc(s->ids_room, sizeof(*s->ids)));
	s->n_ids = 0;
}

static void end(struct stacks *s)
{
	free(s->nodes);
	free(s->chains);
	free(s->ids);
}

struct stacks *stacks_new(u64 limit)
{
	struct stacks *s = must(calloc(1, sizeof(*s)));

	s->limit = limit;
	s->age = 1;
	start(s);
	return s;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	end(s);
	free(s);
}

/* ---- frames ---- */

static u32 mix(u64 a, u32 b)
{
	u64 h = (a ^ (u64)b << 40 ^ b) * 0x9fb21c651e98df25ull;

	return (u32)(h >> 32) ^ (u32)(h >> 17);
}

static void chain(struct stacks *s, u32 n)
{
	u32 *head = &s->chains[mix(s->nodes[n].frame, s->nodes[n].caller) & (s->room - 1)];

	s->nodes[n].next = *head;
	*head = n;
}

static bool grow_nodes(struct stacks *s)
{
	u32 room = s->room * 2;

	if (bytes_of(s) + nodes_bytes(s->room) > s->limit)
		return false;
	s->nodes = must(realloc(s->nodes, room * sizeof(*s->nodes)));
	free(s->chains);
	s->chains = must(calloc(room, sizeof(*s->chains)));
	s->room = room;
	for (u32 i = 1; i < s->n_nodes; i++)
		chain(s, i);
	return true;
}

/* The node of a frame with that caller, made when it is not there; 0 when there is no room. */
static u32 node_get(struct stacks *s, u32 caller, u64 frame)
{
	u32 n = s->chains[mix(frame, caller) & (s->room - 1)];

	while (n && (s->nodes[n].frame != frame || s->nodes[n].caller != caller))
		n = s->nodes[n].next;
	if (n)
		return n;
	if (s->n_nodes == s->room && !grow_nodes(s))
		return 0;
	n = s->n_nodes++;
	s->nodes[n] = (struct node){ .frame = frame, .caller = caller };
	chain(s, n);
	return n;
}

/* ---- stacks ---- */

/* Its entry, or the free one where it would be. */
static struct entry *entry_of(const struct stacks *s, u64 id)
{
	u32 at = mix(id, 0) & (s->ids_room - 1);

	while (s->ids[at].used && s->ids[at].id != id)
		at = (at + 1) & (s->ids_room - 1);
	return &s->ids[at];
}

static bool grow_ids(struct stacks *s)
{
	struct entry *old = s->ids;
	u32 n = s->ids_room;

	if (bytes_of(s) + (u64)n * sizeof(*old) > s->limit)
		return false;
	s->ids_room = n * 2;
	s->ids = must(calloc(s->ids_room, sizeof(*s->ids)));
	for (u32 i = 0; i < n; i++)
		if (old[i].used)
			*entry_of(s, old[i].id) = old[i];
	free(old);
	return true;
}

static bool add(struct stacks *s, const struct entry *what, const u64 *ips, u32 n)
{
	struct entry e = *what;

	if (s->n_ids >= s->ids_room / 4 * 3 && !grow_ids(s))
		return false;
	e.leaf = 0;
	while (n--) {
		e.leaf = node_get(s, e.leaf, ips[n]);
		if (!e.leaf)
			return false;
	}
	*entry_of(s, e.id) = e;
	s->n_ids++;
	return true;
}

bool stacks_put(struct stacks *s, u64 id, const struct ustack_value *v)
{
	struct entry *have = entry_of(s, id);
	struct entry e = {
		.id = id, .age = s->age, .used = 1, .flags = (u8)(v->n >> USTACK_FLAGS_SHIFT)
	};

	if (have->used) {
		have->age = s->age;
		return true;
	}
	return add(s, &e, v->ip, (u32)MIN(v->n & USTACK_N, (u64)UNIT_STACK_FRAMES));
}

bool stacks_find(const struct stacks *s, u64 id, struct ustack_value *v)
{
	const struct entry *e = entry_of(s, id);
	u32 n = 0;

	if (!e->used)
		return false;
	for (u32 at = e->leaf; at && n < UNIT_STACK_FRAMES; at = s->nodes[at].caller)
		v->ip[n++] = s->nodes[at].frame;
	v->n = n | (u64)e->flags << USTACK_FLAGS_SHIFT;
	return true;
}

void stacks_age(struct stacks *s)
{
	s->age++;
}

void stacks_sweep(struct stacks *s, bool (*keep)(void *ctx, u64 id), void *ctx)
{
	struct stacks old = *s;
	struct ustack_value v;

	start(s);
	for (u32 i = 0; i < old.ids_room; i++) {
		const struct entry *e = &old.ids[i];

		if (!e->used || ((u16)(s->age - e->age) > 1 && !keep(ctx, e->id)) ||
		    !stacks_find(&old, e->id, &v))
			continue;
		add(s, e, v.ip, (u32)(v.n & USTACK_N));
	}
	end(&old);
}

struct stacks_stat stacks_stat(const struct stacks *s)
{
	return (struct stacks_stat){ s->n_ids, s->n_nodes - 1, bytes_of(s), s->limit };
}
