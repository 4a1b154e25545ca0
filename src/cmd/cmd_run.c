/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The default command: a script from -e, a file or standard input is compiled and run, or with
 * -l listed, or with -d dumped. Reads the command line, puts the parts together, and says what
 * went wrong; how anything is done is in the folders below.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"
#include "cmd/cmd_elf.h"
#include "cmd/cmd_fmt.h"
#include "cmd/cmd_info.h"
#include "cmd/cmd_list.h"
#include "cmd/expand_files.h"
#include "cmd/heap_target.h"
#include "cmd/run_options.h"
#include "cmd/script_args.h"
#include "cmd/say.h"
#include "cmd/tool_head.h"
#include "cmd/tools.h"
#include "cmd/version.h"
#include "view/hot_feed.h"
#include "view/metrics_feed.h"
#include "view/views.h"
#include "kern/live.h"
#include "world/stop.h"
#include "world/world_linux.h"
#include "sym/debugfile.h"
#include "sym/debuginfod.h"

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

/* ---- what to compile ------------------------------------------------------------------------ */

static bool is_file(const char *path)
{
	struct stat st;

	return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISDIR(st.st_mode));
}

/* The first argument, which is neither a tool nor a file that can be read. */
static bool no_script(const char *word, struct err *e)
{
	struct near near;

	if (e->code != ENOENT)
		return false;
	near_init(&near, word);
	tools_offer(&near);
	if (strchr(word, '{'))
		return err_hint(e, "a script on the command line needs -e");
	if (strchr(word, '/') || strchr(word, '.'))
		return false;
	err_set(e, "there is no tool and no file '%s'", word);
	if (near_best(&near))
		return err_hint(e, "did you mean '%s'?", near.best);
	return err_hint(e, "memtap tools lists the tools");
}

/* A tool, or what `memtap serve` runs without having been told. */
static bool is_packed(const struct run_options *o, const char *word)
{
	return tools_has(word) || (o->feed.name && tools_has_file(word));
}

static bool read_packed(struct job *j, const char *name, struct err *e)
{
	const char *file = tools_has(name) ? arena_printf(&j->arena, "%s.bt", name) : name;

	return job_packed(j, file, tools_text(&j->arena, name), e);
}

/* The script of -e, or the tool or file of the first argument, which is then taken from the
 * others. */
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
	if (is_packed(o, path))
		return read_packed(j, path, e);
	return source_read(&j->source, &j->arena, path, e) || no_script(path, e);
}

/* ---- running -------------------------------------------------------------------------------- */

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

static int run_session(const struct job *j, const struct session_options *so, struct child *child)
{
	struct err e = { 0 };
	int code = session_run(j->unit, so, child, &e);

	if (code < 0)
		say_failure(&j->source, &e);
	return code < 0 ? 1 : code;
}

/* For `memtap serve`: the maps are asked for, and nothing is printed. */
static int run_feed(const struct job *j, const struct run_options *o, struct session_options *so,
                    const struct view_kind *kind)
{
	struct metrics_feed_options feed = o->feed;
	struct hot_feed *hot = kind == &view_hot ? hot_feed_new() : NULL;
	struct err e = { 0 };
	int code;

	if (kind && kind->open && !hot) {
		err_set(&e, "what %s shows is not in its maps: it has no metrics", o->feed.name);
		return fail(&e);
	}
	feed.source = hot ? hot_feed_source(hot) : NULL;
	feed.version = MEMTAP_VERSION;
	so->view = metrics_feed_open(&feed, &e);
	code = so->view ? run_session(j, so, NULL) : fail(&e);
	if (so->view)
		metrics_feed_close(base_plain(so->view));
	hot_feed_free(hot);
	return code;
}

/* The C view that the script names, if any, lives as long as the session. */
static int run_with_view(struct job *j, const struct run_options *o, struct session_options *so,
                         struct child *child)
{
	const struct view_kind *kind;
	struct err e = { 0 };
	struct view *view;
	int code;

	if (!job_view(j, &kind, &e))
		return fail(&e);
	job_shed(j);
	if (o->feed.name)
		return run_feed(j, o, so, kind);
	if (!kind || !kind->open)
		return run_session(j, so, child);
	view = kind->open(o->out);
	so->view = view;
	code = run_session(j, so, child);
	kind->close(view);
	return code;
}

static int run_job(struct job *j, const struct run_options *o, struct child *child)
{
	struct reporter r = { j, !o->no_warnings };
	struct session_options so = {
		.verbose = o->verbose,
		.quiet = o->quiet,
		.format = o->out,
		.keep_errors = o->keep_errors,
		.dry_run = o->dry_run,
		.mangled = o->no_demangle,
		.lines = o->lines,
		.escape = o->escape && strcmp(o->escape, "true") == 0,
		.no_escape = o->escape && strcmp(o->escape, "false") == 0,
		.buffering = o->output_buffering,
		.output = o->output,
		.output_fd = o->graph_to_stdout ? STDERR_FILENO : STDOUT_FILENO,
		.page = o->report,
		.graph = &o->graph,
		.pid = (s32)o->pid,
		.graft = j->graft,
		.unwind_limit = (u64)o->unwind_memory << 20,
		.map_limit = (u64)o->map_memory << 20,
		.stack_limit = (u64)o->stack_memory << 20,
		.features = world_linux_features(j->world),
		.expand = expand_files,
		.report = report,
		.report_ctx = &r,
	};
	struct err e = { 0 };

	if (o->test && !has_tests(j->unit)) {
		err_set(&e, "the script has no test probes");
		err_hint(&e, "test:NAME { ... return 0; } is one");
		return fail(&e);
	}
	return run_with_view(j, o, &so, child);
}

static enum stage last_stage(const struct run_options *o)
{
	if (o->list)
		return STAGE_SITES;
	return o->dump && !o->emit_elf ? o->dumped.last : STAGE_UNIT;
}

static int print_script_usage(const struct job *j)
{
	struct buf b = { 0 };
	struct arena a = { 0 };
	struct tool_head h = { 0 };

	if (tool_head_parse(&h, &a, (struct str){ j->source.text, j->source.n })) {
		tool_head_help(&b, &h, &j->script);
	} else {
		buf_puts(&b, j->script.options.n ? "Options of this script:\n"
		                                 : "This script has no options of its own.\n");
		script_options_usage(&b, &j->script);
	}
	arena_free(&a);
	say_output(&b);
	buf_free(&b);
	return 0;
}

/* Compiles the rest of the way and then does what was asked for. */
static int do_job(struct job *j, const struct run_options *o, struct child *child)
{
	bool ok;

	j->script.keeps_trees = o->dumped.tree;
	ok = job_compile(j, last_stage(o), o->keep_errors);
	say_diags(&j->diags, !o->no_warnings);
	if (!ok)
		return 1;
	if (o->emit_elf && cmd_elf_write(j, o->emit_elf) != 0)
		return 1;
	if (o->dump)
		return cmd_dump_print(j, &o->dumped);
	if (o->emit_elf)
		return 0;
	if (!o->list)
		return run_job(j, o, child);
	cmd_list_script(j, o->verbose);
	return 0;
}

/* --fmt: only the text is looked at. */
static int format_source(const struct run_options *o, struct opt_rest *rest)
{
	struct err e = { 0 };
	struct job j;
	int code;

	job_init(&j, NULL);
	code = read_source(&j, o, rest, &e) ? cmd_fmt_print(&j, !o->no_warnings) : fail(&e);
	job_free(&j);
	return code;
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

/* ---- the machine ---------------------------------------------------------------------------- */

/* The features of --no-feature are known: they are not there. NULL: none is known. */
static const struct features *fewer_features(const struct run_options *o)
{
	if (o->emit_elf)
		return &cmd_elf_kernel;
	return o->without.asked ? &o->without : NULL;
}

static struct world *open_world(const struct run_options *o, struct err *e)
{
	struct world_linux_options machine = {
		.btf = run_options_btf(),
		.features = fewer_features(o),
		.functions = o->functions,
	};

	if (!run_options_readable(o->functions, e) || !run_options_readable(machine.btf, e))
		return NULL;
	if (o->debug_dirs)
		debugfile_set_dirs(o->debug_dirs);
	return world_linux_new(&machine);
}

/* The parsed script in a world. */
static int run_with_child(struct job *j, const struct run_options *o,
                          const struct script_args *args, struct child *child)
{
	struct request *r = &j->script.request;
	struct err e = { 0 };
	regex_t filter;
	int code;

	if (!compile_filter(o, &filter, &e))
		return fail(&e);
	*r = (struct request){
		.pid = child ? child_pid(child) : (s32)o->pid,
		/* Held at its entry it has all its libraries, as a process has that runs. */
		.command = child && !j->at_entry ? child_program(child) : NULL,
		.unsafe = o->unsafe,
		.tests = o->test,
		.lists = o->list,
		.exact_sites = o->exact_site,
		.probe_filter = o->probe_filter ? &filter : NULL,
		.options = args->options,
		.n_options = args->n_options,
		.params = args->params,
		.n_params = args->n_params,
		.alone = o->emit_elf,
	};
	code = do_job(j, o, child);
	if (o->probe_filter)
		regfree(&filter);
	return code;
}

/* The command of -c is held before its first instruction. */
static int run_in_world(struct job *j, const struct run_options *o, const struct script_args *args)
{
	struct child *child = NULL;
	struct err e = { 0 };
	int code;

	if (o->command && !(child = child_start(o->command, &e)))
		return fail(&e);
	code = run_with_child(j, o, args, child);
	child_free(child);
	return code;
}

static void add_option(struct arena *a, struct script_args *args, const char *name,
                       const char *value)
{
	struct request_option *o = arena_array(a, struct request_option, args->n_options + 1);

	if (args->n_options)
		memcpy(o, args->options, args->n_options * sizeof(*o));
	o[args->n_options++] = (struct request_option){ .name = name, .value = value };
	args->options = o;
}

/* Only system calls tell what time of the processor is for whom, which serve has as metrics. */
static bool wants_cpu(const struct run_options *o, const struct script_args *args)
{
	const char *sort = script_args_option(args, "sort");

	return o->feed.name || script_args_option(args, "commands") ||
	       (sort && strcmp(sort, "cpu") == 0);
}

/* The tool's own way, where none is named and another takes less. */
static void find_way(struct job *j, const struct view_kind *kind, const struct run_options *o,
                     struct script_args *args)
{
	const char *pid = script_args_option(args, "pid"), *way = NULL;

	if (kind->find_way && pid && !script_args_option(args, "via") && !wants_cpu(o, args))
		way = kind->find_way(&j->arena, (u32)strtoul(pid, NULL, 10));
	if (!way)
		return;
	add_option(&j->arena, args, "via", way);
	say_note(arena_printf(&j->arena, "--via %s is taken, the cheapest way here; %s", way,
	                      kind->way_note));
}

/* A tool may know which process is meant when none is named. A script that is only listed or
 * dumped needs none. */
static bool find_process(struct job *j, const struct run_options *o, struct script_args *args,
                         struct err *e)
{
	const struct view_kind *kind;
	u32 pid;

	if (!job_view(j, &kind, e))
		return false;
	if (o->list || o->dump || o->emit_elf || !kind || !kind->find_pid)
		return true;
	if (!script_args_option(args, "pid")) {
		if (!kind->find_pid(&j->arena, &pid, e))
			return false;
		add_option(&j->arena, args, "pid", arena_printf(&j->arena, "%u", pid));
	}
	find_way(j, kind, o, args);
	return true;
}

/* Of a tool all parameters mean something; to scripts, any may be given. */
static bool check_params(struct job *j, const struct script_args *args, struct err *e)
{
	struct tool_head h = { 0 };
	const char *usage = NULL;
	u32 most = j->script.n_params;

	if (!j->script.is_packed || args->n_params <= most)
		return true;
	err_set(e, "'%s' is one parameter too many", args->params[most]);
	if (tool_head_parse(&h, &j->arena, (struct str){ j->source.text, j->source.n }))
		usage = tool_head_usage(&h, &j->arena);
	return usage ? err_hint(e, "%s", usage) : false;
}

static void say_without_effect(const struct run_options *o)
{
	struct buf b = { 0 };

	run_options_without_effect(o, &b);
	if (b.n)
		say_note(buf_text(&b));
	buf_free(&b);
}

/* Signals that come while the code is put in or taken out wait, so that it is not left there. */
static int run_with_heap(struct job *j, const struct run_options *o, const struct script_args *args,
                         struct child *child)
{
	struct heap_target t;
	struct err e = { 0 };
	sigset_t before;
	int code = 0;

	stop_hold(&before);
	if (!heap_target_begin(&t, o, child ? child_pid(child) : (s32)o->pid, args, &e)) {
		code = fail(&e);
		child_free(child);
	} else {
		j->graft = t.graft;
		j->at_entry = child;
		if (!t.done)
			code = run_with_child(j, o, args, child);
		child_free(child);
		if (!heap_target_end(&t, o, &e))
			code = fail(&e);
	}
	stop_release(&before);
	return code;
}

/* In a process that samples its heap meanwhile; the command of -c is held at its entry. */
static int run_in_heap(struct job *j, const struct run_options *o, const struct script_args *args)
{
	struct child *child = NULL;
	struct err e = { 0 };

	if (!o->command || ((child = child_start(o->command, &e)) && child_to_entry(child, &e)))
		return run_with_heap(j, o, args, child);
	child_free(child);
	return fail(&e);
}

/* False: the script is only looked at. */
static bool is_heap(const struct job *j, const struct run_options *o,
                    const struct script_args *args)
{
	const struct view_kind *kind;
	struct err e;

	return job_view(j, &kind, &e) &&
	       (kind == &view_heap ||
	        (j->script.is_packed && script_args_option(args, "in-process"))) &&
	       !o->list && !o->dump && !o->emit_elf && !o->dry_run;
}

/* A script that is parsed, so that what stands after it can be read by its options. */
static int run_parsed(struct job *j, struct run_options *o, const struct opt_rest *behind)
{
	struct script_args args = { 0 };
	struct err e = { 0 };
	int code;

	if (!script_args_parse(&args, j, o, behind, &e))
		return fail(&e);
	j->source.hidden &= !o->verbose && !o->keep_errors;
	if (o->help)
		return print_script_usage(j);
	if (o->version)
		return version_print();
	if (!run_options_finish(o, &e) || !check_params(j, &args, &e) ||
	    !find_process(j, o, &args, &e))
		return fail(&e);
	if (o->verbose)
		say_without_effect(o);
	j->world = open_world(o, &e);
	if (!j->world)
		return fail(&e);
	code = (is_heap(j, o, &args) ? run_in_heap : run_in_world)(j, o, &args);
	if (debuginfod_is_missing() && !o->quiet && !o->no_warnings)
		say_warning(
			host_is_static()
				? "DEBUGINFOD_URLS: this memtap, one file, fetches no debug files"
				: "DEBUGINFOD_URLS: no debug files are fetched, libdebuginfod.so.1 "
				  "is not installed");
	world_linux_free(j->world);
	return code;
}

static int run_script(struct run_options *o, struct opt_rest *rest)
{
	struct err e = { 0 };
	struct job j;
	int code = 1;

	job_init(&j, NULL);
	job_headers(&j, &o->include_dirs, &o->include_files);
	if (!read_source(&j, o, rest, &e))
		code = fail(&e);
	else if (job_compile(&j, STAGE_TREE, false))
		code = run_parsed(&j, o, rest);
	else
		say_diags(&j.diags, !o->no_warnings);
	job_free(&j);
	return code;
}

/* Asked of the machine, not of a script. */
static int run_query(const struct run_options *o, const struct opt_rest *rest)
{
	struct request r = { .pid = (s32)o->pid, .unsafe = o->unsafe, .lists = true };
	struct err e = { 0 };
	struct world *w = open_world(o, &e);
	int code;

	if (!w)
		return fail(&e);
	code = o->info ? cmd_info_print(w, o->out)
	               : cmd_list_pattern(w, rest->n ? rest->v[0] : NULL, &r, o->verbose);
	world_linux_free(w);
	return code;
}

/* ---- the command line ----------------------------------------------------------------------- */

/* After -l the name of a tool is a pattern like others, and a program is one too. */
static bool is_script(const struct run_options *o, const char *word)
{
	return o->list ? is_file(word) && !cmd_list_is_program(word)
	               : is_file(word) || is_packed(o, word);
}

/*
 * What stands after a script is read when its options are known. False: there is no script in the
 * place for one, or only its text is looked at, and all options are memtap's.
 */
static bool is_script_line(const struct run_options *o, const struct opt_rest *rest)
{
	if (o->fmt || o->info || (o->mode && strcmp(o->mode, "format") == 0) ||
	    (!o->program && (!rest->n || !is_script(o, rest->v[0]))))
		return false;
	for (u32 i = 0; i < rest->n; i++)
		if (strcmp(rest->v[i], "--fmt") == 0)
			return false;
	return true;
}

/* The wrong option may be that of a script that is not there: this is what is to be said then. */
static int fail_line(struct run_options *o, struct opt_rest *rest, const struct err *e)
{
	bool named = !o->list && rest->n && rest->v[0][0] != '-';

	return named ? run_script(o, rest) : fail(e);
}

/* Without a script after which more could be said, or with one that is looked for in vain. */
static int run_whole_line(struct run_options *o, struct opt_rest *rest)
{
	struct err e = { 0 };

	if (o->help && !o->program && !rest->n)
		return print_usage();
	if (o->version)
		return version_print();
	if (!run_options_finish(o, &e))
		return fail(&e);
	if (o->fmt)
		return format_source(o, rest);
	if (o->info || (o->list && !o->program && (!rest->n || !is_script(o, rest->v[0]))))
		return run_query(o, rest);
	return run_script(o, rest);
}

int cmd_run(int argc, char **argv)
{
	u32 n;
	const struct opt *rows = run_options_rows(&n);
	struct run_options head = { 0 }, whole = { 0 };
	struct opt_rest behind, rest;
	struct arena arena = { 0 };
	struct err e = { 0 };
	int code;

	stop_heed();
	if (!opt_parse_head(rows, n, &head, &arena, argc, argv, &behind, &e) ||
	    !run_options_feed(&head, &e))
		code = fail(&e);
	else if (is_script_line(&head, &behind))
		code = run_script(&head, &behind);
	else if (!opt_parse(rows, n, &whole, &arena, argc, argv, &rest, &e))
		code = fail_line(&head, &behind, &e);
	else
		code = run_whole_line(&whole, &rest);
	arena_free(&arena);
	return code;
}
