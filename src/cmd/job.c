/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps of compiling in their order; each is one function of lang/ or gen/.
 */
#include "cmd/job.h"

#include <string.h>

#include "base/clock.h"
#include "cmd/tools.h"
#include "view/views.h"
#include "gen/gen.h"

void job_init(struct job *j, struct world *w)
{
	memset(j, 0, sizeof(*j));
	j->world = w;
	j->diags.arena = &j->arena;
	j->diags.source = &j->source;
	j->script.arena = &j->arena;
	j->script.trees = &j->trees;
	j->script.source = &j->source;
	j->script.library = tools_library;
}

void job_free(struct job *j)
{
	unit_free(j->unit);
	arena_free(&j->trees);
	arena_free(&j->arena);
}

void job_shed(struct job *j)
{
	arena_free(&j->trees);
	j->script.probes = NULL;
	j->script.config = NULL;
	j->script.map_decls = NULL;
	j->script.macros = NULL;
}

void job_headers(struct job *j, const struct opt_rest *dirs, const struct opt_rest *files)
{
	j->script.headers = (struct headers){ dirs->v, files->v, dirs->n, files->n };
}

bool job_packed(struct job *j, const char *name, struct str text, struct err *e)
{
	j->script.is_packed = true;
	if (!source_set(&j->source, &j->arena, name, text, e))
		return false;
	j->source.hidden = true;
	return true;
}

const char *job_stage_name(enum stage stage)
{
	static const char *const names[] = {
		[STAGE_TREE] = "parse",
		[STAGE_SITES] = "expand",
		[STAGE_TYPES] = "types",
		[STAGE_UNIT] = "emit",
	};

	return names[stage];
}

static bool parse(struct job *j)
{
	j->script.follow_imports = true;
	if (!parse_script(&j->script, &j->diags))
		return false;
	script_options_read(&j->script);
	return config_read(&j->config, &j->script, &j->diags);
}

static bool expand(struct job *j)
{
	return config_options(&j->config, &j->script, &j->diags) &&
	       targets_expand(&j->script, &j->config, j->world, &j->diags);
}

static bool infer(struct job *j)
{
	return infer_script(&j->script, &j->config, j->world, &j->diags);
}

static bool emit(struct job *j)
{
	j->unit = unit_new();
	return gen_script(j->unit, &j->script, &j->config, j->world, &j->diags);
}

bool job_compile(struct job *j, enum stage last, bool helper_errors)
{
	static bool (*const steps[N_STAGES])(struct job * j) = {
		[STAGE_TREE] = parse,
		[STAGE_SITES] = expand,
		[STAGE_TYPES] = infer,
		[STAGE_UNIT] = emit,
	};

	for (; j->n_done <= (u32)last; j->n_done++) {
		u64 start = clock_ns(CLOCK_MONOTONIC);

		if (!steps[j->n_done](j))
			return false;
		j->ns[j->n_done] = clock_ns(CLOCK_MONOTONIC) - start;
		j->config.helper_errors = helper_errors;
	}
	j->config.helper_errors = helper_errors;
	return true;
}

bool job_view(const struct job *j, const struct view_kind **kind, struct err *e)
{
	*kind = NULL;
	for (const struct config_item *c = j->script.config; c; c = c->next) {
		if (!str_is(c->name, "view") || c->value->kind != NODE_STRING)
			continue;
		*kind = views_find(c->value->string, e);
		if (!*kind)
			return false;
	}
	return true;
}
