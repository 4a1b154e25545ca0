/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps of compiling in their order; each is one function of lang/ or gen/.
 */
#include "cmd/job.h"

#include <string.h>

#include "gen/gen.h"

void job_init(struct job *j, struct world *w)
{
	memset(j, 0, sizeof(*j));
	j->world = w;
	j->diags.arena = &j->arena;
	j->diags.source = &j->source;
	j->script.arena = &j->arena;
	j->script.source = &j->source;
}

void job_free(struct job *j)
{
	unit_free(j->unit);
	arena_free(&j->arena);
}

bool job_compile(struct job *j, enum stage last, bool helper_errors)
{
	if (!parse_script(&j->script, &j->diags) || !config_read(&j->config, &j->script, &j->diags))
		return false;
	j->config.helper_errors = helper_errors;
	if (last >= STAGE_SITES && !targets_expand(&j->script, &j->config, j->world, &j->diags))
		return false;
	if (last >= STAGE_TYPES && !infer_script(&j->script, &j->config, j->world, &j->diags))
		return false;
	if (last < STAGE_UNIT)
		return true;
	j->unit = unit_new();
	return gen_script(j->unit, &j->script, &j->config, j->world, &j->diags);
}
