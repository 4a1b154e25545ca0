/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A page of metrics (METRICS_NATIVE) as what OpenTelemetry's collectors take: the message
 * ExportMetricsServiceRequest. Counters are cumulative sums, hist() an exponential histogram.
 * Source: opentelemetry/proto/metrics/v1/metrics.proto.
 */
#ifndef OUT_METRICS_OTLP_H
#define OUT_METRICS_OTLP_H

#include "base/buf.h"
#include "base/str.h"

struct otlp_about {
	const char *service, *version, *host; /* of the resource */
	u64 began_ns, now_ns; /* CLOCK_REALTIME: from when on is counted, and until */
};

/* What is first in what is sent of metrics as of profiles: where it is from. */
void metrics_otlp_resource(struct buf *to, const struct otlp_about *about);
void metrics_otlp(struct buf *to, struct str page, const struct otlp_about *about);

#endif
