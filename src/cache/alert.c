// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Keys that become hot.
 *
 * The idea: a second is ten slots and the one that runs. Of the oldest of the eleven counts what
 * is left of it within the second, as if its calls had come evenly. So a key that is asked for at
 * the rate that is looked for is found when it has been so for a second, and sooner the more it is
 * above that.
 */
#include "cache/alert.h"

#include <stdlib.h>
#include <string.h>

#include "agg/keys.h"
#include "cache/report.h"
#include "out/csv.h"

#define SLOT  100000000ull /* ns */
#define SLOTS 11u

struct window {
	u64 slot; /* number of the one that runs */
	u32 n[SLOTS];
	bool hot;
};

struct alert {
	struct alert_options o;
	struct keys *keys;
	struct window all;
};

struct alert *alert_new(const struct alert_options *o, struct err *e)
{
	struct alert *a = calloc(1, sizeof(*a));
	struct keys_options k = { .limit = ALERT_MEMORY,
		                  .payload = sizeof(struct window),
		                  .secret = o->secret };

	if (!a)
		base_no_memory();
	a->o = *o;
	a->keys = keys_new(&k, e);
	if (a->keys)
		return a;
	free(a);
	return NULL;
}

void alert_free(struct alert *a)
{
	if (!a)
		return;
	keys_free(a->keys);
	free(a);
}

bool alert_parse(const char *text, struct alert_options *o, struct err *e)
{
	char *end;
	double n = strtod(text, &end);

	if (end != text && n > 0 && strcmp(end, "/s") == 0)
		o->rate = n;
	else if (end != text && n > 0 && n <= 100 && (!*end || strcmp(end, "%") == 0))
		o->share = n / 100;
	else
		return err_set(e, "--alert takes a percentage, or a rate as 5000/s, not '%s'",
		               text);
	return true;
}

/* One call more; returns those of the second before `time`. */
static double count(struct window *w, u64 time)
{
	u64 slot = MAX(time / SLOT, w->slot), passed = MIN(slot - w->slot, SLOTS);
	double sum = 0, left;

	for (u64 i = 0; i < passed; i++)
		w->n[(slot - i) % SLOTS] = 0;
	w->slot = slot;
	w->n[slot % SLOTS]++;
	for (u32 i = 0; i < SLOTS; i++)
		sum += w->n[i];
	left = 1 - (double)(MAX(time, slot * SLOT) - slot * SLOT) / (double)SLOT;
	return sum - (1 - left) * w->n[(slot + 1) % SLOTS];
}

void alert_call(struct alert *a, struct str key, u32 key_size, u64 time)
{
	double all = count(&a->all, time), calls, limit = a->o.rate;
	struct window *w = keys_hit(a->keys, key, key_size);
	struct alert_key k;

	if (!w)
		return;
	calls = count(w, time);
	if (a->o.share) {
		if (all < ALERT_CALLS || time < a->o.start + 10 * SLOT)
			return;
		limit = a->o.share * all;
	}
	if (w->hot && calls < limit / 2)
		w->hot = false;
	if (w->hot || calls < limit)
		return;
	w->hot = true;
	k = (struct alert_key){ .key = key, .time = time, .calls = calls, .all = all };
	a->o.told(a->o.ctx, &k);
}

/* ---- as output ------------------------------------------------------------------------------ */

enum { TIME, KEY, CALLS, SHARE, ALL, COLUMNS };

static const struct column columns[COLUMNS] = {
	[TIME] = { "time", NULL, COLUMN_LABEL, UNIT_SECONDS, 3 },
	[KEY] = COL_TEXT("hot_key", NULL),
	[CALLS] = COL_RATE("calls", "in the second before"),
	[SHARE] = COL_RATIO("share", "... of those of all keys"),
	[ALL] = COL_RATE("all_calls", "those of all keys"),
};

static void figures(const struct alert_key *k, u64 time, struct buf *key, struct figure *f)
{
	report_key(key, k->key);
	f[TIME] = (struct figure){ .kind = FIGURE_REAL, .real = (double)time / 1e9 };
	f[KEY] = (struct figure){ .kind = FIGURE_TEXT, .text = { buf_text(key), (u32)key->n } };
	f[CALLS] = (struct figure){ .kind = FIGURE_REAL, .real = k->calls };
	f[SHARE] = (struct figure){ .kind = FIGURE_REAL, .real = k->calls / k->all };
	f[ALL] = (struct figure){ .kind = FIGURE_REAL, .real = k->all };
}

void alert_text(struct buf *b, const struct alert_key *k, u64 time)
{
	report_clock(b, time);
	buf_printf(b, ".%03u key ", (u32)(time % 1000000000 / 1000000));
	report_key(b, k->key);
	buf_printf(b, " is hot: %.0f calls within a second, %.1f %% of all\n", k->calls,
	           k->calls * 100 / k->all);
}

void alert_tree(struct tree *t, const struct alert_key *k, u64 time)
{
	struct buf key = { 0 };
	struct figure f[COLUMNS];

	figures(k, time, &key, f);
	tree_object(t, NULL);
	for (u32 i = 0; i < COLUMNS; i++)
		tree_put(t, &columns[i], &f[i]);
	tree_end(t);
	buf_free(&key);
}

void alert_csv_head(struct buf *b)
{
	for (u32 i = 0; i < COLUMNS; i++)
		csv_head(b, i, &columns[i]);
	buf_putc(b, '\n');
}

void alert_csv(struct buf *b, const struct alert_key *k, u64 time)
{
	struct buf key = { 0 };
	struct figure f[COLUMNS];

	figures(k, time, &key, f);
	for (u32 i = 0; i < COLUMNS; i++)
		csv_figure(b, i, &columns[i], &f[i]);
	buf_putc(b, '\n');
	buf_free(&key);
}
