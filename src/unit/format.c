/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Directives of a printf format, and whether values fit them.
 *
 * The one idea: compiler and printer walk a format with the same function, so what passes the
 * check can be printed. A '*' for width or precision is accepted and means nothing, as scripts
 * in the wild have it. Printing itself is not done here.
 */
#include "unit/format.h"

#include <ctype.h>
#include <string.h>

#define WIDTH_MAX 4096u

/* A run of digits; more than WIDTH_MAX is a problem. Also swallows one '*'. */
static bool read_number(const char **p, u32 *n)
{
	*n = 0;
	if (**p == '*') {
		++*p;
		return true;
	}
	for (; isdigit((unsigned char)**p); ++*p) {
		*n = *n * 10 + (u32)(**p - '0');
		if (*n > WIDTH_MAX)
			return false;
	}
	return true;
}

static const char *read_flags(const char *p, struct format_part *part)
{
	for (;; p++) {
		switch (*p) {
		case '-':
			part->minus = true;
			break;
		case '+':
			part->plus = true;
			break;
		case ' ':
			part->space = true;
			break;
		case '#':
			part->hash = true;
			break;
		case '0':
			part->zero = true;
			break;
		default:
			return p;
		}
	}
}

static const char *read_length(const char *p, struct format_part *part)
{
	part->bytes = 4;
	if (*p == 'h') {
		part->bytes = p[1] == 'h' ? 1 : 2;
		return p + (part->bytes == 1 ? 2 : 1);
	}
	for (; *p && strchr("ljztL", *p); p++)
		part->bytes = 8;
	return p;
}

/* The conversion letter at *p; NULL when it is one, else what is wrong. */
static const char *read_conversion(const char **p, struct format_part *part)
{
	if (!**p)
		return "format string ends within a directive";
	if (!strchr("diuxXocpsrg", **p) || (**p == 'g' && (*p)[1] != 'r'))
		return "unknown conversion in format string";
	part->conv = *(*p)++;
	if (part->conv == 'g')
		part->sub = *(*p)++;
	if (part->conv == 'r' && (**p == 'x' || **p == 'h'))
		part->sub = *(*p)++;
	return NULL;
}

/* What follows '%', up to and with the conversion letter. */
static bool read_directive(const char **p, struct format_part *part, const char **problem)
{
	const char *q = read_flags(*p, part);

	if (!read_number(&q, &part->width)) {
		*problem = "width in format string is larger than 4096";
		return false;
	}
	if (*q == '.') {
		u32 n;

		q++;
		if (!read_number(&q, &n)) {
			*problem = "precision in format string is larger than 4096";
			return false;
		}
		part->precision = q[-1] == '*' ? -1 : (s32)n;
	}
	q = read_length(q, part);
	*problem = read_conversion(&q, part);
	*p = q;
	return !*problem;
}

bool format_next(const char **p, struct format_part *part, const char **problem)
{
	const char *start = *p, *q = start + strcspn(start, "%");

	*problem = NULL;
	memset(part, 0, sizeof(*part));
	part->precision = -1;
	part->literal = (struct str){ start, (u32)(q - start) };
	if (q[0] == '%' && q[1] == '%') {
		part->literal.n++;
		*p = q + 2;
		return true;
	}
	*p = q;
	if (!*q)
		return part->literal.n > 0;
	*p = q + 1;
	part->has_directive = true;
	if (!read_directive(p, part, problem))
		return false;
	part->text = (struct str){ q, (u32)(*p - q) };
	return true;
}

u32 format_directives(const char *format)
{
	struct format_part part;
	const char *problem;
	u32 n = 0;

	while (format_next(&format, &part, &problem))
		n += part.has_directive;
	return n;
}

static bool fits(const struct format_part *part, const struct type *t)
{
	switch (part->conv) {
	case 's':
		return t->kind != TYPE_NONE && t->kind != TYPE_ARGS;
	case 'r':
		return t->kind == TYPE_BUF;
	default:
		return type_is_scalar(t);
	}
}

static const char *misfit(struct arena *a, const struct format_part *part, const struct type *t)
{
	const char sub[2] = { part->sub, 0 };

	return arena_printf(a, "unsupported format specifier for type '%s': %c%s", type_name(a, t),
	                    part->conv, sub);
}

const char *format_check(struct arena *a, const char *format, const struct type *const *types,
                         u32 n, u32 *at)
{
	const char *problem, *first = NULL;
	struct format_part part;
	u32 used = 0, misfits = n;

	while (format_next(&format, &part, &problem)) {
		if (!part.has_directive)
			continue;
		if (used < n && !first && !fits(&part, types[used])) {
			first = misfit(a, &part, types[used]);
			misfits = used;
		}
		used++;
	}
	if (at)
		*at = problem || used != n ? n : misfits;
	if (problem)
		return problem;
	if (used != n)
		return arena_printf(a, "%s arguments for format string (%u supplied, %u expected)",
		                    n < used ? "not enough" : "too many", n, used);
	return first;
}
