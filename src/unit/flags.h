/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bits of a number by name, as flag_names() of the language gives them: words NAME=VALUE or
 * NAME=VALUE/MASK, separated by blanks; a last word %o shows the bits without a name in octal.
 * "READ=1 WRITE=2", "HUGE_2MB=0x54000000/0xfc000000 %o". Without a mask a name stands for its bits
 * where all of them are set; with one, where the number under the mask is the value, 0 too.
 */
#ifndef UNIT_FLAGS_H
#define UNIT_FLAGS_H

#include "base/buf.h"
#include "base/str.h"

/* NULL when the words are well formed, else the sentence to show. */
const char *flags_check(const char *words);
/* Prints the names of n's bits, '|' between them; bits without a name as one number at the end; "0"
 * when that leaves nothing. `words` has passed flags_check(). */
void flags_print(struct buf *b, const char *words, u64 n);

/* The kernel's GFP flags, for %gr: those of Linux 6.4 and later, and the one bit that older kernels
 * have besides. */
extern const char flags_gfp[];

#endif
