// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Addresses to listen on: what is one, what the socket says then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "web/address.h"

/* Listens on `text`; what that is called then, its port as 0. */
static void check(const char *text, const char *name)
{
	struct err e = { 0 };
	struct sockaddr_storage a;
	char shown[ADDRESS_TEXT], *colon;
	socklen_t n = address_parse(text, &a, &e);
	int fd;

	assert_int_not_equal(n, 0);
	fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	address_name(fd, shown);
	colon = strrchr(shown, ':');
	assert_non_null(colon);
	assert_string_not_equal(colon, ":0");
	strcpy(colon, ":0");
	assert_string_equal(shown, name);
	close(fd);
}

static void test_addresses(void **state)
{
	(void)state;
	check("0", "127.0.0.1:0");
	check("127.0.0.2:0", "127.0.0.2:0");
	check(":0", "0.0.0.0:0");
	check("0.0.0.0:00", "0.0.0.0:0");
	check("[::1]:0", "[::1]:0");
	check("[::]:0", "[::]:0");
	check("[::1%lo]:0", "[::1]:0");
	check("[::ffff:127.0.0.1]:0", "[::ffff:127.0.0.1]:0");
}

static void test_port(void **state)
{
	struct sockaddr_storage a;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(address_parse("1.2.3.4:65535", &a, &e), sizeof(struct sockaddr_in));
	assert_int_equal(((struct sockaddr_in *)&a)->sin_port, htons(65535));
	assert_int_equal(((struct sockaddr_in *)&a)->sin_addr.s_addr, htonl(0x01020304));
	assert_int_equal(address_parse("[1::2]:9464", &a, &e), sizeof(struct sockaddr_in6));
	assert_int_equal(((struct sockaddr_in6 *)&a)->sin6_port, htons(9464));
}

static void test_none(void **state)
{
	static const char *const texts[] = {
		"",
		":",
		"x",
		"65536",
		"-1",
		" 1",
		"1 ",
		"0x10",
		"localhost:1",
		"1.2.3:1",
		"1.2.3.4:",
		"[",
		"[]:1",
		"[:1",
		"[::1:1",
		"::1]:1",
		"[::1]1",
		"::1:1",
		"[1.2.3.4]:1",
		"[::1%]:1",
		"[::1%no0]:1",
		"[:::1]:x1",
		"1.2.3.4.:1",
		"[::1]x:1",
		"99999999999999999999",
	};
	struct sockaddr_storage a;
	char longest[600];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct err e = { 0 };

		assert_int_equal(address_parse(texts[i], &a, &e), 0);
		assert_true(*e.text && *e.hint);
	}
	memset(longest, '1', sizeof(longest));
	strcpy(longest + sizeof(longest) - 3, ":1");
	for (int i = 0; i < 2; i++, longest[0] = '[') {
		struct err e = { 0 };

		assert_int_equal(address_parse(longest, &a, &e), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
