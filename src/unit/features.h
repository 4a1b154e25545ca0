/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the running kernel can do, as plain data: probed once by kern/, read by the compiler
 * (which event source to choose) and by the loader (which way to attach).
 */
#ifndef UNIT_FEATURES_H
#define UNIT_FEATURES_H

#include "base/base.h"

struct features {
	bool btf;          /* /sys/kernel/btf/vmlinux can be read */
	bool kprobe;       /* perf kprobe events exist */
	bool kprobe_multi; /* 5.18 with CONFIG_FPROBE */
	bool fentry;       /* fentry programs load */
	bool uprobe_multi; /* 6.6 */
	bool rawtp_cookie; /* bpf_get_attach_cookie in raw tracepoints (6.10) */
};

#endif
