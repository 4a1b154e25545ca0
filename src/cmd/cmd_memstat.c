/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap memstat [interval [count]]`: what to look at before anything is traced, on one screen.
 * It only reads; nothing is loaded into the kernel.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/opt.h"
#include "cmd/say.h"
#include "memstat/memstat.h"
#include "out/out.h"
#include "out/page.h"
#include "ui/term.h"

struct options {
	const char *format, *report;
	u32 top;
	bool json, pss, help;
	/* What is no option: */
	const struct out_ops *out; /* format or json */
	u32 interval, count;       /* seconds; count 0: for ever */
};

#define TO(member) offsetof(struct options, member)

static const struct opt rows[] = {
	{ 'f', "format", OUT_FORMAT_NAMES, OPT_CHOICE, TO(format), "how to print (text)" },
	{ 0, "json", NULL, OPT_FLAG, TO(json), "the same as -f json: a line for each interval" },
	{ 't', "top", "N", OPT_NUMBER, TO(top), "so many processes, by resident memory (8)" },
	{ 0, "pss", NULL, OPT_FLAG, TO(pss),
	  "their proportional share too; takes long for large ones" },
	{ 0, "report", "FILE.html", OPT_TEXT, TO(report),
	  "write what is shown to FILE as well, a page for a browser" },
	{ 'h', "help", NULL, OPT_FLAG, TO(help), "print this" },
};

static const char usage_head[] =
	"Shows what to look at before anything is traced, on one screen: memory, swap, faults,\n"
	"reclaim, huge pages, pressure, limits, OOM kills, the largest processes; and names the\n"
	"tool to run next for what looks bad.\n"
	"\n"
	"  memtap memstat [options] [interval [count]]\n"
	"\n"
	"Rates are those of the interval, in seconds; without one, of one second.\n"
	"\n"
	"Options:\n";

static const char usage_examples[] = "\n"
				     "Examples:\n"
				     "  memtap memstat\n"
				     "      one look\n"
				     "  memtap memstat 5\n"
				     "      every five seconds, until Ctrl-C\n"
				     "  memtap memstat --json 60 | jq -r '.next[].command'\n"
				     "      what to run next, minute by minute\n";

static bool read_number(const char *text, u32 *to, struct err *e)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n < 1 || n > 1000000)
		return err_set(e, "interval and count are numbers from 1 to 1000000, not '%s'",
		               text);
	*to = (u32)n;
	return true;
}

static bool read_options(struct options *o, struct arena *a, int argc, char **argv, struct err *e)
{
	struct opt_rest rest;

	if (!opt_parse(rows, ARRAY_SIZE(rows), o, a, argc, argv, &rest, e))
		return false;
	o->out = out_format(o->format, o->json);
	o->top = o->top ? o->top : 8;
	if (rest.n > 2)
		return err_set(e, "memstat takes an interval and a count, not '%s'", rest.v[2]);
	if (rest.n > 0 && !read_number(rest.v[0], &o->interval, e))
		return false;
	if (rest.n > 1 && !read_number(rest.v[1], &o->count, e))
		return false;
	if (!o->interval)
		o->interval = o->count = 1;
	return true;
}

/* ---- a report ---- */

#define LOOKS_MOST 600u /* the last ones */

struct page_of {
	const char *path; /* NULL: none is wanted */
	struct buf lines;
	u32 n;
};

/* Says at once what could only be said after the first look. */
static bool open_report(struct page_of *r, const char *path, struct err *e)
{
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;

	r->path = path;
	if (fd >= 0)
		close(fd);
	return !path || fd >= 0 || err_sys(e, errno, "can not write %s", path);
}

static void drop_first(struct page_of *r)
{
	const char *end = strchr(buf_text(&r->lines), '\n');
	size_t n = end ? (size_t)(end + 1 - r->lines.p) : 0;

	r->lines.n -= n;
	memmove(r->lines.p, r->lines.p + n, r->lines.n + 1);
	r->n--;
}

/* The whole page after each look, which may be the last one: Ctrl-C is not waited for. */
static bool write_report(struct page_of *r, const struct memstat_view *v)
{
	struct page_report page = { .title = "memstat" };
	struct buf html = { 0 };
	bool ok;

	if (r->n == LOOKS_MOST)
		drop_first(r);
	memstat_tree(&(struct tree){ .b = &r->lines, .ops = &tree_json }, v);
	r->n++;
	page.lines = (struct str){ r->lines.p, (u32)r->lines.n };
	page_report(&html, &page);
	ok = file_save(r->path, html.p, html.n) == 0;
	buf_free(&html);
	return ok;
}

/* ---- on the screen ---- */

static bool print_view(const struct options *o, struct page_of *r, struct memstat *now,
                       const struct memstat *before, const char *clear, bool first)
{
	struct memstat_view v = memstat_between(now, before);
	struct buf b = { 0 };
	struct tree t = { .b = &b, .ops = o->out->tree };
	bool ok;

	v.pss = o->pss;
	memstat_top(&v, now, o->top);
	if (o->out->tree) {
		memstat_tree(&t, &v);
	} else {
		if (!clear[0] && !first)
			buf_putc(&b, '\n');
		memstat_text(&b, &v);
	}
	ok = say_screen(clear, &b);
	buf_free(&b);
	if (r->path && !write_report(r, &v)) {
		say_warning("the report can not be written");
		ok = false;
	}
	return ok;
}

static void wait_until(u64 ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static bool run(const struct options *o, struct page_of *r)
{
	const char *clear = o->count == 1 || o->out->tree ? NULL : term_clear();
	struct memstat looks[2];
	u64 next;
	bool ok = true;
	u32 i;

	memstat_read(&looks[0], "");
	next = looks[0].ns;
	for (i = 1; ok && (!o->count || i <= o->count); i++) {
		struct memstat *now = &looks[i & 1], *before = &looks[~i & 1];

		next += (u64)o->interval * 1000000000;
		wait_until(next);
		memstat_read(now, "");
		ok = print_view(o, r, now, before, clear ? clear : "", i == 1);
		memstat_free(before);
	}
	memstat_free(&looks[~i & 1]);
	return ok;
}

int cmd_memstat(int argc, char **argv)
{
	struct options o = { 0 };
	struct arena arena = { 0 };
	struct err e = { 0 };
	struct page_of r = { 0 };
	bool ok = read_options(&o, &arena, argc, argv, &e) &&
	          (o.help || open_report(&r, o.report, &e));

	if (!ok)
		say_error(&e);
	else if (o.help)
		say_usage(usage_head, rows, ARRAY_SIZE(rows), usage_examples);
	else
		ok = run(&o, &r) || !r.path;
	buf_free(&r.lines);
	arena_free(&arena);
	return ok ? 0 : 1;
}
