/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Borrowed pieces of text: pointer and length, not NUL-terminated. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <string.h>

#include "base/base.h"

struct str {
	const char *p;
	u32 n;
};

#define STR(lit) ((struct str){ (lit), sizeof(lit) - 1 })
/* For printf("%.*s"). */
#define STR_ARG(s) (int)(s).n, (s).p

struct str str_of(const char *z);
bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *z);
/* Are the n bytes at a and b the same, as memcmp() says? For those that are 8 to 24 mostly, where
 * the call is more than the work. */
static inline bool str_same(const char *a, const char *b, size_t n)
{
	u64 x[3], y[3];
	size_t middle = (n - 8) / 2;

	if (n < 8 || n > 24)
		return memcmp(a, b, n) == 0;
	memcpy(&x[0], a, 8);
	memcpy(&y[0], b, 8);
	memcpy(&x[1], a + middle, 8);
	memcpy(&y[1], b + middle, 8);
	memcpy(&x[2], a + n - 8, 8);
	memcpy(&y[2], b + n - 8, 8);
	return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]));
}
/* As str_is, for scans of tables: most rows differ in the first character. */
static inline bool str_is_row(struct str a, const char *z)
{
	return a.n && a.p[0] == z[0] && str_is(a, z);
}
/* As str_is, ASCII's letters being small or not. strncasecmp() reads tables of libc's for it. */
bool str_is_any_case(struct str a, const char *z);
/* The i-th of names with a NUL behind each, as in "read\0write\0"; NULL when they are fewer. For
 * tables that are read seldom: of an array of pointers each start fills in every one. */
const char *str_nth(const char *names, u64 i);
bool str_starts(struct str s, const char *prefix);
/* Without the characters of `blanks` at both ends. */
struct str str_trim(struct str s, const char *blanks);
#define STR_BLANKS " \t\n\v\f\r" /* what isspace() takes */
/* Cuts at the first `c`: returns what is before it, leaves what follows in *rest. Without `c`
 * returns all and leaves *rest empty with p == NULL. */
struct str str_cut(struct str s, char c, struct str *rest);

/* Bytes of the well-formed UTF-8 sequence that starts at byte i < s.n, 0 when there is none. */
u32 str_utf8(struct str s, u32 i);

#endif
