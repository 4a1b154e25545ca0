/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of the language: the rows of functions.h. */
#ifndef LANG_PARSE_FUNC_H
#define LANG_PARSE_FUNC_H

#include "base/near.h"
#include "base/str.h"
#include "lang/parse/functions.h"

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

/* NULL when unknown. */
const struct func *func_find(struct str name);
/* True for functions of the language that are not here. */
bool func_absent(struct str name);
/* All of them in the order of their rows; NULL after the last. */
const struct func *func_at(u32 i);
/* Offers every name, those of stdlib.h too. */
void func_offer(struct near *n);

#endif
