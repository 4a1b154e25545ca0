/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names of a running session: what out/ asks for through struct namer, answered from the
 * stacks map, the symbol tables and the system.
 */
#ifndef RUN_NAMES_H
#define RUN_NAMES_H

#include "run/stackmap.h"
#include "out/out.h"
#include "sym/sym.h"

struct names {
	struct namer namer;
	struct sym *sym;
	struct symbolize *symbolize; /* NULL before the first kernel name, or when there is none */
	bool symbolize_tried;
	struct stackmap *stacks; /* NULL: none */
	const struct unit *unit;
};

/* How user names are printed. */
struct names_options {
	struct sym_graft graft;
	bool mangled;         /* C++ and Rust as the linker sees them */
	enum sym_lines lines; /* in stacks */
};
/* *n must not move until names_free(). */
void names_init(struct names *n, const struct unit *u, struct stackmap *stacks,
                const struct names_options *o);
void names_free(struct names *n);
/* True when the unit prints addresses of user memory by name: then processes should be noted
 * while they live. */
bool names_user_wanted(const struct unit *u);

#endif
