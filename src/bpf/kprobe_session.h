/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef BPF_KPROBE_SESSION_H
#define BPF_KPROBE_SESSION_H

#include <linux/bpf.h>

#include "base/base.h"

/*
 * One program of the two, *n instructions, to be freed; NULL when the first is too long to be
 * jumped over. `is_return` is the number of bpf_session_is_return() in the kernel's BTF.
 */
struct bpf_insn *kprobe_session_join(const struct bpf_insn *entry, u32 n_entry,
                                     const struct bpf_insn *at_return, u32 n_return, u32 is_return,
                                     u32 *n);

#endif
