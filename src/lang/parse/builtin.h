/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The variables that every script has: the rows of variables.h. */
#ifndef LANG_PARSE_BUILTIN_H
#define LANG_PARSE_BUILTIN_H

#include "base/near.h"
#include "base/str.h"
#include "lang/parse/variables.h"

enum builtin_id {
#define V(id, ...) BUILTIN_##id,
	VARIABLES(V)
#undef V
	N_BUILTINS,
};

struct builtin {
	const char *name; /* "arg0" stands for arg0 to arg255 */
	enum builtin_id id;
	const char *help;
};

/* NULL when unknown. "arg0".."arg255" all find BUILTIN_ARG. */
const struct builtin *builtin_find(struct str name);
/* The N of "argN", 0 to 255 and without leading zeros; -1 when the name is none. */
s32 builtin_arg(struct str name);
/* All of them in the order of their rows; NULL after the last. */
const struct builtin *builtin_at(u32 i);
/* Offers every name. */
void builtin_offer(struct near *n);

#endif
