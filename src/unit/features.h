/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the running kernel can do, as plain data: probed by kern/, read by the compiler (which
 * event source to choose) and by the loader (which way to attach). Each feature is asked for by
 * itself, for asking means loading a program: only those in `asked` are known.
 */
#ifndef UNIT_FEATURES_H
#define UNIT_FEATURES_H

#include "base/base.h"

enum feature {
	FEATURE_BTF = 1 << 0,
	FEATURE_KPROBE = 1 << 1,
	FEATURE_KPROBE_MULTI = 1 << 2,
	FEATURE_FENTRY = 1 << 3,
	FEATURE_UPROBE_MULTI = 1 << 4,
	FEATURE_RAWTP_COOKIE = 1 << 5,
	FEATURE_UPROBE_NOP5 = 1 << 6,
	FEATURE_LOOP = 1 << 7,
	FEATURE_KPROBE_SESSION = 1 << 8,
	FEATURES_ALL = (1 << 9) - 1,
};

struct features {
	u32 asked;           /* FEATURE_* whose answers are below */
	bool btf;            /* /sys/kernel/btf/vmlinux can be read */
	bool kprobe;         /* perf kprobe events exist */
	bool kprobe_multi;   /* 5.18 with CONFIG_FPROBE */
	bool kprobe_session; /* entry and return of kernel functions on one link (6.10) */
	bool fentry;         /* fentry programs load */
	bool uprobe_multi;   /* 6.6 */
	bool rawtp_cookie;   /* bpf_get_attach_cookie in raw tracepoints (6.10) */
	bool loop;           /* bpf_loop() (5.17) */
	bool uprobe_nop5;    /* user probes on a 5-byte nop need no trap (6.18) */
};

#endif
