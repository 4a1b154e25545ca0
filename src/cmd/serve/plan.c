/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/plan.h"

#include <stdio.h>
#include <string.h>

#include "cmd/serve/webfile.h"

/* ---- collectors ---- */

struct entry {
	const char *run, *name;
	u32 max_series;
};

#define TO(member) offsetof(struct entry, member)
static const struct yamlkey entry_keys[] = {
	{ "run", yamlkeys_text, TO(run) },
	{ "name", yamlkeys_text, TO(name) },
	{ "max_series", yamlkeys_number, TO(max_series) },
};
#undef TO

/* The short form is a text, what `run` is in the long one. */
static bool read_entry(struct yamlkeys *r, const struct yamlnode *n, struct entry *entry,
                       const struct yamlnode **place)
{
	u32 seen;

	*place = n;
	if (n->kind != YAMLNODE_MAP)
		return n->kind == YAMLNODE_TEXT ? yamlkeys_text(r, n, &entry->run)
		                                : yamlkeys_expected(r, n, "a collector");
	if (!yamlkeys_map(r, n, entry_keys, ARRAY_SIZE(entry_keys), &seen, entry))
		return false;
	if (!entry->run)
		return yamlkeys_expected(r, n, "the key 'run'");
	for (u32 i = 0; i < n->n; i += 2)
		if (strcmp(n->kids[i]->text, "run") == 0)
			*place = n->kids[i + 1];
	return true;
}

static bool read_collectors(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	struct plan *p = to;
	bool ok = true;

	if (n->kind != YAMLNODE_LIST)
		return yamlkeys_expected(r, n, "a list of collectors");
	for (u32 i = 0; i < n->n; i++) {
		struct entry entry = { 0 };
		const struct yamlnode *place;
		struct collector one;
		struct err e = { 0 };

		if (!read_entry(r, n->kids[i], &entry, &place)) {
			ok = false;
		} else if (!collector_init(&one, &p->arena, r->folder, entry.run, &e)) {
			ok = yamlkeys_wrong(r, place, &e);
		} else {
			one.name = entry.name ? entry.name : one.name;
			one.max_series = entry.max_series;
			vec_add(&p->arena, &p->collectors, one);
		}
	}
	return ok;
}

/* ---- all of them ---- */

static bool add(struct plan *p, const char *text, struct err *e)
{
	struct collector one;

	if (!collector_init(&one, &p->arena, "", text, e))
		return false;
	vec_add(&p->arena, &p->collectors, one);
	return true;
}

static bool has_name(const struct plan *p, u32 n, const char *name)
{
	for (u32 i = 0; i < n; i++)
		if (strcmp(p->collectors.v[i].name, name) == 0)
			return true;
	return false;
}

/* Who may ask; the usual ones, and what all must have: a name of its own, a number of series. */
bool plan_complete(struct plan *p, struct err *e)
{
	p->guard = arena_new(&p->arena, struct guard);
	if (!otlp_to_complete(&p->otlp, &p->arena, e))
		return false;
	if (p->web && !webfile_read(p->guard, &p->arena, p->web, &p->mistakes, e))
		return false;
	if (p->defaults && !add(p, "lib/machine.bt", e))
		return false;
	for (u32 i = 0; i < p->collectors.n; i++) {
		struct collector *one = &p->collectors.v[i];
		const char *name = one->name;

		for (u32 k = 2; has_name(p, i, one->name); k++)
			one->name = arena_printf(&p->arena, "%s_%u", name, k);
		if (!one->max_series)
			one->max_series = p->max_series;
		one->idle = p->idle;
		one->restart = p->restart;
	}
	return true;
}

bool plan_named(struct plan *p, const char *const *text, u32 n, struct err *e)
{
	for (u32 i = 0; i < n; i++)
		if (!add(p, text[i], e))
			return false;
	p->defaults = !n;
	return true;
}

/* ---- the file ---- */

enum { LISTEN, WEB, MAX_SERIES, IDLE, RESTART, LOOK, OTLP, DEFAULTS, COLLECTORS };

#define TO(member) offsetof(struct plan, member)
static const struct yamlkey keys[] = {
	[LISTEN] = { "listen", yamlkeys_text, TO(listen) },
	[WEB] = { "web", yamlkeys_path, TO(web) },
	[MAX_SERIES] = { "max_series", yamlkeys_number, TO(max_series) },
	[IDLE] = { "idle", yamlkeys_number, TO(idle) },
	[RESTART] = { "restart", yamlkeys_number, TO(restart) },
	[LOOK] = { "look", yamlkeys_number, TO(look) },
	[OTLP] = { "otlp", otlp_to_read, TO(otlp) },
	[DEFAULTS] = { "defaults", yamlkeys_bool, TO(defaults) },
	[COLLECTORS] = { "collectors", read_collectors, 0 },
};
#undef TO

static bool read_root(struct yamlkeys *r, const struct yamlnode *root)
{
	struct plan *p = r->owner;
	u32 seen;
	bool ok;

	if (root->kind != YAMLNODE_MAP)
		return yamlkeys_expected(
			r, root, "a map: listen, max_series, defaults, collectors and others");
	ok = yamlkeys_map(r, root, keys, ARRAY_SIZE(keys), &seen, p);
	if (seen & 1u << COLLECTORS && !(seen & 1u << DEFAULTS))
		p->defaults = false;
	return ok;
}

bool plan_read(struct plan *p, const char *path, struct err *e)
{
	struct yamlkeys r = { .arena = &p->arena, .mistakes = &p->mistakes, .owner = p };

	return yamlkeys_file(&r, path, read_root, e);
}
