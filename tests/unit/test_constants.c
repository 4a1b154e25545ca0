// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The table of integer macros: in order, every name found, some values as the headers have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/base.h"
#include "lang/infer/constants.h"

static struct constants table;

static u64 value_of(const char *name)
{
	bool is_unsigned;
	u64 value = 12345;

	assert_true(constants_find(&table, str_of(name), &value, &is_unsigned));
	return value;
}

static void test_order(void **state)
{
	struct str name, value, last = { "", 0 };
	u32 n = 0;

	(void)state;
	for (u32 at = 0; constants_next(&table, &at, &name, &value); n++) {
		u32 both = MIN(name.n, last.n);
		int order = memcmp(last.p, name.p, both);
		char text[64];

		assert_true(order < 0 || (!order && last.n < name.n));
		assert_true(name.n && name.n < sizeof(text) && value.n);
		memcpy(text, name.p, name.n);
		text[name.n] = 0;
		value_of(text);
		last = name;
	}
	assert_true(n > 5000);
}

static void test_values(void **state)
{
	(void)state;
	assert_int_equal(value_of("AF_INET6"), AF_INET6);
	assert_int_equal(value_of("ENOMEM"), ENOMEM);
	assert_int_equal(value_of("SIGKILL"), SIGKILL);
	assert_int_equal(value_of("MAP_ANONYMOUS"), MAP_ANONYMOUS);
	assert_int_equal(value_of("PAGE_SIZE"), sysconf(_SC_PAGESIZE));
	assert_int_equal(value_of("PAGE_MASK"), -sysconf(_SC_PAGESIZE));
	assert_int_equal(1 << value_of("PAGE_SHIFT"), sysconf(_SC_PAGESIZE));
	assert_int_equal(value_of("HPAGE_PMD_ORDER"), value_of("PAGE_SHIFT") - 3);
	assert_int_equal(value_of("O_CLOEXEC"), O_CLOEXEC);
	assert_int_equal(value_of("AT_FDCWD"), (u64)(s64)AT_FDCWD);
	assert_int_equal(value_of("GFP_KERNEL"), 0xcc0);
	assert_int_equal(value_of("GFP_TRANSHUGE"), 0x1c24ca);
	assert_int_equal(value_of("ICMP_ECHO"), 8);
	assert_int_equal(value_of("ICMPV6_ECHO_REQUEST"), 128);
	assert_int_equal(value_of("__NR_openat"), SYS_openat);
	assert_int_equal(value_of("SYS_openat"), SYS_openat);
}

/* The table of names by number agrees with the headers' numbers by name. */
static void test_syscalls(void **state)
{
	struct str name, value;
	u32 n = 0;

	(void)state;
	for (u32 at = 0; constants_next(&table, &at, &name, &value);) {
		char text[64];

		/* The last two are limits in arm64's header, no calls. */
		if (!str_starts(name, "__NR_") || str_is(name, "__NR_syscalls") ||
		    str_is(name, "__NR_arch_specific_syscall"))
			continue;
		assert_true(name.n < sizeof(text));
		memcpy(text, name.p, name.n);
		text[name.n] = 0;
		assert_non_null(arch_syscall_name(value_of(text)));
		assert_string_equal(arch_syscall_name(value_of(text)), text + strlen("__NR_"));
		n++;
	}
	assert_true(n > 250);
	assert_string_equal(arch_syscall_name(469), "file_setattr");
	assert_null(arch_syscall_name(470));
	assert_null(arch_syscall_name((u64)-1));
}

static void test_signs(void **state)
{
	bool is_unsigned;
	u64 value;

	(void)state;
	assert_true(constants_find(&table, STR("UINT64_MAX"), &value, &is_unsigned));
	assert_true(is_unsigned && value == UINT64_MAX);
	assert_true(constants_find(&table, STR("INT64_MIN"), &value, &is_unsigned));
	assert_true(!is_unsigned && value == 1ull << 63);
}

static void test_absent(void **state)
{
	static const char *const names[] = { "",          "A",    "AF_INE", "AF_INETX", "af_inet",
		                             "SYS_opena", "SYS_", "zzz",    "\xff" };
	bool is_unsigned;
	u64 value;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(constants_find(&table, str_of(names[i]), &value, &is_unsigned));
	assert_false(constants_find(&table, (struct str){ "AF_INET6", 5 }, &value, &is_unsigned));
	assert_true(constants_find(&table, (struct str){ "AF_INET6", 7 }, &value, &is_unsigned));
	assert_int_equal(value, AF_INET);
}

static int close_table(void **state)
{
	(void)state;
	constants_free(&table);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),  cmocka_unit_test(test_values),
		cmocka_unit_test(test_signs),  cmocka_unit_test(test_syscalls),
		cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests(tests, NULL, close_table);
}
