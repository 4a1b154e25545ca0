/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of the language, as a table: those that are not written in the language itself
 * (stdlib.c). What one means is elsewhere: its type in infer, its instructions in gen.
 */
#include "lang/parse/func.h"

#include "lang/parse/stdlib.h"

/* A format and up to 127 values. */
#define FORMAT_MAX 128

enum what {
	VALUE,
	STATEMENT,    /* a bit */
	UNSAFE_VALUE, /* a bit */
	UNSAFE_STATEMENT = STATEMENT | UNSAFE_VALUE,
};

/* By id. */
static const struct func funcs[] = {
#define F(id, name, least, most, what, rule, emit, args, text)                                     \
	{ name,                                                                                    \
	  FUNC_##id,                                                                               \
	  least,                                                                                   \
	  most,                                                                                    \
	  .no_value = (what)&STATEMENT,                                                            \
	  .unsafe = ((what)&UNSAFE_VALUE) != 0,                                                    \
	  .usage = args,                                                                           \
	  .help = text },
#define A(id, name, least, most, args, text)                                                       \
	{ name, FUNC_##id, least, most, .agg = true, .usage = args, .help = text },
	FUNCTIONS(F) AGGREGATIONS(A)
#undef F
#undef A
};

const struct func *func_find(struct str name)
{
	for (u32 i = 0; i < ARRAY_SIZE(funcs); i++)
		if (str_is_row(name, funcs[i].name))
			return &funcs[i];
	return NULL;
}

const struct func *func_at(u32 i)
{
	return i < N_FUNCS ? &funcs[i] : NULL;
}

bool func_absent(struct str name)
{
	return str_is(name, "skboutput");
}

void func_offer(struct near *n)
{
	for (u32 i = 0; i < ARRAY_SIZE(funcs); i++)
		near_offer(n, funcs[i].name);
	stdlib_offer(n);
}
