/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Mangled symbols by libiberty. Its two decoders are called by themselves, not through its
 * front, which would bring those of Ada and D along.
 *
 * Symbols come from foreign files: what does not begin as a mangled name does is not tried, nor
 * is one of absurd length.
 */
#include "sym/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

#define SYMBOL_MAX 8192u

char *demangle(const char *symbol)
{
	char *name;

	if (symbol[0] != '_' || (symbol[1] != 'Z' && symbol[1] != 'R') ||
	    strnlen(symbol, SYMBOL_MAX) == SYMBOL_MAX)
		return NULL;
	/* Rust's older scheme is a form of C++'s and has to be asked first. */
	name = rust_demangle(symbol, 0);
	if (!name && symbol[1] == 'Z')
		name = cplus_demangle_v3(symbol, DMGL_PARAMS | DMGL_ANSI);
	return name;
}
