/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What `memtap serve` answers. */
#include "cmd/serve/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/serve/families.h"
#include "memstat/memstat.h"
#include "out/metrics_proto.h"
#include "web/accept.h"

#define ANSWER_MS 2000 /* what a collector has for its page */
#define TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_PROTO                                                                                 \
	"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "               \
	"encoding=delimited"
#define TYPE_OPEN "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* ---- /metrics ------------------------------------------------------------------------------- */

/* A family of our own with a value of each collector. */
static void add_each(const struct serve *s, struct buf *b, enum metrics_form form, const char *name,
                     const char *kind, const char *help, u64 (*value)(const struct collector *c))
{
	metrics_family(b, form, name, kind, help);
	for (u32 i = 0; i < s->n; i++) {
		buf_printf(b, "%s%s{collector=", name, *kind == 'c' ? "_total" : "");
		metrics_label(b, str_of(s->all[i]->name));
		buf_printf(b, "} %" PRIu64 "\n", value(s->all[i]));
	}
}

static u64 is_up(const struct collector *c)
{
	return c->answered;
}

static u64 starts_of(const struct collector *c)
{
	return c->starts;
}

/* Resident bytes of process `pid`, 0 none. */
static u64 resident(pid_t pid)
{
	char path[64];
	struct buf text = { 0 };
	struct err ignored = { 0 };
	u64 pages = 0;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (!pid || !file_read(path, &text, 4096, &ignored) ||
	    sscanf(buf_text(&text), "%*u %" SCNu64, &pages) != 1)
		pages = 0;
	buf_free(&text);
	return pages * (u64)sysconf(_SC_PAGESIZE);
}

static u64 resident_of(const struct collector *c)
{
	return resident(c->pid);
}

static void add_config(const struct serve *s, struct buf *b, enum metrics_form form)
{
	if (!s->path && !s->plan.web)
		return;
	metrics_family(b, form, "memtap_config_last_reload_successful", "gauge",
	               "1 when the configuration was right when it was last read.");
	buf_printf(b, "memtap_config_last_reload_successful %d\n", s->is_current);
	metrics_family(b, form, "memtap_config_last_reload_success_timestamp_seconds", "gauge",
	               "When it was last read and right.");
	buf_printf(b, "memtap_config_last_reload_success_timestamp_seconds %" PRIu64 "\n",
	           s->read_at);
}

static void add_sent(struct serve *s, struct buf *b, enum metrics_form form, enum otlp_kind kind)
{
	static const struct {
		const char *name, *what;
	} kinds[OTLP_KINDS] = { { "memtap_otlp", "Pages" },
		                { "memtap_otlp_profiles", "Profiles" } };
	struct otlp_told told = otlp_told(&s->otlp, kind);
	const struct {
		const char *name, *kind, *help;
		u64 n;
	} families[] = {
		{ "sent", "counter", "that the endpoint took.", told.sent },
		{ "dropped", "counter", "that it refused, or that waited too long.", told.dropped },
		{ "queued", "gauge", "that wait to be sent.", told.queued },
	};
	struct arena a = { 0 };

	for (u32 i = 0; i < ARRAY_SIZE(families); i++) {
		const char *name = arena_printf(&a, "%s_%s", kinds[kind].name, families[i].name);

		metrics_family(b, form, name, families[i].kind,
		               arena_printf(&a, "%s %s", kinds[kind].what, families[i].help));
		buf_printf(b, "%s%s %" PRIu64 "\n", name, *families[i].kind == 'c' ? "_total" : "",
		           families[i].n);
	}
	arena_free(&a);
}

static void add_own(struct serve *s, struct buf *b, enum metrics_form form)
{
	metrics_family(b, form, "memtap_build", "info", "The version of memtap.");
	buf_puts(b, "memtap_build_info{version=\"" MEMTAP_VERSION "\"} 1\n");
	add_each(s, b, form, "memtap_collector_up", "gauge",
	         "1 when the collector has answered this scrape.", is_up);
	add_each(s, b, form, "memtap_collector_starts", "counter",
	         "How often the collector was started.", starts_of);
	add_each(s, b, form, "memtap_collector_resident_memory_bytes", "gauge",
	         "Resident memory of the collector's process.", resident_of);
	metrics_family(b, form, "process_resident_memory_bytes", "gauge",
	               "Resident memory of memtap serve itself.");
	buf_printf(b, "process_resident_memory_bytes %" PRIu64 "\n", resident(getpid()));
	metrics_family(b, form, "memtap_families_left_out", "gauge",
	               "Families whose name another collector has, for another kind of metric.");
	buf_printf(b, "memtap_families_left_out %" PRIu64 "\n", s->conflicts);
	metrics_family(b, form, "memtap_http_connections_refused", "counter",
	               "Connections closed because their address had 24 already.");
	buf_printf(b, "memtap_http_connections_refused_total %" PRIu64 "\n",
	           s->refused + http_refused(s->http));
	if (s->plan.defaults) {
		metrics_family(b, form, "memtap_servers_left_out", "gauge",
		               "Cache servers beyond those that are looked at.");
		buf_printf(b, "memtap_servers_left_out %u\n", s->founds.beyond);
	}
	add_config(s, b, form);
	for (u32 i = 0; i < OTLP_KINDS; i++)
		if (s->otlp.sends[i])
			add_sent(s, b, form, (enum otlp_kind)i);
}

static void add_machine(struct buf *b, enum metrics_form form)
{
	struct memstat now;

	memstat_read_totals(&now, "");
	memstat_metrics(b, form, &now);
	memstat_free(&now);
}

/* What of it is wanted most, -1 none of it. */
static s32 quality(const char *accept, enum metrics_form form)
{
	static const char *const text[] = { "text/plain", "text/*", "*/*" };
	s32 q = -1;

	if (form == METRICS_OPENMETRICS)
		return accept_quality(accept, "application/openmetrics-text");
	/* Older clients may want other encodings of it. */
	if (form == METRICS_NATIVE)
		return strstr(accept, "encoding=delimited")
		               ? accept_quality(accept, "application/vnd.google.protobuf")
		               : -1;
	for (u32 i = 0; i < ARRAY_SIZE(text) && q < 0; i++)
		q = accept_quality(accept, text[i]);
	return q;
}

/* Of what is wanted as much, the form that says more; text when none is. */
static enum metrics_form form_of(const char *accept)
{
	static const enum metrics_form forms[] = { METRICS_NATIVE, METRICS_OPENMETRICS,
		                                   METRICS_TEXT };
	enum metrics_form best = METRICS_TEXT;
	s32 most = 0;

	for (u32 i = 0; i < ARRAY_SIZE(forms); i++) {
		s32 q = quality(accept, forms[i]);

		if (q <= most)
			continue;
		most = q;
		best = forms[i];
	}
	return best;
}

/* All there is; `own` is a part of it, to be freed after it. */
static void gather(struct serve *s, enum metrics_form form, struct families *f, struct buf *own)
{
	collectors_ask(s->all, s->n, form, ANSWER_MS);
	for (u32 i = 0; i < s->n; i++)
		families_add(f, collector_page(s->all[i]));
	s->conflicts = f->conflicts;
	if (s->plan.defaults)
		add_machine(own, form);
	add_own(s, own, form);
	families_add(f, (struct str){ own->p, (u32)own->n });
}

void serve_page(struct serve *s, enum metrics_form form, struct buf *b)
{
	struct families f = { 0 };
	struct buf own = { 0 };

	gather(s, form, &f, &own);
	families_print(&f, b);
	families_free(&f);
	buf_free(&own);
}

static void print_proto(struct serve *s, struct buf *b)
{
	struct families f = { 0 };
	struct buf own = { 0 };
	const struct str *pieces;
	u32 n;

	gather(s, METRICS_NATIVE, &f, &own);
	pieces = families_pieces(&f, &n);
	metrics_proto(b, pieces, n);
	families_free(&f);
	buf_free(&own);
}

static void print_page(struct serve *s, enum metrics_form form, struct http_reply *r)
{
	static const char *const types[] = { [METRICS_OPENMETRICS] = TYPE_OPEN,
		                             [METRICS_TEXT] = TYPE_TEXT,
		                             [METRICS_NATIVE] = TYPE_PROTO };

	r->type = types[form];
	if (form == METRICS_NATIVE)
		print_proto(s, &r->body);
	else
		serve_page(s, form, &r->body);
	buf_puts(&r->body, form == METRICS_OPENMETRICS ? "# EOF\n" : "");
}

/* ---- the other pages ------------------------------------------------------------------------ */

static void answer_health(const struct serve *s, struct http_reply *r)
{
	for (u32 i = 0; i < s->n; i++)
		if (!s->all[i]->pid && !s->all[i]->paused)
			buf_printf(&r->body, "%s does not run\n", s->all[i]->name);
	if (r->body.n)
		r->status = 503;
	else
		buf_puts(&r->body, "ok\n");
}

struct collector *serve_collector(const struct serve *s, struct str full, struct str *table)
{
	for (u32 i = 0; i < s->n; i++) {
		u32 n = (u32)strlen(s->all[i]->name);

		if (!str_starts(full, s->all[i]->name) || full.n <= n || full.p[n] != '/')
			continue;
		*table = (struct str){ full.p + n + 1, full.n - n - 1 };
		return s->all[i];
	}
	return NULL;
}

void serve_answer(void *ctx, const struct http_ask *ask, struct http_reply *r)
{
	struct serve *s = ctx;

	if (strcmp(ask->path, "/metrics") == 0) {
		print_page(s, form_of(ask->accept), r);
	} else if (strcmp(ask->path, "/healthz") == 0) {
		answer_health(s, r);
	} else if (!profiles_answer(s, ask, r) && !look_answer(s, ask, r)) {
		r->status = 404;
		r->type = "text/plain; charset=utf-8";
		buf_puts(&r->body,
		         "there is /, /metrics, /healthz, /api/v1/tables and /debug/pprof/\n");
	}
}
