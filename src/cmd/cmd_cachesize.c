/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * memtap cachesize: how large a cache should be, asked of the program that has it. A script is made
 * of the probes and expressions named (cachesize_script.c), or for a known server of what mctop
 * captures (cachesize_server.c), and run with a view; what comes out of that is computed
 * and shown in cache/.
 *
 * The kernel's side counts sizes in a map, so an insert costs the program no more than that. Where
 * keys are known it sends a record for each use of a watched key; when there are more keys than are
 * watched the view asks it, by the map @threshold, to leave more of them out.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agg/table.h"
#include "base/file.h"
#include "base/opt.h"
#include "cache/sizing.h"
#include "view/cache_view.h"
#include "view/cachesize.h"
#include "cmd/job.h"
#include "cmd/expand_files.h"
#include "cmd/say.h"
#include "run/session.h"
#include "run/view.h"
#include "world/stop.h"
#include "world/world_linux.h"

#define TO(member) offsetof(struct cachesize_options, member)

static const struct opt rows[] = {
	{ 0, "size", "EXPR", OPT_TEXT, TO(size), "bytes of the entry, at PROBE: arg2, value.len" },
	{ 0, "key", "EXPR[,LENGTH]", OPT_TEXT, TO(key),
	  "the entry's key: a number, or text that a pointer leads to" },
	{ 0, "get", "PROBE", OPT_TEXT, TO(get), "where an entry is looked up" },
	{ 0, "get-key", "EXPR[,LENGTH]", OPT_TEXT, TO(get_key), "the key there (as --key)" },
	{ 0, "evict", "PROBE", OPT_TEXT, TO(evict), "where an entry is taken out" },
	{ 0, "entries", "N", OPT_NUMBER, TO(entries), "memory of a cache of N entries, too" },
	{ 0, "limit", "BYTES", OPT_TEXT, TO(limit), "entries that fit into BYTES (10M, 2G)" },
	{ 0, "overhead", "BYTES", OPT_TEXT, TO(overhead),
	  "bytes of an entry besides its size (0)" },
	{ 0, "alloc", "glibc|jemalloc|none", OPT_CHOICE, TO(alloc),
	  "whose rounding (what the process has, else glibc)" },
	{ 0, "samples", "N", OPT_NUMBER, TO(samples), "keys watched at most (16384)" },
	{ 0, "svg", "FILE", OPT_TEXT, TO(svg), "draw the hits by size of the cache" },
	{ 0, "report", "FILE.html", OPT_TEXT, TO(report),
	  "write what is shown to FILE, a page for a browser" },
	{ 0, "via", "syscalls|socket|ssl", OPT_CHOICE, TO(via),
	  "how a server is watched: by packets; ssl, one that speaks TLS (the cheapest)" },
	{ 'd', "duration", "SECONDS", OPT_NUMBER, TO(duration), "end after so long" },
	{ 'c', "cmd", "COMMAND", OPT_TEXT, TO(command),
	  "start COMMAND once all probes are attached, end with it" },
	{ 'p', "pid", "PID", OPT_NUMBER, TO(pid), "look at this process only, end with it" },
	{ 'f', "format", OUT_FORMAT_NAMES, OPT_CHOICE, TO(format), "how to print (text)" },
	{ 0, "json", NULL, OPT_FLAG, TO(json), "the same as -f json" },
	{ 'o', "output", "FILE", OPT_TEXT, TO(output), "print to FILE instead of standard output" },
	{ 'q', "quiet", NULL, OPT_FLAG, TO(quiet), "say nothing but the result" },
	{ 'v', "verbose", NULL, OPT_FLAG, TO(verbose), "say more" },
	{ 0, "script", NULL, OPT_FLAG, TO(script), "print the script that would be run, and end" },
	{ 'h', "help", NULL, OPT_FLAG, TO(help), "print this" },
};

static int fail(const struct err *e)
{
	say_error(e);
	return 1;
}

static const char usage_head[] =
	"How large a cache should be: sizes of its entries, memory for any number of "
	"them,\n"
	"and, with --key, the hits of a cache of any size.\n\n"
	"Usage: memtap cachesize PROBE --size EXPR [--key EXPR] [options]\n"
	"       memtap cachesize memcached|redis [-p PID] [options]\n\n"
	"PROBE is where an entry is put in; expressions are those of scripts, and\n"
	"VALUE.LEN is short for args.VALUE.LEN. A memcached, Redis or Valkey server\n"
	"is watched as it is.\n\n";

static const char usage_examples[] =
	"\nExamples:\n"
	"  memtap cachesize 'uprobe:./server:cache_insert' --size arg2 -p 1234\n"
	"  memtap cachesize 'uprobe:./server:put' --size value.len --key arg0,32 \\\n"
	"    --limit 64M --svg hits.svg -c './server'\n"
	"  memtap cachesize memcached --limit 1G -d 600\n";

/* ---- the view ---- */

struct watch {
	const struct cachesize_options *o;
	struct sizing sizing;
	struct cachesize_server *server; /* NULL: probes are named */
	u64 delivered;                   /* counting uses that came as records */
	u64 threshold;                   /* as the kernel's side knows it; 0: all */
	int svg;                         /* -1: none */
};

static bool on_start(void *ctx, const struct view_of *v, struct err *e)
{
	struct watch *w = ctx;

	return cachesize_server_start(w->server, v, e);
}

static bool on_record(void *ctx, const struct view_of *v, const struct urecord *r, const u8 *bytes)
{
	struct watch *w = ctx;
	enum shards_use use;
	u64 size, threshold, zero = 0;
	s32 map;
	struct err e = { 0 };

	if (w->server)
		return cachesize_server_record(w->server, v, r, bytes);
	if (r->action != ACTION_PRINTF || r->n_args != 3)
		return false;
	use = (enum shards_use)view_number(r, bytes, 0);
	size = view_number(r, bytes, 2);
	w->delivered += use == SHARDS_GET;
	shards_use(w->sizing.shards, view_number(r, bytes, 1),
	           use == SHARDS_PUT || !w->o->get ? sizing_taken(&w->sizing, size) : 0, use);
	threshold = shards_threshold(w->sizing.shards);
	/* A little more than is watched comes up; telling the kernel each time would cost more. */
	if (threshold != UINT64_MAX && (!w->threshold || threshold < w->threshold / 8 * 7)) {
		map = view_map(v, "@threshold");
		if (map >= 0 && live_map_put(v->live, (u32)map, &zero, &threshold, &e))
			w->threshold = threshold;
	}
	return true;
}

/* The one value of a map without key. */
static bool read_one(const struct view_of *v, const char *name, struct arena *a, struct cell *c,
                     struct err *e)
{
	struct table t;

	*c = (struct cell){ 0 };
	if (!view_map_read(v, name, a, &t, e))
		return false;
	if (t.rows.n)
		*c = t.rows.v[0].value;
	return true;
}

static bool read_sizes(struct watch *w, const struct view_of *v, struct arena *a, struct err *e)
{
	struct sizes *s = &w->sizing.sizes;
	struct cell bytes, least, most;
	struct table t;

	if (!view_map_read(v, "@sizes", a, &t, e) || !read_one(v, "@bytes", a, &bytes, e) ||
	    !read_one(v, "@least", a, &least, e) || !read_one(v, "@most", a, &most, e))
		return false;
	for (u32 i = 0; i < t.rows.n; i++) {
		u64 size;

		memcpy(&size, t.rows.v[i].key, sizeof(size));
		sizes_add_coarse(s, size, (u64)t.rows.v[i].value.n);
	}
	if (!s->n)
		return true;
	s->min = (u64)least.n;
	s->max = (u64)most.n;
	/* The sum would be wrong were an insert counted in one map and not in the other. */
	if ((u64)bytes.n == s->n)
		s->sum = (double)(u64)bytes.total;
	return true;
}

static bool read_counts(struct watch *w, const struct view_of *v, struct arena *a, struct err *e)
{
	struct sizing *s = &w->sizing;
	struct cell gets, evicted;
	u64 uses;

	if (!read_one(v, "@gets", a, &gets, e) || !read_one(v, "@evicted", a, &evicted, e))
		return false;
	s->has_lookups = w->o->get;
	s->has_evictions = w->o->evict;
	s->lookups = (u64)gets.n;
	s->evictions = (u64)evicted.n;
	s->lost = live_data(v->live, UDATA_LOST) + live_data(v->live, UDATA_BUSY);
	uses = w->o->get ? s->lookups : s->sizes.n;
	if (s->shards && uses > w->delivered)
		shards_skip(s->shards, uses - w->delivered);
	return true;
}

/* Before there are fewer rights. */
static bool open_svg(struct watch *w, struct err *e)
{
	w->svg = -1;
	if (!w->o->svg)
		return true;
	w->svg = open(w->o->svg, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	return w->svg >= 0 || err_sys(e, errno, "can not write %s", w->o->svg);
}

static bool write_svg(const struct watch *w, struct err *e)
{
	struct buf b = { 0 };
	struct stat st;
	bool ok;

	if (w->svg < 0)
		return true;
	sizing_svg(&b, &w->sizing);
	ok = (fstat(w->svg, &st) < 0 || !S_ISREG(st.st_mode) || ftruncate(w->svg, 0) == 0) &&
	     file_write_all(w->svg, b.p, b.n);
	if (!ok)
		err_sys(e, errno, "can not write %s", w->o->svg);
	buf_free(&b);
	return ok;
}

static bool on_end(void *ctx, const struct view_of *v, struct err *e)
{
	struct watch *w = ctx;
	struct arena a = { 0 };
	bool ok = true;

	if (w->server)
		cachesize_server_end(w->server, v);
	else
		ok = read_sizes(w, v, &a, e) && read_counts(w, v, &a, e);
	arena_free(&a);
	if (!ok || !write_svg(w, e))
		return false;
	if (w->o->out->tree) {
		sizing_tree(&(struct tree){ .b = v->out, .ops = w->o->out->tree }, &w->sizing);
	} else {
		buf_putc(v->out, '\n');
		sizing_text(v->out, &w->sizing);
	}
	return true;
}

static void on_report(void *ctx, const struct view_of *v, struct buf *b)
{
	const struct watch *w = ctx;

	(void)v;
	sizing_tree(&(struct tree){ .b = b, .ops = &tree_json }, &w->sizing);
}

/* ---- running ---- */

static void report(void *ctx, enum report kind, const struct loc *loc, const char *text)
{
	const struct job *j = ctx;
	struct err e = { 0 };

	if (kind == REPORT_NOTE) {
		say_note(text);
	} else if (loc) {
		say_at(&j->source, kind == REPORT_ERROR ? DIAG_ERROR : DIAG_WARNING, *loc, text,
		       NULL);
	} else if (kind == REPORT_WARNING) {
		say_warning(text);
	} else {
		err_set(&e, "%s", text);
		say_error(&e);
	}
}

static int run_unit(struct job *j, struct watch *w, struct child *child)
{
	struct view view = {
		.record = on_record, .end = on_end, .report = on_report, .fd = -1, .ctx = w
	};
	struct session_options so = {
		.verbose = w->o->verbose,
		.quiet = w->o->quiet,
		.format = w->o->out,
		.output = w->o->output,
		.output_fd = STDOUT_FILENO,
		.page = w->o->report,
		.pid = (s32)w->o->pid,
		.features = world_linux_features(j->world),
		.expand = expand_files,
		.view = &view,
		.report = report,
		.report_ctx = j,
	};
	struct err e = { 0 };
	int code;

	if (w->server)
		view.start = on_start;
	if (!open_svg(w, &e))
		return fail(&e);
	code = session_run(j->unit, &so, child, &e);
	if (code < 0)
		say_failure(&j->source, &e);
	if (w->svg >= 0)
		close(w->svg);
	return code < 0 ? 1 : code;
}

/* What the process allocates with, as far as its files tell. */
static enum alloc alloc_of(const struct cachesize_options *o)
{
	char path[64];
	struct buf maps = { 0 };
	struct err e = { 0 };
	enum alloc a = ALLOC_GLIBC;

	if (o->kind)
		return ALLOC_NONE;
	if (o->alloc)
		return alloc_find(o->alloc);
	snprintf(path, sizeof(path), "/proc/%u/maps", o->pid);
	if (o->pid && file_read(path, &maps, 64 << 20, &e) && strstr(buf_text(&maps), "jemalloc"))
		a = ALLOC_JEMALLOC;
	buf_free(&maps);
	return a;
}

static int run_compiled(struct job *j, const struct cachesize_options *o, struct child *child)
{
	struct shards_options so = { .samples = o->samples };
	struct watch *w = calloc(1, sizeof(*w));
	struct err e = { 0 };
	int code = 1;

	if (!w)
		base_no_memory();
	w->o = o;
	w->sizing.o = (struct sizing_options){ alloc_of(o), o->overhead_bytes, o->entries,
		                               o->limit_bytes, o->kind ? o->kind->how : NULL };
	w->server = o->kind ? cachesize_server_new(o, &w->sizing) : NULL;
	if (o->key || o->kind)
		w->sizing.shards = shards_new(&so, &e);
	if ((o->key || o->kind) && !w->sizing.shards)
		fail(&e);
	else
		code = run_unit(j, w, child);
	cachesize_server_free(w->server);
	shards_free(w->sizing.shards);
	free(w);
	return code;
}

/* With the world set up, and the command held before its first instruction. */
static int run_script(struct job *j, const struct cachesize_options *o, struct child *child)
{
	bool ok;

	if (child) {
		j->script.request.pid = child_pid(child);
		j->script.request.command = child_program(child);
	}
	ok = job_compile(j, STAGE_UNIT, false);
	say_diags(&j->diags, true);
	return ok ? run_compiled(j, o, child) : 1;
}

static int run(const struct cachesize_options *o, const struct buf *script)
{
	struct world_linux_options machine = { 0 };
	struct world *world = world_linux_new(&machine);
	struct request_option via = { "via", o->via };
	struct child *child = NULL;
	struct err e = { 0 };
	struct job j;
	int code;

	job_init(&j, world);
	j.script.request.pid = (s32)o->pid;
	if (!o->via && o->kind && (via.value = cache_view_way(&j.arena, o->pid)))
		say_note("--via socket is taken, the cheapest way here");
	if (via.value) {
		j.script.request.options = &via;
		j.script.request.n_options = 1;
	}
	if (!job_packed(&j, "cachesize", str_of(buf_text(script)), &e) ||
	    (o->command && !(child = child_start(o->command, &e))))
		code = fail(&e);
	else
		code = run_script(&j, o, child);
	child_free(child);
	job_free(&j);
	world_linux_free(world);
	return code;
}

/* ---- the command line ---- */

static bool check_bytes(struct cachesize_options *o, struct err *e)
{
	return (!o->limit || cachesize_bytes(o->limit, "limit", &o->limit_bytes, e)) &&
	       (!o->overhead || cachesize_bytes(o->overhead, "overhead", &o->overhead_bytes, e));
}

/* A server that is known needs nothing but its process. */
static bool check_server(struct cachesize_options *o, struct arena *a, struct err *e)
{
	const char *others[] = {
		o->size, o->key, o->get, o->get_key, o->evict, o->alloc, o->command
	};
	static const char *const names[] = { "size",  "key",   "get", "get-key",
		                             "evict", "alloc", "cmd" };

	for (u32 i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i]) {
			err_set(e, "--%s is for a program of your own, not for %s", names[i],
			        o->kind->name);
			return err_hint(e, "memtap cachesize %s -p PID", o->kind->name);
		}
	return check_bytes(o, e) && (o->pid || cache_view_find_kind(a, o->kind, &o->pid, e));
}

static bool check(struct cachesize_options *o, const struct opt_rest *rest, struct arena *a,
                  struct err *e)
{
	o->out = out_format(o->format, o->json);
	if (rest->n == 1 && (o->kind = item_find(rest->v[0])))
		return check_server(o, a, e);
	if (rest->n != 1) {
		err_set(e, rest->n ? "one probe, please: '%s' is another" : "no probe is named",
		        rest->n ? rest->v[1] : "");
		return err_hint(e, "memtap cachesize 'uprobe:./server:insert' --size arg2");
	}
	if (o->via) {
		err_set(e, "--via is for memcached and redis");
		return err_hint(e, "a program of your own is watched by the probe that you name");
	}
	o->put = rest->v[0];
	if (!o->size) {
		err_set(e, "--size is missing: what an entry takes");
		return err_hint(e, "--size arg2, or with debug information --size value.len");
	}
	if ((o->get || o->svg || o->samples) && !o->key) {
		err_set(e, "--%s needs --key", o->get ? "get" : o->svg ? "svg" : "samples");
		return err_hint(e, "hits can be counted where keys are known: --key arg0,32");
	}
	return check_bytes(o, e);
}

int cmd_cachesize(int argc, char **argv)
{
	struct cachesize_options o = { 0 };
	struct buf script = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	struct opt_rest rest;
	int code = 0;

	stop_heed();
	if (!opt_parse(rows, ARRAY_SIZE(rows), &o, &a, argc, argv, &rest, &e)) {
		code = fail(&e);
	} else if (o.help) {
		code = say_usage(usage_head, rows, ARRAY_SIZE(rows), usage_examples);
	} else if (!check(&o, &rest, &a, &e)) {
		code = fail(&e);
	} else {
		(o.kind ? cachesize_server_script : cachesize_script)(&script, &o);
		if (o.script)
			say_output(&script);
		else
			code = run(&o, &script);
	}
	buf_free(&script);
	arena_free(&a);
	return code;
}
