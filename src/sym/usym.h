/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses of processes to names.
 */
#ifndef SYM_USYM_H
#define SYM_USYM_H

#include "base/base.h"

struct usym;

/* What is known of an address. Strings live until the next call. */
struct usym_place {
	const char *name;   /* function, or NULL */
	u64 off;            /* from its start */
	const char *module; /* path of the mapped file, "" when none */
};

struct usym *usym_new(void);
void usym_free(struct usym *u);
struct usym_place usym_find(struct usym *u, u32 pid, u64 addr);
/* Takes in what the process has mapped now. */
void usym_note(struct usym *u, u32 pid);

#endif
