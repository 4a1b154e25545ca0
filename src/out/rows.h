/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rows of a map by a template of the script, see unit/template.h.
 */
#ifndef OUT_ROWS_H
#define OUT_ROWS_H

#include "out/value.h"

/* The template with a row's values in its places; it was checked by the compiler. */
void rows_text(struct buf *b, const struct out *o, const struct umap *m, const struct row *r,
               const char *text);
/* The values of a row that the template names, in its order. */
void rows_each(const struct umap *m, const struct row *r, const char *text,
               void (*cb)(void *ctx, struct str name, const struct value *v), void *ctx);

#endif
