/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap doctor`: which tools run on this machine, from which events, and what the others lack.
 *
 * Nothing here knows a tool or an event: each tool's script is compiled, its programs are loaded,
 * its BEGIN is run and its probes are attached for a moment, as running it would, and what is said
 * of that is the answer. A tool's command line is not there, so its options have their defaults.
 * Most of the time is the kernel's, which checks programs and waits for detached ones to end, so
 * that several tools are tried at a time, each in a process of its own.
 */
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/opt.h"
#include "cmd/job.h"
#include "cmd/run_options.h"
#include "cmd/say.h"
#include "cmd/tools.h"
#include "view/views.h"
#include "cmd/workers.h"
#include "kern/live.h"
#include "out/out.h"
#include "world/world_linux.h"

#define NAME_WIDTH 13
#define LINE_WIDTH 80u /* of text without -v, when one source fits */
#define MORE_WIDTH 12u /* " and 16 more" */
/* Tried at a time: one for each processor, and more, since they wait; each takes some memory. */
#define TRIED_LEAST 4u
#define TRIED_MOST  8u

struct options {
	const char *format;
	const struct out_ops *out; /* what both choose */
	bool json, verbose, help;
};

#define TO(member) offsetof(struct options, member)

static const struct opt rows[] = {
	{ 'f', "format", OUT_FORMAT_NAMES, OPT_CHOICE, TO(format), "how to print (text)" },
	{ 0, "json", NULL, OPT_FLAG, TO(json), "the same as -f json" },
	{ 'v', "verbose", NULL, OPT_FLAG, TO(verbose),
	  "all events of a tool, and those it would rather have" },
	{ 'h', "help", NULL, OPT_FLAG, TO(help), "print this" },
};

static const char usage_head[] =
	"Says which tools run on this machine, from which events, and what the others lack.\n"
	"Each is started for a moment, with its options' defaults.\n"
	"The exit code is 0 when all run, else 1.\n"
	"\n"
	"  memtap doctor [options] [TOOL...]\n"
	"\n"
	"Options:\n";

struct doctor {
	const struct options *options;
	VEC(const char *) names; /* of the tools to try */
	struct arena arena;
	u32 n_bad;
};

/* What is known of a tool once it was tried. */
struct finding {
	struct job *job;
	const char *problem, *hint; /* problem NULL: it runs */
	const char *wants; /* what is not there now and is no lack of the machine; or NULL */
	VEC(const char *) sources; /* names of the probes that events come from */
};

/* ---- trying --------------------------------------------------------------------------------- */

/* Those that memtap runs by itself, and timers, are there on any machine. */
static bool is_event(const struct uprog *p)
{
	return !attach_kind_has(p->kind, KIND_OWN | KIND_TIMER);
}

/* The sources are those that could be attached. False: there are some, and none could. */
static bool find_sources(struct finding *f, const struct live *live)
{
	struct job *j = f->job;
	bool wanted = false;

	for (u32 i = 0; i < j->unit->progs.n; i++) {
		const struct uprog *p = &j->unit->progs.v[i];

		wanted |= is_event(p);
		if (is_event(p) && live_attached_by(live, i).sites)
			vec_add(&j->arena, &f->sources, p->name);
	}
	return f->sources.n || !wanted;
}

/* The first that is refused says why, should all be. */
static void note_refused(void *ctx, struct loc loc, const char *text)
{
	struct err *why = ctx;

	(void)loc;
	if (!why->text[0])
		err_set(why, "%s", text);
}

/* For a moment: what it prints is not read. */
static bool attach(struct finding *f, struct live *live, struct err *e)
{
	struct err refused = { 0 };
	u32 n;

	if (!live_run(live, ATTACH_BEGIN, e) || !live_attach(live, &n, note_refused, &refused, e))
		return false;
	if (find_sources(f, live))
		return true;
	*e = refused;
	return false;
}

static bool load(struct finding *f, struct err *e)
{
	const struct job *j = f->job;
	struct buf log = { 0 };
	struct live_options o = { .features = world_linux_features(j->world), .log = &log };
	struct live *live = live_load(j->unit, &o, e);
	bool ok = live && attach(f, live, e);

	live_free(live);
	buf_free(&log);
	return ok;
}

/* A tool that is about a server, of which there is none or several, runs when it is given one. */
static void find_process(struct finding *f)
{
	const struct view_kind *kind;
	struct err e = { 0 };
	u32 pid;

	if (!job_view(f->job, &kind, &e) || !kind || !kind->find_pid ||
	    kind->find_pid(&f->job->arena, &pid, &e))
		return;
	f->wants = arena_strdup(&f->job->arena, e.text);
	f->hint = e.hint[0] ? arena_strdup(&f->job->arena, e.hint) : NULL;
}

static void try_tool(struct finding *f, const char *name)
{
	struct job *j = f->job;
	struct err e = { 0 };

	if (job_packed(j, name, tools_text(&j->arena, name), &e)) {
		if (!job_compile(j, STAGE_UNIT, false)) {
			const struct diag *d = diag_first(&j->diags);

			f->problem = d->text;
			f->hint = d->hint;
			return;
		}
		if (load(f, &e)) {
			find_process(f);
			return;
		}
	}
	f->problem = arena_strdup(&j->arena, e.text);
	f->hint = e.hint[0] ? arena_strdup(&j->arena, e.hint) : NULL;
}

/* ---- telling -------------------------------------------------------------------------------- */

/* Its probes are events that its user names. */
static bool takes_events(const struct job *j)
{
	for (const struct probe *p = j->script.probes; p; p = p->next)
		if (str_is(p->attaches->provider, "event"))
			return true;
	return false;
}

/* How many of the sources fit into a line after `at` columns; one at least. */
static u32 count_fitting(const struct finding *f, size_t at)
{
	u32 n = 0;

	for (; n < f->sources.n; n++) {
		at += strlen(f->sources.v[n]) + (n ? 2 : 0);
		if (n && at + (n + 1 < f->sources.n ? MORE_WIDTH : 0) > LINE_WIDTH)
			break;
	}
	return n;
}

static void tell_sources(const struct finding *f, bool all, struct buf *b)
{
	u32 n;

	if (!f->sources.n) {
		buf_puts(b,
		         takes_events(f->job) ? "runs, from the events that it is given" : "runs");
		return;
	}
	buf_puts(b, "runs, from ");
	n = all ? f->sources.n : count_fitting(f, b->n);
	for (u32 i = 0; i < n; i++)
		buf_printf(b, "%s%s", i ? ", " : "", f->sources.v[i]);
	if (n < f->sources.n)
		buf_printf(b, " and %u more", f->sources.n - n);
}

/* Below the tool's line, each line of the text. */
static void tell_more(struct buf *b, const char *text)
{
	struct str rest = str_of(text ? text : "");

	while (rest.n) {
		struct str line = str_trim(str_cut(rest, '\n', &rest), STR_BLANKS);

		buf_printf(b, "%-*s %.*s\n", NAME_WIDTH, "", STR_ARG(line));
	}
}

static void tell_text(const struct options *o, const char *name, const struct finding *f,
                      struct buf *b)
{
	buf_printf(b, "%-*s ", NAME_WIDTH, name);
	if (f->problem)
		buf_printf(b, "does not run: %s", f->problem);
	else
		tell_sources(f, o->verbose, b);
	buf_putc(b, '\n');
	tell_more(b, f->wants);
	tell_more(b, f->hint);
	for (u32 i = 0; o->verbose && i < f->job->script.notes.n; i++)
		tell_more(b, f->job->script.notes.v[i]);
}

static void put_list(struct tree *t, const char *name, const char *const *v, u32 n)
{
	tree_list(t, name);
	for (u32 i = 0; i < n; i++)
		tree_text(t, &(struct column){ .name = name }, v[i]);
	tree_end(t);
}

static void put_text(struct tree *t, const char *name, const char *text)
{
	if (text)
		tree_text(t, &(struct column){ .name = name }, text);
}

static void tell_tree(struct tree *t, const char *name, const struct finding *f)
{
	tree_object(t, NULL);
	put_text(t, "type", "tool");
	tree_object(t, "data");
	put_text(t, "name", name);
	tree_flag(t, &(struct column){ .name = "runs" }, !f->problem);
	put_list(t, "sources", f->sources.v, f->sources.n);
	put_list(t, "choices", f->job->script.notes.v, f->job->script.notes.n);
	put_text(t, "missing", f->problem);
	put_text(t, "wants", f->wants);
	put_text(t, "hint", f->hint);
	tree_end(t);
	tree_end(t);
}

static void tell(const struct options *o, const char *name, const struct finding *f, struct buf *b)
{
	if (o->out->tree)
		tell_tree(&(struct tree){ .b = b, .ops = o->out->tree }, name, f);
	else
		tell_text(o, name, f, b);
}

/* ---- one tool in a process of its own ------------------------------------------------------- */

static bool examine(void *ctx, u32 i, struct buf *out)
{
	const struct doctor *d = ctx;
	struct world *w = world_linux_new(
		&(struct world_linux_options){ .btf = run_options_btf() });
	struct job j;
	struct finding f = { .job = &j };

	job_init(&j, w);
	j.script.request.no_args = true;
	try_tool(&f, d->names.v[i]);
	tell(d->options, d->names.v[i], &f, out);
	job_free(&j);
	world_linux_free(w);
	return !f.problem;
}

static void examined(void *ctx, u32 i, const struct buf *out, bool good, int signal)
{
	struct doctor *d = ctx;
	char text[80];
	struct job none = { 0 };
	struct finding f = { .job = &none, .problem = text };
	struct buf b = { 0 };

	d->n_bad += !good;
	if (!signal) {
		say_output(out);
		return;
	}
	snprintf(text, sizeof(text), "trying it was ended by signal %d", signal);
	tell(d->options, d->names.v[i], &f, &b);
	say_output(&b);
	buf_free(&b);
}

/* ---- the command ---------------------------------------------------------------------------- */

static bool check_names(const struct opt_rest *wanted, struct err *e)
{
	for (u32 i = 0; i < wanted->n; i++) {
		if (tools_has(wanted->v[i]))
			continue;
		err_set(e, "there is no tool '%s'", wanted->v[i]);
		return err_hint(e, "memtap tools lists them");
	}
	return true;
}

static bool is_wanted(const struct opt_rest *wanted, const char *name)
{
	for (u32 i = 0; i < wanted->n; i++)
		if (strcmp(wanted->v[i], name) == 0)
			return true;
	return !wanted->n;
}

struct choice {
	struct doctor *doctor;
	const struct opt_rest *wanted;
};

static bool choose(void *ctx, const char *name, struct str text)
{
	struct choice *c = ctx;

	(void)text;
	if (is_wanted(c->wanted, name))
		vec_add(&c->doctor->arena, &c->doctor->names, name);
	return true;
}

static int examine_all(const struct options *o, const struct opt_rest *wanted)
{
	struct doctor d = { .options = o };
	u32 processors = (u32)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
	struct buf b = { 0 };

	tools_each(choose, &(struct choice){ &d, wanted });
	workers_run(d.names.n, MAX(MIN(processors, TRIED_MOST), TRIED_LEAST), examine, examined,
	            &d);
	if (!o->out->tree && d.n_bad)
		buf_printf(&b, "\n%u tool%s not run here.\n", d.n_bad,
		           d.n_bad == 1 ? " does" : "s do");
	say_output(&b);
	buf_free(&b);
	arena_free(&d.arena);
	return d.n_bad ? 1 : 0;
}

int cmd_doctor(int argc, char **argv)
{
	struct options o = { 0 };
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int code = 1;

	if (!opt_parse(rows, ARRAY_SIZE(rows), &o, &arena, argc, argv, &rest, &e) ||
	    (!o.help &&
	     (!check_names(&rest, &e) || !run_options_readable(run_options_btf(), &e)))) {
		say_error(&e);
	} else if (o.help) {
		code = say_usage(usage_head, rows, ARRAY_SIZE(rows), NULL);
	} else {
		o.out = out_format(o.format, o.json);
		code = examine_all(&o, &rest);
	}
	arena_free(&arena);
	return code;
}
