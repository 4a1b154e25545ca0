/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions of loaded BPF programs with their types, for probes on them. */
#ifndef WORLD_BPF_LIST_H
#define WORLD_BPF_LIST_H

#include "lang/parse/world.h"

struct bpf_list;

/* Reads what the kernel holds now; NULL and *e when this user may not look. */
struct bpf_list *bpf_list_new(struct err *e);
/* Calls back for each function, in the order of the programs' ids, until cb returns false. What it
 * gets lives as long as the list. */
void bpf_list_each(const struct bpf_list *l, bool (*cb)(void *ctx, const struct bpf_function *f),
                   void *ctx);
/* NULL is fine. */
void bpf_list_free(struct bpf_list *l);

#endif
