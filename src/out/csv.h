/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Figures as fields of CSV (RFC 4180). Column 0 is the first of a line, whose end is the
 * caller's. */
#ifndef OUT_CSV_H
#define OUT_CSV_H

#include "out/tree.h"

void csv_head(struct buf *b, u32 column, const struct column *c);
/* What is not known is empty. */
void csv_figure(struct buf *b, u32 column, const struct column *c, const struct figure *f);

#endif
