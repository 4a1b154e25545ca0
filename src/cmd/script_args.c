/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The options that a script declares become rows of the same kind of table as memtap's own, in
 * front of these, and one parser reads both. What the values mean is infer's business.
 */
#include "cmd/script_args.h"

#include <string.h>

/* Where the parser puts what it reads: memtap's options, then a value for each of the script's. */
struct slots {
	struct run_options own;
	struct slot {
		const char *value;
		struct opt_rest list; /* of one that may be given several times */
	} script[];
};

struct reading {
	struct job *job;
	struct slots *slots;
	u32 n_script;
	struct err *e;
};

static struct opt script_row(const struct script_option *o, u32 i)
{
	return (struct opt){
		.short_name = o->letter,
		.long_name = o->name,
		.arg = o->kind == OPTION_NUMBER ? "NUMBER"
		       : o->kind == OPTION_TEXT ? "TEXT"
		                                : NULL,
		.kind = o->kind == OPTION_BOOL ? OPT_SWITCH
		        : o->many              ? OPT_LIST
		                               : OPT_TEXT,
		.off = offsetof(struct slots, script) + i * sizeof(struct slot) +
		       (o->many ? offsetof(struct slot, list) : offsetof(struct slot, value)),
		.help = "",
	};
}

/* The script's options, then `more`. */
static struct opt *make_rows(struct reading *r, const struct opt *more, u32 n)
{
	struct opt *rows = arena_array(&r->job->arena, struct opt, r->n_script + n);

	for (u32 i = 0; i < r->n_script; i++)
		rows[i] = script_row(&r->job->script.options.v[i], i);
	memcpy(rows + r->n_script, more, n * sizeof(*more));
	return rows;
}

static bool parse_part(struct reading *r, const struct opt *more, u32 n_more, const char **v, u32 n,
                       struct opt_rest *params)
{
	struct arena *a = &r->job->arena;
	char **argv = arena_array(a, char *, n + 1);

	memcpy(argv + 1, v, n * sizeof(*v)); /* the parser skips the name of what is called */
	return opt_parse(make_rows(r, more, n_more), r->n_script + n_more, r->slots, a, (int)n + 1,
	                 argv, params, r->e);
}

/* Before "--". */
static bool parse_all(struct reading *r, const char **v, u32 n, struct opt_rest *params)
{
	u32 n_own;
	const struct opt *own = run_options_rows(&n_own);

	return parse_part(r, own, n_own, v, n, params);
}

/* After "--". */
static bool parse_own(struct reading *r, const char **v, u32 n, struct opt_rest *params)
{
	static const struct opt more[] = {
		{ .long_name = "help", .kind = OPT_FLAG, .off = offsetof(struct slots, own.help) },
		{ .kind = OPT_PASS },
	};

	return parse_part(r, more, ARRAY_SIZE(more), v, n, params);
}

static void take_options(struct script_args *args, const struct reading *r)
{
	struct request_option *options;
	u32 n = 0;

	for (u32 i = 0; i < r->n_script; i++)
		n += 1 + r->slots->script[i].list.n;
	options = arena_array(&r->job->arena, struct request_option, n);
	for (u32 i = 0; i < r->n_script; i++) {
		const struct slot *slot = &r->slots->script[i];
		const char *name = r->job->script.options.v[i].name;

		if (slot->value)
			options[args->n_options++] = (struct request_option){ name, slot->value };
		for (u32 j = 0; j < slot->list.n; j++)
			options[args->n_options++] = (struct request_option){ name,
				                                              slot->list.v[j] };
	}
	args->options = options;
}

bool script_args_parse(struct script_args *args, struct job *j, struct run_options *o,
                       const struct opt_rest *behind, struct err *e)
{
	struct reading r = { .job = j, .n_script = j->script.options.n, .e = e };
	struct opt_rest params, more = { 0 };
	u32 end = 0, next;

	while (end < behind->n && strcmp(behind->v[end], "--") != 0)
		end++;
	next = MIN(end + 1, behind->n);
	r.slots = arena_alloc(&j->arena, sizeof(*r.slots) + r.n_script * sizeof(struct slot));
	r.slots->own = *o;
	if (!parse_all(&r, behind->v, end, &params) ||
	    !parse_own(&r, behind->v + next, behind->n - next, &more))
		return false;
	*o = r.slots->own;
	take_options(args, &r);
	args->params = arena_array(&j->arena, const char *, params.n + more.n);
	memcpy(args->params, params.v, params.n * sizeof(*params.v));
	memcpy(args->params + params.n, more.v, more.n * sizeof(*more.v));
	args->n_params = params.n + more.n;
	return true;
}

const char *script_args_option(const struct script_args *args, const char *name)
{
	for (u32 i = 0; i < args->n_options; i++)
		if (strcmp(args->options[i].name, name) == 0)
			return args->options[i].value;
	return NULL;
}
