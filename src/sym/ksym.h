/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernel addresses to names.
 */
#ifndef SYM_KSYM_H
#define SYM_KSYM_H

#include "base/base.h"

struct ksym;
struct kallsyms;

#define KSYM_TEXT 1024u

/* The kernel's own answer for an address: "name+0x2/0x80" or "name+0x2/0x80 [module]" in text.
 * False when it gives none. */
typedef bool ksym_ask_fn(void *ctx, u64 addr, char text[KSYM_TEXT]);

/* What is known of an address. Strings live until the next call. */
struct ksym_place {
	const char *name;   /* NULL: in no function */
	u64 off;            /* from its start */
	const char *module; /* "" for the kernel itself, "bpf" for BPF programs */
};

/* Nothing is read before the first question. `ask` may be NULL. */
struct ksym *ksym_new(ksym_ask_fn *ask, void *ctx);
void ksym_free(struct ksym *k);
struct ksym_place ksym_find(struct ksym *k, u64 addr);

#endif
