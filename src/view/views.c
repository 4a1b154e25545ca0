/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of views. */
#include "view/views.h"

/* Printed as other scripts are; what is different comes before and after (cmd/heap_target.h). */
const struct view_kind view_heap = { .name = "heap" };

static const struct view_kind *const kinds[] = { &view_hot, &view_commands, &view_heap };

const struct view_kind *views_find(struct str name, struct err *e)
{
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_is(name, kinds[i]->name))
			return kinds[i];
	err_set(e, "there is no view '%.*s'", (int)name.n, name.p);
	err_hint(e, "there are: hot, commands, heap");
	return NULL;
}
