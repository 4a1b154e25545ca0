/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A script of attach points alone is parsed and expanded in a world that has no other files.
 */
#include "cmd/expand_files.h"

#include <string.h>

#include "lang/parse/lang.h"
#include "world/world_linux.h"

static struct probe *expand(struct arena *a, const struct file_watch_query *f, struct world *w)
{
	struct source *source = arena_new(a, struct source);
	struct script *s = arena_new(a, struct script);
	struct diags d = { .arena = a, .source = source };
	struct config c = { .max_probes = 1024, .missing_probes = MISSING_IGNORE };

	*source = (struct source){ .name = "attach points",
		                   .text = f->text,
		                   .n = (u32)strlen(f->text) };
	*s = (struct script){ .arena = a, .source = source };
	s->request = (struct request){
		.pid = f->pid, .exact_sites = f->exact, .files = f->paths, .n_files = f->n
	};
	return parse_script(s, &d) && targets_expand(s, &c, w, &d) ? s->probes : NULL;
}

void expand_files(const struct file_watch_query *f, const struct features *features,
                  file_watch_sites_fn *each, void *ctx)
{
	struct world_linux_options machine = { .features = features };
	struct world *w = world_linux_new(&machine);
	struct arena a = { 0 };
	u32 i = 0;

	for (struct probe *p = expand(&a, f, w); p; p = p->next, i++)
		for (u32 j = 0; j < p->variants.n; j++)
			if (p->variants.v[j]->sites.n)
				each(ctx, i, p->variants.v[j]->sites.v, p->variants.v[j]->sites.n);
	world_linux_free(w);
	arena_free(&a);
}
