/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps that a script only counts in, by keys of which there may be any number: a stack, or a text
 * longer than the name of a process; and those that are filled with interrupts off, when the
 * kernel has memory for one new key or two at a time, with cells too large to be allocated
 * beforehand: histograms. Such a map is emptied as it fills, and its rows are merged
 * outside of the kernel, so that it takes as many keys as there is memory for. That needs two
 * generations (infer_take.c); what reads the map in a program, or takes keys away, would see a part
 * of it only, so then it stays whole.
 */
#include "lang/infer/infer.h"

#include <string.h>

#define SHORT_TEXT 16u /* comm */
#define SMALL_CELL 64u /* bytes: more for each key and CPU are not allocated beforehand */

struct uses {
	u32 *all, *known; /* by map: how often it is named, and in ways that may be */
	bool known_here;  /* prints and the like: not in a pinned iterator */
};

static bool is_long(const struct type *t)
{
	bool found = type_is_stack(t) || t->kind == TYPE_BUF ||
	             (t->kind == TYPE_STR && t->size > SHORT_TEXT);

	for (u32 i = 0; t->kind == TYPE_TUPLE && i < t->n_fields && !found; i++)
		found = is_long(t->fields[i].type);
	return found;
}

static bool is_wanted(const struct map_sym *m)
{
	bool large = type_cell(m->value) > SMALL_CELL;

	return !m->taken && !m->bpf_type && m->key && type_is_agg(m->value) &&
	       m->value->kind != TYPE_TSERIES &&
	       (is_long(m->key) || (large && (m->hurried || m->many_at_once)));
}

/* print(@m), print(@m[k]), clear(@m), zero(@m), heading(@m, ...): done in user space. */
static const struct node *shown(const struct node *n)
{
	bool found = n->kind == NODE_CALL && n->call.f &&
	             (n->call.f->id == FUNC_PRINT || n->call.f->id == FUNC_CLEAR ||
	              n->call.f->id == FUNC_ZERO || n->call.f->id == FUNC_HEADING);

	return found && n->call.args && n->call.args->kind == NODE_MAP ? n->call.args : NULL;
}

static bool count_use(void *ctx, struct node *n)
{
	struct uses *u = ctx;
	const struct node *map = shown(n);

	if (n->kind == NODE_MAP)
		u->all[n->map.sym->index]++;
	if (n->kind == NODE_ASSIGN && n->assign.to->kind == NODE_MAP && infer_is_agg(n->assign.e))
		map = n->assign.to;
	if (map && u->known_here)
		u->known[map->map.sym->index]++;
	return true;
}

/* System calls are entered and left, and processes begin and end, with interrupts on. */
bool infer_is_calm(const struct variant *v)
{
	static const char *const events[] = { "syscalls:", "raw_syscalls:", "sched:sched_process_",
		                              "sched_process_" };
	bool all = (v->kind == ATTACH_TRACEPOINT || v->kind == ATTACH_RAWTP) && v->sites.n;

	if (attach_kind_has(v->kind, KIND_CALM))
		return true;
	for (u32 i = 0; i < v->sites.n; i++) {
		const char *event = v->sites.v[i].event;
		bool known = false;

		for (u32 k = 0; all && k < ARRAY_SIZE(events); k++)
			known |= strncmp(event, events[k], strlen(events[k])) == 0;
		all &= known;
	}
	return all;
}

void infer_drain(struct infer *in)
{
	u32 n = in->script->maps.n;
	struct uses u = { .all = arena_array(in->arena, u32, n + 1),
		          .known = arena_array(in->arena, u32, n + 1) };

	for (struct probe *p = in->script->probes; p; p = p->next) {
		for (u32 i = 0; i < p->variants.n; i++) {
			struct variant *v = p->variants.v[i];

			if (v->ruled_out || !v->sites.n)
				continue;
			in->script->hurried |= !infer_is_calm(v);
			u.known_here = !attach_kind_has(v->kind, KIND_READ);
			if (v->pred)
				ast_walk(v->pred, count_use, &u);
			ast_walk(v->body, count_use, &u);
		}
	}
	for (u32 i = 0; i < n; i++)
		if (is_wanted(in->script->maps.v[i]) && u.all[i] == u.known[i])
			in->script->maps.v[i]->taken = 1 + n + i; /* by itself */
}
