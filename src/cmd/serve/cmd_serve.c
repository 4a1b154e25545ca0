/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap serve [COLLECTOR...]`: runs tools and scripts all the time and hands their maps to
 * Prometheus. One loop: requests, signals, collectors that ended.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/opt.h"
#include "base/trim.h"
#include "cmd/say.h"
#include "cmd/serve/confine.h"
#include "cmd/serve/own.h"
#include "cmd/serve/serve.h"

#define LISTEN     "127.0.0.1:9464"
#define MAX_SERIES 1000
#define IDLE       600 /* seconds */
#define RESTART    5
#define LOOK       10
#define OTLP_EVERY 15

struct options {
	const char *listen, *web, *otlp, *otlp_profiles, *config, *check;
	u32 max_series, idle, restart, look, otlp_every;
	bool help, otlp_feed;
	struct opt_rest named; /* collectors */
};

#define TO(member) offsetof(struct options, member)

static const struct opt rows[] = {
	{ 0, "listen", "[ADDRESS:]PORT", OPT_TEXT, TO(listen), "where to answer (127.0.0.1:9464)" },
	{ 0, "web", "FILE", OPT_TEXT, TO(web), "who may ask, and TLS (docs/serve.md)" },
	{ 0, "otlp", "URL", OPT_TEXT, TO(otlp),
	  "send metrics to that OpenTelemetry endpoint, too (OTLP over HTTP)" },
	{ 0, "otlp-profiles", "URL", OPT_TEXT, TO(otlp_profiles),
	  "stacks, too, as OTLP profiles, a format still in development: it will change" },
	{ 0, "otlp-every", "SECONDS", OPT_NUMBER, TO(otlp_every), "between two of them (15)" },
	{ 0, "otlp-feed", NULL, OPT_FLAG, TO(otlp_feed), NULL },
	{ 0, "config", "FILE", OPT_TEXT, TO(config), "what to collect (docs/serve.md)" },
	{ 0, "check", "FILE", OPT_TEXT, TO(check),
	  "only say what is wrong with such a file and its scripts, and where" },
	{ 0, "max-series", "N", OPT_NUMBER, TO(max_series),
	  "series of a map; the rest is one series labelled other (1000)" },
	{ 0, "idle", "SECONDS", OPT_NUMBER, TO(idle),
	  "a series ends whose key has not come for so long (600)" },
	{ 0, "restart", "SECONDS", OPT_NUMBER, TO(restart),
	  "until a collector that ended is started again, the first time (5)" },
	{ 0, "look", "SECONDS", OPT_NUMBER, TO(look), "between two looks for cache servers (10)" },
	{ 'h', "help", NULL, OPT_FLAG, TO(help), "print this" },
};

static const char usage_head[] =
	"Runs tools and scripts all the time and answers Prometheus: their maps are metrics.\n"
	"\n"
	"  memtap serve [options] [COLLECTOR...]\n"
	"\n"
	"A COLLECTOR is a tool or a file with a script, in quotes with its options. Without one,\n"
	"it is the machine's memory, as memstat reads it, and what the kernel does for it: "
	"reclaim\n"
	"with its time, major faults by process, OOM kills. And the calls, latency, hottest keys\n"
	"and hit-ratio curve of each cache server that is found, also of those that start later.\n"
	"SIGHUP has the file of --config read again: collectors that are the same go on.\n"
	"\n"
	"  /          a page for people: memory, who waits for it, hot keys, flame graphs\n"
	"  /metrics   OpenMetrics 1.0, protobuf or the older text, as the request asks\n"
	"  /healthz   200 when all collectors run, else 503 and the names of those that do not\n"
	"  /api/v1/tables, /api/v1/tables/NAME   tables as JSON, the same as --json\n"
	"  /debug/pprof/, /debug/pprof/NAME[?seconds=N]   stacks for pprof, Parca and Pyroscope\n"
	"\n"
	"count() and sum() are counters, hist() and lhist() histograms, avg() and stats()\n"
	"summaries, numbers gauges; the fields of a key are labels. A collector that ends is\n"
	"started again.\n"
	"\n"
	"Options:\n";

static const char usage_examples[] =
	"\n"
	"Examples:\n"
	"  memtap serve\n"
	"  memtap serve --config /etc/memtap/serve.yml\n"
	"  memtap serve --listen 0.0.0.0:9464 \"drsnoop -n postgres 1\" /etc/memtap/reads.bt\n"
	"  curl -s localhost:9464/metrics\n";

/* ---- the configuration ---------------------------------------------------------------------- */

/* The file's or the command line's; what options say goes before what a file says. False: it was
 * said what is wrong. */
static bool configure(struct plan *p, const struct options *o, const char *path)
{
	struct err e = { 0 };
	bool ok;

	*p = (struct plan){ .listen = LISTEN,
		            .max_series = MAX_SERIES,
		            .idle = IDLE,
		            .restart = RESTART,
		            .look = LOOK,
		            .defaults = true };
	ok = path ? plan_read(p, path, &e) : plan_named(p, o->named.v, o->named.n, &e);
	p->web = o->web ? o->web : p->web;
	p->listen = o->listen ? o->listen : p->listen;
	p->max_series = o->max_series ? o->max_series : p->max_series;
	p->idle = o->idle ? o->idle : p->idle;
	p->restart = o->restart ? o->restart : p->restart;
	p->look = o->look ? o->look : p->look;
	p->otlp.url = o->otlp ? o->otlp : p->otlp.url;
	p->otlp.profiles = o->otlp_profiles ? o->otlp_profiles : p->otlp.profiles;
	if (o->otlp_every || !p->otlp.every)
		p->otlp.every = o->otlp_every ? o->otlp_every : OTLP_EVERY;
	ok = ok && plan_complete(p, &e);
	for (u32 i = 0; i < p->mistakes.n; i++)
		say_error(&p->mistakes.v[i]);
	if (*e.text)
		say_error(&e);
	return ok;
}

static void free_plan(struct plan *p)
{
	if (p->guard)
		guard_close(p->guard);
	arena_free(&p->arena);
}

/* Runs `memtap check SCRIPT`. */
static bool check_script(const char *path)
{
	char self[] = "memtap", check[] = "check";
	char *argv[] = { self, check, base_plain(path), NULL };
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool check(const struct options *o)
{
	struct plan p;
	bool ok = configure(&p, o, o->check);

	for (u32 i = 0; ok && i < p.collectors.n; i++)
		if (p.collectors.v[i].version.inode)
			ok &= check_script(p.collectors.v[i].words[0]);
	free_plan(&p);
	return ok;
}

static void note_read(struct serve *s)
{
	s->is_current = true;
	s->read_at = clock_ns(CLOCK_REALTIME) / 1000000000;
}

/* The address may be another one, or a key: then it is listened there, or with it, if that can be
 * done. */
static bool move(struct serve *s, const struct plan *to)
{
	bool stays = strcmp(to->listen, s->plan.listen) == 0 || s->service.listening >= 0;
	struct err e = { 0 };
	struct http *http;

	if (stays && !to->guard->cert && !s->plan.guard->cert) {
		http_guard(s->http, to->guard);
		return true;
	}
	http = http_open(to->listen, stays ? http_copy(s->http) : -1, to->guard, serve_answer, s,
	                 &e);
	if (!http) {
		say_error(&e);
		return false;
	}
	s->refused += http_refused(s->http);
	http_close(s->http);
	s->http = http;
	return true;
}

/* What there is to ask, after it has changed. */
static void gather(struct serve *s)
{
	free(s->all);
	s->n = 0;
	s->all = calloc(s->plan.collectors.n + FOUND_MOST, sizeof(*s->all));
	if (!s->all)
		base_no_memory();
	for (u32 i = 0; i < s->plan.collectors.n; i++)
		s->all[s->n++] = &s->plan.collectors.v[i];
	for (u32 i = 0; i < s->founds.n; i++)
		s->all[s->n++] = found_collector(s->founds.v[i]);
}

/* Collectors that are the same go on. */
static void reload(struct serve *s, const struct options *o)
{
	struct plan new, old = s->plan;

	s->is_current = false;
	service_tell_reloading(&s->service);
	if (!configure(&new, o, s->path) || !move(s, &new)) {
		say_warning("the configuration stays what it was");
		free_plan(&new);
		service_tell(&s->service, "READY=1");
		return;
	}
	for (u32 i = 0; i < new.collectors.n; i++)
		for (u32 k = 0; k < old.collectors.n; k++)
			if (collector_same(&new.collectors.v[i], &old.collectors.v[k]))
				collector_take(&new.collectors.v[i], &old.collectors.v[k]);
	collectors_stop(s->all, old.collectors.n); /* the others of the old plan */
	s->plan = new;
	free_plan(&old);
	if (!new.defaults)
		founds_free(&s->founds);
	gather(s);
	otlp_set(&s->otlp, &s->plan.otlp, s->plan.otlp.every);
	note_read(s);
	service_tell(&s->service, "READY=1");
}

/* ---- the loop ------------------------------------------------------------------------------- */

static bool take_signals(struct serve *s, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals >= 0 || err_sys(e, errno, "can not receive signals");
}

static void on_signals(struct serve *s, const struct options *o)
{
	/* A service manager that wants it read again does not know whether there is a file. */
	bool reads = s->path || s->plan.web || *s->service.path, again = false;
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP && reads)
			again = true;
		else
			s->ending |= info.ssi_signo != SIGCHLD;
	}
	otlp_reap(&s->otlp);
	for (u32 i = 0; i < s->n; i++)
		collector_reap(s->all[i]);
	if (again && !s->ending)
		reload(s, o);
}

/* -1 is later than all. */
static int sooner(int a, int b)
{
	return (u32)a < (u32)b ? a : b;
}

/* Begins what is to be begun. Returns the milliseconds until there is more to do. */
static int begin(struct serve *s)
{
	int ms = service_live(&s->service);

	if (s->plan.defaults) {
		if (founds_look(&s->founds, &s->plan))
			gather(s);
		ms = sooner(ms, founds_wait(&s->founds));
	}
	for (u32 i = 0; i < s->n; i++) {
		collector_start(s->all[i]);
		ms = sooner(ms, collector_wait(s->all[i]));
	}
	ms = sooner(ms, look_work(s));
	ms = sooner(ms, profiles_work(s));
	ms = sooner(ms, otlp_work(&s->otlp, s));
	/* What was told has to be sent. */
	return sooner(ms, http_wait(s->http));
}

static bool loop(struct serve *s, const struct options *o, struct err *e)
{
	while (!s->ending) {
		struct pollfd p[] = { { .fd = http_fd(s->http), .events = POLLIN },
			              { .fd = s->signals, .events = POLLIN } };

		if (poll(p, ARRAY_SIZE(p), begin(s)) < 0 && errno != EINTR)
			return err_sys(e, errno, "can not wait for requests");
		on_signals(s, o);
		http_run(s->http);
	}
	return true;
}

static bool run(struct serve *s, const struct options *o, struct err *e)
{
	char line[128];
	bool ok;

	if (!take_signals(s, e) || !service_open(&s->service, e))
		return false;
	s->http = http_open(s->plan.listen, s->service.listening, s->plan.guard, serve_answer, s,
	                    e);
	if (!s->http)
		return false;
	note_read(s);
	if (!confine(e))
		say_warning(e->text);
	snprintf(line, sizeof(line), "Listening on http%s://%s/metrics",
	         s->plan.guard->cert ? "s" : "", http_address(s->http));
	say_note(line);
	gather(s);
	otlp_set(&s->otlp, &s->plan.otlp, s->plan.otlp.every);
	service_tell(&s->service, "READY=1");
	trim_memory();
	ok = loop(s, o, e);
	service_tell(&s->service, "STOPPING=1");
	otlp_stop(&s->otlp);
	free(s->otlp.to);
	collectors_stop(s->all, s->n);
	founds_free(&s->founds);
	free(s->all);
	http_close(s->http);
	look_free(&s->look);
	profiles_free(&s->profiles);
	return ok;
}

/* ---- the command line ----------------------------------------------------------------------- */

static bool start(const struct options *o)
{
	struct serve s = { .path = o->config };
	struct err e = { 0 };
	bool ok = configure(&s.plan, o, o->config);

	if (ok && !run(&s, o, &e)) {
		say_error(&e);
		ok = false;
	}
	free_plan(&s.plan);
	return ok;
}

int cmd_serve(int argc, char **argv)
{
	struct options o = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	bool ok = opt_parse(rows, ARRAY_SIZE(rows), &o, &a, argc, argv, &o.named, &e);

	if (ok && o.help) {
		arena_free(&a);
		return say_usage(usage_head, rows, ARRAY_SIZE(rows), usage_examples);
	}
	if (ok && o.otlp_feed) {
		arena_free(&a);
		return otlp_send(OWN_FD);
	}
	if (ok && (o.config || o.check) && o.named.n)
		ok = err_set(&e,
		             "collectors are named by the file or on the command line, not both");
	if (!ok)
		say_error(&e);
	else
		ok = o.check ? check(&o) : start(&o);
	arena_free(&a);
	return ok ? 0 : 1;
}
