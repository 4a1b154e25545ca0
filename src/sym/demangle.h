/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of C++ and Rust functions as their authors wrote them.
 */
#ifndef SYM_DEMANGLE_H
#define SYM_DEMANGLE_H

#include "base/base.h"

/* The readable name, to be freed; NULL when the symbol is not mangled (or is too long to try). */
char *demangle(const char *symbol);

#endif
