/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the running kernel can do, as plain data: probed by kern/, read by the compiler (which
 * event source to choose) and by the loader (which way to attach). Each feature is asked for by
 * itself, for asking means loading a program: only those in `asked` are known.
 */
#ifndef UNIT_FEATURES_H
#define UNIT_FEATURES_H

#include "base/base.h"

/*
 * F(ID, name): a row for each, which is what --info and --no-feature call it, too. What is there
 * instead, docs/kernels.md says.
 *   btf             /sys/kernel/btf/vmlinux can be read
 *   kprobe          perf kprobe events exist
 *   kprobe_multi    5.18 with CONFIG_FPROBE
 *   kprobe_session  entry and return of kernel functions on one link (6.10)
 *   fentry          fentry programs load
 *   uprobe_multi    6.6
 *   rawtp_cookie    bpf_get_attach_cookie in raw tracepoints (6.10)
 *   cookie          ... in kprobes and perf events, which links carry (5.15)
 *   loop            bpf_loop() (5.17)
 *   atomics         atomic instructions that say what was there before (5.12)
 *   inherit_thread  counters of a process leave out its children (5.13)
 *   for_each        bpf_for_each_map_elem() (5.13)
 *   func_ip         bpf_get_func_ip() (5.15)
 *   func_arg        bpf_get_func_arg(), bpf_get_func_ret() (5.17)
 *   percpu          bpf_map_lookup_percpu_elem() (5.19)
 *   sleepable       user probes that may sleep (6.0): they bring pages in
 *   uprobe_nop5     user probes on a 5-byte nop need no trap (6.18)
 */
#define FEATURES(F)                                                                                \
	F(BTF, btf)                                                                                \
	F(KPROBE, kprobe)                                                                          \
	F(KPROBE_MULTI, kprobe_multi)                                                              \
	F(KPROBE_SESSION, kprobe_session)                                                          \
	F(FENTRY, fentry)                                                                          \
	F(UPROBE_MULTI, uprobe_multi)                                                              \
	F(RAWTP_COOKIE, rawtp_cookie)                                                              \
	F(COOKIE, cookie)                                                                          \
	F(LOOP, loop)                                                                              \
	F(ATOMICS, atomics)                                                                        \
	F(INHERIT_THREAD, inherit_thread)                                                          \
	F(FOR_EACH, for_each)                                                                      \
	F(FUNC_IP, func_ip)                                                                        \
	F(FUNC_ARG, func_arg)                                                                      \
	F(PERCPU, percpu)                                                                          \
	F(SLEEPABLE, sleepable)                                                                    \
	F(UPROBE_NOP5, uprobe_nop5)

enum feature_row {
#define F(id, name) FEATURE_ROW_##id,
	FEATURES(F)
#undef F
		FEATURE_ROWS
};

enum feature {
#define F(id, name) FEATURE_##id = 1 << FEATURE_ROW_##id,
	FEATURES(F)
#undef F
		FEATURES_ALL = (1 << FEATURE_ROWS) - 1,
};

struct features {
	u32 asked; /* FEATURE_* whose answers are below */
#define F(id, name) bool name;
	FEATURES(F)
#undef F
};

/* For an initializer: what each kernel from 6.0 on has, however it is configured. */
#define FEATURES_SINCE_6_0                                                                         \
	.atomics = true, .inherit_thread = true, .for_each = true, .func_ip = true,                \
	.func_arg = true, .percpu = true, .sleepable = true

#endif
