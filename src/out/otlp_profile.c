/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The tables of a profile are those of this format, which has one of stacks besides: the sample of
 * number i has stack i. A profile there has one number for each sample, so each number is one
 * profile; all share the tables. What is said of a mapping, a place or a profile is an attribute,
 * once in a table however often it is said.
 */
#include "out/otlp_profile.h"

#include <string.h>

#include "out/protobuf.h"

/* Numbers of fields. */
enum { REQUEST_RESOURCE = 1, REQUEST_TABLES, RESOURCE_SCOPE = 2, SCOPE_ABOUT = 1, SCOPE_PROFILE };
enum { TABLE_MAPPING = 1, TABLE_LOCATION, TABLE_FUNCTION, TABLE_LINK, TABLE_TEXT };
enum { TABLE_ATTRIBUTE = 6, TABLE_STACK };
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_TIME, PROFILE_DURATION };
enum { PROFILE_PERIOD_TYPE = 5, PROFILE_PERIOD, PROFILE_ATTRIBUTE = 11 };
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_STACK = 1, SAMPLE_VALUE = 4 };
enum { STACK_LOCATION = 1 };
enum { MAPPING_START = 1, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_ATTRIBUTE };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINE, LOCATION_ATTRIBUTE };
enum { LINE_FUNCTION = 1 };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };
enum { VALUE_TEXT = 1, VALUE_LIST = 5, LIST_VALUE = 1 };

struct writer {
	struct profile *p;
	struct buf tables, profiles, part, line, numbers;
	struct hmap attributes; /* their bytes to their numbers */
	u32 n_attributes;
};

/* The number of an attribute whose value is in w->line. */
static u64 add_attribute(struct writer *w, const char *key)
{
	struct buf one = { 0 };
	void **found;
	u64 n;

	protobuf_int(&one, ATTRIBUTE_KEY, profile_text(w->p, key));
	protobuf_message(&one, ATTRIBUTE_VALUE, &w->line);
	found = hmap_find(&w->attributes, one.p, one.n);
	n = found ? (u64)(uintptr_t)*found : ++w->n_attributes;
	if (!found) {
		hmap_put(&w->attributes, arena_strndup(&w->p->arena, one.p, one.n), one.n,
		         (void *)(uintptr_t)n);
		protobuf_message(&w->tables, TABLE_ATTRIBUTE, &one);
	}
	buf_free(&one);
	return n;
}

/* Says so in w->part, whose field for that is `field`. */
static void say(struct writer *w, u32 field, const char *key, const char *text)
{
	u64 n;

	protobuf_text(&w->line, VALUE_TEXT, str_of(text));
	n = add_attribute(w, key);
	protobuf_packed(&w->part, field, &n, 1);
}

static void add_mappings(struct writer *w)
{
	for (u32 i = 0; i < w->p->mappings.n; i++) {
		const struct profile_mapping *m = &w->p->mappings.v[i];

		protobuf_int(&w->part, MAPPING_START, m->start);
		protobuf_int(&w->part, MAPPING_LIMIT, m->limit);
		protobuf_int(&w->part, MAPPING_OFFSET, m->offset);
		protobuf_int(&w->part, MAPPING_FILE, m->file);
		if (m->build_id)
			say(w, MAPPING_ATTRIBUTE, "process.executable.build_id.gnu",
			    w->p->texts.v[m->build_id]);
		protobuf_message(&w->tables, TABLE_MAPPING, &w->part);
	}
}

static void add_locations(struct writer *w)
{
	static const char *const types[N_FRAME_KIND] = {
		[FRAME_KERNEL] = "kernel", [FRAME_LIBRARY] = "native", [FRAME_PROGRAM] = "native"
	};

	for (u32 i = 0; i < w->p->locations.n; i++) {
		const struct profile_location *l = &w->p->locations.v[i];

		protobuf_int(&w->part, LOCATION_MAPPING, l->mapping);
		protobuf_int(&w->part, LOCATION_ADDRESS, l->address);
		for (u32 k = 0; k < l->n; k++) {
			protobuf_int(&w->line, LINE_FUNCTION, l->functions[k]);
			protobuf_message(&w->part, LOCATION_LINE, &w->line);
		}
		if (types[l->kind])
			say(w, LOCATION_ATTRIBUTE, "profile.frame.type", types[l->kind]);
		protobuf_message(&w->tables, TABLE_LOCATION, &w->part);
	}
}

static void add_functions(struct writer *w)
{
	for (u32 i = 0; i < w->p->functions.n; i++) {
		const struct profile_function *f = &w->p->functions.v[i];

		protobuf_int(&w->part, FUNCTION_NAME, f->name);
		protobuf_int(&w->part, FUNCTION_SYSTEM_NAME, f->name);
		protobuf_int(&w->part, FUNCTION_FILE, f->file);
		protobuf_message(&w->tables, TABLE_FUNCTION, &w->part);
	}
}

static void add_stacks(struct writer *w)
{
	for (u32 i = 0; i < w->p->samples.n; i++) {
		const struct profile_sample *s = &w->p->samples.v[i];

		buf_reset(&w->numbers);
		for (u32 k = 0; k < s->n; k++) {
			u64 n = s->locations[k];

			buf_add(&w->numbers, &n, sizeof(n));
		}
		protobuf_packed(&w->part, STACK_LOCATION, (const u64 *)(const void *)w->numbers.p,
		                s->n);
		protobuf_message(&w->tables, TABLE_STACK, &w->part);
	}
}

static void add_type(struct writer *w, u32 field, const char *name, const char *unit)
{
	protobuf_int(&w->line, TYPE_NAME, profile_text(w->p, name));
	protobuf_int(&w->line, TYPE_UNIT, profile_text(w->p, unit));
	protobuf_message(&w->part, field, &w->line);
}

static void add_samples(struct writer *w, u32 value)
{
	for (u32 i = 1; i < w->p->samples.n; i++) {
		u64 n = (u64)w->p->samples.v[i].values[value];

		if (!n)
			continue;
		protobuf_int(&w->line, SAMPLE_STACK, i);
		protobuf_packed(&w->line, SAMPLE_VALUE, &n, 1);
		protobuf_message(&w->part, PROFILE_SAMPLE, &w->line);
	}
}

static void add_comments(struct writer *w)
{
	const char *comments[PROFILE_COMMENTS];
	u32 n = profile_comments(w->p, comments);
	struct buf list = { 0 };
	u64 number;

	for (u32 i = 0; i < n; i++) {
		protobuf_text(&w->line, VALUE_TEXT, str_of(comments[i]));
		protobuf_message(&list, LIST_VALUE, &w->line);
	}
	protobuf_message(&w->line, VALUE_LIST, &list);
	number = add_attribute(w, "pprof.profile.comment");
	protobuf_packed(&w->part, PROFILE_ATTRIBUTE, &number, n != 0);
	buf_free(&list);
}

static void add_profile(struct writer *w, u32 value)
{
	const struct profile *p = w->p;
	const struct profile_value *v = &p->values[value];

	add_type(w, PROFILE_TYPE, v->name, v->unit);
	add_samples(w, value);
	protobuf_fixed(&w->part, PROFILE_TIME, p->start_ns);
	protobuf_int(&w->part, PROFILE_DURATION, p->length_ns);
	/* Endpoints want one: what is not sampled is each of its kind. */
	add_type(w, PROFILE_PERIOD_TYPE, p->event ? p->event : v->name,
	         p->event ? "count" : v->unit);
	protobuf_int(&w->part, PROFILE_PERIOD, p->event ? p->period : 1);
	add_comments(w);
	protobuf_message(&w->profiles, SCOPE_PROFILE, &w->part);
}

/* Number 0 of each table is empty, and stands for nothing. */
static void add_all(struct writer *w)
{
	protobuf_message(&w->tables, TABLE_LINK, &w->part);
	protobuf_message(&w->tables, TABLE_ATTRIBUTE, &w->part);
	add_mappings(w);
	add_locations(w);
	add_functions(w);
	add_stacks(w);
	for (u32 i = 0; i < w->p->n_values; i++)
		add_profile(w, i);
	for (u32 i = 0; i < w->p->texts.n; i++)
		protobuf_text(&w->tables, TABLE_TEXT, str_of(w->p->texts.v[i]));
}

void otlp_profile(struct buf *b, struct profile *p, const struct otlp_about *about)
{
	struct writer w = { .p = p };
	struct buf resource = { 0 }, scope = { 0 };

	add_all(&w);
	metrics_otlp_resource(&resource, about);
	protobuf_text(&w.part, 1, str_of(about->service));
	protobuf_message(&scope, SCOPE_ABOUT, &w.part);
	buf_add(&scope, w.profiles.p, w.profiles.n);
	protobuf_message(&resource, RESOURCE_SCOPE, &scope);
	protobuf_message(b, REQUEST_RESOURCE, &resource);
	protobuf_message(b, REQUEST_TABLES, &w.tables);
	buf_free(&resource);
	buf_free(&scope);
	buf_free(&w.tables);
	buf_free(&w.profiles);
	buf_free(&w.part);
	buf_free(&w.line);
	buf_free(&w.numbers);
	hmap_free(&w.attributes);
}
