/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Variables in operands: what is the same for all machines.
 */
#include "arch/operand.h"

#include <string.h>

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '$';
}

bool operand_name(struct operand_text *t, char *name)
{
	size_t n = 0;

	while (is_name(t->p[n]))
		n++;
	if (!n)
		return operand_bad(t, "a symbol's name was expected");
	if (n >= OPERAND_NAME)
		return operand_bad(t, "an operand with a very long name");
	memcpy(name, t->p, n);
	name[n] = 0;
	t->p += n;
	return true;
}

bool operand_find(struct operand_text *t, const char *name, u64 *address)
{
	const char *why = "a variable that is not in the symbol table";

	if (strncmp(name, ".L", 2) == 0)
		return operand_bad(t, "a label of the compiler's, which the file does not keep");
	if (t->variable)
		why = t->variable(t->ctx, name, address);
	return !why || operand_bad(t, why);
}
