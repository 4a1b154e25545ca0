/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The picture of a flame graph: an SVG with its style and script inside.
 *
 * The one idea: the edges of a frame are the running sums of values before and after it, mapped to
 * integers (parts in a million of the width). Neighbours share their edge, so kids are exactly as
 * wide as what they are of their parent, whatever is rounded. The picture is whole without its
 * script, at 1200 pixels; the script only moves what is there.
 *
 *      title, search, legend, the frame pointed at
 *      y = TOP       [innermost]
 *                  [ frame  ][ frame ]
 *                  [ all                  ]
 *      what is not drawn
 */
#include "out/flame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unpack.h"

#define WIDTH         1200u
#define MARGIN        10u
#define INNER         (WIDTH - 2 * MARGIN)
#define TOP           116u
#define ROW           18u
#define FOOT          30u
#define WHOLE         1000000u /* the width of all, in the parts that edges are counted in */
#define CHARS_PER_KPX 138u     /* of 12 px monospace: 0.602 em wide */
#define TITLE_MAX     110u
#define SHADES        4u

struct drawing {
	struct buf *b;
	const struct flame *flame;
	const char *unit;
	bool diff;
	u32 rows;     /* the deepest frame that is drawn, from 1 */
	u64 left_out; /* frames too thin */
	bool used[N_FRAME_KIND];
};

static const struct {
	char letter;
	const char *label;
} kinds[] = {
	[FRAME_OTHER] = { 'o', "other" },        [FRAME_KERNEL] = { 'k', "kernel" },
	[FRAME_LIBRARY] = { 'l', "library" },    [FRAME_PROGRAM] = { 'p', "program" },
	[FRAME_JIT] = { 'j', "compiled (JIT)" },
};

/* How a frame changed: by a twentieth is the same. */
enum change { MUCH_LESS, LESS, SAME, MORE, MUCH_MORE, N_CHANGE };
static const char *const changes[N_CHANGE] = {
	[MUCH_LESS] = "half or less", [LESS] = "less", [SAME] = "same (5 %)", [MORE] = "more",
	[MUCH_MORE] = "twice or new",
};

static enum change change_of(u64 before, u64 now)
{
	double was = (double)before, is = (double)now;

	return is >= was * 2      ? MUCH_MORE
	       : is > was * 1.05  ? MORE
	       : is >= was * 0.95 ? SAME
	       : is > was / 2     ? LESS
	                          : MUCH_LESS;
}

/* ---- text ---- */

static void add_xml(struct buf *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (text[i]) {
		case '&':
			buf_puts(b, "&amp;");
			break;
		case '<':
			buf_puts(b, "&lt;");
			break;
		case '>':
			buf_puts(b, "&gt;");
			break;
		case '"':
			buf_puts(b, "&quot;");
			break;
		default:
			buf_putc(b, text[i]);
		}
	}
}

/* At most `room` characters of text; ".." at the end of what was cut. */
static void add_short(struct buf *b, const char *text, u32 room)
{
	struct str s = str_of(text);
	u32 chars = 0, cut = 0;

	for (u32 i = 0; i < s.n; i += MAX(str_utf8(s, i), 1u), chars++)
		if (chars + 2 <= room)
			cut = i;
	if (chars <= room) {
		add_xml(b, text, s.n);
	} else {
		add_xml(b, text, cut);
		buf_puts(b, "..");
	}
}

/* "1,234,567" */
static void add_number(struct buf *b, u64 n)
{
	char text[32];
	u32 len = (u32)snprintf(text, sizeof(text), "%" PRIu64, n);

	for (u32 i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_putc(b, ',');
		buf_putc(b, text[i]);
	}
}

static void add_size(struct buf *b, u64 bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double n = (double)bytes;
	u32 i = 0;

	for (; n >= 1024 && i + 1 < ARRAY_SIZE(units); i++)
		n /= 1024;
	if (i)
		buf_printf(b, " (%.1f %s)", n, units[i]);
}

/* "12,345 bytes (12.1 KiB)" */
static void add_amount(struct buf *b, u64 n, const char *unit)
{
	add_number(b, n);
	buf_putc(b, ' ');
	add_xml(b, unit, strlen(unit));
	if (strstr(unit, "bytes"))
		add_size(b, n);
}

/* ---- frames ---- */

/* Where the edge after `value` of the total is. */
static u32 edge(const struct drawing *d, u64 value)
{
	return (u32)((unsigned __int128)value * WHOLE / d->flame->root.value);
}

static bool is_thin(const struct drawing *d, const struct flame_node *n)
{
	return (unsigned __int128)n->value * INNER * 10 < d->flame->root.value;
}

static u64 count_frames(const struct flame_node *n)
{
	u64 count = 1;

	for (const struct flame_node *kid = n->kids; kid; kid = kid->next)
		count += count_frames(kid);
	return count;
}

static void measure(struct drawing *d, const struct flame_node *n, u32 row)
{
	if (is_thin(d, n)) {
		d->left_out += count_frames(n);
		return;
	}
	d->rows = MAX(d->rows, row);
	d->used[n->kind] = true;
	for (const struct flame_node *kid = n->kids; kid; kid = kid->next)
		measure(d, kid, row + 1);
}

/* One of a few shades of its kind's colour, always the same for a name. */
static u32 shade(const char *name)
{
	u32 h = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (u8)*name) * 16777619u;
	return (h >> 16) % SHADES;
}

static void add_parts(struct buf *b, const char *name, u32 parts)
{
	buf_printf(b, " %s=\"%u.%04u%%\"", name, parts / 10000, parts % 10000);
}

/* ", 8,000 before (+25.0 %)" */
static void add_before(struct buf *b, u64 before, u64 now)
{
	buf_puts(b, ", ");
	add_number(b, before);
	buf_puts(b, " before");
	if (before)
		buf_printf(b, " (%+.1f %%)", ((double)now - (double)before) / (double)before * 100);
}

static void add_title(struct drawing *d, const struct flame_node *n, const char *name)
{
	struct buf *b = d->b;
	u32 share = (u32)((unsigned __int128)n->value * 10000 / d->flame->root.value);

	buf_puts(b, "<title>");
	add_xml(b, name, strlen(name));
	buf_putc(b, '\n');
	if (n->module && n->module[0]) {
		add_xml(b, n->module, strlen(n->module));
		buf_puts(b, ", ");
	}
	add_amount(b, n->value, d->unit);
	buf_printf(b, ", %u.%02u %%", share / 100, share % 100);
	if (d->diff)
		add_before(b, n->before, n->value);
	buf_puts(b, "</title>");
}

static void draw(struct drawing *d, const struct flame_node *n, u64 start, u32 row)
{
	u32 left = edge(d, start), width = edge(d, start + n->value) - left;
	u32 chars = width * (u64)INNER / 1000 > 6000
	                    ? (u32)((width * (u64)INNER / 1000 - 6000) * CHARS_PER_KPX / 1000000)
	                    : 0;
	const char *name = n == &d->flame->root ? "all" : n->name;
	u32 y = (d->rows - row) * ROW;
	struct buf *b = d->b;

	buf_printf(b, "<g class=\"%c%u\" tabindex=\"%d\" data-v=\"%" PRIu64 "\"",
	           d->diff ? 'd' : kinds[n->kind].letter,
	           d->diff ? change_of(n->before, n->value) : shade(name), row == 1 ? 0 : -1,
	           n->value);
	if (n->self)
		buf_printf(b, " data-self=\"%" PRIu64 "\"", n->self);
	if (d->diff && n->before_self)
		buf_printf(b, " data-before=\"%" PRIu64 "\"", n->before_self);
	buf_putc(b, '>');
	add_title(d, n, name);
	buf_puts(b, "<rect");
	add_parts(b, "x", left);
	add_parts(b, "width", width);
	buf_printf(b, " y=\"%u\" height=\"%u\"/><text", y, ROW - 1);
	add_parts(b, "x", left);
	buf_printf(b, " dx=\"3\" y=\"%u\">", y + 13);
	if (chars >= 3)
		add_short(b, name, chars);
	buf_puts(b, "</text></g>\n");
	for (const struct flame_node *kid = n->kids; kid; kid = kid->next) {
		if (!is_thin(d, kid))
			draw(d, kid, start, row + 1);
		start += kid->value;
	}
}

/* ---- around them ---- */

/* A colour and what it means, ending at x; returns where it begins. */
static u32 add_colour(struct drawing *d, u32 x, u32 y, char letter, u32 number, const char *label)
{
	x -= (u32)strlen(label) * 7 + 34;
	buf_printf(d->b,
	           "<g class=\"%c%u\"><rect x=\"%u\" y=\"%u\" width=\"12\" height=\"12\"/>"
	           "</g><text x=\"%u\" y=\"%u\">%s</text>\n",
	           letter, number, x, y - 10, x + 17, y, label);
	return x;
}

static void add_legend(struct drawing *d, u32 y)
{
	u32 x = WIDTH - MARGIN;

	if (d->diff) {
		for (u32 i = N_CHANGE; i-- > 0;)
			x = add_colour(d, x, y, 'd', i, changes[i]);
		return;
	}
	for (u32 i = N_FRAME_KIND; i-- > 0;)
		if (d->used[i])
			x = add_colour(d, x, y, kinds[i].letter, 0, kinds[i].label);
}

static void add_notes(struct drawing *d, u32 y)
{
	const struct flame *f = d->flame;
	const struct {
		u64 n;
		const char *text;
	} notes[] = {
		{ d->left_out, "frames thinner than 0.1 px are not drawn" },
		{ f->refused, "stacks have a value below 1 and are not counted" },
		{ f->cut, "stacks lack frames: there are too many different ones" },
		{ d->diff ? f->gone : 0, "of before are in frames that are gone" },
	};
	bool first = true;

	buf_printf(d->b, "<text id=\"notes\" x=\"%u\" y=\"%u\">", MARGIN, y);
	for (u32 i = 0; i < ARRAY_SIZE(notes); i++) {
		if (!notes[i].n)
			continue;
		buf_puts(d->b, first ? "" : "; ");
		add_number(d->b, notes[i].n);
		buf_printf(d->b, " %s", notes[i].text);
		first = false;
	}
	buf_puts(d->b, "</text>\n");
}

static void add_packed(struct buf *b, const unsigned char *packed, unsigned size, unsigned text)
{
	char *s = unpack(packed, size, text);

	buf_add(b, s, text);
	free(s);
}

static void add_head(struct drawing *d, const char *title, u32 height)
{
	struct buf *b = d->b;

	buf_printf(b,
	           "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	           "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" "
	           "height=\"%u\">\n<title>",
	           WIDTH, height);
	add_xml(b, title, strlen(title));
	buf_puts(b, "</title>\n<style>\n");
	add_packed(b, packed_flame_css, packed_flame_css_size, packed_flame_css_text);
	buf_puts(b, "</style>\n");
	buf_puts(b, "<rect id=\"back\" width=\"100%\" height=\"100%\"/>\n"
	            "<text id=\"title\" x=\"50%\" y=\"28\">");
	add_short(b, title, TITLE_MAX);
	buf_puts(b, "</text>\n<text id=\"total\" x=\"50%\" y=\"46\">");
	add_amount(b, d->flame->root.value, d->unit);
	buf_puts(b, " in ");
	add_number(b, d->flame->stacks);
	buf_puts(b, d->flame->stacks == 1 ? " stack" : " stacks");
	if (d->diff)
		add_before(b, d->flame->root.before, d->flame->root.value);
	buf_puts(b, "</text>\n");
}

static void add_tools(struct drawing *d)
{
	buf_printf(d->b,
	           "<foreignObject id=\"tools\" x=\"%u\" y=\"56\" width=\"700\" height=\"30\">"
	           "<div xmlns=\"http://www.w3.org/1999/xhtml\">"
	           "<input id=\"search\" type=\"search\" placeholder=\"search\" "
	           "aria-label=\"search, a regular expression\"/> "
	           "<button id=\"reset\" type=\"button\">Reset</button> "
	           "<button id=\"flip\" type=\"button\">Flip</button> "
	           "<button id=\"leaves\" type=\"button\" aria-pressed=\"false\">From the leaves"
	           "</button> "
	           "<span id=\"found\" aria-live=\"polite\"></span></div></foreignObject>\n"
	           "<svg id=\"legend\" overflow=\"visible\">\n",
	           MARGIN);
	add_legend(d, 75);
	buf_printf(d->b,
	           "</svg>\n<text id=\"details\" x=\"%u\" y=\"%u\" aria-live=\"polite\">&#160;"
	           "</text>\n",
	           MARGIN, TOP - 10);
}

void flame_svg(struct buf *b, const struct flame *f, const struct flame_svg *o)
{
	struct drawing d = { .b = b, .flame = f, .unit = o->unit, .diff = o->diff };
	u32 foot;

	if (f->root.value)
		measure(&d, &f->root, 1);
	foot = TOP + d.rows * ROW;
	add_head(&d, o->title, foot + FOOT);
	add_tools(&d);
	buf_printf(b, "<svg id=\"frames\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"", MARGIN,
	           TOP, INNER, d.rows * ROW);
	buf_puts(b, " data-unit=\"");
	add_xml(b, o->unit, strlen(o->unit));
	buf_puts(b, o->diff ? "\" data-diff=\"\">\n" : "\">\n");
	if (f->root.value)
		draw(&d, &f->root, 0, 1);
	buf_puts(b, "</svg>\n");
	add_notes(&d, foot + 20);
	buf_puts(b, "<script");
	if (o->nonce)
		buf_printf(b, " nonce=\"%s\"", o->nonce);
	buf_puts(b, "><![CDATA[\n");
	add_packed(b, packed_flame_js, packed_flame_js_size, packed_flame_js_text);
	buf_puts(b, "]]></script>\n</svg>\n");
}
