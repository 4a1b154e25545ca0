/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Go's function tables in their three forms, made here byte by byte, whole and cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "elf/pclntab.h"

#define TEXT 0x401000u

static struct buf table;

/* A number in a place of any size. */
static void put(u64 v, u32 size)
{
	u64 place[4] = { v };

	buf_add(&table, place, size);
}

static void head(u32 magic)
{
	buf_reset(&table);
	put(magic, 4);
	put(0, 2);
	put(1, 1);
	put(8, 1);
}

/* Functions main.a at +0 (16 bytes) and main.b at +16 (32 bytes); every place is from the start. */
static void make_1_2(void)
{
	head(0xfffffffb);
	put(2, 8);
	put(TEXT, 8);
	put(56, 8); /* record of the first */
	put(TEXT + 16, 8);
	put(68, 8);
	put(TEXT + 48, 8);
	assert_int_equal(table.n, 56);
	put(TEXT, 8);
	put(80, 4);
	put(TEXT + 16, 8);
	put(87, 4);
	buf_add(&table, "main.a\0main.b", 14);
}

/* Since 1.16: names at word 2, functab at word 6, records from functab. */
static void make_1_16(void)
{
	head(0xfffffffa);
	put(2, 8);
	put(0, 8);
	put(64, 8); /* names */
	put(0, 24);
	put(78, 8); /* functab */
	assert_int_equal(table.n, 64);
	buf_add(&table, "main.a\0main.b", 14);
	put(TEXT, 8);
	put(40, 8);
	put(TEXT + 16, 8);
	put(52, 8);
	put(TEXT + 48, 8);
	put(TEXT, 8);
	put(0, 4);
	put(TEXT + 16, 8);
	put(7, 4);
}

/* Since 1.18: start of the code at word 2, entries of 32 bits from there. */
static void make_1_18(u32 magic, u64 text)
{
	head(magic);
	put(2, 8);
	put(0, 8);
	put(text, 8);
	put(72, 8); /* names */
	put(0, 24);
	put(86, 8); /* functab */
	assert_int_equal(table.n, 72);
	buf_add(&table, "main.a\0main.b", 14);
	put(0, 4);
	put(20, 4);
	put(16, 4);
	put(28, 4);
	put(48, 4);
	put(0, 4);
	put(0, 4);
	put(16, 4);
	put(7, 4);
}

static bool print(void *ctx, u64 vaddr, u64 size, const char *name)
{
	buf_printf(ctx, "%llx+%llu %s|", (unsigned long long)vaddr, (unsigned long long)size, name);
	return true;
}

static void check(const char *want, u64 text)
{
	struct buf b = { 0 };

	assert_true(pclntab_parse((const u8 *)table.p, table.n, text, print, &b));
	assert_string_equal(buf_text(&b), want);
	buf_free(&b);
	/* Cut anywhere it may only become shorter. Each time in memory of its very size. */
	for (size_t n = 0; n < table.n; n++) {
		u8 *copy = malloc(n + 1);

		memcpy(copy, table.p, n);
		pclntab_parse(copy, n, text, print, &b);
		assert_memory_equal(buf_text(&b), want, b.n < strlen(want) ? b.n : strlen(want));
		buf_free(&b);
		free(copy);
	}
}

static void test_forms(void **state)
{
	static const char want[] = "401000+16 main.a|401010+32 main.b|";

	(void)state;
	make_1_2();
	check(want, 0);
	make_1_16();
	check(want, 0);
	make_1_18(0xfffffff0, TEXT);
	check(want, 0);
	make_1_18(0xfffffff1, TEXT);
	check(want, 0x1000);
	/* Position-independent: the header is filled in by the loader. */
	make_1_18(0xfffffff1, 0);
	check(want, TEXT);
	buf_free(&table);
}

static void test_foreign(void **state)
{
	(void)state;
	make_1_18(0xfffffff2, TEXT);
	assert_false(pclntab_parse((const u8 *)table.p, table.n, 0, print, NULL));
	make_1_18(0xfffffff1, TEXT);
	table.p[7] = 4; /* a 32-bit program's */
	assert_false(pclntab_parse((const u8 *)table.p, table.n, 0, print, NULL));
	make_1_18(0xfffffff1, TEXT);
	memset(table.p + 8, 0xff, 8); /* as many functions as there are numbers */
	assert_false(pclntab_parse((const u8 *)table.p, table.n, 0, print, NULL));
	buf_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
