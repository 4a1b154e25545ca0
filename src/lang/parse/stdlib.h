/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of the language that are written in the language.
 */
#ifndef LANG_PARSE_STDLIB_H
#define LANG_PARSE_STDLIB_H

#include "base/near.h"
#include "base/str.h"
#include "lang/parse/help_row.h"

/* The text that defines the macros of that name, NULL when there are none. */
const char *stdlib_find(struct str name);
/* The row at `i`; false after the last. */
bool stdlib_row(u32 i, struct help_row *r);
/* Offers every name to a nearest-name search. */
void stdlib_offer(struct near *n);

#endif
