/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pages as protobuf: their bytes, and pages cut anywhere. A Prometheus reads whole ones
 * (tests/run/scenarios/serve_fleet.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "out/metrics_proto.h"

/* As a reader prints it: fields by number, messages in braces, numbers as they are on the wire. */
static void show(struct buf *b, const u8 *p, const u8 *end, u32 depth);

static u64 take_varint(const u8 **p, const u8 *end)
{
	u64 n = 0;
	u32 shift = 0;

	do {
		assert_true(*p < end && shift < 64);
		n |= (u64)(**p & 0x7f) << shift;
		shift += 7;
	} while (*(*p)++ & 0x80);
	return n;
}

/* Texts are at the ends: names, help, parts of labels. */
static bool is_text(const u8 *p, u64 n, u32 depth, u64 field)
{
	(void)p;
	(void)n;
	return (depth == 0 && field < 3) || (depth == 2 && field < 3);
}

static void show_bytes(struct buf *b, u64 field, const u8 *p, u64 n, u32 depth)
{
	if (is_text(p, n, depth, field)) {
		buf_printf(b, "%u='%.*s' ", (u32)field, (int)n, (const char *)p);
		return;
	}
	buf_printf(b, "%u{", (u32)field);
	show(b, p, p + n, depth == 1 && field != 1 ? 10 : depth + 1);
	buf_puts(b, "} ");
}

static void show(struct buf *b, const u8 *p, const u8 *end, u32 depth)
{
	while (p < end) {
		u64 tag = take_varint(&p, end), n;
		double real;

		switch (tag & 7) {
		case 0:
			buf_printf(b, "%u=%llu ", (u32)(tag >> 3),
			           (unsigned long long)take_varint(&p, end));
			break;
		case 1:
			assert_true(end - p >= 8);
			memcpy(&real, p, sizeof(real));
			buf_printf(b, "%u=%g ", (u32)(tag >> 3), real);
			p += 8;
			break;
		default:
			assert_int_equal(tag & 7, 2);
			n = take_varint(&p, end);
			assert_true(n <= (u64)(end - p));
			show_bytes(b, tag >> 3, p, n, depth);
			p += n;
		}
	}
}

static void check(const char *page, const char *expected)
{
	struct buf proto = { 0 }, text = { 0 };
	const u8 *p, *end;

	metrics_proto(&proto, &(struct str){ page, (u32)strlen(page) }, 1);
	p = (const u8 *)proto.p;
	end = p + proto.n;
	while (p < end) {
		u64 n = take_varint(&p, end);

		show(&text, p, p + n, 0);
		buf_putc(&text, '\n');
		p += n;
	}
	assert_string_equal(buf_text(&text), expected);
	buf_free(&proto);
	buf_free(&text);
}

static const char page[] =
	"# TYPE a_total counter\n# HELP a_total One \\\\ two.\n"
	"a_total{c=\"x\",k=\"a\\\"b\\\\,}\\n\"} 12\na_total 3.5\n"
	"# TYPE g gauge\n# HELP g G.\ng -1\n"
	"# TYPE s summary\n# HELP s S.\ns_count{c=\"x\"} 2\ns_sum{c=\"x\"} 0.5\n"
	"# TYPE q summary\n# HELP q Q.\nq{c=\"x\",quantile=\"0.5\"} 7\n"
	"# TYPE h histogram\n# HELP h H.\n"
	"h_bucket{c=\"x\",le=\"1\"} 1\nh_bucket{c=\"x\",le=\"+Inf\"} 9\nh_count{c=\"x\"} 9\n"
	"h_native{c=\"x\"} 2 1 -3:2 -2:5 4:1\n"
	"h_bucket{le=\"+Inf\"} 0\nh_count 0\nh_sum 0\nh_native 0 0\n"
	"# TYPE none gauge\n# HELP none N.\n";

static void test_page(void **state)
{
	(void)state;
	check(page, "1='a_total' 2='One \\ two.' 3=0 4{1{1='c' 2='x' } 1{1='k' 2='a\"b\\,}\n' } "
	            "3{1=12 } } 4{3{1=3.5 } } \n"
	            "1='g' 2='G.' 3=1 4{2{1=-1 } } \n"
	            "1='s' 2='S.' 3=2 4{1{1='c' 2='x' } 4{1=2 2=0.5 } } \n"
	            "1='q' 2='Q.' 3=1 4{1{1='c' 2='x' } 1{1='quantile' 2='0.5' } 2{1=7 } } \n"
	            "1='h' 2='H.' 3=4 4{1{1='c' 2='x' } 7{3{1=1 2=1 } 3{1=9 2=inf } 1=9 "
	            "5=4 6=2.93874e-39 7=1 12{1=5 2=2 } 12{1=10 2=1 } 13=4 13=6 13=7 2=nan } } "
	            "4{7{3{1=0 2=inf } 1=0 2=0 5=0 6=2.93874e-39 7=0 } } \n"
	            "1='none' 2='N.' \n");
}

/* In memory of its own length, for the checks of bounds. */
static void test_cut(void **state)
{
	struct buf proto = { 0 };

	(void)state;
	for (size_t n = 0; n < sizeof(page); n++) {
		char *copy = malloc(n ? n : 1);

		assert_non_null(copy);
		memcpy(copy, page, n);
		metrics_proto(&proto, &(struct str){ copy, (u32)n }, 1);
		free(copy);
	}
	buf_free(&proto);
	check("a 1\n# HELP x\n", "");
	check("# TYPE a gauge\na{ 1\na{b 1\na{b=\"\\\n{} 1\na\na{b=\"c\"\n", "1='a' \n");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_page),
		                            cmocka_unit_test(test_cut) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
