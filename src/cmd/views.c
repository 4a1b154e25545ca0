/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of views. */
#include "view/views.h"

#include <string.h>

#include "cmd/job.h"

static const struct view_kind *const kinds[] = { &view_hot, &view_commands };

bool views_find(const struct job *j, const struct view_kind **kind, struct err *e)
{
	*kind = NULL;
	for (const struct config_item *c = j->script.config; c; c = c->next) {
		if (!str_is(c->name, "view") || c->value->kind != NODE_STRING)
			continue;
		for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
			if (str_is(c->value->string, kinds[i]->name))
				*kind = kinds[i];
		if (!*kind) {
			err_set(e, "there is no view '%.*s'", (int)c->value->string.n,
			        c->value->string.p);
			return err_hint(e, "there are: hot, commands");
		}
	}
	return true;
}
