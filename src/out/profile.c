/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is the same is one entry of its table: a place in a file is one location in however many
 * stacks, and rows whose stacks look alike are one sample. A location that is in no file that is
 * known is a function without an address; the kernel's are among these, for its addresses would
 * tell where it was loaded, which is a secret.
 */
#include "out/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "out/flame.h"

#define KERNEL "[kernel.kallsyms]" /* as perf and others call it */

/* ---- tables --------------------------------------------------------------------------------- */

/* Its number; 0: it has none yet, and gets the next one of the table it is in, `n`. */
static u32 number_of(struct profile *p, struct hmap *numbers, const void *key, size_t size, u32 n)
{
	void **found = hmap_find(numbers, key, size);

	if (found)
		return (u32)(uintptr_t)*found;
	hmap_put(numbers, arena_strndup(&p->arena, key, size), size, (void *)(uintptr_t)n);
	return 0;
}

u32 profile_text(struct profile *p, const char *z)
{
	u32 n = z[0] ? number_of(p, &p->text_numbers, z, strlen(z), p->texts.n) : 0;

	if (n || !z[0])
		return n;
	vec_add(&p->arena, &p->texts, arena_strdup(&p->arena, z));
	return p->texts.n - 1;
}

/* What others take for text must be text. */
static u32 add_clean(struct profile *p, const char *z)
{
	struct buf b = { 0 };
	u32 n;

	escape_add(&b, (struct str){ z, (u32)strnlen(z, FLAME_NAME) }, ESCAPE_ALL);
	n = profile_text(p, buf_text(&b));
	buf_free(&b);
	return n;
}

/* Also of code of the kernel the build id is known, though not the place in it. */
static u32 kernel_build_id(struct profile *p, const struct frame_name *f)
{
	char id[64];

	return f->kind == FRAME_KERNEL && sym_kernel_build_id(f->module, id) ? profile_text(p, id)
	                                                                     : 0;
}

static u32 add_mapping(struct profile *p, const struct frame_name *f, u32 file)
{
	const struct sym_place *at = f->place;
	struct profile_mapping m = { .file = file };
	u32 n;

	if (at)
		m = (struct profile_mapping){ file,       profile_text(p, at->build_id),
			                      at->start,  at->limit,
			                      at->offset, false };
	else if (!file)
		return 0;
	n = number_of(p, &p->mapping_numbers, &m, offsetof(struct profile_mapping, unnamed),
	              p->mappings.n);
	if (!n) {
		n = p->mappings.n;
		if (!at)
			m.build_id = kernel_build_id(p, f);
		vec_add(&p->arena, &p->mappings, m);
	}
	p->mappings.v[n].unnamed |= at && !at->has_name;
	return n;
}

static u32 add_function(struct profile *p, const struct frame_name *f, u32 file)
{
	struct profile_function one = { add_clean(p, f->name[0] ? f->name : "(no name)"), file };
	u32 n = number_of(p, &p->function_numbers, &one, sizeof(one), p->functions.n);

	if (n)
		return n;
	vec_add(&p->arena, &p->functions, one);
	return p->functions.n - 1;
}

/* ---- a stack -------------------------------------------------------------------------------- */

/* A location is known by its place, or else by its function. */
struct location_key {
	u64 address;
	u32 mapping, function;
};

/* The functions of a new location were collected from the outermost in. */
static void end_place(struct profile *p)
{
	const u32 *lines = (const u32 *)(const void *)p->lines.p;
	u32 n = (u32)(p->lines.n / sizeof(u32)), *to;

	if (p->place && n) {
		to = arena_array(&p->arena, u32, n);
		for (u32 i = 0; i < n; i++)
			to[i] = lines[n - 1 - i];
		p->locations.v[p->place].functions = to;
		p->locations.v[p->place].n = n;
	}
	p->place = 0;
	buf_reset(&p->lines);
}

static void add_location(struct profile *p, const struct frame_name *f, u32 file)
{
	bool named = !f->place || f->place->has_name;
	u32 function = named ? add_function(p, f, file) : 0, n;
	struct location_key key = { .mapping = add_mapping(p, f, file) };

	if (f->place)
		key.address = f->place->address;
	else
		key.function = function;
	n = number_of(p, &p->location_numbers, &key, sizeof(key), p->locations.n);
	if (!n) {
		n = p->place = p->locations.n;
		vec_add(&p->arena, &p->locations,
		        ((struct profile_location){
				.mapping = key.mapping, .kind = f->kind, .address = key.address }));
		if (named)
			buf_add(&p->lines, &function, sizeof(function));
	}
	buf_add(&p->stack, &n, sizeof(n));
}

static void add_frame(void *ctx, const struct frame_name *f)
{
	struct profile *p = ctx;
	bool in_kernel = f->kind == FRAME_KERNEL && !f->module[0];
	u32 file = add_clean(p, in_kernel ? KERNEL : f->module), function;

	if (f->inlined) {
		function = p->place ? add_function(p, f, file) : 0;
		if (function)
			buf_add(&p->lines, &function, sizeof(function));
		return;
	}
	end_place(p);
	add_location(p, f, file);
}

/* Turns p->stack, which goes from the outermost in. */
static void turn(struct profile *p)
{
	u32 *at = (u32 *)(void *)p->stack.p, n = (u32)(p->stack.n / sizeof(u32));

	for (u32 i = 0; i < n / 2; i++) {
		u32 other = at[i];

		at[i] = at[n - 1 - i];
		at[n - 1 - i] = other;
	}
}

static void end_sample(struct profile *p, const s64 *values)
{
	struct profile_sample one = { .n = (u32)(p->stack.n / sizeof(u32)) };
	u32 n;

	end_place(p);
	turn(p);
	n = number_of(p, &p->sample_of, p->stack.p, p->stack.n, p->samples.n);
	if (!n) {
		one.locations = (const u32 *)(const void *)arena_strndup(&p->arena, p->stack.p,
		                                                         p->stack.n);
		one.values = arena_array(&p->arena, s64, p->n_values);
		n = p->samples.n;
		vec_add(&p->arena, &p->samples, one);
		p->frames += one.n;
	}
	for (u32 i = 0; i < p->n_values; i++)
		p->samples.v[n].values[i] += values[i];
	buf_reset(&p->stack);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void values_of(const struct profile *p, const struct row *r, s64 *values)
{
	for (u32 i = 0; i < p->n_values; i++)
		values[i] = flame_value(p->map->value, &r->value, p->values[i].part);
}

/* Less what it had then; false when that is the same. */
static bool subtract(const struct profile *p, const struct table *t, const struct row *r,
                     const struct profile_past *past, s64 *values)
{
	void **found = past ? hmap_find(&past->rows, r->key, t->map->key_size) : NULL;
	const s64 *had = found ? *found : NULL;
	bool any = !past;

	for (u32 i = 0; i < p->n_values; i++) {
		values[i] -= had && !(p->values[i].only_grows && had[i] > values[i]) ? had[i] : 0;
		any |= values[i] != 0;
	}
	return any;
}

struct weight {
	u32 row;
	u64 heavy;
};

static int by_weight(const void *a, const void *b)
{
	u64 x = ((const struct weight *)a)->heavy, y = ((const struct weight *)b)->heavy;

	return (x < y) - (x > y);
}

/* The rows that have something, the heaviest first; *n of them. */
static struct weight *weigh(const struct profile *p, const struct table *t,
                            const struct profile_past *past, u32 *n)
{
	struct weight *all = calloc(t->rows.n + 1, sizeof(*all));
	s64 values[PROFILE_VALUES], v;

	if (!all)
		base_no_memory();
	*n = 0;
	for (u32 i = 0; i < t->rows.n; i++) {
		values_of(p, &t->rows.v[i], values);
		if (!subtract(p, t, &t->rows.v[i], past, values))
			continue;
		v = values[p->chosen];
		all[(*n)++] = (struct weight){ i, v < 0 ? 0 - (u64)v : (u64)v };
	}
	qsort(all, *n, sizeof(*all), by_weight);
	return all;
}

void profile_add_table(struct profile *p, const struct out *o, const struct table *t, u32 most,
                       const struct profile_past *past)
{
	static const struct frame_name others = { .name = "[others]", .module = "" };
	s64 values[PROFILE_VALUES], rest[PROFILE_VALUES] = { 0 };
	u64 before = p->others;
	struct weight *all;
	u32 n;

	all = weigh(p, t, past, &n);
	for (u32 i = 0; i < n; i++) {
		const struct row *r = &t->rows.v[all[i].row];
		struct value key = value_at_rest(t->map->key, r->key);

		values_of(p, r, values);
		subtract(p, t, r, past, values);
		if ((most && i >= most) || p->frames >= PROFILE_FRAMES) {
			for (u32 k = 0; k < p->n_values; k++)
				rest[k] += values[k];
			p->others++;
			continue;
		}
		flame_key(o, &key, add_frame, p);
		end_sample(p, values);
	}
	free(all);
	if (p->others == before)
		return;
	add_frame(p, &others);
	end_sample(p, rest);
}

/* ---- what the numbers are ------------------------------------------------------------------- */

/* What a number of that name is counted in. */
static const char *unit_of(const char *name)
{
	static const struct {
		const char *ending, *unit;
	} units[] = {
		{ "bytes", "bytes" },     { "space", "bytes" },
		{ "ns", "nanoseconds" },  { "nsecs", "nanoseconds" },
		{ "us", "microseconds" }, { "usecs", "microseconds" },
		{ "ms", "milliseconds" }, { "msecs", "milliseconds" },
	};
	const char *word = strrchr(name, '_');

	word = word ? word + 1 : name;
	for (u32 i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(word, units[i].ending) == 0)
			return units[i].unit;
	return "count";
}

static void add_value(struct profile *p, const struct type *t, const char *name, u32 part,
                      bool differs)
{
	bool adds_up = t->kind != TYPE_MIN && t->kind != TYPE_MAX;
	bool only_grows = t->kind == TYPE_COUNT || (t->kind == TYPE_SUM && !t->is_signed);

	if (p->n_values < PROFILE_VALUES && (adds_up || !differs))
		p->values[p->n_values++] = (struct profile_value){ name, unit_of(name), part,
			                                           only_grows };
}

static void add_values(struct profile *p, const char *part, bool differs)
{
	const struct type *t = p->map->value;
	u32 index = 0;

	flame_part(p->map, part, &index);
	if (t->kind != TYPE_TUPLE && t->kind != TYPE_AGGS)
		add_value(p, t, flame_unit(p->map, part), 0, differs);
	else
		for (u32 i = 0; i < t->n_fields; i++) {
			const struct field *f = &t->fields[i];

			if (!flame_is_number(f->type))
				continue;
			if (i == index)
				p->chosen = MIN(p->n_values, PROFILE_VALUES - 1);
			add_value(p, f->type, f->name ? f->name : arena_printf(&p->arena, "%u", i),
			          i, differs);
		}
	p->chosen = p->chosen < p->n_values ? p->chosen : 0;
}

/* "page-faults" of "software:page-faults:100" */
static const char *event_of(struct profile *p, const char *probe)
{
	const char *from = strchr(probe, ':'), *end;

	from = from ? from + 1 : probe;
	end = strchr(from, ':');
	return arena_strndup(&p->arena, from, end ? (size_t)(end - from) : strlen(from));
}

/* Where all that is counted comes from probes that fire once in so many events of a kind. */
static void find_period(struct profile *p, const struct unit *u)
{
	u32 map = (u32)(p->map - u->maps.v);
	const struct usite *first = NULL;

	for (u32 i = 0; i < u->progs.n; i++) {
		const struct uprog *prog = &u->progs.v[i];
		const struct usite *site = prog->sites;

		if (!unit_uses(prog, map) || attach_kind_has(prog->kind, KIND_OWN | KIND_TIMER) ||
		    !prog->n_sites)
			continue;
		if ((prog->kind != ATTACH_SOFTWARE && prog->kind != ATTACH_HARDWARE) ||
		    (first &&
		     (first->perf_config != site->perf_config || first->period != site->period)))
			return;
		first = site;
	}
	if (!first || !first->period)
		return;
	p->event = event_of(p, first->name);
	p->period = first->period;
}

void profile_init(struct profile *p, const struct unit *u, const struct umap *m, const char *part,
                  bool differs)
{
	*p = (struct profile){ .map = m, .title = "" };
	vec_add(&p->arena, &p->texts, "");
	vec_add(&p->arena, &p->mappings, (struct profile_mapping){ 0 });
	vec_add(&p->arena, &p->functions, (struct profile_function){ 0 });
	vec_add(&p->arena, &p->locations, (struct profile_location){ 0 });
	vec_add(&p->arena, &p->samples, (struct profile_sample){ 0 });
	add_values(p, part, differs);
	find_period(p, u);
}

u32 profile_comments(struct profile *p, const char *to[static PROFILE_COMMENTS])
{
	u32 n = 0;

	if (p->title[0])
		to[n++] = p->title;
	if (p->period > 1)
		to[n++] = arena_printf(&p->arena, "sampled: one of %" PRIu64 " %s", p->period,
		                       p->event);
	if (p->others)
		to[n++] = arena_printf(&p->arena, "%" PRIu64 " more stacks are [others]",
		                       p->others);
	if (p->lost)
		to[n++] = arena_printf(&p->arena, "%" PRIu64 " events were lost since the start",
		                       p->lost);
	return n;
}

void profile_free(struct profile *p)
{
	hmap_free(&p->text_numbers);
	hmap_free(&p->mapping_numbers);
	hmap_free(&p->function_numbers);
	hmap_free(&p->location_numbers);
	hmap_free(&p->sample_of);
	buf_free(&p->stack);
	buf_free(&p->lines);
	buf_free(&p->scratch);
	arena_free(&p->arena);
}

/* ---- the past ------------------------------------------------------------------------------- */

void profile_past_begin(struct profile_past *past)
{
	*past = (struct profile_past){ .realtime_ns = clock_ns(CLOCK_REALTIME),
		                       .monotonic_ns = clock_ns(CLOCK_MONOTONIC) };
}

void profile_past_take(struct profile_past *past, const struct profile *p, const struct table *t)
{
	for (u32 i = 0; i < t->rows.n; i++) {
		const void *key = arena_strndup(&past->arena, (const char *)t->rows.v[i].key,
		                                t->map->key_size);
		s64 *values = arena_array(&past->arena, s64, p->n_values);

		values_of(p, &t->rows.v[i], values);
		hmap_put(&past->rows, key, t->map->key_size, values);
	}
}

void profile_past_free(struct profile_past *past)
{
	hmap_free(&past->rows);
	arena_free(&past->arena);
	*past = (struct profile_past){ 0 };
}

void profile_set_times(struct profile *p, const struct profile_past *past)
{
	p->start_ns = past->realtime_ns;
	p->length_ns = clock_ns(CLOCK_MONOTONIC) - past->monotonic_ns;
}
