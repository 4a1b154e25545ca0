/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What `memtap serve` reads itself of others: by the first byte the configuration, the file that
 * says who may ask, the header Accept, the header Authorization, OpenTelemetry's variables, a page
 * of a collector.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/serve/otlp_to.h"
#include "cmd/serve/plan.h"
#include "cmd/serve/webfile.h"
#include "out/metrics_proto.h"
#include "web/accept.h"
#include "web/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static char path[] = "/tmp/memtap-fuzz-web-XXXXXX";

static void remove_file(void)
{
	unlink(path);
}

/* Files are read by their path. */
static const char *file_of(const uint8_t *p, size_t n)
{
	static int fd = -1;

	if (fd < 0) {
		fd = mkstemp(path);
		atexit(remove_file);
	}
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, p, n, 0) != (ssize_t)n)
		abort();
	return path;
}

static void configuration(const uint8_t *p, size_t n)
{
	struct plan plan = { .listen = "x" };
	struct err e = { 0 };

	if (plan_read(&plan, file_of(p, n), &e) && plan.mistakes.n)
		abort();
	arena_free(&plan.arena);
}

static void who_may_ask(const uint8_t *p, size_t n)
{
	struct arena a = { 0 };
	struct guard g = { 0 };
	err_list mistakes = { 0 };
	struct err e = { 0 };

	if (webfile_read(&g, &a, file_of(p, n), &mistakes, &e) && mistakes.n)
		abort();
	guard_close(&g);
	arena_free(&a);
}

static void accept(const char *text)
{
	static const char *const ranges[] = { "text/plain", "text/*", "*/*", "gzip" };

	for (u32 i = 0; i < ARRAY_SIZE(ranges); i++)
		if (accept_quality(text, ranges[i]) > 1000)
			abort();
}

/* Nobody has a hash of these bytes; that it is taken for one's own password would be a find. */
static void authorization(const char *text)
{
	struct arena a = { 0 };
	struct guard g = { 0 };
	struct guard_known user = {
		"a", "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
	};
	struct guard_known token = { NULL, user.hash };
	struct err e;

	vec_add(&a, &g.known, user);
	vec_add(&a, &g.known, token);
	if (guard_open(&g, &e) && guard_ask(&g, text) == GUARD_PASS && !strstr(text, "secret") &&
	    !strstr(text, "YTpzZWNyZXQ"))
		abort();
	guard_close(&g);
	arena_free(&a);
}

static void variables(const char *text)
{
	struct otlp_to to = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };

	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x", 1);
	setenv("OTEL_EXPORTER_OTLP_HEADERS", text, 1);
	if (otlp_to_complete(&to, &a, &e)) {
		struct str lines = str_of(otlp_to_text(&to, &a));

		for (u32 i = 0; lines.n; i++) {
			struct str value, line = str_cut(lines, '\n', &lines);
			struct str name = str_cut(line, ':', &value);

			if (i > 1 && !otlp_to_is_header(name, value))
				abort();
		}
	}
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf to = { 0 };
	char *text;

	if (!n)
		return 0;
	text = strndup((const char *)p + 1, n - 1);
	switch (*p % 6) {
	case 0:
		configuration(p + 1, n - 1);
		break;
	case 1:
		who_may_ask(p + 1, n - 1);
		break;
	case 2:
		accept(text);
		break;
	case 3:
		authorization(text);
		break;
	case 4:
		variables(text);
		break;
	default:
		metrics_proto(&to, &(struct str){ (const char *)p + 1, (u32)n - 1 }, 1);
		buf_free(&to);
	}
	free(text);
	return 0;
}
