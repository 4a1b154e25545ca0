/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hit-ratio curve as a picture: entries to the right, as far as more bring anything, the
 * share of hits upwards. Marked are the knee and what 95 % of the hits need. A file for itself: no
 * fonts, no scripts.
 */
#include "cache/sizing.h"

#define WIDTH  760
#define HEIGHT 440
#define LEFT   70
#define RIGHT  30
#define TOP    56
#define BOTTOM 62
#define LABEL  175 /* room for a text of two lines */
#define POINTS 240u
#define TEXT   "#222"
#define CURVE  "#1f6feb"
#define KNEE   "#d1242f"
#define NEED   "#1a7f37"

/* What the edges of the picture stand for. */
struct scale {
	double entries, hits;
};

static double x_of(const struct scale *c, double entries)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * entries / c->entries;
}

static double y_of(const struct scale *c, double hits)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * hits / c->hits;
}

static void text(struct buf *b, double x, double y, const char *anchor, const char *fill,
                 const char *what)
{
	buf_printf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x,
	           y, anchor, fill, what);
}

static void line(struct buf *b, double x1, double y1, double x2, double y2, const char *style)
{
	buf_printf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
	           y2, style);
}

/* The smallest of 1, 2, 5 and zeros that is not below n. */
static double round_up(double n)
{
	double power = 1;

	while (power * 10 <= n)
		power *= 10;
	return n <= power       ? power
	       : n <= 2 * power ? 2 * power
	       : n <= 5 * power ? 5 * power
	                        : 10 * power;
}

static void draw_axes(struct buf *b, const struct scale *c)
{
	double step = round_up(c->entries / 8);
	struct buf label = { 0 };

	for (u32 percent = 0; percent <= c->hits * 100 + 0.5; percent += c->hits > 0.5 ? 20 : 10) {
		double y = y_of(c, percent / 100.0);

		buf_reset(&label);
		buf_printf(&label, "%u %%", percent);
		line(b, LEFT, y, WIDTH - RIGHT, y, "stroke=\"#ddd\"");
		text(b, LEFT - 8, y + 4, "end", TEXT, buf_text(&label));
	}
	for (u32 i = 0; i * step <= c->entries; i++) {
		double x = x_of(c, i * step);

		buf_reset(&label);
		sizing_print_count(&label, i * step);
		line(b, x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 5, "stroke=\"#888\"");
		text(b, x, HEIGHT - BOTTOM + 20, "middle", TEXT, buf_text(&label));
	}
	line(b, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "stroke=\"#888\"");
	text(b, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - BOTTOM + 44, "middle", TEXT,
	     "entries in the cache");
	buf_free(&label);
}

/* Points of the curve, so many errors above it; denser to the left, where it is steep. */
static void curve_points(struct buf *b, const struct scale *c, const struct shards *s, int errors)
{
	for (u32 i = 0; i <= POINTS; i++) {
		double at = (double)(errors < 0 ? POINTS - i : i) / POINTS;
		double entries = c->entries * at * at, hits = shards_hits(s, entries);

		if (errors)
			hits += errors * shards_error(s, entries);
		buf_printf(b, " %.1f,%.1f", x_of(c, entries), y_of(c, MAX(MIN(hits, c->hits), 0)));
	}
}

/* Where the curve is an estimate, on a band as wide as its error. */
static void draw_curve(struct buf *b, const struct scale *c, const struct shards *s)
{
	struct shards_stats st;

	shards_stats(s, &st);
	if (st.rate < 1) {
		buf_puts(b, "<polygon fill=\"" CURVE "\" fill-opacity=\"0.15\" points=\"");
		curve_points(b, c, s, 1);
		curve_points(b, c, s, -1);
		buf_puts(b, "\"/>\n");
	}
	buf_puts(b, "<polyline fill=\"none\" stroke=\"" CURVE "\" stroke-width=\"2\" points=\"");
	curve_points(b, c, s, 0);
	buf_puts(b, "\"/>\n");
}

/* Text on white, so that lines after it do not matter. */
static void note(struct buf *b, double x, double y, bool left, const char *color, const char *what)
{
	buf_printf(b,
	           "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\" stroke=\"#fff\" "
	           "stroke-width=\"5\" paint-order=\"stroke\">%s</text>\n",
	           x, y, left ? "end" : "start", color, what);
}

static void draw_point(struct buf *b, const struct scale *c, const struct sizing_point *p,
                       const char *color)
{
	double x = x_of(c, p->entries), y = y_of(c, p->hits);

	buf_printf(b,
	           "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\" "
	           "stroke-dasharray=\"4 3\"/>\n<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" "
	           "fill=\"%s\"/>\n",
	           x, y, x, HEIGHT - BOTTOM, color, x, y, color);
}

/* Two lines of text beside a point, at height y: to the left where the right edge is near. */
static void draw_label(struct buf *b, const struct scale *c, const struct sizing_point *p,
                       const char *name, const char *color, double y)
{
	double x = x_of(c, p->entries);
	bool left = x > WIDTH - RIGHT - LABEL;
	struct buf label = { 0 };

	x += left ? -8 : 8;
	buf_printf(&label, "%s: %.1f %%", name, p->hits * 100);
	note(b, x, y, left, color, buf_text(&label));
	buf_reset(&label);
	sizing_print_count(&label, p->entries);
	buf_puts(&label, " entries, ");
	sizing_print_bytes(&label, p->bytes);
	note(b, x, y + 16, left, color, buf_text(&label));
	buf_free(&label);
}

static void draw_head(struct buf *b, const struct sizing *s)
{
	struct shards_stats st;
	struct buf label = { 0 };

	shards_stats(s->shards, &st);
	buf_printf(b,
	           "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
	           "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n"
	           "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
	           WIDTH, HEIGHT, WIDTH, HEIGHT);
	buf_printf(b,
	           "<text x=\"%d\" y=\"26\" font-size=\"16\" fill=\"" TEXT "\">Hits of an LRU "
	           "cache by its size</text>\n",
	           LEFT);
	sizing_print_count(&label, (double)st.uses);
	buf_puts(&label, st.rate < 1 ? " uses of about " : " uses of ");
	sizing_print_count(&label, st.keys_all);
	buf_puts(&label, " keys");
	if (st.rate < 1)
		buf_puts(&label, "; the band is the 95 % confidence interval");
	text(b, LEFT, 44, "start", "#666", buf_text(&label));
	buf_free(&label);
}

void sizing_svg(struct buf *b, const struct sizing *s)
{
	struct sizing_point points[SIZING_POINTS], knee, need;
	u32 n = sizing_curve(s, points);
	struct scale c;

	draw_head(b, s);
	if (!n) {
		text(b, WIDTH / 2.0, HEIGHT / 2.0, "middle", TEXT, "no key was used twice");
		buf_puts(b, "</svg>\n");
		return;
	}
	c.entries = points[n - 1].entries * 1.1;
	c.hits = points[n - 1].hits > 0.5 ? 1 : points[n - 1].hits > 0.2 ? 0.5 : 0.2;
	knee = sizing_knee(s);
	need = sizing_share(s, 0.95);
	draw_axes(b, &c);
	draw_curve(b, &c, s->shards);
	draw_point(b, &c, &knee, KNEE);
	draw_point(b, &c, &need, NEED);
	draw_label(b, &c, &knee, "knee", KNEE, MIN(y_of(&c, knee.hits) + 26, HEIGHT - BOTTOM - 80));
	draw_label(b, &c, &need, "95 % of the hits", NEED, HEIGHT - BOTTOM - 34);
	buf_puts(b, "</svg>\n");
}
