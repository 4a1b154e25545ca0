/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runtime warnings. Each place in the script that can fail while it runs counts its failures
 * in a word of the data map; programs never print them. So a failure a million times a second
 * costs one line a second, with a count.
 */
#include "run/trouble.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	bool only_kept;     /* shown with -k */
	const char *format; /* %s: uerror.what */
} kinds[] = {
	[UERROR_DIV_ZERO] = { false, "'%s' by zero; the result is taken to be 1" },
	[UERROR_MAP_FULL] = { false,
	                      "%s is full and an update was lost; set max_map_keys higher in "
	                      "the script's config" },
	[UERROR_DELETE] = { true, "%s has no such key to delete" },
	[UERROR_READ] = { true, "memory could not be read (%s); it is taken to be 0" },
	[UERROR_LOOKUP] = { true, "%s has no such key" },
	[UERROR_STACK] = { true, "a stack could not be read or stored (%s)" },
	[UERROR_BOUNDS] = { false, "an index is outside of its array (%s); 0 is used" },
	[UERROR_CUT] = { false, "a string was cut to fit into %s; set max_strlen higher in the "
	                        "script's config" },
	[UERROR_LOOP] = { false, "a %s was stopped at its limit of rounds" },
};

void trouble_init(struct trouble *t, const struct unit *u)
{
	t->n = UDATA_ERRORS + u->errors.n;
	t->seen = calloc(t->n, sizeof(*t->seen));
	if (!t->seen)
		abort();
}

void trouble_free(struct trouble *t)
{
	free(t->seen);
}

/* How often since the last look. */
static u64 grown(struct trouble *t, struct events *ev, u32 word)
{
	u64 now = live_data(ev->live, word), n = now - t->seen[word];

	t->seen[word] = now;
	return n;
}

/* A stack that can not be read is common (kernel threads have no user stack), one that did not
 * fit the map of stacks is a loss. */
static bool is_shown(const struct uerror *error, bool keep_errors)
{
	if (keep_errors)
		return true;
	if (error->kind == UERROR_STACK)
		return error->what && strcmp(error->what, "stacks") == 0;
	return !kinds[error->kind].only_kept;
}

static void check_error(struct events *ev, const struct uerror *error, u64 n)
{
	struct buf b = { 0 };

	if (!n || !is_shown(error, ev->options->keep_errors))
		return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	buf_printf(&b, kinds[error->kind].format, error->what ? error->what : "");
#pragma GCC diagnostic pop
	if (n > 1)
		buf_printf(&b, " (%" PRIu64 " times)", n);
	event_report(ev, REPORT_WARNING, &error->loc, buf_text(&b));
	buf_free(&b);
}

static void check_lost(struct events *ev, u64 n)
{
	char text[64];

	if (!n)
		return;
	if (ev->options->json) {
		ev->out.ops->lost(&ev->output->text, &ev->out, n);
		return;
	}
	snprintf(text, sizeof(text), "Lost %" PRIu64 " events", n);
	event_report(ev, REPORT_WARNING, NULL, text);
}

static void check_busy(struct events *ev, u64 n)
{
	char text[128];

	if (!n)
		return;
	snprintf(text, sizeof(text),
	         "%" PRIu64 " events were dropped: probes interrupted each other too deeply", n);
	event_report(ev, REPORT_WARNING, NULL, text);
}

void trouble_check(struct trouble *t, struct events *ev)
{
	check_lost(ev, grown(t, ev, UDATA_LOST));
	check_busy(ev, grown(t, ev, UDATA_BUSY));
	for (u32 i = 0; i < ev->unit->errors.n; i++)
		check_error(ev, &ev->unit->errors.v[i], grown(t, ev, UDATA_ERRORS + i));
}
