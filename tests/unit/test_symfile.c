/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of stripped files, wherever binutils can put them: copies of this program itself, with
 * their symbols in a debug file by build id, by debug link, in .gnu_debugdata, or gone. And PLT
 * stubs, held against what objdump says.
 *
 * Needs the machine itself: the link to a process's program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "elf/elf.h"
#include "elf/plt.h"
#include "sym/demangle.h"
#include "sym/symfile.h"

#if defined(__x86_64__)
#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#else
#define LIBC "/lib/aarch64-linux-gnu/libc.so.6"
#endif

int symfile_test_marker(int n);

__attribute__((noinline)) int symfile_test_marker(int n)
{
	return n * 5 + 2;
}

static char dir[] = "/tmp/memtap-symfile-XXXXXX";
static u64 marker; /* file offset of the function */
static char id[64];

/* Runs commands in the directory. */
static PRINTF_LIKE(1, 2) void shell(const char *format, ...)
{
	char text[2048], whole[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(whole, sizeof(whole), "cd %s && { %s; }", dir, text);
	if (system(whole) != 0)
		fail_msg("this failed: %s", whole);
}

/* Two can be in use at a time. */
static char *in_dir(const char *name)
{
	static char paths[2][4096];
	static u32 next;
	char *path = paths[next++ % 2];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void set_marker(const char *file)
{
	struct elf_sym s;
	struct err e;
	struct elf *f = elf_open(in_dir(file), &e);

	assert_non_null(f);
	assert_true(elf_find(f, "symfile_test_marker", &s));
	if (!elf_build_id(f, id))
		id[0] = 0;
	marker = s.offset;
	elf_close(f);
}

static int make_files(void **state)
{
	(void)state;
	assert_int_equal(symfile_test_marker(1), 7); /* or the linker leaves it out */
	assert_non_null(mkdtemp(dir));
	shell("cat /proc/%d/exe >whole && chmod +x whole", (int)getpid());
	shell("objcopy --only-keep-debug whole whole.debug && strip -o bare whole");
	set_marker("whole");
	assert_true(strlen(id) > 4);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	shell("rm -rf %s", dir);
	return 0;
}

static const char *name_in(const char *file, const char *root, const char *name)
{
	struct debugfile_place where = { .root = root, .name = name };
	struct symfile *f = symfile_read(in_dir(file), &where);
	static char text[256];
	const char *found;
	u64 off = 0;

	assert_non_null(f);
	found = symfile_name(f, marker + 2, true, &off);
	snprintf(text, sizeof(text), "%s+%llu", found ? found : "", (unsigned long long)off);
	symfile_free(f);
	return text;
}

static void test_own_symbols(void **state)
{
	(void)state;
	assert_string_equal(name_in("whole", "", ""), "symfile_test_marker+2");
}

/* What keeps the other tests honest: without a source there is no name. */
static void test_stripped(void **state)
{
	(void)state;
	assert_string_not_equal(name_in("bare", "", ""), "symfile_test_marker+2");
}

static void test_build_id(void **state)
{
	(void)state;
	shell("mkdir -p r1/usr/lib/debug/.build-id/%.2s", id);
	shell("cp whole.debug r1/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	assert_string_equal(name_in("bare", in_dir("r1"), "/opt/bare"), "symfile_test_marker+2");
	/* A file of that name that is of another program. */
	shell("cp /bin/sh r1/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	assert_string_not_equal(name_in("bare", in_dir("r1"), "/opt/bare"),
	                        "symfile_test_marker+2");
}

static void test_debug_link(void **state)
{
	static const char *const places[] = { "r2/opt", "r2/opt/.debug", "r2/usr/lib/debug/opt" };

	(void)state;
	shell("objcopy --add-gnu-debuglink=whole.debug bare linked");
	for (u32 i = 0; i < ARRAY_SIZE(places); i++) {
		shell("mkdir -p %s && cp whole.debug %s", places[i], places[i]);
		assert_string_equal(name_in("linked", in_dir("r2"), "/opt/linked"),
		                    "symfile_test_marker+2");
		shell("rm -r r2");
	}
}

/* Beside a program, that of somebody else is not believed: anybody may write to /tmp. */
static void test_debug_link_owner(void **state)
{
	static const char *const places[] = { "r4/tmp", "r4/tmp/.debug" };
	const char *named = "symfile_test_marker+2";

	(void)state;
	if (geteuid() != 0)
		skip();
	for (u32 i = 0; i < ARRAY_SIZE(places); i++) {
		shell("objcopy --add-gnu-debuglink=whole.debug bare linked");
		shell("mkdir -p %s && cp linked r4/tmp && cp whole.debug %s", places[i], places[i]);
		shell("chown -R 65534 r4 && chown 0 r4/tmp r4/tmp/linked");
		assert_string_not_equal(name_in("linked", in_dir("r4"), "/tmp/linked"), named);
		shell("chown 65534 r4/tmp/linked"); /* its own */
		assert_string_equal(name_in("linked", in_dir("r4"), "/tmp/linked"), named);
		shell("chown 0 r4/tmp/linked && chown 65534 r4/tmp"); /* of who may exchange it */
		assert_string_equal(name_in("linked", in_dir("r4"), "/tmp/linked"), named);
		shell("rm -r r4");
	}
}

/* Without a build id the checksum of the link decides. */
static void test_debug_link_checksum(void **state)
{
	(void)state;
	if (system("gcc --version >/dev/null 2>&1") != 0) { /* NOLINT(cert-env33-c) */
		print_message("SKIP: there is no compiler\n");
		skip();
	}
	shell("echo 'int symfile_test_marker(int n) { return n * n; } int main(void) { return 0; }'"
	      " | gcc -x c -Wl,--build-id=none -o plain -");
	set_marker("plain");
	shell("objcopy --only-keep-debug plain plain.debug && strip plain");
	shell("objcopy --add-gnu-debuglink=plain.debug plain linked");
	shell("mkdir -p r3/opt && cp plain.debug r3/opt");
	assert_string_equal(name_in("linked", in_dir("r3"), "/opt/linked"),
	                    "symfile_test_marker+2");
	shell("echo >>r3/opt/plain.debug");
	assert_string_not_equal(name_in("linked", in_dir("r3"), "/opt/linked"),
	                        "symfile_test_marker+2");
	set_marker("whole");
}

/* As Fedora's packages have it: the symbol table alone, packed. */
static void test_debug_data(void **state)
{
	(void)state;
	shell("strip -g -o mini whole.debug && xz -kf mini");
	shell("objcopy --add-section .gnu_debugdata=mini.xz bare packed");
	assert_string_equal(name_in("packed", "", ""), "symfile_test_marker+2");
	shell("head -c 200 mini.xz >cut.xz");
	shell("objcopy --add-section .gnu_debugdata=cut.xz bare cut");
	assert_string_not_equal(name_in("cut", "", ""), "symfile_test_marker+2");
}

/* A pipe where a debug file was expected is not waited for. */
static void test_pipe(void **state)
{
	(void)state;
	shell("mkdir -p r4/usr/lib/debug/.build-id/%.2s", id);
	shell("mkfifo r4/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	assert_string_not_equal(name_in("bare", in_dir("r4"), "/opt/bare"),
	                        "symfile_test_marker+2");
}

/* ---- stubs ---------------------------------------------------------------------------------- */

static bool print_stub(void *ctx, u64 vaddr, u64 size, const char *name, size_t length)
{
	assert_true(size == 8 || size == 16);
	buf_printf(ctx, "%016llx %.*s@plt\n", (unsigned long long)vaddr, (int)length, name);
	return true;
}

static void compare_stubs(const char *path, const char *sections)
{
	char command[4096];
	struct err e;
	struct elf *f = elf_open(path, &e);
	struct buf ours = { 0 };
	char line[1024], want[2048];
	u32 n = 0;
	FILE *p;

	assert_non_null(f);
	plt_each(f, print_stub, &ours);
	elf_close(f);
	snprintf(command, sizeof(command),
	         "objdump -d %s %s | sed -n 's/^\\([0-9a-f]*\\) <\\([^+>*]*@\\)plt>:$/\\1 \\2/p;"
	         "s/^\\([0-9a-f]*\\) <\\([^+>*]*\\)@[^>]*@plt>:$/\\1 \\2@/p'",
	         sections, path);
	p = popen(command, "r");
	assert_non_null(p);
	while (fgets(line, sizeof(line), p)) {
		line[strcspn(line, "\n")] = 0;
		snprintf(want, sizeof(want), "%splt\n", line);
		if (!strstr(buf_text(&ours), want))
			fail_msg("%s: objdump has a stub that we have not: %s", path, want);
		n++;
	}
	pclose(p);
	assert_true(n > 0);
	buf_free(&ours);
}

static void test_stubs(void **state)
{
	(void)state;
	compare_stubs("/bin/sh", "-j .plt -j .plt.got");
	compare_stubs("/usr/bin/python3", "-j .plt -j .plt.got");
	compare_stubs(LIBC, "-j .plt -j .plt.got");
}

/* ---- mangled names -------------------------------------------------------------------------- */

static void one_name(const char *symbol, const char *name)
{
	char *got = demangle(symbol);

	if (!name)
		assert_null(got);
	else if (!got || strcmp(got, name) != 0)
		fail_msg("%s is '%s', not '%s'", symbol, got ? got : "(not mangled)", name);
	free(got);
}

static void test_demangle(void **state)
{
	char longer[10000] = "_Z";

	(void)state;
	one_name("_ZN5cache4findERKSsi", "cache::find(std::string const&, int)");
	one_name("_ZN4core3ptr46drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$17h0123456789abcdefE",
	         "core::ptr::drop_in_place<alloc::vec::Vec<u8>>");
	one_name("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function");
	one_name("main", NULL);
	one_name("_start", NULL);
	one_name("_Z!", NULL);
	one_name("_Z", NULL);
	one_name("", NULL);
	memset(longer + 2, 'P', sizeof(longer) - 3);
	one_name(longer, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_symbols),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_debug_link),
		cmocka_unit_test(test_debug_link_owner),
		cmocka_unit_test(test_debug_link_checksum),
		cmocka_unit_test(test_debug_data),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_demangle),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
