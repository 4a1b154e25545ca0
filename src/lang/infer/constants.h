/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Integer macros of system headers by name: AF_INET, PROT_READ, ENOENT, UINT64_MAX, __NR_read. */
#ifndef LANG_INFER_CONSTANTS_H
#define LANG_INFER_CONSTANTS_H

#include "base/near.h"
#include "base/str.h"

/* All zero: nothing was asked for yet. */
struct constants {
	char *text; /* lines of "NAME VALUE", in byte order */
};

/* False: there is none of that name. *is_unsigned: it is not below 0, whatever its sign bit. */
bool constants_find(struct constants *c, struct str name, u64 *value, bool *is_unsigned);
/* The line at *at, which moves to the next; false after the last. */
bool constants_next(struct constants *c, u32 *at, struct str *name, struct str *value);
void constants_offer(struct constants *c, struct near *n);
void constants_free(struct constants *c);

/* Made by scripts/pack: a gzip stream, its bytes, and those of the text. */
extern const unsigned char packed_constants[];
extern const unsigned packed_constants_size, packed_constants_text;

#endif
