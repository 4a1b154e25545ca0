/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Replaces every use of a macro in a script's probes by the macro's body.
 */
#ifndef LANG_MACRO_H
#define LANG_MACRO_H

#include "lang/ast.h"

/* False after an error. */
bool macro_expand(struct script *s, struct diags *d);
/* The same for one more probe. */
bool macro_expand_probe(struct script *s, struct probe *p, struct diags *d);

#endif
