/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What `memtap serve` is while it runs. */
#ifndef CMD_SERVE_SERVE_H
#define CMD_SERVE_SERVE_H

#include "cmd/serve/found.h"
#include "cmd/serve/look.h"
#include "cmd/serve/otlp.h"
#include "cmd/serve/plan.h"
#include "cmd/serve/profiles.h"
#include "cmd/serve/service.h"
#include "web/http.h"

struct serve {
	struct plan plan;
	struct founds founds;   /* with the plan's defaults */
	struct collector **all; /* those of the plan and those found */
	u32 n;
	const char *path; /* of its file, NULL none */
	bool is_current;  /* the file was right when it was last read */
	u64 read_at;      /* CLOCK_REALTIME, in seconds, when it was last read and right */
	struct http *http;
	u64 refused; /* http_refused() of those before it */
	struct service service;
	struct otlp otlp;
	int signals;
	bool ending;
	struct look look; /* for the page */
	struct profiles profiles;
	u64 conflicts; /* families left out of the last page */
};

/* Adds the metrics of all, in a form of text. */
void serve_page(struct serve *s, enum metrics_form form, struct buf *b);
/* The collector of a table "COLLECTOR/NAME"; *table is the end of `full`. NULL: there is none. */
struct collector *serve_collector(const struct serve *s, struct str full, struct str *table);
/* http_fn, ctx being a struct serve. */
void serve_answer(void *ctx, const struct http_ask *ask, struct http_reply *r);

#endif
