/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where OTLP is sent, with which headers: from the command line, the configuration, and the
 * variables that OpenTelemetry's own programs read
 * (https://opentelemetry.io/docs/specs/otel/protocol/exporter/), in this order.
 *
 * It goes to the process that sends as text, over a socket: headers have tokens in them, and a
 * command line can be read by all.
 */
#ifndef CMD_SERVE_OTLP_TO_H
#define CMD_SERVE_OTLP_TO_H

#include "base/arena.h"
#include "base/err.h"
#include "cmd/serve/yamlkeys.h"

struct otlp_to {
	const char *url;      /* of metrics. NULL: none are sent, unless a variable says where */
	const char *profiles; /* where these are sent, NULL: they are not */
	u32 every;            /* seconds; 0 not said */
	bool gzip, compression_said;
	const char *headers; /* "Name: value\n"...; NULL not said */
};

/* The key `otlp` of a configuration. */
bool otlp_to_read(struct yamlkeys *r, const struct yamlnode *n, void *to);
/* What is not said is asked of the environment. False and *e: that is not as it should be. */
bool otlp_to_complete(struct otlp_to *to, struct arena *a, struct err *e);
/* The two URLs, "" none, and "gzip" or "", a line each; then the headers. */
const char *otlp_to_text(const struct otlp_to *to, struct arena *a);
/* Is it text that may stand in a header, and its name one? */
bool otlp_to_is_header(struct str name, struct str value);

#endif
