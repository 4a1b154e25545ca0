/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory for unwind tables, and what tables are read from files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/unwind.h"
#include "run/unwind_memory.h"
#include "sym/unwind_code.h"
#include "sym/unwind_table.h"
#include "unit/ehframe_rule.h"

static void test_memory(void **state)
{
	struct unwind_memory m = { 0 };
	struct unwind_extent a, b, c;

	(void)state;
	unwind_memory_add(&m, 3, 2);
	assert_int_equal(m.free_units, 2 * UNWIND_CHUNK_UNITS);
	assert_true(unwind_memory_whole(&m, 100, &a));
	assert_int_equal(a.shelf, 3);
	assert_int_equal(a.chunk, 0);
	assert_int_equal(a.first, 0);
	assert_true(unwind_memory_whole(&m, UNWIND_CHUNK_UNITS, &b));
	assert_int_equal(b.chunk, 1);
	assert_false(unwind_memory_whole(&m, UNWIND_CHUNK_UNITS, &c));
	assert_true(unwind_memory_some(&m, UNWIND_CHUNK_UNITS, &c));
	assert_int_equal(c.first, 100);
	assert_int_equal(c.n, UNWIND_CHUNK_UNITS - 100);
	assert_int_equal(m.free_units, 0);
	assert_false(unwind_memory_some(&m, 1, &c));
	unwind_memory_free(&m);
}

/* Whatever the order they come back in, neighbours are one again. */
static void test_joined(void **state)
{
	static const u8 orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 0, 2, 1 }, { 1, 2, 0 } };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(orders); i++) {
		struct unwind_memory m = { 0 };
		struct unwind_extent e[3], all;

		unwind_memory_add(&m, 0, 1);
		assert_true(unwind_memory_whole(&m, 1, &e[0]));
		assert_true(unwind_memory_whole(&m, 1000, &e[1]));
		assert_true(unwind_memory_some(&m, UNWIND_CHUNK_UNITS, &e[2]));
		for (u32 j = 0; j < 3; j++)
			unwind_memory_give(&m, e[orders[i][j]]);
		assert_int_equal(m.n, 1);
		assert_true(unwind_memory_whole(&m, UNWIND_CHUNK_UNITS, &all));
		unwind_memory_free(&m);
	}
}

#define MANY 150u

static void *map_file(u32 i)
{
	char path[] = "/tmp/memtap-unwind.XXXXXX";
	int fd = mkstemp(path);
	void *p;

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(dprintf(fd, "%u", i) > 0, 1);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* How many files are known by a number. */
static u32 n_numbered(struct unwind *w)
{
	struct unwind_where where;
	u32 n = 0;

	while (unwind_file(w, (n + 1) | UNWIND_NUMBER, &where)) {
		if (where.fd >= 0)
			close(where.fd);
		n++;
	}
	return n;
}

/* The list of files takes no more than its share of the memory allowed; the rest keep addresses. */
static void test_many_files(void **state)
{
	struct unwind_stat stat;
	struct unit *u = unit_new();
	void *maps[MANY];

	(void)state;
	for (u32 i = 0; i < MANY; i++)
		maps[i] = map_file(i);
	for (u32 mib = 1; mib <= 64; mib += 63) {
		struct unwind *w = unwind_new(u, (u64)mib << 20);

		unwind_prepare(w, (u32)getpid());
		unwind_stat(w, &stat);
		if (mib == 1) {
			assert_int_equal(n_numbered(w), 128);
			assert_true(stat.no_room >= MANY - 128);
		} else {
			assert_true(n_numbered(w) >= MANY);
			assert_int_equal(stat.no_room, 0);
		}
		unwind_free(w);
	}
	for (u32 i = 0; i < MANY; i++)
		munmap(maps[i], 4096);
	unit_free(u);
}

/* This program's own table covers this very function. */
static void test_own_table(void **state)
{
	struct unwind_table t;
	struct err e;
	u64 vaddr;

	(void)state;
	assert_true(unwind_table_read("/proc/self/exe", NULL, &t, &e));
	assert_true(t.rows.n > 10);
	assert_int_equal(t.rows.v[0].pc, 0);
	assert_true(t.n_codes >= 2);
	for (u32 i = 0; i < t.n_codes; i++) {
		assert_true(unwind_table_vaddr(&t, t.code[i].offset & ~4095ull, &vaddr));
		assert_int_equal(vaddr & 4095, 0);
	}
	assert_false(unwind_table_vaddr(&t, 1ull << 40, &vaddr));
	unwind_table_free(&t);
	assert_false(unwind_table_read("/nonexistent", NULL, &t, &e));
}

/* True after so many questions. */
static bool ran_out(const void *ctx)
{
	u32 *left = *(u32 *const *)ctx;

	return !*left || !--*left;
}

/* Given up at any moment, it comes to an end with what it has. */
static void test_given_up(void **state)
{
	u32 left = UINT32_MAX, *at = &left, needed;
	struct unwind_reading how = { .given_up = ran_out, .ctx = &at };
	struct unwind_table whole, t;
	struct err e;

	(void)state;
	assert_true(unwind_table_read("/proc/self/exe", &how, &whole, &e));
	needed = UINT32_MAX - left;
	assert_true(needed > 100); /* it asks all the time */
	for (u32 n = 1; n < needed; n += 1 + needed / 20) {
		left = n;
		assert_true(unwind_table_read("/proc/self/exe", &how, &t, &e));
		assert_int_equal(left, 0);
		assert_true(t.rows.n < whole.rows.n);
		unwind_table_free(&t);
	}
	unwind_table_free(&whole);
}

/*
 * After a pop the description still has the frame pointer where it was saved, and it is there.
 * Where a call leaves the return address in a register, what points to the saved frame pointer may
 * be the CFA's base as well as the stack pointer.
 */
static bool says_the_same(u32 want, u32 got)
{
	if (want == got)
		return true;
	if (unwind_kind(want) == UNWIND_LINK_SP)
		return unwind_kind(got) == UNWIND_LINK_FP && unwind_fp(want) == unwind_fp(got) &&
		       unwind_link(want) == unwind_link(got) &&
		       unwind_link_offset(got) == 8 * (s64)unwind_fp(got);
	return unwind_kind(want) == unwind_kind(got) && !unwind_fp(got) &&
	       unwind_offset(want) == unwind_offset(got);
}

/* Of code that is described, what its instructions say is the same. */
static void test_code(void **state)
{
	struct unwind_row nothing = { 0, UNWIND_GAP };
	struct ehframe_rows rows = { .v = malloc(sizeof(nothing)), .n = 1 };
	u32 all = 0, same = 0, addresses;
	struct insn_decoder *d = NULL;
	struct unwind_table t;
	const u8 *p;
	struct elf *f;
	struct err e;
	size_t n;
	u64 vaddr;

	(void)state;
	rows.v[0] = nothing;
	assert_true(unwind_table_read("/proc/self/exe", NULL, &t, &e));
	f = elf_open("/proc/self/exe", &e);
	assert_non_null(f);
	unwind_code_fill(f, t.base, &d, &rows);
	if (!d)
		skip(); /* no libZydis */
	assert_true(elf_section(f, ".text", &p, &n, &vaddr));
	addresses = (u32)n;
	for (u32 pc = (u32)(vaddr - t.base), end = pc + addresses; pc < end; pc++) {
		u32 want = ehframe_rule(&t.rows, pc), got = ehframe_rule(&rows, pc);

		if (unwind_kind(want) != UNWIND_SP && unwind_kind(want) != UNWIND_FP &&
		    unwind_kind(want) != UNWIND_LINK_SP && unwind_kind(want) != UNWIND_LINK_FP)
			continue;
		all++;
		same += says_the_same(want, got);
	}
	/* The test itself and what is linked from archives; src/ is built without. */
	assert_true(all > addresses / 3);
	assert_true(same >= all / 100 * 95);
	elf_close(f);
	insn_decoder_close(d);
	ehframe_free(&rows);
	unwind_table_free(&t);
}

/* Rows are searched by halves, and what code itself says comes from several sections. */
static void test_ascending(void **state)
{
	struct insn_decoder *d = NULL;
	struct unwind_table t;
	struct err e;

	(void)state;
	assert_true(unwind_table_read("/proc/self/exe", &(struct unwind_reading){ .decoder = &d },
	                              &t, &e));
	for (u32 i = 1; i < t.rows.n; i++)
		assert_true(t.rows.v[i - 1].pc < t.rows.v[i].pc);
	insn_decoder_close(d);
	unwind_table_free(&t);
}

static void test_vdso(void **state)
{
	struct unwind_table t;
	struct err e;

	(void)state;
	if (!unwind_table_vdso(&(struct unwind_reading){ 0 }, &t, &e))
		skip();
	assert_true(t.rows.n > 2);
	assert_int_equal(unwind_kind(t.rows.v[t.rows.n - 1].rule), UNWIND_GAP);
	unwind_table_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),     cmocka_unit_test(test_joined),
		cmocka_unit_test(test_many_files), cmocka_unit_test(test_own_table),
		cmocka_unit_test(test_given_up),   cmocka_unit_test(test_code),
		cmocka_unit_test(test_ascending),  cmocka_unit_test(test_vdso),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
