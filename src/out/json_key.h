/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Keys of maps as names of JSON members, no two of a table alike. A key is its text without the
 * parentheses of its tuple and without blanks, except that the blanks inside of strings stay.
 *
 * In it "\xNN" is a byte that is no text. In a key of several parts, "\," is a comma inside of one;
 * what stands between the parts is a comma alone. A backslash is "\\" where it would be read as one
 * of these, and elsewhere, as in "C:\dir", itself. Where different keys have one text, as addresses
 * of one function, the second is followed by "#2".
 */
#ifndef OUT_JSON_KEY_H
#define OUT_JSON_KEY_H

#include "base/hmap.h"
#include "out/value.h"

/* The keys of a table so far. All zero: none. */
struct json_keys {
	struct arena arena;
	struct hmap seen; /* text to u32: how many came after the first that had it */
};

void json_key(struct buf *b, const struct out *o, const struct type *t, const void *key,
              struct json_keys *before);
void json_keys_free(struct json_keys *k);

#endif
