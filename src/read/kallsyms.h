/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * /proc/kallsyms: text symbols of kernel and modules, sorted by address. 5 MB of text:
 * open it only when an address has to be named or a function list is wanted.
 */
#ifndef READ_KALLSYMS_H
#define READ_KALLSYMS_H

#include "base/err.h"
#include "base/str.h"

struct kallsyms;

/* `path` is /proc/kallsyms or a file of its form. Addresses are 0 without privilege. */
struct kallsyms *kallsyms_open(const char *path, struct err *e);
void kallsyms_close(struct kallsyms *k);
/* Name of the function containing addr, addr's distance from its start, and its module ("" for the
 * kernel itself); the last two are only set when there is a name. */
const char *kallsyms_name(const struct kallsyms *k, u64 addr, u64 *off, const char **module);
/* Address of a symbol of any kind (data too), the first of several; 0 when absent. */
u64 kallsyms_addr(const struct kallsyms *k, const char *name);

/* Where a symbol is. Names live as long as the table. */
struct kallsyms_place {
	u64 addr;
	const char *module; /* "" for the kernel itself */
	/* the symbol listed before it, "" none: static ones of a file follow others */
	const char *before;
	bool is_text;
};
typedef bool kallsyms_place_cb(void *ctx, const struct kallsyms_place *p);
/* Every symbol of that name, of any kind, in the order of the file. */
void kallsyms_named(const struct kallsyms *k, const char *name, kallsyms_place_cb *cb, void *ctx);

/* A text symbol; module is "" for the kernel itself. False ends the walk. */
typedef bool kallsyms_cb(void *ctx, const char *name, const char *module, u64 addr);
/* Those whose name matches. */
void kallsyms_each(const struct kallsyms *k, struct str glob, kallsyms_cb *cb, void *ctx);

#endif
