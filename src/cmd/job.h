/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One script on its way from text to unit, with all that it needs and leaves behind.
 */
#ifndef CMD_JOB_H
#define CMD_JOB_H

#include "base/opt.h"
#include "lang/parse/lang.h"
#include "sym/sym.h"

struct view_kind;

enum stage {
	STAGE_TREE,  /* parsed, settings read */
	STAGE_SITES, /* attach points expanded */
	STAGE_TYPES,
	STAGE_UNIT,
	N_STAGES,
};

struct job {
	struct arena arena, trees;
	struct source source; /* set before job_compile */
	struct diags diags;
	struct script script;
	struct config config;
	struct world *world;    /* borrowed; not needed before STAGE_SITES */
	struct unit *unit;      /* after STAGE_UNIT */
	u64 ns[N_STAGES];       /* what each stage took */
	u32 n_done;             /* stages after us */
	struct sym_graft graft; /* session_options.graft */
	bool at_entry;          /* the command of -c stands there: its libraries are mapped */
};

void job_init(struct job *j, struct world *w);
void job_free(struct job *j);
/* -I and --include; the lists are kept. */
void job_headers(struct job *j, const struct opt_rest *dirs, const struct opt_rest *files);
/* The source is a text of the program itself: what it imports is looked for there only, and what is
 * wrong is reported without its place in it, unless j->source.hidden is made false. */
bool job_packed(struct job *j, const char *name, struct str text, struct err *e);
/* Compiles as far as `last`, from where it was left. False when there are errors in j->diags.
 * `helper_errors` is -k. */
bool job_compile(struct job *j, enum stage last, bool helper_errors);

/* The view that the parsed script names. True and *kind NULL: it names none. False and *e: there is
 * no such view. */
bool job_view(const struct job *j, const struct view_kind **kind, struct err *e);

/* What only the compiler needs goes: nodes of the script, which are most. After job_view(). */
void job_shed(struct job *j);

const char *job_stage_name(enum stage stage);

#endif
