/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BPF numbers that are newer than the oldest kernel headers we build with
 * (Debian 12: Linux 6.1), under our own names. Values are from the kernel's
 * include/uapi/linux/bpf.h, which never changes a published number.
 */
#ifndef BPF_UAPI_H
#define BPF_UAPI_H

#include <linux/bpf.h>

#include "base/base.h"

#define MT_BPF_TRACE_UPROBE_MULTI       48u /* enum bpf_attach_type, Linux 6.6 */
#define MT_BPF_TRACE_KPROBE_SESSION     56u /* the same, Linux 6.10 */
#define MT_BPF_LINK_UPROBE_MULTI_RETURN 1u  /* link_create.uprobe_multi.flags */

#endif
