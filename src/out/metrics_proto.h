/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A page of metrics in the protobuf form: messages of io.prometheus.client.MetricFamily, each after
 * its length (https://github.com/prometheus/client_model).
 */
#ifndef OUT_METRICS_PROTO_H
#define OUT_METRICS_PROTO_H

#include "base/buf.h"
#include "base/str.h"

/* The pieces, each of whole lines, are a page of METRICS_NATIVE. What is not as it should be there
 * is left out. */
void metrics_proto(struct buf *to, const struct str *pieces, u32 n);

#endif
