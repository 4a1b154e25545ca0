/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Templates of rows: their places and what these stand for. Printing is out/rows.c.
 */
#include "unit/template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "unit/format.h"

#define WIDTH_MAX 4096

/* "-12" after the colon; false when it is no width. */
static bool read_width(struct str s, struct template_part *part)
{
	u32 i = 0;

	part->left = s.n && s.p[0] == '-';
	if (part->left)
		i++;
	if (i == s.n)
		return false;
	for (; i < s.n; i++) {
		if (!isdigit((unsigned char)s.p[i]))
			return false;
		part->width = part->width * 10 + (u32)(s.p[i] - '0');
		if (part->width > WIDTH_MAX)
			return false;
	}
	return true;
}

/* What stands between the braces; *p is after the opening one. */
static bool read_place(const char **p, struct template_part *part, const char **problem)
{
	const char *end = strchr(*p, '}');
	struct str inner, width;

	if (!end) {
		*problem = "a '{' is not closed; write {{ for a brace";
		return false;
	}
	inner = (struct str){ *p, (u32)(end - *p) };
	part->name = str_cut(inner, ':', &width);
	if (!part->name.n) {
		*problem = "{} needs a name, such as {key}; write {{ for a brace";
		return false;
	}
	part->folded = width.p && str_is(width, "folded");
	if (width.n && width.p[0] == '%')
		part->format = width;
	else if (width.p && !part->folded && !read_width(width, part)) {
		*problem =
			"after the ':' of a placeholder comes 'folded', a directive of printf, or "
			"its width, 1 to 4096 or -1 to -4096";
		return false;
	}
	part->has_place = true;
	*p = end + 1;
	return true;
}

bool template_next(const char **p, struct template_part *part, const char **problem)
{
	size_t n = strcspn(*p, "{}");

	*problem = NULL;
	*part = (struct template_part){ .literal = { *p, (u32)n } };
	if (!**p)
		return false;
	*p += n;
	if (!**p)
		return true;
	if ((*p)[0] == (*p)[1]) {
		part->literal.n++;
		*p += 2;
		return true;
	}
	if (**p == '}') {
		*problem = "a '}' closes nothing; write }} for a brace";
		return false;
	}
	++*p;
	return read_place(p, part, problem);
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool has_parts(const struct type *t)
{
	return t && (t->kind == TYPE_TUPLE || t->kind == TYPE_AGGS);
}

static bool part_number(const struct type *value, struct str name, u32 *part)
{
	u32 n = 0;

	for (u32 i = 0; i < name.n; i++) {
		if (!isdigit((unsigned char)name.p[i]) || n > 1000)
			return false;
		n = n * 10 + (u32)(name.p[i] - '0');
	}
	*part = n;
	return has_parts(value) && n < value->n_fields;
}

static bool field_named(const struct type *t, struct str name, u32 *part)
{
	if (!has_parts(t))
		return false;
	for (u32 i = 0; i < t->n_fields; i++) {
		if (t->fields[i].name && str_is(name, t->fields[i].name)) {
			*part = i;
			return true;
		}
	}
	return false;
}

static const struct {
	const char *name;
	enum template_what what;
	u64 kinds; /* bit 1 << kind: types that have it */
} numbers[] = {
	{ "count", TEMPLATE_COUNT, 1ull << TYPE_COUNT | 1ull << TYPE_AVG | 1ull << TYPE_STATS },
	{ "sum", TEMPLATE_SUM, 1ull << TYPE_SUM | 1ull << TYPE_AVG | 1ull << TYPE_STATS },
	{ "avg", TEMPLATE_AVG, 1ull << TYPE_AVG | 1ull << TYPE_STATS },
};

bool template_find(const struct type *key, const struct type *value, struct str name,
                   struct template_place *place)
{
	*place = (struct template_place){ TEMPLATE_VALUE_PART, 0 };
	if (part_number(value, name, &place->part) || field_named(value, name, &place->part))
		return true;
	place->what = TEMPLATE_KEY_PART;
	if (field_named(key, name, &place->part))
		return true;
	place->what = str_is(name, "key") ? TEMPLATE_KEY : TEMPLATE_VALUE;
	if ((place->what == TEMPLATE_KEY && key) || str_is(name, "value"))
		return true;
	for (u32 i = 0; i < ARRAY_SIZE(numbers); i++) {
		place->what = numbers[i].what;
		if (str_is(name, numbers[i].name) && numbers[i].kinds >> value->kind & 1)
			return true;
	}
	return false;
}

static bool is_drawn(const struct type *t)
{
	return t->kind == TYPE_HIST || t->kind == TYPE_LHIST || t->kind == TYPE_TSERIES;
}

static const struct type *place_type(const struct type *key, const struct type *value,
                                     const struct template_place *place)
{
	switch (place->what) {
	case TEMPLATE_KEY:
		return key;
	case TEMPLATE_KEY_PART:
		return key->fields[place->part].type;
	case TEMPLATE_VALUE_PART:
		return value->kind == TYPE_AGGS ? &type_s64 : value->fields[place->part].type;
	case TEMPLATE_VALUE:
		return type_is_agg(value) ? &type_s64 : value;
	default:
		return &type_u64;
	}
}

static const char *check_format(struct arena *a, struct str format, const struct type *type)
{
	const char *text = arena_strndup(a, format.p, format.n), *end = text, *problem;
	struct format_part part;

	if (!format_next(&end, &part, &problem))
		return problem;
	if (!part.has_directive || *end)
		return "after the ':' of a placeholder comes one directive of printf";
	return format_check(a, text, &type, 1, NULL);
}

const char *template_check(struct arena *a, const char *text, const struct type *key,
                           const struct type *value)
{
	struct template_part part;
	struct template_place place;
	const char *problem;

	while (template_next(&text, &part, &problem)) {
		if (!part.has_place)
			continue;
		if (!template_find(key, value, part.name, &place))
			return arena_printf(a, "a row has no '%.*s'", STR_ARG(part.name));
		if (place.what == TEMPLATE_VALUE && is_drawn(value))
			return "a histogram has no place in a line";
		if (place.what == TEMPLATE_VALUE && value->kind == TYPE_AGGS)
			return "a row of several aggregations has no 'value'; name one of them";
		if (part.format.n)
			problem = check_format(a, part.format, place_type(key, value, &place));
		if (problem)
			return problem;
	}
	return problem;
}
