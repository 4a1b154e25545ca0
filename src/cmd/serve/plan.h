/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What `memtap serve` is to do: of the command line, of a file, or by itself. docs/serve.md shows
 * the file.
 */
#ifndef CMD_SERVE_PLAN_H
#define CMD_SERVE_PLAN_H

#include "base/arena.h"
#include "base/err.h"
#include "cmd/serve/collector.h"
#include "cmd/serve/otlp_to.h"
#include "cmd/serve/yamlkeys.h"
#include "web/guard.h"

struct plan {
	struct arena arena; /* all of it */
	const char *listen;
	const char *web;     /* the file that says who may ask, NULL none: everybody */
	struct guard *guard; /* what it says */
	u32 max_series;      /* of a map of a collector that does not say it */
	u32 idle;            /* seconds after which a series ends whose key does not come */
	u32 restart;         /* seconds until a collector that ended is started again */
	u32 look;            /* seconds between two looks for cache servers */
	struct otlp_to otlp;
	bool defaults; /* the machine's memory is shown, and the usual collectors run */
	VEC(struct collector) collectors; /* none has begun */
	err_list mistakes;                /* of the file */
};

/* The collectors of the command line; without any the usual ones. False and *e: one of them is
 * none. */
bool plan_named(struct plan *p, const char *const *text, u32 n, struct err *e);
/* Reads a file; what it does not say stays. False: it can not be read, and why is in *e, or there
 * are mistakes. */
bool plan_read(struct plan *p, const char *path, struct err *e);
/* After one of these: reads who may ask, adds the usual collectors, when they are asked for, gives
 * numbers to names that are there twice, and to all collectors how many series they have. */
bool plan_complete(struct plan *p, struct err *e);

#endif
