/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where a node keeps what is below it, for code that goes through trees of any kind.
 */
#ifndef LANG_PARSE_AST_SLOTS_H
#define LANG_PARSE_AST_SLOTS_H

#include "lang/parse/ast.h"

#define AST_SLOTS 4u

/* The i-th place below n, holding a node, a list or NULL; NULL when n has no more places. */
struct node **ast_slot(struct node *n, u32 i);

#endif
