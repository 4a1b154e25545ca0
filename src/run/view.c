/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a view can ask of its session; see view.h. */
#include "run/view.h"

#include <malloc.h>
#include <string.h>

#include "run/event.h"

s32 view_map(const struct view_of *v, const char *name)
{
	for (u32 i = 0; i < v->unit->maps.n; i++)
		if (v->unit->maps.v[i].role == UMAP_USER &&
		    strcmp(v->unit->maps.v[i].name, name) == 0)
			return (s32)i;
	return -1;
}

bool view_map_read(const struct view_of *v, const char *name, struct arena *a, struct table *t,
                   struct err *e)
{
	s32 map = view_map(v, name);
	*t = (struct table){ 0 };
	if (map < 0)
		return true;
	table_init(t, a, v->unit, &v->unit->maps.v[map]);
	return taken_look(&v->events->taken, (u32)map, t, e);
}

u64 view_number(const struct urecord *r, const u8 *bytes, u32 i)
{
	u64 n;

	memcpy(&n, bytes + r->args[i].off, sizeof(n));
	return n;
}

const struct field *view_field(const struct urecord *r, const char *name)
{
	for (u32 i = 0; i < r->n_args; i++)
		if (r->args[i].name && strcmp(r->args[i].name, name) == 0)
			return &r->args[i];
	return NULL;
}

void view_exit(const struct view_of *v, int code)
{
	v->events->exit_code = (u8)code;
	v->events->exit_called = v->events->exiting = true;
}

bool view_map_set(const struct view_of *v, const char *name, const void *key, const void *value)
{
	static const u32 first;
	s32 map = view_map(v, name);
	struct err ignored = { 0 };

	return map >= 0 && live_map_put(v->live, (u32)map, key ? key : &first, value, &ignored);
}

bool view_map_delete(const struct view_of *v, const char *name, const void *key)
{
	s32 map = view_map(v, name);

	return map >= 0 && taken_remove(&v->events->taken, (u32)map, key);
}

u64 view_lost(const struct view_of *v)
{
	return live_data(v->live, UDATA_LOST) + live_data(v->live, UDATA_BUSY) +
	       v->events->n_dropped;
}

void view_wait(const struct view_of *v)
{
	stop_wait(v->events->stop);
}

void view_waited(const struct view_of *v)
{
	stop_waited(v->events->stop);
}

void view_rest(const struct view_of *v)
{
	if (v->events->sym)
		sym_rest(v->events->sym);
	malloc_trim(0);
}

void view_say(const struct view_of *v, const char *text)
{
	event_report(v->events, REPORT_NOTE, NULL, text);
}
