/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rows of maps as profiles: tables, what came since a time, what is left out, periods. */
#include "out_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "out/profile.h"

static const struct type count = { .kind = TYPE_COUNT, .size = 8 };
static struct umap map;

/* Keys are a number and a stack of a process, the same for all. */
static void begin(struct table *t)
{
	const struct type *parts[] = { &type_u32,
		                       type_stack(&fixture_arena, TYPE_USTACK, STACK_BPFTRACE, 9) };
	const struct type *key = type_tuple(&fixture_arena, parts, 2);

	map = (struct umap){ .name = "@page_bytes",
		             .key = key,
		             .value = &count,
		             .key_size = type_slot(key),
		             .value_size = type_cell(&count) };
	table_init(t, &fixture_arena, &fixture_unit, &map);
}

static void add(struct table *t, u64 id, u64 n)
{
	u64 words[4] = { id, 1, 77, 0 };

	table_add(t, words, &n, 1);
}

static const char *name_of(const struct profile *p, u32 location)
{
	return p->texts.v[p->functions.v[p->locations.v[location].functions[0]].name];
}

/* The value of the sample whose outermost frame is called so; 0: there is none. */
static s64 value_of(const struct profile *p, const char *name)
{
	for (u32 i = 1; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];

		if (strcmp(name_of(p, s->locations[s->n - 1]), name) == 0)
			return s->values[0];
	}
	return 0;
}

static void test_tables(void **state)
{
	struct profile p;
	struct table t;

	(void)state;
	begin(&t);
	add(&t, 5, 10);
	add(&t, 6, 2);
	profile_init(&p, &fixture_unit, &map, NULL, false);
	profile_add_table(&p, &fixture_out, &t, 0, NULL);
	profile_add_table(&p, &fixture_out, &t, 0, NULL);
	assert_string_equal(p.values[0].name, "page_bytes");
	assert_string_equal(p.values[0].unit, "bytes");
	assert_int_equal(p.samples.n, 3);
	assert_int_equal(p.samples.v[1].n, 3);
	assert_string_equal(name_of(&p, p.samples.v[1].locations[0]), "user");
	assert_int_equal(value_of(&p, "5"), 20);
	assert_int_equal(value_of(&p, "6"), 4);
	assert_int_equal(p.locations.n, 5); /* nothing, user, main, 5, 6 */
	assert_int_equal(p.mappings.n, 2);
	assert_string_equal(p.texts.v[p.mappings.v[1].file], "/lib/x.so");
	assert_null(p.event);
	profile_free(&p);
}

static void test_since(void **state)
{
	struct profile_past past;
	struct profile p;
	struct table t;

	(void)state;
	begin(&t);
	add(&t, 1, 10);
	add(&t, 2, 5);
	add(&t, 3, 50);
	profile_init(&p, &fixture_unit, &map, NULL, true);
	profile_past_begin(&past);
	profile_past_take(&past, &p, &t);
	begin(&t);
	add(&t, 1, 10);
	add(&t, 2, 9);
	add(&t, 3, 7); /* it was gone, and came again */
	add(&t, 4, 100);
	profile_add_table(&p, &fixture_out, &t, 2, &past);
	assert_int_equal(value_of(&p, "4"), 100);
	assert_int_equal(value_of(&p, "3"), 7);
	assert_int_equal(value_of(&p, "[others]"), 4);
	assert_int_equal(p.others, 1);
	assert_int_equal(p.samples.n, 4);
	profile_past_free(&past);
	profile_free(&p);
}

static void test_maximum_of_a_part(void **state)
{
	struct type max = { .kind = TYPE_MAX, .size = 16 };
	struct profile p;
	struct table t;

	(void)state;
	begin(&t);
	map.value = &max;
	profile_init(&p, &fixture_unit, &map, NULL, true);
	assert_int_equal(p.n_values, 0);
	profile_free(&p);
	profile_init(&p, &fixture_unit, &map, NULL, false);
	assert_int_equal(p.n_values, 1);
	profile_free(&p);
}

static int stop(void **state)
{
	(void)state;
	fixture_free();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_maximum_of_a_part),
	};

	return cmocka_run_group_tests(tests, NULL, stop);
}
