/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel functions a BPF program can call: their names, and the registers a call reads. */
#ifndef BPF_HELPER_H
#define BPF_HELPER_H

#include "base/base.h"
#include "bpf/uapi.h"

#define HELPER_ARGS_UNKNOWN 0xffu

struct helper {
	u8 n_args;        /* r1 ... that must be set, HELPER_ARGS_UNKNOWN when not listed */
	bool is_variadic; /* reads the others up to r5 as well, when they are set */
};

/* "probe_read_user" for 112; NULL for a number that is not known here. */
const char *helper_name(u32 id);
/* Never NULL: helpers that are not listed have unknown arguments. */
const struct helper *helper_get(u32 id);

#endif
