/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BTF tracepoints that sit where a function of the kernel starts or returns, for kernels that
 * have no kprobes.
 */
#ifndef LANG_PROBE_STANDIN_H
#define LANG_PROBE_STANDIN_H

#include "base/base.h"

#define STANDIN_ARGS 4u

struct standin {
	const char *function;
	bool on_return;
	const char *event; /* NULL: there is none; `remark` says what comes near */
	u32 n_params;      /* the event has so many arguments, or it is another event; 0 any */
	/* Number of the event's argument that is the function's, plus 1; 0: it is not there. */
	u8 args[STANDIN_ARGS];
	u8 retval;
	const char *remark; /* how it differs, or NULL: not at all */
};

/* The first row for a function or a glob of functions, NULL when there is none; `after` continues
 * after a row. */
const struct standin *standin_find(const char *function, bool on_return,
                                   const struct standin *after);

#endif
