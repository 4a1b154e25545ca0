/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Replaces every use of a macro in a script's probes by the macro's body.
 */
#ifndef LANG_PARSE_MACRO_H
#define LANG_PARSE_MACRO_H

#include "lang/parse/ast.h"

/* False after an error. */
bool macro_expand(struct script *s, struct diags *d);
/* The same for one more probe. */
bool macro_expand_probe(struct script *s, struct probe *p, struct diags *d);
/* Puts a copy of the body of `m`, a #define, in the place of n, a call or a name. False after an
 * error: the script is too large. */
bool macro_put(struct script *s, const struct macro *m, struct node *n, struct diags *d);

#endif
