/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is taken of the machine's shared libraries, and what the C library loads by itself, while
 * memtap runs. There are two of it: host.c for the usual program, mk/host_static.c for the one file
 * without any shared library (`make static`), which loads nothing.
 */
#ifndef BASE_HOST_H
#define BASE_HOST_H

#include "base/buf.h"

/* The library of that file name, loaded on first use or linked in; NULL: it is not there. */
void *host_library(const char *name);
/* What it calls `symbol`, a function or a variable; NULL: nothing. */
void *host_symbol(void *library, const char *symbol);
void host_release(void *library);
/* Are libraries linked in, and no others can be had? */
bool host_is_static(void);
/* Appends the name of a user; false: none is known. */
bool host_user(struct buf *b, u32 uid);
/* For setlocale(): the user's, as far as it is there. */
const char *host_locale(void);
/* The description of a terminal for $TERMINFO, NULL: the machine's files may have one. */
const char *host_terminal(const char *kind);

#endif
