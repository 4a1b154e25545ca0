/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as a script: parse, print the tree, render the diagnostics. */
#include "lang/lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct arena arena = { 0 };
	struct source source;
	struct buf text = { 0 };
	struct err e;

	if (source_set(&source, &arena, "stdin", (struct str){ (const char *)p, (u32)n }, &e)) {
		struct diags d = { .arena = &arena, .source = &source };
		struct script s = { .arena = &arena, .source = &source };
		struct config c;

		if (parse_script(&s, &d))
			config_read(&c, &s, &d);
		ast_print(&text, &s, true);
		for (struct probe *probe = s.probes; probe; probe = probe->next)
			ast_copy(&arena, probe->body);
		diag_print(&text, &d, false);
	}
	buf_free(&text);
	arena_free(&arena);
	return 0;
}
