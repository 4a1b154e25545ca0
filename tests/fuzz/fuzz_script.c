// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Any bytes as a script, through the whole compiler: probes, names, types, programs. It is refused
 * with a diagnostic, or its programs pass the structural check and the unit can be printed. The
 * machine it asks is one made of files.
 */
#include <stdio.h>
#include <stdlib.h>

#include "interp/check.h"
#include "cmd/job.h"
#include "unit/fake_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define WORLD_RUNS 64u /* a world keeps what it was asked for; a new one every so often */

static void check(const struct unit *u)
{
	struct buf text = { 0 };

	for (u32 i = 0; i < u->progs.n; i++) {
		const struct uprog *p = &u->progs.v[i];
		struct err e;
		u32 at;

		if (!check_insns(p->insns, p->n_insns, u->maps.n, &at, &e)) {
			fprintf(stderr, "%s: instruction %u: %s\n", p->name, at, e.text);
			abort();
		}
	}
	unit_print(&text, u);
	buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct fake_world world;
	static u32 runs;
	struct buf text = { 0 };
	struct job job;
	struct err e;

	if (runs++ % WORLD_RUNS == 0) {
		if (runs > 1)
			fake_world_free(&world);
		fake_world_init(&world);
	}
	job_init(&job, &world.world);
	if (source_set(&job.source, &job.arena, "stdin", (struct str){ (const char *)p, (u32)n },
	               &e)) {
		if (job_compile(&job, STAGE_UNIT, true))
			check(job.unit);
		else if (!job.diags.n_errors)
			abort();
		diag_print(&text, &job.diags, false);
	}
	buf_free(&text);
	job_free(&job);
	return 0;
}
