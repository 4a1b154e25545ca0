/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names in an ELF object. Section names are those of libbpf's table ("Program Types and ELF
 * Sections" in the kernel's documentation); what it has no words for is left out of them: how
 * often a perf event or a timer fires, what a watchpoint looks at.
 */
#include "unit/object_names.h"

#include <ctype.h>
#include <string.h>

#define NAME_BYTES 100u /* the kernel takes 127 */

static const char *of_kernel(struct arena *a, const struct usite *s)
{
	const char *function = s->event ? strchr(s->event, ':') : NULL;

	if (!s->event)
		return arena_printf(a, "0x%llx", (unsigned long long)s->offset);
	function = function ? function + 1 : s->event;
	if (!s->offset)
		return function;
	return arena_printf(a, "%s+0x%llx", function, (unsigned long long)s->offset);
}

/* "group:name" as "group/name". */
static const char *of_event(struct arena *a, const struct usite *s)
{
	char *text = arena_strdup(a, s->event);

	for (char *p = text; *p; p++)
		if (*p == ':')
			*p = '/';
	return text;
}

static bool is_symbol(const char *z)
{
	if (!isalpha((u8)*z) && *z != '_')
		return false;
	for (; *z; z++)
		if (!isalnum((u8)*z) && !strchr("_.+", *z))
			return false;
	return true;
}

/* What stands after the path in "uprobe:PATH:FUNCTION". */
static const char *user_function(const struct usite *s)
{
	const char *at = strstr(s->name, s->path);
	size_t n = strlen(s->path);

	if (at && n && at[n] == ':')
		return at + n + 1;
	at = strrchr(s->name, ':');
	return at ? at + 1 : s->name;
}

static const char *of_file_offset(struct arena *a, const struct usite *s)
{
	return arena_printf(a, "%s:0x%llx", s->path, (unsigned long long)s->offset);
}

static const char *of_user(struct arena *a, const struct usite *s)
{
	const char *function = user_function(s);

	if (!is_symbol(function))
		return of_file_offset(a, s);
	if (!s->moved)
		return arena_printf(a, "%s:%s", s->path, function);
	return arena_printf(a, "%s:%s+0x%x", s->path, function, s->moved);
}

struct section {
	const char *kind;
	const char *(*place)(struct arena *a, const struct usite *s); /* NULL: the kind is all */
};

/* Programs without a place are run by hand; libbpf loads such a "raw_tracepoint". */
static const struct section sections[] = {
#define K(id, name, section, place, ...) [ATTACH_##id] = { section, place },
	PROBE_KINDS(K)
#undef K
};

const char *object_names_section(struct arena *a, const struct uprog *p, const struct usite *s)
{
	const struct section *sec = &sections[p->kind];

	if (!sec->place)
		return sec->kind;
	return arena_printf(a, "%s%s/%s", sec->kind, p->may_sleep ? ".s" : "", sec->place(a, s));
}

const char *object_names_func(struct arena *a, const char *name, u32 number)
{
	char *text = arena_strndup(a, name, strnlen(name, NAME_BYTES));

	for (char *p = text; *p; p++)
		if (!isalnum((u8)*p))
			*p = '_';
	return arena_printf(a, "%s_%u", text, number);
}

const char *object_names_map(struct arena *a, const struct umap *m)
{
	if (m->name[0] != '@')
		return m->name;
	return arena_printf(a, "AT_%.*s", (int)NAME_BYTES, m->name + 1);
}
