/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as the text of an event: its pieces lie in the text. */
#include "lang/parse/event_text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void must_lie_in(struct str s, const char *p, size_t n)
{
	if (s.n && (s.p < p || s.p + s.n > p + n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const char *text = (const char *)p;
	struct event_text e;

	if (event_text_read(&e, (struct str){ text, (u32)n }))
		return 0;
	must_lie_in(e.head, text, n);
	must_lie_in(e.rest, text, n);
	if (!e.n_parts || e.n_parts > EVENT_PARTS_MAX)
		abort();
	for (u32 i = 0; i < e.n_parts; i++)
		must_lie_in(e.part[i], text, n);
	return 0;
}
