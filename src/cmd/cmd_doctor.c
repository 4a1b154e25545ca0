/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap doctor`: which tools run on this machine, from which events, and what the others lack.
 *
 * Nothing here knows a tool or an event: each tool's script is compiled and its programs are loaded,
 * as running it would, and what the compiler and the loader say is the answer. Nothing is attached.
 * A tool's command line is not there, so its options have their defaults.
 */
#include "cmd/cmd.h"

#include <string.h>

#include "base/opt.h"
#include "cmd/job.h"
#include "cmd/say.h"
#include "cmd/tools.h"
#include "kern/live.h"
#include "out/json.h"
#include "world/world_linux.h"

#define SHOWN_SOURCES 2u /* in text without -v */

struct options {
	const char *format;
	bool json, verbose, help;
};

#define TO(member) offsetof(struct options, member)

static const struct opt rows[] = {
	{ 'f', "format", "text|json", OPT_CHOICE, TO(format), "how to print (text)" },
	{ 0, "json", NULL, OPT_FLAG, TO(json), "the same as -f json" },
	{ 'v', "verbose", NULL, OPT_FLAG, TO(verbose),
	  "all events of a tool, and those it would rather have" },
	{ 'h', "help", NULL, OPT_FLAG, TO(help), "print this" },
};

static const char usage_head[] =
	"Says which tools run on this machine, from which events, and what the others lack.\n"
	"The exit code is 0 when all run, else 1.\n"
	"\n"
	"  memtap doctor [options] [TOOL...]\n"
	"\n"
	"Options:\n";

struct doctor {
	const struct options *options;
	const struct opt_rest *wanted; /* tools; none: all */
	struct world *world;
	struct buf out;
	u32 n_bad;
};

/* What is known of a tool once it was tried. */
struct finding {
	const struct job *job;
	const char *problem, *hint; /* problem NULL: it runs */
	VEC(const char *) sources;  /* names of the probes that events come from */
};

/* ---- trying ----------------------------------------------------------------------------------- */

/* Those that memtap runs by itself, and timers, are there on any machine. */
static bool is_event(const struct uprog *p)
{
	return p->kind > ATTACH_END && p->kind != ATTACH_INTERVAL && p->kind != ATTACH_SELF &&
	       p->kind != ATTACH_TEST;
}

static void find_sources(struct finding *f, struct job *j)
{
	for (u32 i = 0; i < j->unit->progs.n; i++)
		if (is_event(&j->unit->progs.v[i]))
			vec_add(&j->arena, &f->sources, j->unit->progs.v[i].name);
}

static bool load(const struct job *j, struct err *e)
{
	struct buf log = { 0 };
	struct live_options o = { .features = world_linux_features(j->world), .log = &log };
	struct live *live = live_load(j->unit, &o, e);

	live_free(live);
	buf_free(&log);
	return live != NULL;
}

static void take_diag(struct finding *f, const struct diags *d)
{
	for (u32 i = 0; i < d->list.n && !f->problem; i++) {
		if (d->list.v[i].level != DIAG_ERROR)
			continue;
		f->problem = d->list.v[i].text;
		f->hint = d->list.v[i].hint;
	}
}

static void try_tool(struct finding *f, struct job *j, const char *name, struct str text)
{
	struct err e = { 0 };

	f->job = j;
	if (job_packed(j, name, text, &e)) {
		if (!job_compile(j, STAGE_UNIT, false)) {
			take_diag(f, &j->diags);
			return;
		}
		find_sources(f, j);
		if (load(j, &e))
			return;
	}
	f->problem = arena_strdup(&j->arena, e.text);
	f->hint = e.hint[0] ? arena_strdup(&j->arena, e.hint) : NULL;
}

/* ---- telling ---------------------------------------------------------------------------------- */

static void tell_text(struct doctor *d, const char *name, const struct finding *f)
{
	u32 n = d->options->verbose ? f->sources.n : MIN(f->sources.n, SHOWN_SOURCES);

	buf_printf(&d->out, "%-13s %s", name, f->problem ? "does not run: " : "");
	if (f->problem)
		buf_puts(&d->out, f->problem);
	else
		buf_puts(&d->out, f->sources.n ? "runs, from " : "runs");
	for (u32 i = 0; !f->problem && i < n; i++)
		buf_printf(&d->out, "%s%s", i ? ", " : "", f->sources.v[i]);
	if (!f->problem && n < f->sources.n)
		buf_printf(&d->out, " and %u more", f->sources.n - n);
	buf_putc(&d->out, '\n');
	if (f->hint)
		buf_printf(&d->out, "%-13s %s\n", "", f->hint);
	for (u32 i = 0; d->options->verbose && i < f->job->script.notes.n; i++)
		buf_printf(&d->out, "%-13s %s\n", "", f->job->script.notes.v[i]);
}

static void json_list(struct buf *b, const char *const *v, u32 n)
{
	buf_putc(b, '[');
	for (u32 i = 0; i < n; i++) {
		buf_puts(b, i ? ", " : "");
		json_string(b, str_of(v[i]));
	}
	buf_putc(b, ']');
}

static void tell_json(struct doctor *d, const char *name, const struct finding *f)
{
	struct buf *b = &d->out;

	buf_puts(b, "{\"type\": \"tool\", \"data\": {\"name\": ");
	json_string(b, str_of(name));
	buf_printf(b, ", \"runs\": %s, \"sources\": ", f->problem ? "false" : "true");
	json_list(b, f->sources.v, f->sources.n);
	buf_puts(b, ", \"choices\": ");
	json_list(b, f->job->script.notes.v, f->job->script.notes.n);
	if (f->problem) {
		buf_puts(b, ", \"missing\": ");
		json_string(b, str_of(f->problem));
	}
	if (f->hint) {
		buf_puts(b, ", \"hint\": ");
		json_string(b, str_of(f->hint));
	}
	buf_puts(b, "}}\n");
}

static bool is_wanted(const struct opt_rest *wanted, const char *name)
{
	for (u32 i = 0; i < wanted->n; i++)
		if (strcmp(wanted->v[i], name) == 0)
			return true;
	return !wanted->n;
}

static bool examine(void *ctx, const char *name, struct str text)
{
	struct doctor *d = ctx;
	struct finding f = { 0 };
	struct job j;

	if (!is_wanted(d->wanted, name))
		return true;
	job_init(&j, d->world);
	try_tool(&f, &j, name, text);
	d->n_bad += f.problem != NULL;
	if (d->options->json)
		tell_json(d, name, &f);
	else
		tell_text(d, name, &f);
	job_free(&j);
	say_output(&d->out);
	buf_reset(&d->out);
	return true;
}

/* ---- the command ------------------------------------------------------------------------------ */

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

static int examine_all(const struct options *o, const struct opt_rest *wanted)
{
	struct doctor d = { .options = o, .wanted = wanted };

	d.world = world_linux_new(&(struct world_linux_options){ 0 });
	d.world->no_args = true;
	d.world->unsafe = true;
	tools_each(examine, &d);
	if (!o->json && d.n_bad)
		buf_printf(&d.out, "\n%u tool%s not run here.\n", d.n_bad,
		           d.n_bad == 1 ? " does" : "s do");
	say_output(&d.out);
	buf_free(&d.out);
	world_linux_free(d.world);
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
	    (!o.help && !check_names(&rest, &e))) {
		say_error(&e);
	} else if (o.help) {
		code = say_usage(usage_head, rows, ARRAY_SIZE(rows), NULL);
	} else {
		o.json |= o.format && strcmp(o.format, "json") == 0;
		code = examine_all(&o, &rest);
	}
	arena_free(&arena);
	return code;
}
