/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The command line of the default command as a table, and what is checked before anything is
 * done: which options exclude each other, and what bpftrace has and memtap has not.
 */
#include "cmd/run_options.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPARED                                                                                     \
	"atomics, cookie, for_each, func_arg, func_ip, inherit_thread, kprobe_multi, "             \
	"kprobe_session, loop, "                                                                   \
	"percpu, sleepable, uprobe_multi"

#define TO(member) offsetof(struct run_options, member)

static const struct opt rows[] = {
	{ 'e', NULL, "PROGRAM", OPT_TEXT, TO(program), "run this script" },
	{ 'c', "cmd", "COMMAND", OPT_TEXT, TO(command),
	  "start COMMAND once all probes are attached, end with it" },
	{ 'p', "pid", "PID", OPT_NUMBER, TO(pid), "look at this process only, end with it" },
	{ 'f', "format", OUT_FORMAT_NAMES, OPT_CHOICE, TO(format), "how to print (text)" },
	{ 0, "json", NULL, OPT_FLAG, TO(json), "the same as -f json" },
	{ 'o', "output", "FILE", OPT_TEXT, TO(output), "print to FILE instead of standard output" },
	{ 'B', "buffering", "line|full|none", OPT_CHOICE, TO(buffering),
	  "when output is written: soon, in large pieces, event by event (line)" },
	{ 0, "escape", NULL, OPT_SWITCH, TO(escape),
	  "escape control characters of what is printed, as on terminals; =false: not there "
	  "either" },
	{ 'q', "quiet", NULL, OPT_FLAG, TO(quiet), "say nothing but what the script prints" },
	{ 'v', "verbose", NULL, OPT_FLAG, TO(verbose),
	  "say more: what the kernel's verifier says; with -l, arguments" },
	{ 'k', NULL, NULL, OPT_FLAG, TO(keep_errors),
	  "warn about failed reads and missing keys too" },
	{ 'l', "list", NULL, OPT_FLAG, TO(list),
	  "list the probes of a pattern, a script or a program" },
	{ 'd', "dump", "STAGE[,STAGE...]", OPT_TEXT, TO(dump),
	  "print stages of compiling and end: " DUMP_WORDS },
	{ 0, "emit-elf", "FILE", OPT_TEXT, TO(emit_elf),
	  "write the programs to FILE, an object for libbpf and its tools, and end" },
	{ 0, "dry-run", NULL, OPT_FLAG, TO(dry_run), "end once all probes are attached" },
	{ 0, "lines", NULL, OPT_FLAG, TO(lines),
	  "source lines of debug files fetched too, inlined functions in flame graphs" },
	{ 0, "no-demangle", NULL, OPT_FLAG, TO(no_demangle),
	  "names of C++ and Rust functions as the linker sees them" },
	{ 0, "fmt", NULL, OPT_FLAG, TO(fmt), "print the script in the usual form and end" },
	{ 0, "info", NULL, OPT_FLAG, TO(info), "print what this kernel offers and end" },
	{ 0, "test", NULL, OPT_FLAG, TO(test),
	  "run the test:NAME probes of the script, say which failed, and end" },
	{ 0, "exact-site", NULL, OPT_FLAG, TO(exact_site),
	  "keep probes on the first instruction of their function" },
	{ 0, "unwind-memory", "MIB", OPT_NUMBER, TO(unwind_memory),
	  "at most so much memory for tables by which stacks are walked (128)" },
	{ 0, "map-memory", "MIB", OPT_NUMBER, TO(map_memory),
	  "at most so much memory for maps that count by key (16)" },
	{ 0, "stack-memory", "MIB", OPT_NUMBER, TO(stack_memory),
	  "at most so much memory for the stacks that are kept (64)" },
	{ 0, "folded", "FILE", OPT_TEXT, TO(folded),
	  "write the stacks of a map to FILE at the end, folded; '-' is standard output" },
	{ 0, "flame", "FILE.svg", OPT_TEXT, TO(flame), "draw them as a flame graph" },
	{ 0, "pprof", "FILE.pb.gz", OPT_TEXT, TO(pprof),
	  "write them as a profile for pprof, all numbers" },
	{ 0, "report", "FILE.html", OPT_TEXT, TO(report),
	  "write what is shown to FILE, a page for a browser, with a flame graph" },
	{ 0, "flame-title", "TEXT", OPT_TEXT, TO(flame_title), "what is written above it" },
	{ 0, "flame-diff", "OLD.folded", OPT_TEXT, TO(flame_diff),
	  "colour it by what changed since a --folded file" },
	{ 0, "flame-map", "@NAME[.PART]", OPT_TEXT, TO(flame_map),
	  "of which map (the first that has a stack in its key)" },
	{ 0, "unsafe", NULL, OPT_FLAG, TO(unsafe), "allow system(), signal() and the like" },
	{ 0, "no-warnings", NULL, OPT_FLAG, TO(no_warnings), "do not print warnings" },
	{ 0, "no-feature", "NAME[,NAME...]", OPT_TEXT, TO(no_feature), "do without: " SPARED },
	{ 0, "probe-filter", "REGEX", OPT_TEXT, TO(probe_filter),
	  "attach the probes with a match only; BEGIN and END in any case" },
	{ 0, "traceable-functions", "FILE", OPT_TEXT, TO(functions),
	  "the functions that can be traced, instead of what the kernel lists" },
	{ 'I', NULL, "DIR", OPT_LIST, TO(include_dirs), "look for the files of #include here too" },
	{ 0, "include", "FILE", OPT_LIST, TO(include_files), "begin with #include \"FILE\"" },
	{ 0, "usdt-file-activation", NULL, OPT_FLAG, TO(usdt_file_activation),
	  "accepted: the kernel switches USDT probes on" },
	{ 0, "debuginfo", "DIR[:DIR...]", OPT_TEXT, TO(debug_dirs),
	  "look for separate debug files here first, then in /usr/lib/debug" },
	{ 0, "dwarf-pid", "PID", OPT_NUMBER, TO(dwarf_pid),
	  "accepted: stacks of any process are walked by its tables" },
	{ 'h', "help", NULL, OPT_FLAG, TO(help), "print this" },
	{ 'V', "version", NULL, OPT_FLAG, TO(version), "print the version" },
	{ 0, "feed", "FD,SERIES,IDLE,NAME", OPT_TEXT, TO(feed_words), NULL },
	{ 'b', "btf", NULL, OPT_FLAG, TO(btf), NULL },
	{ 0, "mode", "format|codegen|bench|compiler-bench|test", OPT_CHOICE, TO(mode), NULL },
	{ 0, "bench", NULL, OPT_FLAG, TO(bench), NULL },
	{ 0, "emit-llvm", "FILE", OPT_TEXT, TO(emit_llvm), NULL },
	{ 0, "verify-llvm-ir", NULL, OPT_FLAG, TO(verify_llvm), NULL },
	{ 0, "aot", "FILE", OPT_TEXT, TO(aot), NULL },
};

static const char usage_head[] =
	"memtap answers questions about memory and caches on a running Linux system.\n"
	"\n"
	"  memtap [options] -e PROGRAM [parameter...]\n"
	"  memtap [options] FILE [parameter...]      (FILE '-' is standard input)\n"
	"  memtap -l[v] [PATTERN]\n"
	"  memtap NAME [options] [parameter...]      (a tool: memtap tools lists them)\n"
	"  memtap doctor                             (which tools run here, and why not)\n"
	"  memtap check FILE...                      (errors only: memtap check --help)\n"
	"  memtap btf COMMAND ...                    (the kernel's types: memtap btf --help)\n"
	"  memtap help [WORD | MESSAGE]              (what a word or a message means, examples)\n"
	"  memtap memstat [INTERVAL [COUNT]]         (where to look first, without tracing)\n"
	"  memtap serve [COLLECTOR...]               (maps as metrics for Prometheus)\n"
	"  memtap cachesize PROBE --size EXPR ...    (how large a cache should be)\n"
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
	"      events with their arguments\n"
	"  memtap check *.bt\n"
	"      the errors of scripts, without running them\n";

void run_options_usage(struct buf *b)
{
	buf_puts(b, usage_head);
	opt_usage(b, rows, ARRAY_SIZE(rows));
	buf_puts(b, usage_examples);
}

static bool check_process(u32 pid, struct err *e)
{
	if (!pid || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
		return true;
	return err_set(e, "there is no process %u", pid);
}

/* What bpftrace has for its own way of compiling, and for measuring that. */
static bool check_missing(const struct run_options *o, struct err *e)
{
	if (o->emit_llvm || o->verify_llvm) {
		err_set(e, "memtap does not use LLVM: there is no LLVM code to print or verify");
		return err_hint(e, "-d bpf prints the instructions");
	}
	if (o->aot) {
		err_set(e, "memtap does not make ahead-of-time programs");
		return err_hint(e, "compiling takes about a millisecond: ship the script; or "
		                   "--emit-elf, for a loader of your own");
	}
	if (o->bench || (o->mode && strstr(o->mode, "bench"))) {
		err_set(e, "memtap has no mode for benchmarks");
		return err_hint(e, "-d time prints what compiling takes");
	}
	return true;
}

void run_options_without_effect(const struct run_options *o, struct buf *b)
{
	if (o->btf)
		buf_puts(b, "-b, --btf: without effect, the kernel's BTF is always used\n");
	if (o->usdt_file_activation)
		buf_puts(b, "--usdt-file-activation: without effect, the kernel switches USDT "
		            "probes on\n");
	if (o->dwarf_pid)
		buf_puts(b, "--dwarf-pid: without effect, stacks of any process are walked by its "
		            "tables\n");
	config_without_effect(b);
}

/* --mode is the long way to say what has an option of its own. */
static void take_mode(struct run_options *o)
{
	if (!o->mode)
		return;
	o->fmt |= strcmp(o->mode, "format") == 0;
	o->test |= strcmp(o->mode, "test") == 0;
	if (strcmp(o->mode, "codegen") == 0 && !o->dump)
		o->dump = "bpf";
}

static void take_buffering(struct run_options *o)
{
	o->output_buffering = !o->buffering                       ? BUFFERING_LINE
	                      : strcmp(o->buffering, "full") == 0 ? BUFFERING_FULL
	                      : strcmp(o->buffering, "none") == 0 ? BUFFERING_NONE
	                                                          : BUFFERING_LINE;
}

/* What the engine does without. */
static const struct {
	const char *name;
	u32 feature;
} spared[] = {
	{ "atomics", FEATURE_ATOMICS },
	{ "cookie", FEATURE_COOKIE | FEATURE_RAWTP_COOKIE },
	{ "for_each", FEATURE_FOR_EACH },
	{ "func_arg", FEATURE_FUNC_ARG },
	{ "func_ip", FEATURE_FUNC_IP },
	{ "inherit_thread", FEATURE_INHERIT_THREAD },
	{ "kprobe_multi", FEATURE_KPROBE_MULTI },
	{ "kprobe_session", FEATURE_KPROBE_SESSION },
	{ "loop", FEATURE_LOOP },
	{ "percpu", FEATURE_PERCPU },
	{ "sleepable", FEATURE_SLEEPABLE },
	{ "uprobe_multi", FEATURE_UPROBE_MULTI },
};

static bool take_features(struct run_options *o, struct err *e)
{
	struct str rest = str_of(o->no_feature ? o->no_feature : "");

	while (rest.p && o->no_feature) {
		struct str word = str_cut(rest, ',', &rest);
		u32 i = 0;

		while (i < ARRAY_SIZE(spared) && !str_is_row(word, spared[i].name))
			i++;
		if (i == ARRAY_SIZE(spared))
			return err_set(e, "--no-feature takes some of " SPARED ", not '%.*s'",
			               STR_ARG(word));
		o->without.asked |= spared[i].feature;
	}
	return true;
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static bool take_graph(struct run_options *o, struct err *e)
{
	const char *const paths[GRAPH_FILES] = { o->folded, o->flame, o->pprof };
	u32 to_stdout = 0;

	o->graph = (struct graph_options){ .title = o->flame_title,
		                           .map = o->flame_map,
		                           .before = o->flame_diff,
		                           .stdout_fd = STDOUT_FILENO };
	for (u32 i = 0; i < GRAPH_FILES; i++) {
		o->graph.paths[i] = paths[i];
		to_stdout += is_stdout(paths[i]);
	}
	o->graph_to_stdout = to_stdout;
	if (to_stdout > 1)
		return err_set(e,
		               "only one of --folded, --flame and --pprof can be standard output");
	if ((o->flame_title || o->flame_map) && !graph_wanted(&o->graph) && !o->report)
		return err_set(e, "--flame-title and --flame-map go with --flame, --folded, "
		                  "--pprof or --report");
	return !o->flame_diff || o->flame || err_set(e, "--flame-diff goes with --flame");
}

static bool check(const struct run_options *o, struct err *e)
{
	if (o->command && o->pid)
		return err_set(e, "-c and -p can not be used together");
	if (o->list && o->dump)
		return err_set(e, "-l and -d can not be used together");
	if (o->emit_elf && (o->list || o->command))
		return err_set(e, "--emit-elf can not be used with -l or -c");
	if (o->test && o->command)
		return err_set(e, "--test and -c can not be used together");
	if (o->escape && strcmp(o->escape, "true") != 0 && strcmp(o->escape, "false") != 0)
		return err_set(e, "--escape takes true or false, not '%s'", o->escape);
	if (o->fmt && (o->list || o->dump))
		return err_set(e, "--fmt can not be used with -l or -d");
	return check_process(o->pid, e);
}

const struct opt *run_options_rows(u32 *n)
{
	*n = ARRAY_SIZE(rows);
	return rows;
}

u32 run_options_word(int argc, char **argv)
{
	struct run_options head = { 0 };
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err ignored = { 0 };
	u32 at = 0;

	if (opt_parse_head(rows, ARRAY_SIZE(rows), &head, &arena, argc, argv, &rest, &ignored) &&
	    !head.program && !head.list)
		at = rest.n ? (u32)argc - rest.n : 0;
	arena_free(&arena);
	return at;
}

bool run_options_readable(const char *path, struct err *e)
{
	return !path || access(path, R_OK) == 0 || err_sys(e, errno, "can not read %s", path);
}

const char *run_options_btf(void)
{
	const char *path = getenv("MEMTAP_BTF");

	return path ? path : getenv("BPFTRACE_BTF");
}

bool run_options_finish(struct run_options *o, struct err *e)
{
	take_mode(o);
	take_buffering(o);
	o->out = out_format(o->format, o->json);
	if (!check_missing(o, e) || !take_features(o, e) || !take_graph(o, e) || !check(o, e))
		return false;
	return !o->dump || cmd_dump_parse(&o->dumped, o->dump, e);
}

bool run_options_feed(struct run_options *o, struct err *e)
{
	int at = 0;

	if (o->feed_words && (sscanf(o->feed_words, "%d,%u,%u,%n", &o->feed.fd, &o->feed.max_series,
	                             &o->feed.idle, &at) != 3 ||
	                      !at))
		return err_set(e, "--feed is for memtap serve");
	if (o->feed_words)
		o->feed.name = o->feed_words + at;
	return true;
}
