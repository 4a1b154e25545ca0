/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names the language knows: rows of functions.h and variables.h.
 */
#ifndef LANG_PARSE_BUILTIN_H
#define LANG_PARSE_BUILTIN_H

#include "base/near.h"
#include "base/str.h"
#include "lang/parse/functions.h"
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

enum func_id {
#define F(id, ...) FUNC_##id,
	FUNCTIONS(F) AGGREGATIONS(F)
#undef F
	N_FUNCS,
};

struct func {
	const char *name;
	enum func_id id;
	u8 min_args, max_args;
	bool agg;      /* only as @m = f(...) */
	bool no_value; /* a statement: can not be used in an expression */
	bool unsafe;   /* needs --unsafe */
	const char *usage, *help; /* its arguments, and what it does in a few words */
};

/* NULL when unknown. "arg0".."arg255" all find BUILTIN_ARG. */
const struct builtin *builtin_find(struct str name);
/* The N of "argN", 0 to 255 and without leading zeros; -1 when the name is none. */
s32 builtin_arg(struct str name);
const struct func *func_find(struct str name);
/* True for functions and variables of the language that are not here. */
bool func_absent(struct str name);
/* All of them in the order of their rows; NULL after the last. */
const struct builtin *builtin_at(u32 i);
const struct func *func_at(u32 i);
/* Offers every name to a nearest-name search. */
void builtin_offer(struct near *n);
void func_offer(struct near *n);

#endif
