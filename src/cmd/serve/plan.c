/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A mistake does not end the reading: all are told at once. */
#include "cmd/serve/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/near.h"
#include "cmd/serve/yamlfile.h"

#define MOST_BYTES (1u << 20)

struct reader {
	struct plan *plan;
	const char *path;
	const char *folder; /* of the file, "" or with a slash: where scripts are looked for */
};

/* A key of a map, and what reads its value to `off` of the caller's struct. */
struct key {
	const char *name;
	bool (*read)(struct reader *r, const struct yamlnode *n, void *to);
	size_t off;
};

/* Keeps what is wrong with a node; false. */
static bool wrong(struct reader *r, const struct yamlnode *n, struct err *e)
{
	struct plan *p = r->plan;

	err_wrap(e, "%s:%u:%u", r->path, n->line, n->column);
	if (p->mistakes.n < PLAN_MISTAKES)
		vec_add(&p->arena, &p->mistakes, *e);
	return false;
}

static bool expected(struct reader *r, const struct yamlnode *n, const char *what)
{
	struct err e = { 0 };

	err_set(&e, "expected %s", what);
	return wrong(r, n, &e);
}

/* ---- values ---- */

static bool read_text(struct reader *r, const struct yamlnode *n, void *to)
{
	const char **text = to;

	if (n->kind != YAMLNODE_TEXT || !*n->text)
		return expected(r, n, "a text");
	*text = n->text;
	return true;
}

static bool read_number(struct reader *r, const struct yamlnode *n, void *to)
{
	u32 *number = to;
	char *end = NULL;
	u64 value = 0;

	if (n->kind == YAMLNODE_TEXT && !n->is_quoted && *n->text >= '0' && *n->text <= '9')
		value = strtoull(n->text, &end, 10);
	if (!end || *end || !value || value > INT32_MAX)
		return expected(r, n, "a number from 1 to 2147483647");
	*number = (u32)value;
	return true;
}

static bool read_bool(struct reader *r, const struct yamlnode *n, void *to)
{
	bool *flag = to, is_plain = n->kind == YAMLNODE_TEXT && !n->is_quoted;

	if (!is_plain || (strcmp(n->text, "true") != 0 && strcmp(n->text, "false") != 0))
		return expected(r, n, "true or false");
	*flag = n->text[0] == 't';
	return true;
}

/* ---- maps ---- */

static bool unknown_key(struct reader *r, const struct yamlnode *n, const struct key *keys,
                        u32 n_keys)
{
	struct near near;
	struct err e = { 0 };

	near_init(&near, n->text);
	for (u32 i = 0; i < n_keys; i++)
		near_offer(&near, keys[i].name);
	err_set(&e, "there is no key '%s' here", n->text);
	if (near_best(&near))
		err_hint(&e, "did you mean '%s'?", near_best(&near));
	return wrong(r, n, &e);
}

static bool read_key(struct reader *r, const struct yamlnode *name, const struct yamlnode *value,
                     const struct key *keys, u32 n_keys, u32 *seen, void *to)
{
	struct err e = { 0 };

	if (name->kind != YAMLNODE_TEXT)
		return expected(r, name, "the name of a key");
	for (u32 i = 0; i < n_keys; i++) {
		if (strcmp(name->text, keys[i].name) != 0)
			continue;
		if (*seen & 1u << i) {
			err_set(&e, "the key '%s' is there twice", name->text);
			return wrong(r, name, &e);
		}
		*seen |= 1u << i;
		return keys[i].read(r, value, (char *)to + keys[i].off);
	}
	return unknown_key(r, name, keys, n_keys);
}

/* *seen: the keys that are there, a bit each. */
static bool read_map(struct reader *r, const struct yamlnode *n, const struct key *keys, u32 n_keys,
                     u32 *seen, void *to)
{
	bool ok = true;

	*seen = 0;
	for (u32 i = 0; i < n->n; i += 2)
		ok &= read_key(r, n->kids[i], n->kids[i + 1], keys, n_keys, seen, to);
	return ok;
}

/* ---- collectors ---- */

struct entry {
	const char *run, *name;
	u32 max_series;
};

#define TO(member) offsetof(struct entry, member)
static const struct key entry_keys[] = {
	{ "run", read_text, TO(run) },
	{ "name", read_text, TO(name) },
	{ "max_series", read_number, TO(max_series) },
};
#undef TO

/* The short form is a text, what `run` is in the long one. */
static bool read_entry(struct reader *r, const struct yamlnode *n, struct entry *entry,
                       const struct yamlnode **place)
{
	u32 seen;

	*place = n;
	if (n->kind != YAMLNODE_MAP)
		return n->kind == YAMLNODE_TEXT ? read_text(r, n, &entry->run)
		                                : expected(r, n, "a collector");
	if (!read_map(r, n, entry_keys, ARRAY_SIZE(entry_keys), &seen, entry))
		return false;
	if (!entry->run)
		return expected(r, n, "the key 'run'");
	for (u32 i = 0; i < n->n; i += 2)
		if (strcmp(n->kids[i]->text, "run") == 0)
			*place = n->kids[i + 1];
	return true;
}

static bool read_collectors(struct reader *r, const struct yamlnode *n, void *to)
{
	struct plan *p = to;
	bool ok = true;

	if (n->kind != YAMLNODE_LIST)
		return expected(r, n, "a list of collectors");
	for (u32 i = 0; i < n->n; i++) {
		struct entry entry = { 0 };
		const struct yamlnode *place;
		struct collector one;
		struct err e = { 0 };

		if (!read_entry(r, n->kids[i], &entry, &place)) {
			ok = false;
		} else if (!collector_init(&one, &p->arena, r->folder, entry.run, &e)) {
			ok = wrong(r, place, &e);
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

/* The usual ones, and what all must have: a name of its own, a number of series. */
bool plan_complete(struct plan *p, struct err *e)
{
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

enum { LISTEN, MAX_SERIES, IDLE, RESTART, LOOK, DEFAULTS, COLLECTORS };

#define TO(member) offsetof(struct plan, member)
static const struct key keys[] = {
	[LISTEN] = { "listen", read_text, TO(listen) },
	[MAX_SERIES] = { "max_series", read_number, TO(max_series) },
	[IDLE] = { "idle", read_number, TO(idle) },
	[RESTART] = { "restart", read_number, TO(restart) },
	[LOOK] = { "look", read_number, TO(look) },
	[DEFAULTS] = { "defaults", read_bool, TO(defaults) },
	[COLLECTORS] = { "collectors", read_collectors, 0 },
};
#undef TO

static bool read_root(struct reader *r, const struct yamlnode *root)
{
	struct plan *p = r->plan;
	u32 seen;
	bool ok;

	if (root->kind != YAMLNODE_MAP)
		return expected(r, root,
		                "a map: listen, max_series, defaults, collectors and others");
	ok = read_map(r, root, keys, ARRAY_SIZE(keys), &seen, p);
	if (seen & 1u << COLLECTORS && !(seen & 1u << DEFAULTS))
		p->defaults = false;
	return ok;
}

static bool parse(struct reader *r, struct str text, struct err *e)
{
	struct yamlnode *root = yamlfile_parse(&r->plan->arena, r->path, text, e);

	return root ? read_root(r, root) : !*e->text;
}

bool plan_read(struct plan *p, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
	struct reader r = { p, path, arena_strndup(&p->arena, path, folder) };
	struct buf text = { 0 };
	bool ok = file_read_regular(path, &text, MOST_BYTES, e) &&
	          parse(&r, (struct str){ buf_text(&text), (u32)text.n }, e);

	buf_free(&text);
	return ok;
}
