/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* elf.c against this test's own file and against the C library of the machine. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "elf/elf.h"

#define HOST_LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#if defined(__aarch64__)
#define LIBC "/lib/aarch64-linux-gnu/libc.so.6"
#else
#define LIBC HOST_LIBC
#endif

static volatile int test_elf_object = 7;

static __attribute__((noinline, used)) int test_elf_function(int x)
{
	return x * test_elf_object;
}

static struct elf *must_open(const char *path)
{
	struct err e;
	struct elf *f = elf_open(path, &e);

	if (!f)
		fail_msg("%s", e.text);
	return f;
}

/* The address of this program in memory: its program headers are 64 bytes into the file. */
static u64 load_base(void)
{
	return getauxval(AT_PHDR) - 64;
}

static void finds_own_function(void **state)
{
	struct elf *f = must_open("/proc/self/exe");
	struct elf_sym s;
	u64 base = elf_is_pie(f) ? load_base() : 0, back;

	(void)state;
	assert_true(elf_find(f, "test_elf_function", &s));
	assert_true(s.is_func);
	assert_true(s.has_offset);
	assert_int_equal(base + s.value, (u64)(uintptr_t)test_elf_function);
	assert_true(elf_vaddr(f, s.offset, &back));
	assert_int_equal(back, s.value);
	assert_true(elf_find(f, "test_elf_object", &s));
	assert_false(s.is_func);
	assert_false(elf_find(f, "test_elf_functio", &s));
	assert_false(elf_find(f, "", &s));
	elf_close(f);
}

static void the_offset_holds_the_code(void **state)
{
	struct elf *f = must_open("/proc/self/exe");
	struct file_map m;
	struct elf_sym s;
	struct err e;

	(void)state;
	assert_true(elf_find(f, "test_elf_function", &s));
	assert_true(file_map("/proc/self/exe", &m, &e));
	assert_memory_equal(m.p + s.offset, (const void *)test_elf_function, 16);
	file_unmap(&m);
	elf_close(f);
}

static bool first_line(const char *command, char *line, int size)
{
	FILE *p = popen(command, "r");
	bool ok = p && fgets(line, size, p);

	if (p)
		pclose(p);
	return ok;
}

/* Tools beside an emulated program see the files of the machine that emulates it. */
static const char *tools_libc(void)
{
	char line[64];

	return first_line("ls " HOST_LIBC " 2>/dev/null", line, sizeof(line)) ? HOST_LIBC : LIBC;
}

static void agrees_with_nm_and_readelf(void **state)
{
	char line[256], id[64], command[256];
	const char *libc = tools_libc();
	struct elf *f = must_open(libc);
	struct elf_sym s;

	(void)state;
	snprintf(command, sizeof(command), "nm -D %s | grep ' malloc@' ", libc);
	if (!first_line(command, line, sizeof(line)))
		skip();
	assert_true(elf_find(f, "malloc", &s));
	assert_int_equal(s.value, strtoull(line, NULL, 16));
	assert_true(elf_is_pie(f));
	snprintf(command, sizeof(command), "readelf -n %s | sed -n 's/.*Build ID: //p'", libc);
	assert_true(first_line(command, line, sizeof(line)));
	line[strcspn(line, "\n")] = 0;
	assert_true(elf_build_id(f, id));
	assert_string_equal(id, line);
	elf_close(f);
}

static bool count_until_100(void *ctx, const struct elf_sym *s)
{
	assert_non_null(s->name);
	return ++*(u32 *)ctx < 100;
}

static void the_callback_stops_the_walk(void **state)
{
	struct elf *f = must_open(LIBC);
	u32 n = 0;

	(void)state;
	elf_each(f, count_until_100, &n);
	assert_int_equal(n, 100);
	elf_close(f);
}

static void says_what_a_foreign_file_is(void **state)
{
	struct err e;

	(void)state;
	assert_null(elf_open("/does/not/exist", &e));
	assert_non_null(strstr(e.text, "No such file"));
	assert_null(elf_open("/etc/passwd", &e));
	assert_string_equal(e.text, "/etc/passwd is not an ELF file");
	assert_null(elf_open_memory("\177ELF\1\1\1", 7, "x", &e));
	assert_null(elf_open_memory("", 0, "x", &e));
	assert_string_equal(e.text, "x is not an ELF file");
}

/* The headers of sections stand at the end of a file, so nearly every cut takes them away. */
static void says_that_a_file_is_cut_short(void **state)
{
	static const size_t cuts[] = { 64, 100, 1000, 4096, 10000, 100000 };
	struct file_map m;
	struct err e;

	(void)state;
	assert_true(file_map(LIBC, &m, &e));
	assert_null(elf_open_memory(m.p, 16, "cut", &e));
	assert_null(elf_open_memory(m.p, 63, "cut", &e));
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		assert_null(elf_open_memory(m.p, cuts[i], "cut", &e));
		assert_non_null(strstr(e.text, "cut is cut short: its "));
	}
	assert_null(elf_open_memory(m.p, m.n - 1, "cut", &e));
	assert_string_equal(e.text, "cut is cut short: its section headers lie past its end");
	file_unmap(&m);
}

/* Section headers may stand before what they describe: then the cut takes the symbols. */
static void says_that_the_symbols_are_cut_off(void **state)
{
	static const Elf64_Shdr headers[] = {
		{ 0 },
		{ .sh_type = SHT_SYMTAB, .sh_offset = 256, .sh_size = 48, .sh_link = 2 },
		{ .sh_type = SHT_STRTAB, .sh_offset = 304, .sh_size = 8 },
	};
	Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(eh),
		.e_shoff = sizeof(eh),
		.e_shentsize = sizeof(headers[0]),
		.e_shnum = ARRAY_SIZE(headers),
	};
	_Alignas(8) u8 file[312] = { 0 };
	struct elf *f;
	struct err e;

	(void)state;
	memcpy(file, &eh, sizeof(eh));
	memcpy(file + sizeof(eh), headers, sizeof(headers));
	assert_null(elf_open_memory(file, 280, "cut", &e));
	assert_string_equal(e.text, "cut is cut short: its symbols lie past its end");
	assert_null(elf_open_memory(file, 310, "cut", &e));
	f = elf_open_memory(file, sizeof(file), "whole", &e);
	assert_non_null(f);
	elf_close(f);
}

/* ---- files made to stall a reader ----------------------------------------------------------- */

/* A file of one symbol table and its names, with as many section headers on the table as wanted. */
struct made {
	u8 *p;
	size_t n;
};

#define MADE_AT 4096u /* of the symbols; the headers lie after the names */

static struct made make_file(u32 symbols, u32 name_bytes, u32 tables, const Elf64_Sym *each)
{
	u64 names = MADE_AT + (u64)symbols * sizeof(Elf64_Sym), headers = names + name_bytes;
	Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_shoff = headers,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (u16)(tables + 2),
	};
	Elf64_Shdr sh[2] = {
		{ .sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = name_bytes },
		{ .sh_type = SHT_SYMTAB,
		  .sh_offset = MADE_AT,
		  .sh_size = symbols * sizeof(Elf64_Sym),
		  .sh_link = 1 },
	};
	struct made m = { .n = headers + (tables + 2ull) * sizeof(Elf64_Shdr) };

	m.p = calloc(1, m.n);
	assert_non_null(m.p);
	memcpy(m.p, &eh, sizeof(eh));
	for (u32 i = 0; each && i < symbols; i++)
		memcpy(m.p + MADE_AT + i * sizeof(*each), each, sizeof(*each));
	memset(m.p + names, 'a', name_bytes - 1);
	memcpy(m.p + headers + sizeof(sh[0]), &sh[0], sizeof(sh[0]));
	for (u32 i = 0; i < tables; i++)
		memcpy(m.p + headers + (i + 2) * sizeof(sh[0]), &sh[1], sizeof(sh[1]));
	return m;
}

static const Elf64_Sym function = { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	                            .st_shndx = 1,
	                            .st_value = 1 };

static bool count(void *ctx, const struct elf_sym *s)
{
	assert_non_null(s->name);
	++*(u32 *)ctx;
	return true;
}

static u32 symbols_of(struct made m)
{
	struct err e;
	struct elf *f = elf_open_memory(m.p, m.n, "made", &e);
	u32 n = 0;

	if (!f)
		fail_msg("%s", e.text);
	elf_each(f, count, &n);
	elf_close(f);
	free(m.p);
	return n;
}

static void reads_a_table_once(void **state)
{
	(void)state;
	assert_int_equal(symbols_of(make_file(100, 16, 1, &function)), 100);
	assert_int_equal(symbols_of(make_file(100, 16, 2000, &function)), 100);
}

/* All have the same name: it may be looked at as often as real names share their ends. */
static void long_names_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(symbols_of(make_file(100000, 20000, 1, &function)), 68);
	assert_int_equal(symbols_of(make_file(10, 40000, 1, &function)), 0);
}

static void refuses_too_many(void **state)
{
	struct made m = make_file((8u << 20) + 1, 16, 1, NULL);
	Elf64_Ehdr eh = { 0 };
	struct err e;

	(void)state;
	assert_null(elf_open_memory(m.p, m.n, "made", &e));
	assert_string_equal(e.text, "made has more than 8388608 symbols, which is more than is "
	                            "read of one");
	memcpy(&eh, m.p, sizeof(eh));
	eh.e_phoff = sizeof(eh);
	eh.e_phnum = 300;
	eh.e_phentsize = sizeof(Elf64_Phdr);
	memcpy(m.p, &eh, sizeof(eh));
	assert_null(elf_open_memory(m.p, m.n, "made", &e));
	assert_string_equal(e.text, "made has more than 256 segments, which is more than is "
	                            "read of one");
	free(m.p);
}

static void reads_notes_within_bounds(void **state)
{
	static const u8 one[] = {
		4, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 'a', 'b', 'c', 0, 1, 2, 0, 0
	};
	struct elf_note note;
	size_t pos = 0;

	(void)state;
	assert_true(elf_note_next(one, sizeof(one), &pos, &note));
	assert_int_equal(note.type, 9);
	assert_int_equal(note.n, 2);
	assert_int_equal(note.desc[1], 2);
	assert_int_equal(pos, sizeof(one));
	assert_false(elf_note_next(one, sizeof(one), &pos, &note));
	pos = 0;
	assert_false(elf_note_next(one, 17, &pos, &note));
	assert_int_equal(pos, 0);
	/* Padding may be missing at the very end. */
	assert_true(elf_note_next(one, 18, &pos, &note));
	assert_int_equal(pos, 18);
}

/* The same section from this program and from a copy in which it is packed. In an emulated program
 * the kernel's link to it leads to the emulator, but for the program itself. */
static void unpacks_sections(void **state)
{
	char self[4096], copy[64], command[sizeof(self) + 256];
	const u8 *plain, *packed;
	struct elf *f, *g;
	size_t n, m;
	ssize_t len;
	u64 addr;

	(void)state;
	snprintf(copy, sizeof(copy), "/tmp/memtap-test-elf-packed-%d", (int)getpid());
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	assert_true(len > 0);
	self[len] = 0;
	/* Of the machine's own or, of one that builds for it. */
	snprintf(command, sizeof(command),
	         "for objcopy in objcopy aarch64-linux-gnu-objcopy; do "
	         "$objcopy --compress-debug-sections=zlib --only-keep-debug '%s' %s && exit; "
	         "done 2>/dev/null; exit 1",
	         self, copy);
	if (system(command) != 0) { /* NOLINT(cert-env33-c) */
		print_message("SKIP: there is no objcopy\n");
		skip();
	}
	f = must_open("/proc/self/exe");
	g = must_open(copy);
	if (!elf_section(f, ".debug_str", &plain, &n, &addr))
		fail_msg("this program has no debug information");
	assert_true(elf_section(g, ".debug_str", &packed, &m, &addr));
	assert_int_equal(n, m);
	assert_memory_equal(plain, packed, n);
	elf_close(f);
	elf_close(g);
	remove(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_own_function),
		cmocka_unit_test(the_offset_holds_the_code),
		cmocka_unit_test(agrees_with_nm_and_readelf),
		cmocka_unit_test(the_callback_stops_the_walk),
		cmocka_unit_test(says_what_a_foreign_file_is),
		cmocka_unit_test(says_that_a_file_is_cut_short),
		cmocka_unit_test(says_that_the_symbols_are_cut_off),
		cmocka_unit_test(reads_a_table_once),
		cmocka_unit_test(long_names_are_bounded),
		cmocka_unit_test(refuses_too_many),
		cmocka_unit_test(reads_notes_within_bounds),
		cmocka_unit_test(unpacks_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
