/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The view "commands": a line for each key of each command that a cache server is given.
 *
 * Filters are applied to commands, so an answer is awaited before anything is said; options come as
 * a record of BEGIN, as in view_hot.c.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/report.h"
#include "base/clock.h"
#include "view/cache_view.h"
#include "view/cache_feed.h"

struct commands_view {
	struct cache_feed feed; /* first: cache_feed_callbacks() */
	struct view view;
	struct arena arena;
	regex_t regex;
	bool has_regex;
	u64 pid, count, printed, min_latency; /* ns */
	const char *via, *key, *command, *client;
	bool misses;
	const struct tree_ops *tree; /* of the format; NULL: lines of text */
	u64 offset;                  /* from CLOCK_MONOTONIC to the time of day */
};

/* ---- filters -------------------------------------------------------------------------------- */

/* "/regex/" or a pattern of the shell. */
static bool prepare_key(struct commands_view *v, struct err *e)
{
	size_t n = strlen(v->key);
	char why[128];
	int code;

	if (n < 2 || v->key[0] != '/' || v->key[n - 1] != '/')
		return true;
	code = regcomp(&v->regex, arena_strndup(&v->arena, v->key + 1, (u32)n - 2),
	               REG_EXTENDED | REG_NOSUB);
	v->has_regex = !code;
	if (!code)
		return true;
	regerror(code, &v->regex, why, sizeof(why));
	return err_set(e, "--key '%s': %s", v->key, why);
}

static bool key_fits(struct commands_view *v, struct str key)
{
	struct buf text = { 0 };
	bool fits;

	if (!v->key[0])
		return true;
	report_key(&text, key);
	fits = v->has_regex ? regexec(&v->regex, buf_text(&text), 0, NULL, 0) == 0
	                    : fnmatch(v->key, buf_text(&text), 0) == 0;
	buf_free(&text);
	return fits;
}

static bool client_fits(const struct commands_view *v, const struct client *from)
{
	struct buf host = { 0 }, whole = { 0 };
	bool fits;

	if (!v->client[0])
		return true;
	client_host(&host, from);
	client_print(&whole, from);
	fits = strcmp(v->client, buf_text(&host)) == 0 || strcmp(v->client, buf_text(&whole)) == 0;
	buf_free(&host);
	buf_free(&whole);
	return fits;
}

/* By the protocol's own word or by what it does: "mg" or "get". */
static bool command_fits(const struct commands_view *v, const struct command *c)
{
	return !v->command[0] || strcasecmp(v->command, c->verb) == 0 ||
	       strcasecmp(v->command, proto_op_name(c->op)) == 0;
}

static bool fits(struct commands_view *v, const struct command *c, const struct client *from)
{
	if (v->misses && c->outcome != OUTCOME_MISS)
		return false;
	if (v->min_latency && (!c->answered || c->ended - c->started < v->min_latency))
		return false;
	return command_fits(v, c) && client_fits(v, from) && key_fits(v, c->key);
}

/* ---- a line --------------------------------------------------------------------------------- */

static const char *const outcomes[] = { "-", "hit", "miss", "error" };

static void print_time(struct buf *b, u64 time)
{
	report_clock(b, time);
	buf_printf(b, ".%06u", (unsigned)(time % 1000000000 / 1000));
}

static void print_line(struct commands_view *v, const struct command *c, const struct client *from)
{
	struct buf *b = v->feed.of.out, client = { 0 };

	client_print(&client, from);
	print_time(b, v->offset + (c->answered ? c->ended : c->started));
	buf_printf(b, " %-21s %-8s %-5s ", buf_text(&client), c->verb, outcomes[c->outcome]);
	if (c->sized)
		buf_printf(b, "%8" PRIu64 " ", c->size);
	else
		buf_puts(b, "       - ");
	if (c->answered)
		buf_printf(b, "%9.1f ", (double)(c->ended - c->started) / 1000);
	else
		buf_puts(b, "        - ");
	report_key(b, c->key);
	buf_putc(b, '\n');
	buf_free(&client);
}

static void put_buf(struct tree *t, const struct column *c, struct buf *text)
{
	tree_str(t, c, (struct str){ buf_text(text), (u32)text->n });
	buf_reset(text);
}

static void print_object(struct commands_view *v, const struct command *c,
                         const struct client *from)
{
	enum { TIME, CLIENT, COMMAND, OP, KEY, OUTCOME, SIZE, US };
	static const struct column columns[] = {
		[TIME] = { "time", NULL, COLUMN_LABEL, UNIT_SECONDS, 6 },
		[CLIENT] = COL_LABEL("client", NULL),
		[COMMAND] = COL_LABEL("command", NULL),
		[OP] = COL_LABEL("op", "what it is for"),
		[KEY] = COL_TEXT("key", NULL),
		[OUTCOME] = COL_LABEL("outcome", NULL),
		[SIZE] = COL_BYTES("size", "of the value"),
		[US] = COL_MICROSECONDS("us", "latency"),
	};
	struct tree t = { .b = v->feed.of.out, .ops = v->tree, .tight = true };
	u64 us = (v->offset + (c->answered ? c->ended : c->started)) / 1000;
	struct buf text = { 0 };

	tree_object(&t, NULL);
	tree_real(&t, &columns[TIME], (double)us / 1e6);
	client_print(&text, from);
	put_buf(&t, &columns[CLIENT], &text);
	tree_text(&t, &columns[COMMAND], c->verb);
	tree_text(&t, &columns[OP], proto_op_name(c->op));
	report_key(&text, c->key);
	put_buf(&t, &columns[KEY], &text);
	tree_text(&t, &columns[OUTCOME],
	          c->outcome == OUTCOME_UNKNOWN ? NULL : outcomes[c->outcome]);
	if (c->sized)
		tree_whole(&t, &columns[SIZE], c->size);
	else
		tree_unknown(&t, &columns[SIZE]);
	if (c->answered)
		tree_real(&t, &columns[US], (double)(c->ended - c->started) / 1000);
	else
		tree_unknown(&t, &columns[US]);
	tree_end(&t);
	buf_free(&text);
}

static void on_command(void *ctx, const struct command *c, const struct client *from)
{
	struct commands_view *v = ctx;

	if ((v->count && v->printed == v->count) || !fits(v, c, from))
		return;
	(v->tree ? print_object : print_line)(v, c, from);
	if (v->count && ++v->printed == v->count)
		view_exit(&v->feed.of, 0);
}

/* ---- the session ---------------------------------------------------------------------------- */

static void read_options(struct commands_view *v, const struct urecord *r, const u8 *bytes)
{
	v->pid = cache_view_number(r, bytes, "server");
	v->count = cache_view_number(r, bytes, "commands");
	v->min_latency = cache_view_number(r, bytes, "min_latency") * 1000;
	v->misses = cache_view_number(r, bytes, "miss");
	v->via = cache_view_text(&v->arena, r, bytes, "via");
	v->key = cache_view_text(&v->arena, r, bytes, "key");
	v->command = cache_view_text(&v->arena, r, bytes, "command");
	v->client = cache_view_text(&v->arena, r, bytes, "client");
}

static bool record(void *ctx, const struct view_of *of, const struct urecord *r, const u8 *bytes)
{
	struct commands_view *v = ctx;

	if (cache_feed_record(&v->feed, of, r, bytes))
		return true;
	if (!view_field(r, "commands"))
		return false;
	read_options(v, r, bytes);
	return true;
}

static bool start(void *ctx, const struct view_of *of, struct err *e)
{
	struct commands_view *v = ctx;

	if (!cache_view_via(v->via, of, e) || !prepare_key(v, e) ||
	    !cache_feed_open(&v->feed, of, (u32)v->pid, on_command, v, e))
		return false;
	v->offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	if (!v->tree)
		buf_printf(of->out, "%-15s %-21s %-8s %-5s %8s %9s %s\n", "TIME", "CLIENT",
		           "COMMAND", "FOUND", "SIZE", "US", "KEY");
	return true;
}

static void say_missing(const struct view_of *of, u64 n, const char *one, const char *more)
{
	char text[96];

	if (!n)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " %s", n, n == 1 ? one : more);
	view_say(of, text);
}

/* Lost events are reported by the session. */
static bool end(void *ctx, const struct view_of *of, struct err *e)
{
	struct commands_view *v = ctx;
	struct missed missed;

	(void)e;
	if (!v->feed.wire)
		return true;
	cache_feed_end(&v->feed, of);
	missed = cache_feed_missed(&v->feed, of);
	say_missing(of, missed.commands,
	            missed.at_least ? "command or more was not seen because bytes were missing"
	                            : "command was not seen because events were lost",
	            missed.at_least ? "commands or more were not seen because bytes were missing"
	            : missed.error  ? "commands, about, were not seen because events were lost"
	                            : "commands were not seen because events were lost");
	say_missing(of, missed.replies, "answer was not seen because bytes were missing",
	            "answers were not seen because bytes were missing");
	say_missing(of, missed.unconfirmed, "call was left out: no answer confirmed it",
	            "calls were left out: no answer confirmed them");
	say_missing(of, missed.from_master, "byte from its master was not parsed",
	            "bytes from its master were not parsed");
	say_missing(of, missed.unknown, "command is not known, nor which keys it has",
	            "commands are not known, nor which keys they have");
	return true;
}

static struct view *open_view(const struct out_ops *format)
{
	struct commands_view *v = calloc(1, sizeof(*v));

	if (!v)
		base_no_memory();
	v->tree = format->tree;
	v->via = v->key = v->command = v->client = "";
	v->feed.fd = -1;
	v->feed.look = UINT64_MAX;
	v->view = (struct view){ .start = start, .record = record, .end = end, .ctx = v };
	cache_feed_callbacks(&v->feed, &v->view);
	return &v->view;
}

static void close_view(struct view *view)
{
	struct commands_view *v = view->ctx;

	cache_feed_close(&v->feed);
	if (v->has_regex)
		regfree(&v->regex);
	arena_free(&v->arena);
	free(v);
}

const struct view_kind view_commands = {
	.name = "commands",
	.find_pid = cache_view_find,
	.find_way = cache_view_way,
	.way_note = "US is from packet to packet",
	.open = open_view,
	.close = close_view,
};
