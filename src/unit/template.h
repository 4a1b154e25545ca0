/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The text of print(@map, top, "{count} times {key}\n"): parsed here once for the compiler's
 * checks and for the printer. A place is {name}, {name:width}, width as in printf: -8 pads on
 * the right, {name:%08x}, a directive of printf, or {name:folded}, a stack in one line. {{ and }}
 * are braces.
 */
#ifndef UNIT_TEMPLATE_H
#define UNIT_TEMPLATE_H

#include "base/str.h"
#include "unit/type.h"

struct template_part {
	struct str literal; /* text before the place (or to the end); with {{ ends after one { */
	bool has_place;
	struct str name;
	u32 width;         /* 0 none; at most 4096 */
	bool left;         /* padded on the right */
	struct str format; /* the directive of printf, empty without one */
	bool folded; /* the functions of a stack, the outermost first, with ';' between them */
};

/* Reads the next part at *p and moves *p. False at the end or when it is wrong: then *problem is a
 * sentence, else NULL. */
bool template_next(const char **p, struct template_part *part, const char **problem);

/* What of a row a place shows. */
enum template_what {
	TEMPLATE_KEY,
	TEMPLATE_VALUE,
	TEMPLATE_KEY_PART, /* part: index of the field */
	TEMPLATE_VALUE_PART,
	TEMPLATE_COUNT, /* of COUNT, AVG and STATS */
	TEMPLATE_SUM,   /* of SUM, AVG and STATS */
	TEMPLATE_AVG,   /* of AVG and STATS */
};

struct template_place {
	enum template_what what;
	u32 part;
};

/*
 * What a name means in rows of these types: "key", "value", the number of a part of the value
 * ("0"), a field of the value or else of the key, "count", "sum", "avg" of a value that has it.
 */
bool template_find(const struct type *key, const struct type *value, struct str name,
                   struct template_place *place);
/* NULL when all places can be shown, else the sentence to show; lives in the arena. */
const char *template_check(struct arena *a, const char *text, const struct type *key,
                           const struct type *value);

#endif
