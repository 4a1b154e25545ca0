/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runtime warnings. Each place in the script that can fail while it runs counts its failures
 * in a word of the data map; programs never print them. So a failure a million times a second
 * costs one line a second, with a count.
 */
#include "run/failures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	bool only_kept;     /* shown with -k */
	const char *format; /* %s: uerror.what */
	const char *many;   /* when it happened n times; NULL: "format (n times)" */
	const char *helper; /* what failed in the kernel, for JSON; "" is uerror.what, NULL none */
	int code;           /* with which errno */
} kinds[] = {
	[UERROR_DIV_ZERO] = { false, "'%s' by zero; the result is taken to be 1", NULL, NULL, 0 },
	[UERROR_UPDATE] = { false, NULL, NULL, "map_update_elem", 0 }, /* see answers */
	[UERROR_SPILL] = { false,
	                   "new keys of %s came faster than they could be taken and an update was "
	                   "lost; set ring_pages higher in the script's config",
	                   NULL, "map_update_elem", ENOMEM },
	[UERROR_DELETE] = { true, "%s has no such key to delete", NULL, "map_delete_elem", ENOENT },
	[UERROR_READ] = { true, "memory could not be read (%s); it is taken to be 0", NULL, "",
	                  EFAULT },
	[UERROR_LOOKUP] = { true, "%s has no such key", NULL, "map_lookup_elem", 0 },
	[UERROR_STACK] = { true, "a stack could not be read or stored (%s)", NULL, NULL, 0 },
	[UERROR_BOUNDS] = { false, "an index is outside of its array (%s); 0 is used", NULL, NULL,
	                    0 },
	[UERROR_CUT] = { false,
	                 "a string was cut at %s bytes; set max_strlen higher in the script's "
	                 "config",
	                 "strings were cut at %s bytes; set max_strlen higher in the script's "
	                 "config",
	                 NULL, 0 },
	[UERROR_LOOP] = { false, "a %s was stopped at its limit of rounds", NULL, NULL, 0 },
};

/* Of a map that says itself how much it holds. */
#define SIZED_MAP_FULL                                                                             \
	"%s is full and an update was lost; it has room for as many keys as its declaration says"

#define MEMORY_MAP_FULL                                                                            \
	"%s is full and an update was lost; --map-memory MIB (or the setting map_memory) gives "   \
	"it "                                                                                      \
	"room for more keys"

#define MAP_FULL                                                                                   \
	"%s is full and an update was lost; set max_map_keys higher in the script's config, or "   \
	"MEMTAP_MAX_MAP_KEYS in the environment"

#define BUSY                                                                                       \
	"%s was being changed by another probe or processor at that moment and an update was lost"

/* What the kernel answers to an update. */
static const struct {
	int code;
	const char *format;
} answers[] = {
	{ E2BIG, NULL }, /* full() */
	{ ENOMEM, "the kernel had no memory at hand for one more key of %s and an update was lost; "
	          "the limit of memtap's control group counts, too" },
	{ EBUSY, BUSY },
	{ EEXIST, BUSY },
	{ EDEADLK, BUSY },
	{ ETIMEDOUT, BUSY },
};

/* What to say of a map that is full. */
static const char *full(const struct unit *u, const char *map)
{
	for (u32 i = 0; map && i < u->maps.n; i++) {
		const struct umap *m = &u->maps.v[i];

		if (strcmp(m->name, map) == 0)
			return m->sized       ? SIZED_MAP_FULL
			       : m->by_memory ? MEMORY_MAP_FULL
			                      : MAP_FULL;
	}
	return MAP_FULL;
}

/* What the kernel refused an update with, and in *code its error; 0 when that is not known. */
static const char *refused(const struct unit *u, const struct uerror *error, int *code)
{
	for (u32 i = 0; i < ARRAY_SIZE(answers); i++) {
		if ((-answers[i].code & (UERROR_ANSWERS - 1)) != (int)error->answer)
			continue;
		*code = answers[i].code;
		return answers[i].format ? answers[i].format : full(u, error->what);
	}
	*code = 0;
	return "the kernel refused an update of %s, and it was lost";
}

void failures_init(struct failures *t, const struct unit *u)
{
	t->n = UDATA_ERRORS + u->errors.n;
	t->seen = calloc(t->n, sizeof(*t->seen));
	if (!t->seen)
		base_no_memory();
}

void failures_free(struct failures *t)
{
	free(t->seen);
}

/* How often since the last look. */
static u64 grown(struct failures *t, struct events *ev, u32 word)
{
	u64 now = live_data(ev->live, word), n = now - t->seen[word];

	t->seen[word] = now;
	return n;
}

/* In JSON and text: a stack of which nothing but its count is left. */
#define STACK_LOST                                                                                 \
	"the map of stacks was full, or the kernel had no memory at hand: a stack is shown as "    \
	"[lost]"

static bool is_lost_stack(const struct uerror *error)
{
	return error->kind == UERROR_STACK && error->what && strcmp(error->what, "stacks") == 0;
}

u64 failures_stacks(const struct events *ev)
{
	u64 n = 0;

	for (u32 i = 0; i < ev->unit->errors.n; i++)
		if (is_lost_stack(&ev->unit->errors.v[i]))
			n += live_data(ev->live, UDATA_ERRORS + i);
	return n;
}

u64 failures_spilled(const struct events *ev)
{
	u64 n = 0;

	for (u32 i = 0; i < ev->unit->errors.n; i++)
		if (ev->unit->errors.v[i].kind == UERROR_SPILL)
			n += live_data(ev->live, UDATA_ERRORS + i);
	return n;
}

/* A stack that can not be read is common (kernel threads have no user stack), one that did not
 * fit the map of stacks is a loss. */
static bool is_shown(const struct uerror *error, bool keep_errors)
{
	if (keep_errors)
		return true;
	if (error->kind == UERROR_STACK)
		return is_lost_stack(error);
	return !kinds[error->kind].only_kept;
}

static void sentence(struct buf *b, const char *format, const char *what)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	buf_printf(b, format, what ? what : "");
#pragma GCC diagnostic pop
}

static void report_error(struct events *ev, const struct uerror *error, u64 n)
{
	const char *one = kinds[error->kind].format, *many = kinds[error->kind].many;
	const char *helper = kinds[error->kind].helper;
	int code = kinds[error->kind].code;
	struct buf b = { 0 };

	if (is_lost_stack(error))
		one = STACK_LOST;
	if (error->kind == UERROR_UPDATE)
		one = refused(ev->unit, error, &code);
	sentence(&b, n > 1 && many ? many : one, error->what);
	OUT(&ev->out, runtime_error, &ev->output->text,
	    &(struct out_error){
		    .loc = &error->loc,
		    .text = buf_text(&b),
		    .helper = error->kind == UERROR_UPDATE && !code ? NULL
	                      : helper && !*helper                  ? error->what
	                                                            : helper,
		    .retcode = -code,
		    .n = n,
		    .count = many ? COUNT_BEFORE : COUNT_AFTER,
	    });
	buf_free(&b);
}

static void check_error(struct failures *t, struct events *ev, const struct uerror *error, u64 n)
{
	if (!n)
		return;
	if (is_shown(error, ev->options->keep_errors))
		report_error(ev, error, n);
	else if (error->kind == UERROR_READ)
		t->unread += n;
}

/* What has no place in the script. */
static void report_events(struct events *ev, u64 n, const char *why)
{
	if (n)
		OUT(&ev->out, lost, &ev->output->text, n, why);
}

void failures_check(struct failures *t, struct events *ev)
{
	report_events(ev, grown(t, ev, UDATA_LOST),
	              "they came faster than they could be printed; set ring_pages higher in the "
	              "script's config");
	report_events(ev, grown(t, ev, UDATA_BUSY), "probes interrupted each other too deeply");
	report_events(
		ev, ev->taken.n_lost - t->unheld,
		"the rows they count in take more memory than maps have; --map-memory MIB (or the "
		"setting map_memory) gives more");
	t->unheld = ev->taken.n_lost;
	for (u32 i = 0; i < ev->unit->errors.n; i++)
		check_error(t, ev, &ev->unit->errors.v[i], grown(t, ev, UDATA_ERRORS + i));
}

void failures_end(const struct failures *t, struct events *ev)
{
	const char *plural = t->unread == 1 ? "" : "s";
	char text[96];

	if (!ev->output->closed)
		report_events(ev, ev->n_dropped,
		              "they still waited to be handled when it was to end");
	if (!t->unread)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " memory read%s failed; -k shows where", t->unread,
	         plural);
	event_summary(ev, t->unread, text);
}
