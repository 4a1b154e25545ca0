/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the parts of an ELF object of BPF are called. */
#ifndef UNIT_OBJECT_NAMES_H
#define UNIT_OBJECT_NAMES_H

#include "unit/unit.h"

/* The section of a site's function: libbpf reads kind and place from it. */
const char *object_names_section(struct arena *a, const struct uprog *p, const struct usite *s);
/* A name for a function, made of letters, digits and '_'; `number` is its own. */
const char *object_names_func(struct arena *a, const char *name, u32 number);
/* The same for a map: "@x" is AT_x, as in objects that bpftrace writes. */
const char *object_names_map(struct arena *a, const struct umap *m);

#endif
