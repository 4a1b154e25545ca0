/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of cmd_run.c (with say.c, job.c, cmd_dump.c), as far as nothing is loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "cmd/cmd.h"

#define ARGS_MAX 6

struct captured {
	int code;
	char out[16384], err[4096];
};

static FILE *divert(int fd, int *kept)
{
	FILE *file = tmpfile();

	fflush(NULL);
	*kept = dup(fd);
	dup2(fileno(file), fd);
	return file;
}

static void restore(int fd, int kept, FILE *file, char *text, size_t size)
{
	size_t n;

	fflush(NULL);
	dup2(kept, fd);
	close(kept);
	rewind(file);
	n = fread(text, 1, size - 1, file);
	text[n] = 0;
	fclose(file);
}

static void run(struct captured *c, const char *const *args)
{
	char *argv[ARGS_MAX + 2] = { (char *)"memtap" };
	int argc = 1, kept_out, kept_err;
	FILE *out, *err;

	for (; argc <= ARGS_MAX && args[argc - 1]; argc++)
		argv[argc] = (char *)args[argc - 1];
	out = divert(1, &kept_out);
	err = divert(2, &kept_err);
	c->code = cmd_run(argc, argv);
	restore(2, kept_err, err, c->err, sizeof(c->err));
	restore(1, kept_out, out, c->out, sizeof(c->out));
}

static void test_answers(void **state)
{
	static const struct {
		const char *args[ARGS_MAX], *out;
	} rows[] = {
		{ { "--help" }, "Examples:\n" },
		{ { "-h" }, "  -p, --pid PID " },
		{ { "--version" }, "memtap " },
		{ { "-d", "ast", "-e", "BEGIN { @x = 1 }" }, "    assign =\n      map @x\n" },
		{ { "-d", "types", "-e", "BEGIN { @x = pid }" }, "map @x : " },
		{ { "-d", "unit", "-e", "BEGIN { @x = $1 }", "77" }, "program BEGIN" },
		{ { "-d", "bpf", "-e", "BEGIN { @x = 1 }" }, "exit" },
		{ { "-d", "types,bpf", "-e", "BEGIN { @x = 1 }" }, "program BEGIN" },
		{ { "-d", "codegen", "-e", "BEGIN { @x = 1 }" }, "exit" },
		{ { "--mode", "codegen", "-e", "BEGIN { @x = 1 }" }, "exit" },
		{ { "-d", "time", "-e", "BEGIN { @x = 1 }" }, "\ncompile " },
		{ { "--fmt", "-e", "BEGIN{@x=1}" }, "BEGIN\n{\n\t@x = 1\n}\n" },
		{ { "--mode=format", "-e", "BEGIN{@x=1}" }, "BEGIN\n{\n\t@x = 1\n}\n" },
		{ { "--info" }, "features\n  btf: " },
		{ { "--info", "-f", "json" }, "\"features\": {\"btf\": " },
		{ { "-l", "-e", "BEGIN { } END { }" }, "BEGIN\nEND\n" },
		{ { "-l", "software:dummy" }, "software:dummy:\n" },
	};
	struct captured c;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		run(&c, rows[i].args);
		assert_string_equal(c.err, "");
		assert_int_equal(c.code, 0);
		assert_non_null(strstr(c.out, rows[i].out));
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *args[ARGS_MAX], *err;
	} rows[] = {
		{ { NULL }, "there is no script to run" },
		{ { "--verbos" }, "HINT: did you mean '--verbose'?" },
		{ { "-e" }, "-e needs a value" },
		{ { "-f", "xml", "-e", "BEGIN {}" }, "must be one of text|json" },
		{ { "-d", "llvm", "-e", "BEGIN {}" }, "takes some of ast, types, unit, bpf" },
		{ { "-d", "ast,", "-e", "BEGIN {}" }, "not ''" },
		{ { "--no-feature", "x", "-e", "BEGIN {}" }, "not 'x'" },
		{ { "-B", "some", "-e", "BEGIN {}" }, "must be one of line|full|none" },
		{ { "--emit-llvm", "x", "-e", "BEGIN {}" }, "HINT: -d bpf" },
		{ { "--verify-llvm-ir", "-e", "BEGIN {}" }, "no LLVM code" },
		{ { "--test", "-e", "BEGIN {}" }, "no test probes" },
		{ { "--probe-filter", "(", "-e", "BEGIN {}" }, "--probe-filter '('" },
		{ { "--aot", "x", "-e", "BEGIN {}" }, "ahead-of-time" },
		{ { "--bench", "-e", "BEGIN {}" }, "no mode for benchmarks" },
		{ { "--mode=compiler-bench", "-e", "BEGIN {}" }, "no mode for benchmarks" },
		{ { "--mode=x", "-e", "BEGIN {}" }, "must be one of format|codegen" },
		{ { "--fmt", "-l" }, "--fmt can not be used" },
		{ { "--fmt", "-e", "BEGIN {" }, "this '{' is not closed" },
		{ { "--fmt" }, "there is no script to run" },
		{ { "-p", "bash" }, "takes a number" },
		{ { "-p", "2147483647", "-e", "BEGIN {}" }, "there is no process 2147483647" },
		{ { "-p", "1", "-c", "true", "-e", "BEGIN {}" }, "can not be used together" },
		{ { "-l", "-d", "ast" }, "can not be used together" },
		{ { "BEGIN { }" }, "a script on the command line needs -e" },
		{ { "/nonexistent.bt" }, "can not open /nonexistent.bt" },
		{ { "/" }, "can not read /" },
		{ { "-c", "/nonexistent x", "-e", "BEGIN {}" }, "/nonexistent" },
		{ { "-c", "", "-e", "BEGIN {}" }, "ERROR: " },
		{ { "-c", "true 'x", "-e", "BEGIN {}" }, "ERROR: " },
		{ { "-e", "" }, "No probes to attach" },
		{ { "-e", "BEGIN {" }, "stdin:1:7-8: ERROR: syntax: this '{' is not closed" },
		{ { "-e", "BEGIN { @x = nsec }" }, "did you mean 'nsecs'?" },
		{ { "-e", "BEGIN { system(\"id\") }" }, "--unsafe" },
	};
	struct captured c;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		run(&c, rows[i].args);
		assert_int_equal(c.code, 1);
		assert_string_equal(c.out, "");
		assert_non_null(strstr(c.err, rows[i].err));
	}
}

static void test_warnings_and_colors(void **state)
{
	static const char *const args[] = { "-d", "ast", "-e", "BEGIN { @a\n@b }", NULL };
	static const char *const quiet[] = { "-d", "ast", "-e", "BEGIN { @a\n@b }", "--no-warnings",
		                             NULL };
	struct captured c;

	(void)state;
	run(&c, args);
	assert_int_equal(c.code, 0);
	assert_non_null(strstr(c.err, "stdin:1:11-12: WARNING: missing ';'"));
	run(&c, quiet);
	assert_string_equal(c.err, "");
	setenv("BPFTRACE_COLOR", "always", 1);
	run(&c, args);
	assert_non_null(strstr(c.err, "\033[33mWARNING\033[0m"));
	setenv("MEMTAP_COLOR", "never", 1);
	run(&c, args);
	assert_null(strstr(c.err, "\033"));
	unsetenv("BPFTRACE_COLOR");
	unsetenv("MEMTAP_COLOR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_warnings_and_colors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
