/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Probes that need nothing of the machine to be named: BEGIN and END, perf counters of software
 * and hardware, and clocks.
 */
#include "lang/probe/targets.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

void targets_block(struct targets *t)
{
	if (t->n_parts && strcmp(t->parts[0], "*") != 0) {
		diag_error(t->diags, targets_loc(t, 0), "%s takes no parts", t->provider->full);
		return;
	}
	targets_add(t, targets_alone(t), (struct usite){ 0 }, "");
}

/* ---- counters ------------------------------------------------------------------------------- */

struct counter {
	enum attach_kind kind;
	const char *name, *alias;
	u32 config;
	u64 period; /* events from one hit to the next, by default */
};

#define SW(name, alias, config, period)                                                            \
	{                                                                                          \
		ATTACH_SOFTWARE, name, alias, PERF_COUNT_SW_##config, period                       \
	}
#define HW(name, alias, config, period)                                                            \
	{                                                                                          \
		ATTACH_HARDWARE, name, alias, PERF_COUNT_HW_##config, period                       \
	}

static const struct counter counters[] = {
	SW("cpu-clock", "cpu", CPU_CLOCK, 1000000),
	SW("task-clock", NULL, TASK_CLOCK, 1),
	SW("page-faults", "faults", PAGE_FAULTS, 100),
	SW("context-switches", "cs", CONTEXT_SWITCHES, 1000),
	SW("cpu-migrations", NULL, CPU_MIGRATIONS, 1),
	SW("minor-faults", NULL, PAGE_FAULTS_MIN, 100),
	SW("major-faults", NULL, PAGE_FAULTS_MAJ, 1),
	SW("alignment-faults", NULL, ALIGNMENT_FAULTS, 1),
	SW("emulation-faults", NULL, EMULATION_FAULTS, 1),
	SW("dummy", NULL, DUMMY, 1),
	SW("bpf-output", NULL, BPF_OUTPUT, 1),
	HW("cpu-cycles", "cycles", CPU_CYCLES, 1000000),
	HW("instructions", NULL, INSTRUCTIONS, 1000000),
	HW("cache-references", NULL, CACHE_REFERENCES, 1000000),
	HW("cache-misses", NULL, CACHE_MISSES, 1000000),
	HW("branch-instructions", "branches", BRANCH_INSTRUCTIONS, 100000),
	HW("branch-misses", NULL, BRANCH_MISSES, 100000),
	HW("bus-cycles", NULL, BUS_CYCLES, 100000),
	HW("frontend-stalls", NULL, STALLED_CYCLES_FRONTEND, 1000000),
	HW("backend-stalls", NULL, STALLED_CYCLES_BACKEND, 1000000),
	HW("ref-cycles", NULL, REF_CPU_CYCLES, 1000000),
};

static bool counter_is(const struct counter *c, const char *name)
{
	return strcmp(c->name, name) == 0 || (c->alias && strcmp(c->alias, name) == 0);
}

static const struct counter *counter_find(struct targets *t, const char *name)
{
	struct near near;

	near_init(&near, name);
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		if (counters[i].kind != t->provider->kind)
			continue;
		if (counter_is(&counters[i], name))
			return &counters[i];
		near_offer(&near, counters[i].name);
		if (counters[i].alias)
			near_offer(&near, counters[i].alias);
	}
	diag_error(t->diags, targets_loc(t, 0), "Unknown %s event: '%s'", t->provider->full, name);
	if (near_best(&near))
		diag_hint(t->diags, "did you mean '%s'?", near_best(&near));
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *targets_event_name(enum attach_kind kind, u32 i)
{
	static const char *const units[] = { "hz", "ms", "s", "us" };
	const char *names[2 * ARRAY_SIZE(counters)];
	u32 n = 0;

	if (kind == ATTACH_INTERVAL || kind == ATTACH_PROFILE)
		return i < ARRAY_SIZE(units) ? units[i] : NULL;
	for (size_t k = 0; k < ARRAY_SIZE(counters); k++) {
		if (counters[k].kind != kind)
			continue;
		names[n++] = counters[k].name;
		if (counters[k].alias)
			names[n++] = counters[k].alias;
	}
	qsort(names, n, sizeof(*names), by_name);
	return i < n ? names[i] : NULL;
}

#define EXPONENT_MAX 20u /* more is no u64 */

static void times_ten(u64 *n, u32 add)
{
	if (__builtin_mul_overflow(*n, 10, n) || __builtin_add_overflow(*n, add, n))
		errno = ERANGE;
}

/* As the language writes numbers: 1000000, 1_000_000, 1e6, 0xf4240. errno: it is too large. */
static u64 read_number(const char *text, char **end)
{
	u64 n;

	errno = 0;
	n = strtoull(text, end, 0);
	while (**end == '_' && isdigit((unsigned char)(*end)[1]))
		while (isdigit((unsigned char)*++*end))
			times_ten(&n, (u32)(**end - '0'));
	if (**end == 'e' && isdigit((unsigned char)(*end)[1])) {
		u64 exponent = strtoull(*end + 1, end, 10);

		for (u64 i = 0; i < MIN(exponent, (u64)EXPONENT_MAX); i++)
			times_ten(&n, 0);
	}
	return n;
}

bool targets_number(struct targets *t, u32 i, u64 *n)
{
	char *end;

	*n = read_number(t->parts[i], &end);
	if (isdigit((unsigned char)t->parts[i][0]) && !*end && !errno && *n > 0)
		return true;
	return diag_error(t->diags, targets_loc(t, i), "'%s' is not a number above 0", t->parts[i]);
}

void targets_counter(struct targets *t)
{
	const struct counter *c = counter_find(t, t->parts[0]);
	struct usite site = { .pid = t->script->request.pid };

	if (!c)
		return;
	site.perf_config = c->config;
	site.period = c->period;
	if (t->n_parts > 1 && !targets_number(t, 1, &site.period))
		return;
	targets_add(t, targets_shared(t), site,
	            arena_printf(t->arena, "%s:%" PRIu64, t->parts[0], site.period));
}

/* ---- clocks --------------------------------------------------------------------------------- */

static const struct unit_of_time {
	const char *name;
	u64 ns;
} units_of_time[] = {
	{ "ns", 1 },          { "us", 1000 },         { "ms", 1000000 },       { "s", 1000000000 },
	{ "m", 60000000000 }, { "h", 3600000000000 }, { "d", 86400000000000 }, { "", 1 },
};

#define PERIOD_MIN 1000u

static u64 unit_ns(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(units_of_time); i++)
		if (strcmp(units_of_time[i].name, name) == 0)
			return units_of_time[i].ns;
	return 0;
}

/* "1s", "250ms", "99hz", "1000000". */
static bool parse_duration(struct targets *t, u64 *ns)
{
	const char *text = t->parts[0];
	char *end;
	u64 n, unit;

	n = read_number(text, &end);
	if (isdigit((unsigned char)text[0]) && strcmp(end, "hz") == 0 && n && !errno) {
		*ns = 1000000000 / n;
		return true;
	}
	unit = unit_ns(end);
	if (isdigit((unsigned char)text[0]) && unit && !errno &&
	    !__builtin_mul_overflow(n, unit, ns))
		return true;
	diag_error(t->diags, targets_loc(t, 0), "'%s' is not a duration", text);
	diag_hint(t->diags, "write %s:1s, %s:s:1, %s:ms:10 or %s:hz:99", t->provider->full,
	          t->provider->full, t->provider->full, t->provider->full);
	return false;
}

/* "s:1", "ms:10", "us:100", "hz:99". */
static bool parse_rate(struct targets *t, u64 *ns)
{
	const char *unit = t->parts[0];
	u64 n;

	if (!targets_number(t, 1, &n))
		return false;
	if (strcmp(unit, "hz") == 0) {
		*ns = 1000000000 / n;
		return true;
	}
	if (!unit_ns(unit) || !*unit) {
		diag_error(t->diags, targets_loc(t, 0), "Unknown unit of time: '%s'", unit);
		diag_hint(t->diags, "use one of s, ms, us, hz");
		return false;
	}
	if (__builtin_mul_overflow(n, unit_ns(unit), ns))
		return diag_error(t->diags, targets_loc(t, 1), "the period is too long");
	return true;
}

static bool find_walk(void *ctx, struct node *n)
{
	bool *found = ctx;

	*found |= n->kind == NODE_FOR_MAP ||
	          (n->kind == NODE_CALL && str_is(n->call.name, "len") && n->call.args &&
	           n->call.args->kind == NODE_MAP && !n->call.args->map.n_keys);
	return !*found;
}

/* It goes through maps, and the kernel does not: memtap runs it, when its keys are listed. */
static bool is_listing(struct targets *t)
{
	struct world *w = t->world;
	bool found = false;

	if (t->provider->kind != ATTACH_INTERVAL || t->script->request.alone)
		return false;
	ast_walk(t->probe->body, find_walk, &found);
	if (t->probe->pred)
		ast_walk(t->probe->pred, find_walk, &found);
	return found && !w->ops->features(w, FEATURE_FOR_EACH)->for_each;
}

void targets_clock(struct targets *t)
{
	const char *rest = t->parts[0];
	struct usite site = { 0 };
	struct variant *v;

	if (!(t->n_parts > 1 ? parse_rate(t, &site.period) : parse_duration(t, &site.period)))
		return;
	if (site.period < PERIOD_MIN) {
		diag_error(t->diags, targets_loc(t, 0), "the shortest period is 1us");
		return;
	}
	if (t->n_parts > 1)
		rest = arena_printf(t->arena, "%s:%s", rest, t->parts[1]);
	v = targets_shared(t);
	if (is_listing(t))
		v->kind = ATTACH_CLOCK; /* with one site, for no other is found to be shared */
	targets_add(t, v, site, rest);
}
