/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table of integer macros.
 *
 * The one idea: it is one text, packed, since it is long and few scripts need it: a script pays for
 * it when it asks for the first name that neither it nor the kernel's types explain, and then once.
 * Lines are sorted, so looking a name up halves the text.
 */
#include "lang/infer/constants.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/base.h"
#include "base/unpack.h"

#define NAME_MOST 64u

static void open_text(struct constants *c)
{
	if (!c->text)
		c->text = unpack(packed_constants, packed_constants_size, packed_constants_text);
}

bool constants_next(struct constants *c, u32 *at, struct str *name, struct str *value)
{
	struct str line;

	open_text(c);
	if (*at >= packed_constants_text)
		return false;
	line.p = c->text + *at;
	line.n = (u32)((char *)memchr(line.p, '\n', packed_constants_text - *at) - line.p);
	*at += line.n + 1;
	*name = str_cut(line, ' ', value);
	return true;
}

static int compare(struct str a, struct str b)
{
	int c = memcmp(a.p, b.p, MIN(a.n, b.n));

	return c ? c : (int)a.n - (int)b.n;
}

static bool find(struct constants *c, struct str want, struct str *value)
{
	u32 from = 0, to = packed_constants_text;

	while (from < to) {
		u32 start = from + (to - from) / 2, next;
		struct str name;
		int order;

		open_text(c);
		while (start > from && c->text[start - 1] != '\n')
			start--;
		next = start;
		if (!constants_next(c, &next, &name, value))
			break;
		order = compare(want, name);
		if (!order)
			return true;
		if (order < 0)
			to = start;
		else
			from = next;
	}
	return false;
}

/* Where kernels differ in their pages the table has those of 4 KiB. A table of page numbers fills a
 * page, 8 bytes each. */
static void of_page(struct str name, u64 *value)
{
	u64 page = arch_page(), shift = (u64)__builtin_ctzll(page);

	if (str_is(name, "PAGE_SIZE"))
		*value = page;
	else if (str_is(name, "PAGE_SHIFT"))
		*value = shift;
	else if (str_is(name, "PAGE_MASK"))
		*value = -page;
	else if (str_is(name, "HPAGE_PMD_ORDER"))
		*value = shift - 3;
}

bool constants_find(struct constants *c, struct str name, u64 *value, bool *is_unsigned)
{
	char call[NAME_MOST];
	struct str text;

	if (str_starts(name, "SYS_") && name.n + 1 < NAME_MOST) {
		snprintf(call, sizeof(call), "__NR_%.*s", (int)name.n - 4, name.p + 4);
		name = (struct str){ call, name.n + 1 };
	}
	if (!name.n || !find(c, name, &text))
		return false;
	*is_unsigned = text.p[0] != '-';
	*value = *is_unsigned ? strtoull(text.p, NULL, 10) : (u64)strtoll(text.p, NULL, 10);
	of_page(name, value);
	return true;
}

void constants_offer(struct constants *c, struct near *n)
{
	struct str name, value;

	for (u32 at = 0; constants_next(c, &at, &name, &value);) {
		char copy[NAME_MOST] = "";

		memcpy(copy, name.p, MIN(name.n, NAME_MOST - 1));
		near_offer(n, copy);
	}
}

void constants_free(struct constants *c)
{
	free(c->text);
	*c = (struct constants){ 0 };
}
