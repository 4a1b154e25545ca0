/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A profile as OpenTelemetry's protocol has it, which calls this part of itself "development": it
 * changed with most versions so far. Here it is as of opentelemetry-proto 1.10. Source:
 * opentelemetry/proto/profiles/v1development/profiles.proto, and for the names of attributes
 * OpenTelemetry's semantic conventions (profile, process, pprof).
 */
#ifndef OUT_OTLP_PROFILE_H
#define OUT_OTLP_PROFILE_H

#include "out/metrics_otlp.h"
#include "out/profile.h"

/* Adds an ExportProfilesServiceRequest. */
void otlp_profile(struct buf *b, struct profile *p, const struct otlp_about *about);

#endif
