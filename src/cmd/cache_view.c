/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which server a tool is about when none is named: the only one there is. And how a script hands its
 * options on to a view: as a record with their names.
 */
#include "view/cache_view.h"

#include <string.h>

static bool list_them(struct arena *a, const server_list *list, struct err *e)
{
	struct buf b = { 0 };

	err_set(e, "there are %u cache servers here; say which one:", list->n);
	for (u32 i = 0; i < list->n; i++)
		buf_printf(&b, "%s-p %u is %s", i ? "\n      " : "", list->v[i].pid,
		           server_describe(a, &list->v[i]));
	err_hint(e, "%s", buf_text(&b));
	buf_free(&b);
	return false;
}

/* Of `what`, which is told when there is none. */
static bool the_only_one(struct arena *a, const server_list *list, const char *what, u32 *pid,
                         struct err *e)
{
	if (list->n > 1)
		return list_them(a, list, e);
	if (!list->n) {
		err_set(e, "no %s server listens here", what);
		return err_hint(e, "start one, or name the process with -p PID");
	}
	*pid = list->v[0].pid;
	return true;
}

bool cache_view_find(struct arena *a, u32 *pid, struct err *e)
{
	server_list list = { 0 };

	servers_find(a, &list);
	return the_only_one(a, &list, "memcached, Redis or Valkey", pid, e);
}

bool cache_view_find_kind(struct arena *a, const struct item_kind *kind, u32 *pid, struct err *e)
{
	server_list all = { 0 }, some = { 0 };

	servers_find(a, &all);
	for (u32 i = 0; i < all.n; i++)
		if (item_of(all.v[i].name) == kind)
			vec_add(a, &some, all.v[i]);
	return the_only_one(a, &some, kind->name, pid, e);
}

u64 cache_view_number(const struct urecord *r, const u8 *bytes, const char *name)
{
	const struct field *f = view_field(r, name);
	u64 value = 0;

	if (f)
		memcpy(&value, bytes + f->off, 8);
	return value;
}

const char *cache_view_text(struct arena *a, const struct urecord *r, const u8 *bytes,
                            const char *name)
{
	const struct field *f = view_field(r, name);

	if (!f || f->type->kind != TYPE_STR)
		return "";
	return arena_strndup(a, (const char *)bytes + f->off,
	                     strnlen((const char *)bytes + f->off, f->type->size));
}

static const struct {
	const char *name, *note; /* NULL: nothing to be said */
} ways[] = {
	{ "syscalls", NULL },
	{ "ssl", NULL },
	{ "usdt",
	  "by USDT probes latencies are not known; increments, decrements and deletes are seen\n"
	  "      where the key was found, mg where it was not, touch hardly: mctop --help" },
	{ "uprobe",
	  "by lookupKey each look for a key counts, whatever the command; latencies, sizes and\n"
	  "      clients are not known" },
};

bool cache_view_via(const char *via, const struct view_of *of, struct err *e)
{
	for (u32 i = 0; i < ARRAY_SIZE(ways); i++) {
		if (strcmp(via, ways[i].name) != 0)
			continue;
		if (ways[i].note)
			view_say(of, ways[i].note);
		return true;
	}
	err_set(e, "commands can not be taken by '%s'", via);
	return err_hint(e, "syscalls, usdt, ssl or uprobe");
}
