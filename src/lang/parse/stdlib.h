/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of the language that are written in the language.
 */
#ifndef LANG_PARSE_STDLIB_H
#define LANG_PARSE_STDLIB_H

#include "base/near.h"
#include "base/str.h"

/* The text that defines the macros of that name, NULL when there are none. */
const char *stdlib_find(struct str name);
/* Offers every name to a nearest-name search. */
void stdlib_offer(struct near *n);

#endif
