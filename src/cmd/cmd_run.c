/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The default command: a script from -e, a file or standard input is compiled and run, or with
 * -l listed, or with -d dumped. Reads the command line, puts the parts together, and says what
 * went wrong; how anything is done is in the folders below.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/opt.h"
#include "cmd/cmd_dump.h"
#include "cmd/cmd_list.h"
#include "cmd/job.h"
#include "cmd/say.h"
#include "run/session.h"
#include "run/world_linux.h"

#define VERSION "0.1"

struct options {
	const char *program, *command, *format, *output, *dump;
	u32 pid;
	bool list, quiet, verbose, keep_errors, dry_run, unsafe, no_warnings, no_demangle, lines,
		help, version;
};

#define TO(member) offsetof(struct options, member)

static const struct opt rows[] = {
	{ 'e', NULL, "PROGRAM", OPT_TEXT, TO(program), "run this script" },
	{ 'c', "cmd", "COMMAND", OPT_TEXT, TO(command),
	  "start COMMAND once all probes are attached, end with it" },
	{ 'p', "pid", "PID", OPT_NUMBER, TO(pid), "look at this process only, end with it" },
	{ 'f', "format", "text|json", OPT_CHOICE, TO(format), "how to print (text)" },
	{ 'o', "output", "FILE", OPT_TEXT, TO(output), "print to FILE instead of standard output" },
	{ 'q', "quiet", NULL, OPT_FLAG, TO(quiet), "say nothing but what the script prints" },
	{ 'v', "verbose", NULL, OPT_FLAG, TO(verbose),
	  "say more: what the kernel's verifier says; with -l, arguments" },
	{ 'k', NULL, NULL, OPT_FLAG, TO(keep_errors),
	  "warn about failed reads and missing keys too" },
	{ 'l', "list", NULL, OPT_FLAG, TO(list), "list the probes that match a pattern" },
	{ 'd', "dump", DUMP_STAGES, OPT_CHOICE, TO(dump), "print a stage of compiling and end" },
	{ 0, "dry-run", NULL, OPT_FLAG, TO(dry_run), "end once all probes are attached" },
	{ 0, "lines", NULL, OPT_FLAG, TO(lines),
	  "source lines and inlined functions in user stacks" },
	{ 0, "no-demangle", NULL, OPT_FLAG, TO(no_demangle),
	  "names of C++ and Rust functions as the linker sees them" },
	{ 0, "unsafe", NULL, OPT_FLAG, TO(unsafe), "allow system(), signal() and the like" },
	{ 0, "no-warnings", NULL, OPT_FLAG, TO(no_warnings), "do not print warnings" },
	{ 'h', "help", NULL, OPT_FLAG, TO(help), "print this" },
	{ 'V', "version", NULL, OPT_FLAG, TO(version), "print the version" },
};

static const char usage_head[] =
	"memtap answers questions about memory and caches on a running Linux system.\n"
	"\n"
	"  memtap [options] -e PROGRAM [parameter...]\n"
	"  memtap [options] FILE [parameter...]      (FILE '-' is standard input)\n"
	"  memtap -l[v] [PATTERN]\n"
	"  memtap btf COMMAND ...                    (the kernel's types: memtap btf --help)\n"
	"\n"
	"Options:\n";

static const char usage_examples[] =
	"\n"
	"Examples:\n"
	"  memtap -e 'uprobe:./itest:cache_insert { @bytes = lhist(arg2, 0, 16384, 128) }' \\\n"
	"         -c './itest 100'\n"
	"      the sizes a program stores in its cache\n"
	"  memtap -e 'usdt::memcached:command__get { @[str(arg1, arg2)] = count() }' -p PID\n"
	"      the keys a memcached is asked for\n"
	"  memtap -e 'software:page-faults:1 { @[comm, pid] = count() }'\n"
	"      page faults by process, until Ctrl-C\n"
	"  memtap -e 'tracepoint:vmscan:* { @[probe] = count() } interval:s:5 { exit() }'\n"
	"      what the kernel does to reclaim memory, for five seconds\n"
	"  memtap -lv 'tracepoint:vmscan:*begin'\n"
	"      events with their arguments\n";

static int fail(const struct err *e)
{
	say_error(e);
	return 1;
}

static int print_usage(void)
{
	struct buf b = { 0 };

	buf_puts(&b, usage_head);
	opt_usage(&b, rows, ARRAY_SIZE(rows));
	buf_puts(&b, usage_examples);
	say_output(&b);
	buf_free(&b);
	return 0;
}

static int print_version(void)
{
	struct buf b = { 0 };

	buf_puts(&b, "memtap " VERSION "\n");
	say_output(&b);
	buf_free(&b);
	return 0;
}

/* ---- what to compile -------------------------------------------------------------------------- */

/* The script of -e, or of the first argument, which is then taken from the parameters. */
static bool read_source(struct job *j, const struct options *o, struct opt_rest *rest,
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

static bool check_process(u32 pid, struct err *e)
{
	if (!pid || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
		return true;
	return err_set(e, "there is no process %u", pid);
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

static int run_job(const struct job *j, const struct options *o, struct child *child)
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
		.output = o->output,
		.output_fd = STDOUT_FILENO,
		.pid = (s32)o->pid,
		.features = world_linux_features(j->world),
		.report = report,
		.report_ctx = &r,
	};
	struct err e = { 0 };
	int code = session_run(j->unit, &so, child, &e);

	if (code < 0 && e.placed)
		say_at(&j->source, DIAG_ERROR, (struct loc){ e.off, e.len }, e.text,
		       e.hint[0] ? e.hint : NULL);
	else if (code < 0)
		say_error(&e);
	return code < 0 ? 1 : code;
}

static enum stage last_stage(const struct options *o)
{
	if (o->list)
		return STAGE_SITES;
	return o->dump ? dump_stage(o->dump) : STAGE_UNIT;
}

/* Compiles and then does what was asked for. */
static int do_job(struct job *j, const struct options *o, struct child *child)
{
	bool ok = job_compile(j, last_stage(o), o->keep_errors);

	say_diags(&j->diags, !o->no_warnings);
	if (!ok)
		return 1;
	if (o->dump)
		dump_print(j, o->dump);
	else if (o->list)
		list_script(j, o->verbose);
	else
		return run_job(j, o, child);
	return 0;
}

/* A pattern for -l, unless it is the path of a script. */
static bool is_pattern(const struct options *o, const struct opt_rest *rest)
{
	struct stat st;

	return o->list && !o->program &&
	       (!rest->n || (strcmp(rest->v[0], "-") != 0 &&
	                     (stat(rest->v[0], &st) < 0 || !S_ISREG(st.st_mode))));
}

static int run_in_world(struct world *w, const struct options *o, struct opt_rest *rest)
{
	struct child *child = NULL;
	struct err e = { 0 };
	struct job j;
	int code;

	w->pid = (s32)o->pid;
	w->unsafe = o->unsafe;
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
	w->params = rest->v;
	w->n_params = rest->n;
	code = do_job(&j, o, child);
	child_free(child);
	job_free(&j);
	return code;
}

static bool check_options(const struct options *o, struct err *e)
{
	if (o->command && o->pid)
		return err_set(e, "-c and -p can not be used together");
	if (o->list && o->dump)
		return err_set(e, "-l and -d can not be used together");
	return check_process(o->pid, e);
}

int cmd_run(int argc, char **argv)
{
	struct world_linux_options machine = { 0 };
	struct options o = { 0 };
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	struct world *w;
	int code;

	if (!opt_parse(rows, ARRAY_SIZE(rows), &o, &arena, argc, argv, &rest, &e)) {
		code = fail(&e);
	} else if (o.help) {
		code = print_usage();
	} else if (o.version) {
		code = print_version();
	} else if (!check_options(&o, &e)) {
		code = fail(&e);
	} else {
		w = world_linux_new(&machine);
		code = run_in_world(w, &o, &rest);
		world_linux_free(w);
	}
	arena_free(&arena);
	return code;
}
