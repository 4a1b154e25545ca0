/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unpacking the page. A report is index.html with its style and scripts put where it names them,
 * and the figures in an element of their own, which page.js finds there instead of asking for them.
 */
#include "out/page.h"

#include <assert.h>
#include <string.h>
#define ZLIB_CONST /* it does not write where it reads */
#include <zlib.h>

#include "out/json.h"

#define GZIP (16 + MAX_WBITS) /* what inflateInit2 calls a stream with gzip's head */

const struct page_file *page_find(const char *name)
{
	for (const struct page_file *f = page_files; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

/* The stream is a part of the program: it can not be broken. */
void page_unpack(struct buf *b, const struct page_file *f)
{
	z_stream z = { .next_in = f->gzip, .avail_in = f->packed };
	size_t at = b->n;
	int code;

	buf_fill(b, 0, f->size);
	z.next_out = (Bytef *)b->p + at;
	z.avail_out = f->size;
	if (inflateInit2(&z, GZIP) != Z_OK)
		base_no_memory();
	code = inflate(&z, Z_FINISH);
	assert(code == Z_STREAM_END || !f->size);
	(void)code;
	inflateEnd(&z);
}

/* In a script no '<' may stand, as it could begin the tag that ends it. In JSON it is in strings
 * only. */
static void add_json(struct buf *b, struct str json)
{
	for (u32 i = 0; i < json.n; i++)
		if (json.p[i] == '<')
			buf_puts(b, "\\u003c");
		else
			buf_putc(b, json.p[i]);
}

static void add_data(struct buf *b, const struct page_report *r)
{
	struct buf text = { 0 };
	struct str rest = r->lines, line;
	const char *gap = "";

	buf_puts(&text, "{\"title\": ");
	json_string(&text, str_of(r->title));
	buf_puts(&text, ", \"flame\": ");
	json_string(&text, r->flame);
	buf_puts(&text, ", \"lines\": [");
	while (rest.n) {
		line = str_cut(rest, '\n', &rest);
		if (!line.n)
			continue;
		buf_puts(&text, gap);
		buf_add(&text, line.p, line.n);
		gap = ",\n";
	}
	buf_puts(&text, "]}");
	buf_puts(b, "<script id=\"data\" type=\"application/json\">");
	add_json(b, (struct str){ buf_text(&text), (u32)text.n });
	buf_puts(b, "</script>\n");
	buf_free(&text);
}

static void add_file(struct buf *b, const char *name, const char *tag)
{
	buf_printf(b, "<%s>\n", tag);
	page_unpack(b, page_find(name));
	buf_printf(b, "</%s>\n", tag);
}

void page_report(struct buf *b, const struct page_report *r)
{
	static const char policy[] =
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-src blob:; img-src "
		"data:; base-uri 'none'; form-action 'none'\">\n";
	static const char style[] = "<link rel=\"stylesheet\" href=\"page.css\">\n",
			  scripts[] = "<script src=\"uplot.js\"></script>\n"
				      "<script src=\"page.js\"></script>\n";
	struct buf html = { 0 };
	const char *head, *body;

	page_unpack(&html, page_find("index.html"));
	head = strstr(buf_text(&html), style);
	body = strstr(buf_text(&html), scripts);
	assert(head && body);
	buf_add(b, html.p, (size_t)(head - html.p));
	buf_puts(b, policy);
	add_file(b, "page.css", "style");
	head += sizeof(style) - 1;
	buf_add(b, head, (size_t)(body - head));
	add_data(b, r);
	add_file(b, "uplot.js", "script");
	add_file(b, "page.js", "script");
	buf_puts(b, body + sizeof(scripts) - 1);
	buf_free(&html);
}
