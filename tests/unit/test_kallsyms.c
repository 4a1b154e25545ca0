/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* kallsyms.c on a small table with all its forms, and on the running kernel's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "read/kallsyms.h"

#define TABLE "tests/data/world/kallsyms"

static struct kallsyms *must_open(const char *path)
{
	struct err e;
	struct kallsyms *k = kallsyms_open(path, &e);

	if (!k)
		fail_msg("%s", e.text);
	return k;
}

static void names_addresses(void **state)
{
	struct kallsyms *k = must_open(TABLE);
	const char *module = NULL;
	u64 off = 99;

	(void)state;
	/* Of the aliases the first in the file; data symbols in between do not count. */
	assert_string_equal(kallsyms_name(k, 0xffffffff81000010, &off, &module), "_stext");
	assert_int_equal(off, 16);
	assert_string_equal(module, "");
	assert_string_equal(kallsyms_name(k, 0xffffffff81000200, &off, &module), "vfs_read");
	assert_int_equal(off, 0);
	assert_string_equal(kallsyms_name(k, 0xffffffff810002ff, &off, &module), "vfs_read");
	assert_string_equal(kallsyms_name(k, 0xffffffffc0201008, &off, &module), "mod_func");
	assert_string_equal(module, "mod");
	assert_null(kallsyms_name(k, 0xffffffff80ffffff, &off, &module));
	assert_null(kallsyms_name(k, 0, &off, &module));
	/* Too far from the last function to be in it. */
	assert_null(kallsyms_name(k, 0xffffffffff000000, &off, &module));
	kallsyms_close(k);
}

static void finds_addresses_of_all_kinds(void **state)
{
	struct kallsyms *k = must_open(TABLE);

	(void)state;
	assert_true(kallsyms_addr(k, "vfs_read") == 0xffffffff81000200);
	assert_true(kallsyms_addr(k, "jiffies") == 0xffffffff82000000);
	assert_true(kallsyms_addr(k, "mod_data") == 0xffffffffc0202000);
	assert_true(kallsyms_addr(k, "mod_func") == 0xffffffffc0201000);
	assert_true(kallsyms_addr(k, "read") == 0);
	assert_true(kallsyms_addr(k, "mod") == 0);
	assert_true(kallsyms_addr(k, "") == 0);
	kallsyms_close(k);
}

static bool note_place(void *ctx, const struct kallsyms_place *p)
{
	buf_printf(ctx, "%llx %s %s%s, ", (unsigned long long)p->addr & 0xffffff, p->module,
	           p->before, p->is_text ? "()" : "");
	return true;
}

/* Symbols of one name, each with the one before it. */
static void finds_all_of_a_name(void **state)
{
	static const char table[] = "ffffffff81000000 T _text\n"
				    "ffffffff81000010 t __pfx_twice\n"
				    "ffffffff81000020 t twice\n"
				    "ffffffff81000030 T once\n"
				    "ffffffff81000040 d twice\n"
				    "ffffffff81000050 t not_twice\n"
				    "ffffffffc0000000 t first\t[mod]\n"
				    "ffffffffc0000010 t __pfx_twice\t[mod]\n"
				    "ffffffffc0000020 t twice\t[mod]\n"
				    "ffffffffc0000030 t twice\t[other]\n";
	char path[] = "/tmp/memtap-kallsyms-XXXXXX";
	int fd = mkstemp(path);
	struct buf b = { 0 };
	struct kallsyms *k;

	(void)state;
	assert_true(fd >= 0 && write(fd, table, sizeof(table) - 1) == sizeof(table) - 1);
	k = must_open(path);
	kallsyms_named(k, "twice", note_place, &b);
	assert_string_equal(buf_text(&b),
	                    "20  _text(), 40  once, 20 mod first(), 30 other twice(), ");
	buf_reset(&b);
	kallsyms_named(k, "_text", note_place, &b);
	kallsyms_named(k, "first", note_place, &b);
	kallsyms_named(k, "wice", note_place, &b);
	kallsyms_named(k, "", note_place, &b);
	assert_string_equal(buf_text(&b), "0  (), 0 mod not_twice(), ");
	buf_free(&b);
	kallsyms_close(k);
	close(fd);
	unlink(path);
}

static bool collect(void *ctx, const char *name, const char *module, u64 addr)
{
	assert_true(addr);
	buf_printf(ctx, "%s[%s] ", name, module);
	return true;
}

static void lists_text_symbols_by_glob(void **state)
{
	struct kallsyms *k = must_open(TABLE);
	struct buf b = { 0 };

	(void)state;
	kallsyms_each(k, STR("*d*"), collect, &b);
	assert_string_equal(buf_text(&b), "vfs_read[] weak_read[] mod_func[mod] ");
	buf_free(&b);
	kallsyms_close(k);
}

static void reads_the_running_kernel(void **state)
{
	struct kallsyms *k = must_open("/proc/kallsyms");
	u64 addr = kallsyms_addr(k, "vfs_read"), off;
	const char *module;

	(void)state;
	if (!addr) {
		kallsyms_close(k);
		skip();
	}
	assert_string_equal(kallsyms_name(k, addr + 1, &off, &module), "vfs_read");
	assert_int_equal(off, 1);
	kallsyms_close(k);
}

static void reports_a_missing_file(void **state)
{
	struct err e;

	(void)state;
	assert_null(kallsyms_open("/does/not/exist", &e));
	assert_non_null(strstr(e.text, "can not open /does/not/exist"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_addresses),
		cmocka_unit_test(finds_addresses_of_all_kinds),
		cmocka_unit_test(finds_all_of_a_name),
		cmocka_unit_test(lists_text_symbols_by_glob),
		cmocka_unit_test(reads_the_running_kernel),
		cmocka_unit_test(reports_a_missing_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
