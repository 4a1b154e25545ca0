/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kinds of probes: one row for each, from which every table about kinds is made. How one is
 * written, and what expands it, is a row in lang/probe/targets.c.
 *
 *   K(id, name, section, place, program, attach type, attacher, needs, uses, arguments, traits)
 *
 * The name is what messages and dumps say. Section and place are those of the ELF object; place is
 * a function of object_names.c, NULL: the section is all. Program and attach type are the kernel's
 * BPF_PROG_TYPE_... and BPF_TRACE_..., 0 none. The attacher is a function of kern/attach_*.c, NULL
 * for what is run with BPF_PROG_TEST_RUN. Needs and uses are sums of FEATURE_...: what a kernel
 * without such probes lacks, and what they are loaded for and linked by where it is there; 0 none.
 * Arguments are one of enum kind_args without its prefix, traits are a sum of enum kind_trait.
 */
#ifndef UNIT_KINDS_H
#define UNIT_KINDS_H

#include "unit/features.h"

/* clang-format off */
#define PROBE_KINDS(K)                                                                            \
	/* run once before anything is attached */                                                \
	K(BEGIN, "BEGIN", "raw_tracepoint", NULL, RAW_TRACEPOINT, 0, NULL, 0, 0, NONE,            \
	  KIND_OWN | KIND_CALLED | KIND_AROUND | KIND_CALM | KIND_ANY_PID)                        \
	/* run once after all is detached */                                                      \
	K(END, "END", "raw_tracepoint", NULL, RAW_TRACEPOINT, 0, NULL, 0, 0, NONE,                \
	  KIND_OWN | KIND_CALLED | KIND_AROUND | KIND_CALM | KIND_ANY_PID)                        \
	K(UPROBE, "uprobe", "uprobe", of_user, KPROBE, 0, attach_uprobe, 0,                       \
	  FEATURE_UPROBE_MULTI, ENTRY,                                                            \
	  KIND_USER | KIND_REGS | KIND_CALM | KIND_LAST_FIRST)                                    \
	K(URETPROBE, "uretprobe", "uretprobe", of_user, KPROBE, 0, attach_uprobe, 0,              \
	  FEATURE_UPROBE_MULTI, RESULT,                                                           \
	  KIND_USER | KIND_RETURN | KIND_REGS | KIND_CALM | KIND_LAST_FIRST)                      \
	/* a uprobe with a semaphore */                                                           \
	K(USDT, "usdt", "uprobe", of_file_offset, KPROBE, 0, attach_uprobe, 0,                    \
	  FEATURE_UPROBE_MULTI, NOTE,                                                             \
	  KIND_USER | KIND_REGS | KIND_CALM | KIND_LAST_FIRST)                                    \
	K(TRACEPOINT, "tracepoint", "tracepoint", of_event, TRACEPOINT, 0,                        \
	  attach_tracepoint, 0, 0, RECORD, 0)                                                     \
	K(RAWTP, "rawtracepoint", "raw_tracepoint", of_kernel, RAW_TRACEPOINT, 0,                 \
	  attach_raw, 0, FEATURE_RAWTP_COOKIE, RAW, 0)                                            \
	K(TPBTF, "btf tracepoint", "raw_tracepoint", of_kernel, RAW_TRACEPOINT, 0,                \
	  attach_raw, FEATURE_BTF, FEATURE_RAWTP_COOKIE, RAW, 0)                                  \
	K(KPROBE, "kprobe", "kprobe", of_kernel, KPROBE, 0, attach_kprobe,                        \
	  FEATURE_KPROBE, FEATURE_KPROBE_MULTI | FEATURE_KPROBE_SESSION, ENTRY,                   \
	  KIND_KERNEL | KIND_REGS | KIND_LAST_FIRST)                                              \
	K(KRETPROBE, "kretprobe", "kretprobe", of_kernel, KPROBE, 0, attach_kprobe,               \
	  FEATURE_KPROBE, FEATURE_KPROBE_MULTI | FEATURE_KPROBE_SESSION, RESULT,                  \
	  KIND_KERNEL | KIND_RETURN | KIND_REGS)                                                  \
	K(FENTRY, "fentry", "fentry", of_kernel, TRACING, BPF_TRACE_FENTRY,                       \
	  attach_trampoline, FEATURE_BTF | FEATURE_FENTRY, 0, TRACED,                             \
	  KIND_KERNEL | KIND_PER_SITE | KIND_LAST_FIRST)                                          \
	K(FEXIT, "fexit", "fexit", of_kernel, TRACING, BPF_TRACE_FEXIT,                           \
	  attach_trampoline, FEATURE_BTF | FEATURE_FENTRY, 0, TRACED,                             \
	  KIND_KERNEL | KIND_RETURN | KIND_PER_SITE | KIND_LAST_FIRST)                            \
	K(SOFTWARE, "software", "perf_event", NULL, PERF_EVENT, 0, attach_counter, 0, 0,          \
	  NONE, KIND_REGS | KIND_ANY_PID | KIND_COUNTER)                                          \
	K(HARDWARE, "hardware", "perf_event", NULL, PERF_EVENT, 0, attach_counter, 0, 0,          \
	  NONE, KIND_REGS | KIND_ANY_PID | KIND_COUNTER)                                          \
	/* one CPU; it reports, and what its loops put in is seen to by many_at_once */           \
	K(INTERVAL, "interval", "perf_event", NULL, PERF_EVENT, 0, attach_interval, 0,            \
	  0, NONE, KIND_REGS | KIND_CALM | KIND_ANY_PID | KIND_TIMER)                             \
	/* the same by a clock of memtap: it goes through maps, and the kernel does not */        \
	K(CLOCK, "own interval", "raw_tracepoint", NULL, RAW_TRACEPOINT, 0, attach_clock, 0,      \
	  0, NONE, KIND_OWN | KIND_CALM | KIND_ANY_PID | KIND_TIMER)                              \
	/* every CPU */                                                                           \
	K(PROFILE, "profile", "perf_event", NULL, PERF_EVENT, 0, attach_profile, 0, 0,            \
	  NONE, KIND_REGS)                                                                        \
	/* a hardware breakpoint on memory */                                                     \
	K(WATCHPOINT, "watchpoint", "perf_event", NULL, PERF_EVENT, 0,                            \
	  attach_watchpoint, 0, 0, NONE, KIND_REGS | KIND_ANY_PID | KIND_COUNTER)                 \
	/* run for each object of a kind, whoever reads its iterator */                           \
	K(ITER, "iter", "iter", of_kernel, TRACING, BPF_TRACE_ITER, attach_iter,                  \
	  FEATURE_BTF, 0, NONE, KIND_PER_SITE | KIND_ANY_PID | KIND_READ)                         \
	/* a packet for, or from, a socket of a control group's processes */                      \
	K(INGRESS, "ingress", "cgroup_skb/ingress", NULL, CGROUP_SKB, BPF_CGROUP_INET_INGRESS,    \
	  attach_cgroup, 0, 0, RECORD, KIND_PACKET | KIND_CALM | KIND_ANY_PID)                    \
	K(EGRESS, "egress", "cgroup_skb/egress", NULL, CGROUP_SKB, BPF_CGROUP_INET_EGRESS,        \
	  attach_cgroup, 0, 0, RECORD, KIND_PACKET | KIND_CALM | KIND_ANY_PID)                    \
	/* run when memtap itself gets a signal */                                                \
	K(SELF, "self", "raw_tracepoint", NULL, RAW_TRACEPOINT, 0, attach_self, 0, 0,             \
	  NONE, KIND_OWN | KIND_CALM | KIND_ANY_PID)                                              \
	/* run once when all is attached; returns 0 when it passed */                             \
	K(TEST, "test", "raw_tracepoint", NULL, RAW_TRACEPOINT, 0, NULL, 0, 0, NONE,              \
	  KIND_OWN | KIND_CALLED | KIND_VERDICT | KIND_CALM | KIND_ANY_PID)
/* clang-format on */

enum attach_kind {
#define K(id, ...) ATTACH_##id,
	PROBE_KINDS(K)
#undef K
};

/* Where a program finds the arguments. */
enum kind_args {
	KIND_ARGS_NONE,
	KIND_ARGS_ENTRY,  /* in registers, by the calling convention */
	KIND_ARGS_RESULT, /* only the result is left, in its register */
	KIND_ARGS_NOTE,   /* where the USDT note of the site says */
	KIND_ARGS_RECORD, /* fields of a tracepoint's record, or of what stands for a packet */
	KIND_ARGS_RAW,    /* an array, the context itself */
	KIND_ARGS_TRACED, /* the kernel's trampoline has kept them: helpers get them */
};

enum kind_trait {
	KIND_OWN = 1 << 0,      /* run by memtap itself */
	KIND_AROUND = 1 << 1,   /* ... before or after everything else */
	KIND_USER = 1 << 2,     /* at a place in a program */
	KIND_KERNEL = 1 << 3,   /* at a function of the kernel */
	KIND_RETURN = 1 << 4,   /* ... when the function returns */
	KIND_REGS = 1 << 5,     /* the context is the registers that were interrupted */
	KIND_CALM = 1 << 6,     /* finds room in maps: interrupts are on, or it is on one CPU */
	KIND_ANY_PID = 1 << 7,  /* the kernel sees to the pid, or there is none to ask for */
	KIND_PER_SITE = 1 << 8, /* bound to a BTF function when loaded: one program a site */
	KIND_COUNTER = 1 << 9,  /* a perf event with a configuration */
	KIND_CALLED = 1 << 10,  /* by BPF_PROG_TEST_RUN: it is attached to nothing */
	KIND_VERDICT = 1 << 11, /* what its body returns is what the program returns */
	KIND_READ = 1 << 12,    /* run by whoever reads it, and over at its end: no event runs it */
	KIND_LAST_FIRST = 1 << 13, /* of those on one place the one attached last runs first */
	KIND_TIMER = 1 << 14,      /* a clock on one CPU, for reports; interrupts may be off */
	KIND_PACKET = 1 << 15, /* the context is a packet, which goes on: the program returns 1 */
};

#endif
