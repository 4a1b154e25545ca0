/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cmd_list.c and c_type.c: what -l prints, on a world made of files and on this kernel's types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctext/c_type.h"
#include "cmd/cmd_list.h"
#include "world/world_linux.h"

static const struct features some_features = { .asked = FEATURES_ALL, .kprobe = true };

static struct world *made_of_files(void)
{
	return world_linux_new(&(struct world_linux_options){
		.root = "tests/data/world",
		.path = "/usr/bin",
		.tracefs = "tests/data/world/tracing",
		.btf = "tests/data/world/none.btf",
		.kallsyms = "tests/data/world/kallsyms",
		.features = &some_features,
	});
}

/* What listing `pattern` writes to a descriptor; *code gets the exit code. */
static void listed(struct world *w, const char *pattern, bool verbose, int fd, char *text,
                   size_t size, int *code)
{
	FILE *file = tmpfile();
	int kept = dup(fd);
	size_t n;

	fflush(NULL);
	dup2(fileno(file), fd);
	*code = cmd_list_pattern(w, pattern, &(struct request){ 0 }, verbose);
	fflush(NULL);
	dup2(kept, fd);
	close(kept);
	rewind(file);
	n = fread(text, 1, size - 1, file);
	text[n] = 0;
	fclose(file);
}

static void test_patterns(void **state)
{
	static const struct {
		const char *pattern, *text;
	} rows[] = {
		{ "tracepoint:sched:*",
		  "tracepoint:sched:sched_switch\ntracepoint:sched:sched_wakeup\n" },
		{ "t:sched", "tracepoint:sched:sched_switch\ntracepoint:sched:sched_wakeup\n" },
		{ "t:sched:", "tracepoint:sched:sched_switch\ntracepoint:sched:sched_wakeup\n" },
		{ "t:*:*wakeup", "tracepoint:sched:sched_wakeup\n" },
		{ "*sched*wake*", "tracepoint:sched:sched_wakeup\n" },
		{ "sched_wake", "tracepoint:sched:sched_wakeup\n" },
		{ "software:*faults",
		  "software:alignment-faults:\nsoftware:emulation-faults:\nsoftware:faults:\n"
		  "software:major-faults:\nsoftware:minor-faults:\nsoftware:page-faults:\n" },
		{ "interval:*", "interval:hz:\ninterval:ms:\ninterval:s:\ninterval:us:\n" },
		{ "p:?s", "profile:ms:\nprofile:us:\n" },
		{ "s:dummy,t:sched:*wakeup, h:cycles",
		  "software:dummy:\ntracepoint:sched:sched_wakeup\nhardware:cycles:\n" },
		{ "s:dummy", "software:dummy:\n" },
		{ "t:none:*", "" },
	};
	struct world *w = made_of_files();

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[4096];
		int code;

		listed(w, rows[i].pattern, false, 1, text, sizeof(text), &code);
		assert_string_equal(text, rows[i].text);
		assert_int_equal(code, 0);
	}
	world_linux_free(w);
}

static void test_arguments(void **state)
{
	struct world *w = made_of_files();
	char text[4096];
	int code;

	(void)state;
	listed(w, "t:sched:sched_switch", true, 1, text, sizeof(text), &code);
	assert_string_equal(text, "tracepoint:sched:sched_switch\n"
	                          "    char prev_comm[16]\n"
	                          "    pid_t prev_pid\n"
	                          "    int prev_prio\n"
	                          "    long prev_state\n"
	                          "    char next_comm[16]\n"
	                          "    pid_t next_pid\n"
	                          "    int next_prio\n");
	world_linux_free(w);
}

static void test_complaints(void **state)
{
	static const struct {
		const char *pattern, *text;
		int code;
	} rows[] = {
		{ "t:none:*", "WARNING: No matches for tracepoint none:*.", 0 },
		{ "none*", "WARNING: no probes match", 0 },
		{ "nope:x", "Unknown probe type: 'nope'", 1 },
		{ "u:/nonexistent:f", "WARNING: can not open /nonexistent", 0 },
		{ "fentry:vfs_read",
		  "WARNING: fentry and fexit need the kernel's type information (BTF)", 0 },
		{ "struct page", "type information", 1 },
		{ "t:\"x", "unterminated string", 1 },
	};
	struct world *w = made_of_files();

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[4096];
		int code;

		listed(w, rows[i].pattern, false, 2, text, sizeof(text), &code);
		assert_non_null(strstr(text, rows[i].text));
		assert_int_equal(code, rows[i].code);
	}
	world_linux_free(w);
}

static void test_c_types(void **state)
{
	struct btf_error e;
	struct btf *btf = btf_open_kernel(&e);
	struct buf b = { 0 };
	u32 id;

	(void)state;
	if (!btf)
		skip();
	assert_true(c_type_define(&b, btf, "struct list_head"));
	assert_string_equal(buf_text(&b), "struct list_head {\n"
	                                  "\tstruct list_head *next;\n"
	                                  "\tstruct list_head *prev;\n"
	                                  "};\n");
	assert_false(c_type_define(&b, btf, "struct no_such_struct"));
	assert_false(c_type_define(&b, btf, "struct "));
	buf_reset(&b);
	assert_true(c_type_define(&b, btf, "enum zone_type"));
	assert_non_null(strstr(buf_text(&b), "\tZONE_DMA = 0,\n"));
	buf_reset(&b);
	assert_true(c_type_define(&b, btf, "struct page"));
	assert_non_null(strstr(buf_text(&b), "\n\tunion {\n\t\tstruct {\n"));
	buf_reset(&b);
	id = btf_find_c(btf, "size_t");
	c_type_print(&b, btf, id);
	c_type_print(&b, btf, 0);
	c_type_print(&b, btf, UINT32_MAX);
	assert_string_equal(buf_text(&b), "size_tvoid?");
	buf_free(&b);
	btf_unref(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_complaints),
		cmocka_unit_test(test_c_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
