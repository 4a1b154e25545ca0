/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as a script: parse, print the tree, render the diagnostics, its --help, its manual. */
#include "cmd/tool_head.h"
#include "lang/parse/lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void describe(struct buf *b, struct script *s)
{
	struct tool_head h = { 0 };

	script_options_read(s);
	if (!tool_head_parse(&h, s->arena, (struct str){ s->source->text, s->source->n }))
		return;
	tool_head_help(b, &h, s);
	tool_head_man(b, &h, s);
}

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
		describe(&text, &s);
	}
	buf_free(&text);
	arena_free(&arena);
	return 0;
}
