/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ldcache.c on a cache written here and on the machine's own.
 *
 * Needs the machine itself: its loader's cache.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "elf/ldcache.h"

/* Strings "name\0path\0" and entries that refer to them. */
struct cache {
	struct buf entries, strings, file;
	u32 n;
};

#if defined(__x86_64__)
#define OURS 0x0303u
#else
#define OURS 0x0a03u
#endif
#define ENTRIES_MAX 4u
#define STRINGS_AT  (48u + ENTRIES_MAX * 24u)

static u32 text(struct cache *c, const char *z)
{
	u32 off = STRINGS_AT + (u32)c->strings.n;

	buf_add(&c->strings, z, strlen(z) + 1);
	return off;
}

static void entry(struct cache *c, u32 flags, u64 hwcap, const char *name, const char *path)
{
	u32 head[4] = { flags, text(c, name), text(c, path), 0 };

	buf_add(&c->entries, head, sizeof(head));
	buf_add(&c->entries, &hwcap, sizeof(hwcap));
	c->n++;
}

static void finish(struct cache *c, u32 count)
{
	buf_puts(&c->file, "glibc-ld.so.cache1.1");
	buf_add(&c->file, &count, 4);
	buf_fill(&c->file, 0, 24);
	buf_add(&c->file, c->entries.p, c->entries.n);
	buf_fill(&c->file, 0, STRINGS_AT - c->file.n);
	buf_add(&c->file, c->strings.p, c->strings.n);
}

static void cache_free(struct cache *c)
{
	buf_free(&c->entries);
	buf_free(&c->strings);
	buf_free(&c->file);
}

static void sample(struct cache *c)
{
	*c = (struct cache){ 0 };
	entry(c, 0x0003, 0, "libx.so.3", "/lib32/libx.so.3");
	entry(c, OURS, 1, "libx.so.3", "/lib/fast/libx.so.3");
	entry(c, OURS, 0, "libx.so.3", "/lib/libx.so.3");
	entry(c, OURS, 0, "libx.so.2", "/lib/libx.so.2");
	finish(c, c->n);
}

static void finds_64_bit_plain_entries(void **state)
{
	struct cache c;

	(void)state;
	sample(&c);
	assert_string_equal(ldcache_find(c.file.p, c.file.n, "libx.so.3"), "/lib/libx.so.3");
	assert_string_equal(ldcache_find(c.file.p, c.file.n, "libx.so.2"), "/lib/libx.so.2");
	assert_string_equal(ldcache_find(c.file.p, c.file.n, "libx"), "/lib/libx.so.3");
	assert_null(ldcache_find(c.file.p, c.file.n, "lib"));
	assert_null(ldcache_find(c.file.p, c.file.n, "libx.so"));
	cache_free(&c);
}

static void stays_inside_the_bytes(void **state)
{
	struct cache c = { 0 };

	(void)state;
	sample(&c);
	/* Every length cuts something off; the copy lets a sanitizer see the end. */
	for (size_t n = 0; n < c.file.n; n++) {
		char *copy = malloc(n + 1);

		memcpy(copy, c.file.p, n);
		ldcache_find(copy, n, "libx");
		free(copy);
	}
	cache_free(&c);
	c = (struct cache){ 0 };
	entry(&c, OURS, 0, "libx.so.3", "/lib/libx.so.3");
	finish(&c, 0xffffffff);
	assert_null(ldcache_find(c.file.p, c.file.n, "libx"));
	c.file.p[0] = 'G';
	assert_null(ldcache_find(c.file.p, c.file.n, "libx"));
	cache_free(&c);
}

/* Of a container, say: its owner wrote it. */
static void texts_are_as_long_as_paths(void **state)
{
	char *name = malloc(PATH_MAX + 1);
	struct cache c = { 0 };

	(void)state;
	memset(name, '/', PATH_MAX);
	name[PATH_MAX] = 0;
	entry(&c, OURS, 0, "liby.so.1", name);
	entry(&c, OURS, 0, "libx.so.3", name + 1);
	finish(&c, c.n);
	assert_null(ldcache_find(c.file.p, c.file.n, "liby"));
	assert_string_equal(ldcache_find(c.file.p, c.file.n, "libx"), name + 1);
	cache_free(&c);
	free(name);
}

static void a_longer_file_than_libraries_fill_is_none(void **state)
{
	size_t n = LDCACHE_MAX + 1;
	char *p = calloc(1, n);
	u32 words[] = { 1, 0, 0, 0, 0, 0, 0, OURS, LDCACHE_MAX - 64, LDCACHE_MAX - 64 };

	(void)state;
	strcpy(p, "glibc-ld.so.cache1.1"); /* the words stand where its 0 would be */
	memcpy(p + 20, words, sizeof(words));
	memcpy(p + LDCACHE_MAX - 64, "libx.so.1", 10);
	assert_string_equal(ldcache_find(p, n - 1, "libx"), "libx.so.1");
	assert_null(ldcache_find(p, n, "libx"));
	free(p);
}

static void finds_the_c_library_of_this_machine(void **state)
{
	struct file_map m;
	const char *path;
	struct err e;

	(void)state;
	if (!file_map("/etc/ld.so.cache", &m, &e))
		skip();
	path = ldcache_find(m.p, m.n, "libc.so.6");
	assert_non_null(path);
	assert_int_equal(path[0], '/');
	assert_string_equal(ldcache_find(m.p, m.n, "libc"), path);
	file_unmap(&m);
}

static void compares_names(void **state)
{
	(void)state;
	assert_true(ldcache_name_is("libc.so.6", "libc"));
	assert_true(ldcache_name_is("libc.so.6", "libc.so.6"));
	assert_false(ldcache_name_is("libc.so", "libc"));
	assert_false(ldcache_name_is("libcap.so.2", "libc"));
	assert_false(ldcache_name_is("libc.so.60", "libc.so.6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_64_bit_plain_entries),
		cmocka_unit_test(stays_inside_the_bytes),
		cmocka_unit_test(texts_are_as_long_as_paths),
		cmocka_unit_test(a_longer_file_than_libraries_fill_is_none),
		cmocka_unit_test(finds_the_c_library_of_this_machine),
		cmocka_unit_test(compares_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
