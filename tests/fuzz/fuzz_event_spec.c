/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as an event with what trace and argdist let stand after it. */
#include "lang/parse/event_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct arena arena = { 0 };
	struct event_text text;
	struct event_spec spec;
	struct source source = { .name = "$1",
		                 .text = arena_strndup(&arena, (const char *)p, n),
		                 .n = (u32)n };
	struct str at;

	if (!event_text_read(&text, str_of(source.text)))
		event_spec_read(&spec, &arena, &text, &source, &at);
	arena_free(&arena);
	return 0;
}
