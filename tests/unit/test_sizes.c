/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Distributions of sizes against sorted numbers, and the rounding of allocators against the
 * allocators themselves.
 *
 * Needs the machine itself: a program starts itself again.
 */
#include "agg/sizes.h"

#include <dlfcn.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

static struct sizes *sizes_new(void)
{
	/* What lies after it is not counted. */
	struct sizes *s = calloc(1, sizeof(*s) + sizeof(u64));

	assert_non_null(s);
	((u64 *)(s + 1))[0] = 1000;
	return s;
}

static int by_number(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static bool within(double a, double b, double share)
{
	return a >= b * (1 - share) && a <= b * (1 + share);
}

/* As the kernel's side counts it: its first eight binary digits. */
static u64 coarse_of(u64 size)
{
	u32 lost = size < 256 ? 0 : 56 - (u32)__builtin_clzll(size);

	return size >> lost << lost;
}

/* n numbers of a kind against their sorted selves. */
static void check_quantiles(u64 (*number)(u64 i), u32 n)
{
	u64 *all = malloc(n * sizeof(*all));
	struct sizes *s = sizes_new(), *coarse = sizes_new();
	double sum = 0;

	for (u32 i = 0; i < n; i++) {
		all[i] = number(i);
		sum += (double)all[i];
		sizes_add(s, all[i], 1);
		sizes_add_coarse(coarse, coarse_of(all[i]), 1);
	}
	qsort(all, n, sizeof(*all), by_number);
	for (u32 percent = 1; percent < 100; percent++) {
		double share = percent / 100.0;
		double wanted = share * n;
		u64 at = (u64)wanted + (wanted > (double)(u64)wanted);

		assert_true(within((double)sizes_at(s, share), (double)all[at - 1], 0.008));
		assert_true(within((double)sizes_at(coarse, share), (double)all[at - 1], 0.008));
	}
	assert_true(s->min == all[0] && s->max == all[n - 1] && s->n == n);
	assert_int_equal(sizes_at(s, 1), all[n - 1]);
	assert_true(within(sizes_mean(s), sum / n, 1e-9));
	assert_true(within(sizes_mean(coarse), sum / n, 0.008));
	free(all);
	free(s);
	free(coarse);
}

static u64 uniform(u64 i)
{
	return 1 + hash_mix(i) % 16383;
}

static u64 wide(u64 i)
{
	return hash_mix(i) >> (i % 50 + 2);
}

static u64 narrow(u64 i)
{
	return 100000 + hash_mix(i) % 3;
}

static u64 small(u64 i)
{
	return i % 7;
}

static void test_quantiles(void **state)
{
	(void)state;
	check_quantiles(uniform, 10000);
	check_quantiles(wide, 10000);
	check_quantiles(narrow, 1000);
	check_quantiles(small, 700);
}

/* Below 256 nothing is lost, and no number is taken for one 1 % away. */
static void test_coarse(void **state)
{
	struct sizes *s;

	(void)state;
	for (u64 n = 0; n < 1ull << 62; n += n < 256 ? 1 : n / 97 + 1) {
		s = sizes_new();
		sizes_add_coarse(s, coarse_of(n), 1);
		assert_true(s->min <= n && s->max >= n && s->max - s->min <= n / 128);
		free(s);
	}
	s = sizes_new();
	sizes_add_coarse(s, coarse_of(1003), 1);
	assert_true(s->min == 1000 && s->max == 1003);
	free(s);
}

/* Rows touch each other, hold everything, and are more than one when the numbers differ. */
static void check_rows(u64 (*number)(u64 i), u32 n, u32 least, u32 most)
{
	struct sizes *s = sizes_new();
	struct sizes_row rows[SIZES_ROWS];
	u64 counted = 0;
	u32 got;

	for (u32 i = 0; i < n; i++)
		sizes_add(s, number(i), 1);
	got = sizes_rows(s, rows);
	assert_in_range(got, least, most);
	assert_true(rows[0].low <= s->min && rows[0].high > s->min);
	assert_true(rows[got - 1].low <= s->max && rows[got - 1].high > s->max);
	for (u32 i = 0; i < got; i++) {
		u64 in = 0;

		assert_true(rows[i].high > rows[i].low);
		assert_true(!i || rows[i].low == rows[i - 1].high);
		for (u32 j = 0; j < n; j++)
			in += number(j) >= rows[i].low && number(j) < rows[i].high;
		assert_int_equal(rows[i].n, in);
		counted += rows[i].n;
	}
	assert_int_equal(counted, n);
	free(s);
}

static u64 one(u64 i)
{
	(void)i;
	return 4711;
}

static u64 zero(u64 i)
{
	(void)i;
	return 0;
}

static u64 skewed(u64 i)
{
	return i % 100 ? 20 + i % 5 : 5000000;
}

/* Over so many powers of two that a row takes three: from 2^3, where 2^4 belongs, to 2^63. */
static u64 powers(u64 i)
{
	return 1ull << (4 + i % 59);
}

static void test_rows(void **state)
{
	struct sizes *s = sizes_new();
	struct sizes_row rows[SIZES_ROWS];

	(void)state;
	assert_int_equal(sizes_rows(s, rows), 0);
	assert_int_equal(sizes_at(s, 0.5), 0);
	assert_true(sizes_mean(s) == 0 && sizes_taken(s, ALLOC_GLIBC, 8) == 0);
	free(s);
	check_rows(uniform, 3000, 12, 24);
	check_rows(wide, 3000, 10, 24);
	check_rows(small, 700, 7, 7);
	check_rows(skewed, 1000, 10, 24);
	check_rows(one, 10, 1, 1);
	check_rows(zero, 10, 1, 1);
	check_rows(powers, 590, 20, 20);
}

/* Rows begin at round numbers. */
static void test_edges(void **state)
{
	struct sizes *s = sizes_new();
	struct sizes_row rows[SIZES_ROWS];

	(void)state;
	sizes_add(s, 1000, 50);
	sizes_add(s, 40000, 50);
	assert_int_equal(sizes_rows(s, rows), 22);
	assert_true(rows[0].low == 896 && rows[0].high == 1024); /* a quarter of 2^9 */
	assert_true(rows[21].low == 32768 && rows[21].high == 32768 + 8192);
	free(s);
	s = sizes_new();
	sizes_add(s, 24, 50);
	sizes_add(s, 20000000, 50); /* a row for each power of two, from that below 24 */
	assert_int_equal(sizes_rows(s, rows), 21);
	assert_true(rows[0].low == 16 && rows[0].high == 32);
	free(s);
	s = sizes_new();
	for (u32 i = 0; i < 59; i++)
		sizes_add(s, powers(i), 1);
	assert_int_equal(sizes_rows(s, rows), 20);
	assert_true(rows[0].low == 8 && rows[19].low == 1ull << 60 && rows[19].high == 1ull << 63);
	free(s);
	s = sizes_new();
	sizes_add(s, 1001, 50);
	sizes_add(s, 1099, 50);
	sizes_rows(s, rows);
	assert_int_equal(rows[0].low % (rows[0].high - rows[0].low), 0);
	free(s);
}

/* A mean of what is taken is that of the blocks. */
static void test_taken(void **state)
{
	struct sizes *s = sizes_new();
	double taken = 0;

	(void)state;
	for (u32 i = 0; i < 2000; i++) {
		sizes_add(s, uniform(i), 1);
		taken += (double)alloc_bytes(ALLOC_JEMALLOC, uniform(i) + 56) / 2000;
	}
	assert_true(within(sizes_taken(s, ALLOC_JEMALLOC, 56), taken, 0.008));
	assert_true(within(sizes_taken(s, ALLOC_NONE, 56), sizes_mean(s) + 56, 1e-9));
	free(s);
}

static u64 next_size(u64 n)
{
	return n < 3000 ? n + 1 : n + n / 37;
}

/* Bytes of a block that are not its header. */
static u64 usable(enum alloc a, u64 n)
{
	u64 bytes = alloc_bytes(a, n);

	return a == ALLOC_GLIBC ? bytes - (bytes < 128 << 10 ? 8 : 16) : bytes;
}

/*
 * All sizes that malloc() says are those foreseen: 0, else 1. A block that was cut from a freed one
 * may have more, so nothing is freed; and a large one that still fits into the end of the heap is
 * taken from there, so those that may are left out.
 */
static int agrees(enum alloc a, u64 largest)
{
	for (u64 n = 1; n < largest; n = next_size(n)) {
		void *p;

		if (a == ALLOC_GLIBC && n > 100 << 10 && n < 300 << 10)
			continue;
		p = malloc(n);
		if (!p || malloc_usable_size(p) != usable(a, n))
			return 1;
	}
	return 0;
}

/* 3: it is not there. */
static int jemalloc_agrees(void)
{
	size_t (*nallocx)(size_t n, int flags) = (size_t(*)(size_t, int))dlsym(RTLD_DEFAULT,
	                                                                       "nallocx");

	if (!nallocx)
		return 3;
	for (u64 n = 1; n < 1 << 28; n = next_size(n))
		if (nallocx(n, 0) != alloc_bytes(ALLOC_JEMALLOC, n))
			return 1;
	return agrees(ALLOC_JEMALLOC, 1 << 24);
}

/* This program again, fresh, with that library in front. */
static void check_allocator(const char *name, const char *library)
{
	int status;
	pid_t pid;

	if (SANITIZED)
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setenv("LD_PRELOAD", library, 1);
		execl("/proc/self/exe", "test_sizes", name, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 3)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_glibc(void **state)
{
	(void)state;
	check_allocator("glibc", "");
}

static void test_jemalloc(void **state)
{
	(void)state;
	check_allocator("jemalloc", "libjemalloc.so.2");
}

static void test_blocks(void **state)
{
	(void)state;
	assert_int_equal(alloc_bytes(ALLOC_GLIBC, 1), 32);
	assert_int_equal(alloc_bytes(ALLOC_GLIBC, 25), 48);
	assert_int_equal(alloc_bytes(ALLOC_GLIBC, 200000), 49 * 4096);
	assert_int_equal(alloc_bytes(ALLOC_JEMALLOC, 1), 8);
	assert_int_equal(alloc_bytes(ALLOC_JEMALLOC, 129), 160);
	assert_int_equal(alloc_bytes(ALLOC_NONE, 129), 129);
	assert_true(alloc_bytes(ALLOC_GLIBC, UINT64_MAX) == UINT64_MAX);
}

static void test_names(void **state)
{
	(void)state;
	assert_int_equal(alloc_find("jemalloc"), ALLOC_JEMALLOC);
	assert_int_equal(alloc_find("tcmalloc"), ALLOCS);
	for (enum alloc a = 0; a < ALLOCS; a++)
		assert_int_equal(alloc_find(alloc_name(a)), a);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles), cmocka_unit_test(test_coarse),
		cmocka_unit_test(test_rows),      cmocka_unit_test(test_edges),
		cmocka_unit_test(test_taken),     cmocka_unit_test(test_glibc),
		cmocka_unit_test(test_jemalloc),  cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_names),
	};

	if (argc > 1)
		return strcmp(argv[1], "glibc") ? jemalloc_agrees() : agrees(ALLOC_GLIBC, 1 << 20);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
