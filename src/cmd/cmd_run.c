/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The default command: a script from -e, a file or standard input is compiled and run, or with
 * -l listed, or with -d dumped. Reads the command line, puts the parts together, and says what
 * went wrong; how anything is done is in the folders below.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd_fmt.h"
#include "cmd/cmd_info.h"
#include "cmd/cmd_list.h"
#include "cmd/run_options.h"
#include "cmd/say.h"
#include "kern/live.h"
#include "run/world_linux.h"

static int fail(const struct err *e)
{
	say_error(e);
	return 1;
}

static int print_usage(void)
{
	struct buf b = { 0 };

	run_options_usage(&b);
	say_output(&b);
	buf_free(&b);
	return 0;
}

static int print_version(void)
{
	struct buf b = { 0 };

	buf_puts(&b, "memtap " MEMTAP_VERSION "\n");
	say_output(&b);
	buf_free(&b);
	return 0;
}

/* ---- what to compile -------------------------------------------------------------------------- */

/* The script of -e, or of the first argument, which is then taken from the parameters. */
static bool read_source(struct job *j, const struct run_options *o, struct opt_rest *rest,
                        struct err *e)
{
	const char *path;

	if (o->program)
		return source_set(&j->source, &j->arena, "stdin", str_of(o->program), e);
	if (!rest->n) {
		err_set(e, "there is no script to run");
		return err_hint(e, "memtap -e 'PROGRAM', memtap FILE, or memtap --help");
	}
	path = rest->v[0];
	rest->v++;
	rest->n--;
	if (source_read(&j->source, &j->arena, path, e))
		return true;
	if (e->code == ENOENT && strchr(path, '{'))
		err_hint(e, "a script on the command line needs -e");
	return false;
}

/* ---- running ---------------------------------------------------------------------------------- */

struct reporter {
	const struct job *job;
	bool warnings;
};

static void report(void *ctx, enum report kind, const struct loc *loc, const char *text)
{
	const struct reporter *r = ctx;
	struct err e = { 0 };

	if (kind == REPORT_WARNING && !r->warnings)
		return;
	if (kind == REPORT_NOTE) {
		say_note(text);
	} else if (loc) {
		say_at(&r->job->source, kind == REPORT_ERROR ? DIAG_ERROR : DIAG_WARNING, *loc,
		       text, NULL);
	} else if (kind == REPORT_WARNING) {
		say_warning(text);
	} else {
		err_set(&e, "%s", text);
		say_error(&e);
	}
}

/* --test is for scripts that have some. */
static bool has_tests(const struct unit *u)
{
	for (u32 i = 0; i < u->progs.n; i++)
		if (u->progs.v[i].kind == ATTACH_TEST)
			return true;
	return false;
}

static int run_job(const struct job *j, const struct run_options *o, struct child *child)
{
	struct reporter r = { j, !o->no_warnings };
	struct session_options so = {
		.verbose = o->verbose,
		.quiet = o->quiet,
		.json = o->format && strcmp(o->format, "json") == 0,
		.keep_errors = o->keep_errors,
		.dry_run = o->dry_run,
		.mangled = o->no_demangle,
		.lines = o->lines,
		.buffering = o->output_buffering,
		.output = o->output,
		.output_fd = STDOUT_FILENO,
		.pid = (s32)o->pid,
		.unwind_limit = (u64)o->unwind_memory << 20,
		.features = world_linux_features(j->world),
		.report = report,
		.report_ctx = &r,
	};
	struct err e = { 0 };
	int code;

	if (o->test && !has_tests(j->unit)) {
		err_set(&e, "the script has no test probes");
		err_hint(&e, "test:NAME { ... return 0; } is one");
		return fail(&e);
	}
	code = session_run(j->unit, &so, child, &e);
	if (code < 0)
		say_failure(&j->source, &e);
	return code < 0 ? 1 : code;
}

static enum stage last_stage(const struct run_options *o)
{
	if (o->list)
		return STAGE_SITES;
	return o->dump ? o->dumped.last : STAGE_UNIT;
}

static int print_script_usage(const struct job *j)
{
	struct buf b = { 0 };

	script_usage(&b, &j->script);
	say_output(&b);
	buf_free(&b);
	return 0;
}

/* Compiles and then does what was asked for. */
static int do_job(struct job *j, const struct run_options *o, struct child *child)
{
	enum stage last = j->world->wants_help ? STAGE_TYPES : last_stage(o);
	bool ok = job_compile(j, last, o->keep_errors);

	say_diags(&j->diags, !o->no_warnings);
	if (!ok)
		return 1;
	if (j->world->wants_help)
		return print_script_usage(j);
	if (o->dump)
		return dump_print(j, &o->dumped);
	if (!o->list)
		return run_job(j, o, child);
	list_script(j, o->verbose);
	return 0;
}

/* A pattern for -l, unless it is the path of a script. */
static bool is_pattern(const struct run_options *o, const struct opt_rest *rest)
{
	struct stat st;

	return o->list && !o->program &&
	       (!rest->n || (strcmp(rest->v[0], "-") != 0 &&
	                     (stat(rest->v[0], &st) < 0 || !S_ISREG(st.st_mode))));
}

/* --fmt: only the text is looked at. */
static int format_source(const struct run_options *o, struct opt_rest *rest)
{
	struct err e = { 0 };
	struct job j;
	int code;

	job_init(&j, NULL);
	code = read_source(&j, o, rest, &e) ? fmt_print(&j, !o->no_warnings) : fail(&e);
	job_free(&j);
	return code;
}

/* Behind the script: --name=value are its options, all others its parameters. */
static void split_parameters(struct world *w, struct job *j, const struct opt_rest *rest)
{
	struct world_option *options = arena_array(&j->arena, struct world_option, rest->n);
	const char **params = arena_array(&j->arena, const char *, rest->n);

	for (u32 i = 0; i < rest->n; i++) {
		const char *text = rest->v[i], *value = strchr(text, '=');

		if (strncmp(text, "--", 2) != 0 || !text[2]) {
			params[w->n_params++] = text;
		} else if (strcmp(text, "--help") == 0) {
			w->wants_help = true;
		} else {
			options[w->n_options].name = arena_strndup(
				&j->arena, text + 2,
				value ? (size_t)(value - text - 2) : strlen(text + 2));
			options[w->n_options++].value = value ? value + 1 : NULL;
		}
	}
	w->options = options;
	w->params = params;
}

static bool compile_filter(const struct run_options *o, regex_t *filter, struct err *e)
{
	char why[200];
	int code;

	if (!o->probe_filter)
		return true;
	code = regcomp(filter, o->probe_filter, REG_EXTENDED | REG_NOSUB);
	if (!code)
		return true;
	regerror(code, filter, why, sizeof(why));
	return err_set(e, "--probe-filter '%s': %s", o->probe_filter, why);
}

static int run_in_world(struct world *w, const struct run_options *o, struct opt_rest *rest)
{
	struct child *child = NULL;
	struct err e = { 0 };
	struct job j;
	int code;

	w->pid = (s32)o->pid;
	w->unsafe = o->unsafe;
	w->tests = o->test;
	w->wants_help = o->help;
	w->exact_sites = o->exact_site;
	if (is_pattern(o, rest))
		return list_pattern(w, rest->n ? rest->v[0] : NULL, o->verbose);
	job_init(&j, w);
	if (!read_source(&j, o, rest, &e) ||
	    (o->command && !(child = child_start(o->command, &e)))) {
		job_free(&j);
		return fail(&e);
	}
	if (child) {
		w->has_child = true;
		w->pid = child_pid(child);
		w->command = child_program(child);
	}
	split_parameters(w, &j, rest);
	code = do_job(&j, o, child);
	child_free(child);
	job_free(&j);
	return code;
}

/* The features of --no-feature are known: they are not there. NULL: none is known. */
static const struct features *fewer_features(const struct run_options *o)
{
	return o->without.asked ? &o->without : NULL;
}

static int run_options(const struct run_options *o, struct opt_rest *rest)
{
	struct world_linux_options machine = {
		.features = fewer_features(o),
		.functions = o->functions,
	};
	struct world *w;
	struct err e = { 0 };
	regex_t filter;
	int code;

	if (!compile_filter(o, &filter, &e))
		return fail(&e);
	if (o->functions && access(o->functions, R_OK) < 0) {
		err_sys(&e, errno, "can not read %s", o->functions);
		return fail(&e);
	}
	w = world_linux_new(&machine);
	w->probe_filter = o->probe_filter ? &filter : NULL;
	code = o->info ? info_print(w, o->format && strcmp(o->format, "json") == 0)
	               : run_in_world(w, o, rest);
	world_linux_free(w);
	if (o->probe_filter)
		regfree(&filter);
	return code;
}

int cmd_run(int argc, char **argv)
{
	struct run_options o = { 0 };
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int code;

	if (!run_options_parse(&o, &arena, argc, argv, &rest, &e))
		code = fail(&e);
	else if (o.help && !o.program && !rest.n)
		code = print_usage();
	else if (o.version)
		code = print_version();
	else if (o.fmt)
		code = format_source(&o, &rest);
	else
		code = run_options(&o, &rest);
	arena_free(&arena);
	return code;
}
