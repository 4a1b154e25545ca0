/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The head of a script and the options it declares, as the text of --help and as a manual page, so
 * that there is one place where a tool is described.
 */
#include "cmd/tool_head.h"

#include <ctype.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/run_options.h"

/* ---- text ----------------------------------------------------------------------------------- */

/* memtap's own options that matter after a tool, in one line; the tool may have taken letters. */
static void print_own(struct buf *b, const struct script *s)
{
	static const char wanted[] = "pcfoqv";
	u32 n;
	const struct opt *rows = run_options_rows(&n);

	buf_puts(b, "memtap's own:");
	for (const char *letter = wanted; *letter; letter++) {
		bool taken = false;

		for (u32 i = 0; i < s->options.n; i++)
			taken |= s->options.v[i].letter == *letter;
		for (u32 i = 0; !taken && i < n; i++)
			if (rows[i].short_name == *letter)
				buf_printf(b, " -%c%s%s,", *letter, rows[i].arg ? " " : "",
				           rows[i].arg ? rows[i].arg : "");
	}
	buf_puts(b, " --json; see memtap --help\n");
}

static void print_options(struct buf *b, const struct script *s)
{
	buf_puts(b, "\nOPTIONS:\n");
	script_options_usage(b, s);
	buf_puts(b, s->options.n ? "  " : "  none; ");
	print_own(b, s);
}

static bool is_usage(const struct head_section *s)
{
	return s->title && strcmp(s->title, "USAGE") == 0;
}

const char *tool_head_usage(const struct tool_head *h, struct arena *a)
{
	for (u32 i = 0; i < h->sections.n; i++) {
		const struct head_section *s = &h->sections.v[i];

		if (is_usage(s) && s->lines.n)
			return arena_strndup(a, s->lines.v[0].p, s->lines.v[0].n);
	}
	return NULL;
}

static void print_section(struct buf *b, const struct head_section *s)
{
	buf_putc(b, '\n');
	if (is_usage(s)) {
		for (u32 i = 0; i < s->lines.n; i++)
			buf_printf(b, "%s%.*s\n", i ? "" : "USAGE: ", STR_ARG(s->lines.v[i]));
		return;
	}
	if (s->title)
		buf_printf(b, "%s:\n", s->title);
	for (u32 i = 0; i < s->lines.n; i++)
		buf_printf(b, "%.*s\n", STR_ARG(s->lines.v[i]));
}

/* The options stand after the first paragraphs. */
void tool_head_help(struct buf *b, const struct tool_head *h, const struct script *s)
{
	bool options = false;

	buf_printf(b, "%.*s - %.*s\n", STR_ARG(h->name), STR_ARG(h->summary));
	for (u32 i = 0; i < h->sections.n; i++) {
		const struct head_section *section = &h->sections.v[i];

		if (!options && section->title && !is_usage(section)) {
			print_options(b, s);
			options = true;
		}
		print_section(b, section);
	}
	if (!options)
		print_options(b, s);
}

/* ---- the manual page ------------------------------------------------------------------------ */

/* Text as roff wants it, on a line of its own. */
static void put_roff(struct buf *b, struct str text)
{
	if (text.n && (*text.p == '.' || *text.p == '\''))
		buf_puts(b, "\\&");
	for (u32 i = 0; i < text.n; i++) {
		if (text.p[i] == '\\')
			buf_puts(b, "\\e");
		else if (text.p[i] == '-')
			buf_puts(b, "\\-");
		else if (text.p[i] == '\'')
			buf_puts(b, "\\(aq");
		else
			buf_putc(b, text.p[i]);
	}
}

static void put_line(struct buf *b, struct str text)
{
	put_roff(b, text);
	buf_putc(b, '\n');
}

static u32 indent_of(struct str line)
{
	u32 n = 0;

	while (n < line.n && line.p[n] == ' ')
		n++;
	return n;
}

static struct str behind(struct str s, u32 n)
{
	return (struct str){ s.p + n, s.n - n };
}

static void man_usage(struct buf *b, const struct head_section *s)
{
	buf_puts(b, ".SH SYNOPSIS\n.nf\n");
	for (u32 i = 0; i < s->lines.n; i++) {
		buf_puts(b, "\\fB");
		put_roff(b, behind(s->lines.v[i], indent_of(s->lines.v[i])));
		buf_puts(b, "\\fR\n");
	}
	buf_puts(b, ".fi\n");
}

/* Indented lines stay as they are. */
static void man_paragraphs(struct buf *b, const struct head_section *s)
{
	bool fixed = false;

	for (u32 i = 0; i < s->lines.n; i++) {
		struct str line = s->lines.v[i];
		bool indented = indent_of(line) > 0;

		if (line.n && indented != fixed) {
			buf_puts(b, indented ? ".PP\n.EX\n" : ".EE\n");
			fixed = indented;
		}
		if (line.n)
			put_line(b, line);
		else if (!fixed)
			buf_puts(b, ".PP\n");
	}
	if (fixed)
		buf_puts(b, ".EE\n");
}

/* "PID    the process": the tag, and what stands after two blanks or more. */
static struct str cut_tag(struct str line, struct str *text)
{
	const char *gap = memmem(line.p, line.n, "  ", 2);
	u32 n = gap ? (u32)(gap - line.p) : line.n;

	*text = behind(line, n);
	*text = behind(*text, indent_of(*text));
	return (struct str){ line.p, n };
}

static u32 least_indent(const struct head_section *s)
{
	u32 least = UINT32_MAX;

	for (u32 i = 0; i < s->lines.n; i++)
		if (s->lines.v[i].n)
			least = MIN(least, indent_of(s->lines.v[i]));
	return least;
}

/* Tags at the least indentation, their texts beside them or, indented more, below. */
static void man_list(struct buf *b, const struct head_section *s)
{
	u32 least = least_indent(s);

	buf_printf(b, ".SH %s\n", s->title);
	for (u32 i = 0; i < s->lines.n; i++) {
		u32 indent = indent_of(s->lines.v[i]);
		struct str text = behind(s->lines.v[i], indent);

		if (!text.n)
			continue;
		if (indent == least) {
			buf_puts(b, ".TP\n\\fB");
			put_roff(b, cut_tag(text, &text));
			buf_puts(b, "\\fR\n");
		}
		if (text.n)
			put_line(b, text);
	}
}

static void man_options(struct buf *b, const struct script *s)
{
	static const char *const forms[] = {
		[OPTION_BOOL] = "",
		[OPTION_NUMBER] = " \\fINUMBER\\fR",
		[OPTION_TEXT] = " \\fITEXT\\fR",
	};

	buf_puts(b, ".SH OPTIONS\n");
	for (u32 i = 0; i < s->options.n; i++) {
		const struct script_option *o = &s->options.v[i];

		buf_puts(b, ".TP\n");
		if (o->letter)
			buf_printf(b, "\\fB\\-%c\\fR, ", o->letter);
		buf_puts(b, "\\fB\\-\\-");
		put_roff(b, str_of(o->name));
		buf_printf(b, "\\fR%s\n", forms[o->kind]);
		if (o->help)
			put_line(b, str_of(o->help));
		if (o->kind != OPTION_BOOL && *o->standard) {
			buf_puts(b, "(");
			put_roff(b, str_of(o->standard));
			buf_puts(b, ")\n");
		}
	}
	buf_puts(b, ".PP\nThe options of\n.BR memtap (1)\nare options here too, unless the letter "
	            "is taken above.\n");
}

void tool_head_man(struct buf *b, const struct tool_head *h, const struct script *s)
{
	bool options = false;

	buf_puts(b, ".TH \"MEMTAP\\-");
	for (u32 i = 0; i < h->name.n; i++)
		buf_putc(b, (char)toupper((unsigned char)h->name.p[i]));
	buf_puts(b,
	         "\" 1 \"\" \"memtap " MEMTAP_VERSION "\" \"User Commands\"\n.SH NAME\nmemtap\\-");
	put_roff(b, h->name);
	buf_puts(b, " \\- ");
	put_line(b, h->summary);
	for (u32 i = 0; i < h->sections.n; i++) {
		const struct head_section *section = &h->sections.v[i];

		if (is_usage(section)) {
			man_usage(b, section);
			continue;
		}
		if (!section->title) {
			if (i < 2)
				buf_puts(b, ".SH DESCRIPTION\n");
			man_paragraphs(b, section);
			continue;
		}
		if (!options)
			man_options(b, s);
		options = true;
		man_list(b, section);
	}
	if (!options)
		man_options(b, s);
	buf_puts(b, ".SH SEE ALSO\n.BR memtap (1)\n");
}
