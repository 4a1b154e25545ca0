/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Capabilities: what is missing, how it is said. Children give theirs up; root is needed to have
 * any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"

static void test_text(void **state)
{
	static const struct {
		u64 missing;
		const char *text;
	} rows[] = {
		{ CAPS(CAP_BPF), "CAP_BPF is missing" },
		{ CAPS_TRACING, "CAP_BPF and CAP_PERFMON are missing" },
		{ CAPS_TRACING | CAPS_FILES,
		  "CAP_BPF, CAP_PERFMON and CAP_DAC_READ_SEARCH are missing" },
		{ CAPS_PACKETS, "CAP_NET_ADMIN is missing" },
		{ CAPS_PROCESSES | CAPS_ADMIN, "CAP_SYS_PTRACE and CAP_SYS_ADMIN are missing" },
	};
	char text[160];

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(caps_text(text, sizeof(text), rows[i].missing), rows[i].text);
}

/* In a child that has these and no others. */
static void with(u64 have, bool (*ask)(void))
{
	int status;
	pid_t pid;

	if (geteuid() != 0) {
		print_message("SKIP: needs root\n");
		skip();
	}
	pid = fork();
	if (pid == 0) {
		struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
		struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
			{ .effective = (u32)have, .permitted = (u32)have },
			{ .effective = (u32)(have >> 32), .permitted = (u32)(have >> 32) },
		};

		if (syscall(SYS_capset, &head, data) < 0)
			_exit(2);
		_exit(ask() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool all_missing(void)
{
	u64 all = CAPS_TRACING | CAPS_FILES | CAPS_PROCESSES | CAPS_ADMIN;

	return caps_missing(all) == all;
}

static bool bpf_alone(void)
{
	struct err e = { 0 };

	caps_refused(&e, EPERM, CAPS_TRACING, "refused");
	return caps_missing(CAPS_TRACING) == CAPS(CAP_PERFMON) && e.code == EPERM &&
	       strcmp(e.text, "refused: CAP_PERFMON is missing: Operation not permitted") == 0 &&
	       e.hint[0];
}

/* They stand for narrower ones. */
static bool wider(void)
{
	return !caps_missing(CAPS_TRACING | CAPS_FILES | CAPS_ADMIN) &&
	       caps_missing(CAPS_PROCESSES) == CAPS_PROCESSES;
}

static bool not_enough(void)
{
	struct err e = { 0 };

	caps_refused(&e, EPERM, CAPS_TRACING, "refused");
	return strstr(e.text, "CAP_SYS_ADMIN is missing") != NULL;
}

static bool policy(void)
{
	struct err e = { 0 };

	caps_refused(&e, EPERM, CAPS_TRACING, "refused");
	return !strstr(e.text, "missing") && strstr(e.hint, "policy");
}

static bool files(void)
{
	struct err mine = { 0 }, process = { 0 }, gone = { 0 };

	err_sys(&mine, EACCES, "can not open");
	err_sys(&process, EACCES, "can not open");
	err_sys(&gone, ENOENT, "can not open");
	caps_file(&mine, "/root/x");
	caps_file(&process, "/proc/1/maps");
	caps_file(&gone, "/root/x");
	return strstr(mine.hint, "CAP_DAC_READ_SEARCH is missing") &&
	       strstr(process.hint, "CAP_SYS_PTRACE is missing") && !gone.hint[0];
}

static void test_missing(void **state)
{
	(void)state;
	with(0, all_missing);
	with(CAPS(CAP_BPF), bpf_alone);
	with(CAPS_ADMIN | CAPS(CAP_DAC_OVERRIDE), wider);
	with(CAPS_TRACING, not_enough);
	with(CAPS_TRACING | CAPS_ADMIN, policy);
	with(0, files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
