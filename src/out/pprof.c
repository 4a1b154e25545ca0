/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The tables of a profile are those of this format; what is in none is left out. A place in a file
 * has the address that the file's own headers give it, and its mapping is the segment, as if it lay
 * where it was linked for: so one file is one mapping in however many processes, and who has the
 * file, or knows its build id, can look the address up.
 */
#include "out/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "out/gzip.h"
#include "out/protobuf.h"

/* Numbers of fields in profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION };
enum { PROFILE_FUNCTION = 5, PROFILE_STRING, PROFILE_TIME = 9, PROFILE_DURATION };
enum { PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_TYPE };
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE };
enum { MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

struct writer {
	struct buf *to;
	struct profile *p;
	struct buf part, line, numbers;
	u32 texts; /* the profile's own, and those that came to it */
};

static u64 add_text(struct writer *w, const char *z)
{
	protobuf_text(w->to, PROFILE_STRING, str_of(z));
	return w->texts++;
}

static void add_type(struct writer *w, u32 field, const char *name, const char *unit)
{
	protobuf_int(&w->part, TYPE_NAME, add_text(w, name));
	protobuf_int(&w->part, TYPE_UNIT, add_text(w, unit));
	protobuf_message(w->to, field, &w->part);
}

static void add_mappings(struct writer *w)
{
	for (u32 i = 1; i < w->p->mappings.n; i++) {
		const struct profile_mapping *m = &w->p->mappings.v[i];

		protobuf_int(&w->part, MAPPING_ID, i);
		protobuf_int(&w->part, MAPPING_START, m->start);
		protobuf_int(&w->part, MAPPING_LIMIT, m->limit);
		protobuf_int(&w->part, MAPPING_OFFSET, m->offset);
		protobuf_int(&w->part, MAPPING_FILE, m->file);
		protobuf_int(&w->part, MAPPING_BUILD_ID, m->build_id);
		protobuf_int(&w->part, MAPPING_HAS_FUNCTIONS, !m->unnamed);
		protobuf_message(w->to, PROFILE_MAPPING, &w->part);
	}
}

static void add_functions(struct writer *w)
{
	for (u32 i = 1; i < w->p->functions.n; i++) {
		const struct profile_function *f = &w->p->functions.v[i];

		protobuf_int(&w->part, FUNCTION_ID, i);
		protobuf_int(&w->part, FUNCTION_NAME, f->name);
		protobuf_int(&w->part, FUNCTION_SYSTEM_NAME, f->name);
		protobuf_int(&w->part, FUNCTION_FILE, f->file);
		protobuf_message(w->to, PROFILE_FUNCTION, &w->part);
	}
}

static void add_locations(struct writer *w)
{
	for (u32 i = 1; i < w->p->locations.n; i++) {
		const struct profile_location *l = &w->p->locations.v[i];

		protobuf_int(&w->part, LOCATION_ID, i);
		protobuf_int(&w->part, LOCATION_MAPPING, l->mapping);
		protobuf_int(&w->part, LOCATION_ADDRESS, l->address);
		for (u32 k = 0; k < l->n; k++) {
			protobuf_int(&w->line, LINE_FUNCTION, l->functions[k]);
			protobuf_message(&w->part, LOCATION_LINE, &w->line);
		}
		protobuf_message(w->to, PROFILE_LOCATION, &w->part);
	}
}

static void add_samples(struct writer *w)
{
	u64 values[PROFILE_VALUES];

	for (u32 i = 1; i < w->p->samples.n; i++) {
		const struct profile_sample *s = &w->p->samples.v[i];

		buf_reset(&w->numbers);
		for (u32 k = 0; k < s->n; k++) {
			u64 n = s->locations[k];

			buf_add(&w->numbers, &n, sizeof(n));
		}
		for (u32 k = 0; k < w->p->n_values; k++)
			values[k] = (u64)s->values[k];
		protobuf_packed(&w->part, SAMPLE_LOCATION, (const u64 *)(const void *)w->numbers.p,
		                s->n);
		protobuf_packed(&w->part, SAMPLE_VALUE, values, w->p->n_values);
		protobuf_message(w->to, PROFILE_SAMPLE, &w->part);
	}
}

static void add_comments(struct writer *w)
{
	const char *comments[PROFILE_COMMENTS];
	u32 n = profile_comments(w->p, comments);

	for (u32 i = 0; i < n; i++) {
		u64 text = add_text(w, comments[i]);

		protobuf_packed(w->to, PROFILE_COMMENT, &text, 1);
	}
}

static void add_all(struct writer *w)
{
	const struct profile *p = w->p;
	const struct profile_value *chosen = &p->values[p->chosen];

	for (u32 i = 0; i < p->texts.n; i++)
		protobuf_text(w->to, PROFILE_STRING, str_of(p->texts.v[i]));
	w->texts = p->texts.n;
	for (u32 i = 0; i < p->n_values; i++)
		add_type(w, PROFILE_SAMPLE_TYPE, p->values[i].name, p->values[i].unit);
	add_mappings(w);
	add_functions(w);
	add_locations(w);
	add_samples(w);
	protobuf_int(w->to, PROFILE_TIME, p->start_ns);
	protobuf_int(w->to, PROFILE_DURATION, p->length_ns);
	if (p->event)
		add_type(w, PROFILE_PERIOD_TYPE, p->event, "count");
	protobuf_int(w->to, PROFILE_PERIOD, p->period);
	add_comments(w);
	if (p->n_values)
		protobuf_int(w->to, PROFILE_DEFAULT_TYPE, add_text(w, chosen->name));
}

void pprof_write(struct buf *b, struct profile *p)
{
	struct buf whole = { 0 };
	struct writer w = { .to = &whole, .p = p };

	add_all(&w);
	gzip_add(b, &whole);
	buf_free(&w.part);
	buf_free(&w.line);
	buf_free(&w.numbers);
	buf_free(&whole);
}
