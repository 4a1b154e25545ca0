/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Typed tree -> unit. Needs no kernel: all questions were answered by lang/.
 */
#ifndef GEN_GEN_H
#define GEN_GEN_H

#include "lang/parse/lang.h"

/* Fills *u (made by unit_new). False after adding errors to the diagnostics. */
bool gen_script(struct unit *u, const struct script *s, const struct config *c, struct world *w,
                struct diags *d);

#endif
