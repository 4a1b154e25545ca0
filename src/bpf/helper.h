/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel functions a BPF program can call, by number and by name, with what the
 * self-check has to know about a call.
 */
#ifndef BPF_HELPER_H
#define BPF_HELPER_H

#include "base/base.h"
#include "bpf/uapi.h"

/* What r0 holds after the call. */
enum helper_result {
	HELPER_NUMBER,  /* a value, or 0 / negative errno */
	HELPER_MAYBE,   /* an address or NULL: test it before use */
	HELPER_POINTER, /* an address */
	HELPER_NOTHING, /* r0 is not to be read */
};

#define HELPER_ARGS_UNKNOWN 0xffu

struct helper {
	u8 n_args; /* r1 ... that must be set, HELPER_ARGS_UNKNOWN when not listed */
	enum helper_result result;
	bool is_variadic; /* reads the others up to r5 as well, when they are set */
};

/* "probe_read_user" for 112; NULL for a number that is not known here. */
const char *helper_name(u32 id);
/* The number for a name without "bpf_", 0 (unspec) when there is none. */
u32 helper_find(const char *name);
/* Never NULL: helpers that are not listed have unknown arguments and a number as result. */
const struct helper *helper_get(u32 id);

#endif
