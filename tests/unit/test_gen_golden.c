/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The whole unit of small scripts, as text, against the files beside them: tests/gen/NAME.bt gives
 * tests/gen/NAME.bpf. With MEMTAP_GOLDEN=write in the environment (make golden) the files are
 * written instead; read the difference before committing it.
 *
 * Only on x86_64: its struct pt_regs.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "interp/lab.h"

#define DIR_NAME "tests/gen"

static void write_golden(const char *path, const struct buf *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(text->p, 1, text->n, f) != text->n || fclose(f) != 0)
		fail_msg("can not write %s", path);
}

/* False when the dump differs from the file. */
static bool same(const char *path, const struct buf *text)
{
	struct buf want = { 0 };
	struct err e;
	bool ok = file_read(path, &want, 1 << 20, &e);

	if (!ok)
		print_error("%s\n", e.text);
	else if (want.n != text->n || memcmp(want.p, text->p, want.n) != 0)
		print_error("%s differs; the unit is now:\n%s\n", path, buf_text(text));
	ok = ok && want.n == text->n && memcmp(want.p, text->p, want.n) == 0;
	buf_free(&want);
	return ok;
}

static bool one_case(const char *script_path)
{
	const char *mode = getenv("MEMTAP_GOLDEN");
	bool rewrite = mode && strcmp(mode, "write") == 0, ok = true;
	struct buf script = { 0 }, dump = { 0 };
	char path[512];
	struct lab l;
	struct err e;

	snprintf(path, sizeof(path), "%.*s.bpf", (int)strlen(script_path) - 3, script_path);
	if (!file_read(script_path, &script, 1 << 20, &e))
		fail_msg("%s", e.text);
	lab_init(&l);
	if (!lab_compile(&l, buf_text(&script)))
		fail_msg("%s: %s", script_path, buf_text(&l.problem));
	unit_print(&dump, l.u);
	if (rewrite)
		write_golden(path, &dump);
	else
		ok = same(path, &dump);
	lab_free(&l);
	buf_free(&dump);
	buf_free(&script);
	return ok;
}

static int is_script(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 3 && strcmp(d->d_name + n - 3, ".bt") == 0;
}

static void test_files(void **state)
{
	struct dirent **list;
	int n = scandir(DIR_NAME, &list, is_script, alphasort), bad = 0;

	(void)state;
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		char path[400];

		snprintf(path, sizeof(path), DIR_NAME "/%s", list[i]->d_name);
		bad += !one_case(path);
		free(list[i]);
	}
	free(list);
	if (bad)
		fail_msg("%d of %d units differ", bad, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
