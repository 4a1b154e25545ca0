/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* kern/verifier.c on logs as kernels write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "kern/kern.h"

/* Linux 5.10 and 6.1, without the instructions. */
#define STATISTICS                                                                                 \
	"processed 1000001 insns (limit 1000000) max_states_per_insn 4 total_states 17 "           \
	"peak_states 9 mark_read 3\n"

static void knows_what_is_more_than_it_walks(void **state)
{
	(void)state;
	assert_true(verifier_walked_all(
		"BPF program is too large. Processed 1000001 insn\n" STATISTICS));
	assert_true(verifier_walked_all("The sequence of 8193 jumps is too complex.\n" STATISTICS));
	assert_true(verifier_walked_all("insn 12 has too many states\n"));
	assert_false(verifier_walked_all("R1 invalid mem access 'inv'\n" STATISTICS));
	assert_false(verifier_walked_all(""));
}

/* A line of the log is looked at, and not all that follows it: 16 MiB took minutes. */
static void long_logs_take_no_time(void **state)
{
	static const char line[] = "from 12 to 14: R0=inv1 R6=ctx(id=0,off=0,imm=0) R10=fp0\n";
	struct uprog p = { .name = "BEGIN" };
	struct unit u = { .source = "" };
	struct err e = { .code = 28 };
	struct buf log = { 0 };
	u64 from = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	(void)state;
	while (log.n < 16u << 20)
		buf_puts(&log, line);
	verifier_explain(&u, &p, buf_text(&log), &e);
	assert_int_equal(e.code, 28);
	assert_true(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - from < 20000000000ull);
	buf_free(&log);
}

static const char script[] = "BEGIN { @ = *kptr(1); }";

/* The program's place, or that of the instruction where it stopped. */
static void says_where(void **state)
{
	u32 locs[2] = { 0, 8 };
	struct uprog p = { .name = "BEGIN", .n_insns = 2, .locs = locs };
	struct unit u = { .source = script, .source_n = sizeof(script) - 1 };
	struct err e = { .code = 7 };

	(void)state;
	p.loc.len = 5;
	verifier_explain(&u, &p, "BPF program is too large. Processed 1000001 insn\n" STATISTICS,
	                 &e);
	assert_non_null(strstr(e.text, "the script is too big for the kernel's verifier"));
	assert_true(e.placed && e.off == 0 && e.len == 5 && e.code == 7);
	verifier_explain(&u, &p,
	                 "0: (b7) r1 = 1\n1: (79) r1 = *(u64 *)(r1 +0)\n"
	                 "R1 invalid mem access 'inv'\n" STATISTICS,
	                 &e);
	assert_non_null(strstr(e.text, "an address is used in a way"));
	assert_true(e.placed && e.off == 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_what_is_more_than_it_walks),
		cmocka_unit_test(long_logs_take_no_time),
		cmocka_unit_test(says_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
