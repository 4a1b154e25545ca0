/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Our rows against libdw's answers, at every row and at every function of whole binaries. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/ehframe.h"
#include "elf/elf.h"
#include "unit/ehframe_rule.h"

#if defined(__x86_64__)
#define FP 6
#define SP 7
#define RA 16
#else
#define FP 29
#define SP 31
#define RA 30
#endif

struct bench {
	struct elf *ours;
	struct ehframe_rows rows;
	int fd;
	Elf *theirs;
	Dwarf_CFI *cfi;
	u64 base;
};

static bool bench_open(struct bench *b, const char *path)
{
	struct ehframe_section s = { 0 };
	struct err e;

	*b = (struct bench){ .ours = elf_open(path, &e) };
	if (!b->ours)
		return false;
	assert_true(elf_section(b->ours, ".eh_frame", &s.p, &s.n, &s.vaddr));
	ehframe_read(&s, 0, &b->rows);
	b->fd = open(path, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	b->theirs = elf_begin(b->fd, ELF_C_READ_MMAP, NULL);
	b->cfi = dwarf_getcfi_elf(b->theirs);
	assert_non_null(b->cfi);
	return true;
}

static void bench_close(struct bench *b)
{
	dwarf_cfi_end(b->cfi);
	elf_end(b->theirs);
	close(b->fd);
	ehframe_free(&b->rows);
	elf_close(b->ours);
}

static bool is_breg(const Dwarf_Op *op, u32 reg)
{
	return op->atom == DW_OP_breg0 + reg || (op->atom == DW_OP_bregx && op->number == reg);
}

static s64 breg_offset(const Dwarf_Op *op)
{
	return (s64)(op->atom == DW_OP_bregx ? op->number2 : op->number);
}

/* libdw says where a saved register is as "CFA [+ n]". True when that is CFA + off. */
static bool saved_at(Dwarf_Frame *f, int reg, s64 off)
{
	Dwarf_Op room[3], *ops = NULL;
	size_t n = 0;

	if (dwarf_frame_register(f, reg, room, &ops, &n) != 0 || !ops || n < 1)
		return false;
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (n == 1)
		return off == 0;
	return n == 2 && ops[1].atom == DW_OP_plus_uconst && (s64)ops[1].number == off;
}

/* No operations: undefined when ops is set, unchanged when it is NULL. */
static bool is_unknown(Dwarf_Frame *f, int reg, bool undefined)
{
	Dwarf_Op room[3], *ops = NULL;
	size_t n = 1;

	if (dwarf_frame_register(f, reg, room, &ops, &n) != 0 || n != 0)
		return false;
	return (ops != NULL) == undefined;
}

static bool same_cfa(Dwarf_Frame *f, u32 rule)
{
	Dwarf_Op *ops = NULL;
	size_t n = 0;

	if (dwarf_frame_cfa(f, &ops, &n) != 0 || n < 1)
		return false;
	switch (unwind_kind(rule)) {
	case UNWIND_SP:
		return n == 1 && is_breg(&ops[0], SP) &&
		       breg_offset(&ops[0]) == unwind_offset(rule);
	case UNWIND_FP:
		return n == 1 && is_breg(&ops[0], FP) &&
		       breg_offset(&ops[0]) == unwind_offset(rule);
	case UNWIND_DEREF_SP:
	case UNWIND_DEREF_FP:
		return n >= 2 && n <= 3 && ops[1].atom == DW_OP_deref &&
		       is_breg(&ops[0], unwind_kind(rule) == UNWIND_DEREF_SP ? SP : FP) &&
		       breg_offset(&ops[0]) == unwind_deref_offset(rule) &&
		       (n == 2 ? 0 : ops[2].number) == unwind_deref_add(rule);
	case UNWIND_PLT:
		return n == 9 && is_breg(&ops[0], SP) && is_breg(&ops[1], RA) &&
		       (u32)ops[4].atom == DW_OP_lit0 + (rule >> UNWIND_OFFSET_SHIFT);
	case UNWIND_SIGNAL:
		return n == 2 && is_breg(&ops[0], SP) && ops[1].atom == DW_OP_deref;
	case UNWIND_LINK_SP:
	case UNWIND_LINK_FP:
		return n == 1 && is_breg(&ops[0], unwind_kind(rule) == UNWIND_LINK_SP ? SP : FP) &&
		       breg_offset(&ops[0]) == unwind_link_offset(rule);
	default:
		return false;
	}
}

static bool same_fp(Dwarf_Frame *f, u32 rule)
{
	Dwarf_Op room[3], *ops = NULL;
	size_t n = 0;
	u32 fp = unwind_fp(rule);

	if (unwind_kind(rule) == UNWIND_SIGNAL)
		return true;
	if (fp == UNWIND_FP_SAME)
		return is_unknown(f, FP, false);
	if (fp != UNWIND_FP_AT_FP)
		return saved_at(f, FP, -8 * (s64)fp);
	/* An expression starts with the CFA on its stack. */
	return dwarf_frame_register(f, FP, room, &ops, &n) == 0 && n == 2 && ops &&
	       is_breg(&ops[1], FP) && breg_offset(&ops[1]) == 0;
}

/* In its register, or saved at a place that a row has room for. */
static bool fits(Dwarf_Frame *f, int reg, u32 max)
{
	for (u32 i = 1; i <= max; i++)
		if (saved_at(f, reg, -8 * (s64)i))
			return true;
	return is_unknown(f, reg, false);
}

#if defined(__x86_64__)
static bool has_return(Dwarf_Frame *f, u32 rule)
{
	(void)rule;
	return saved_at(f, RA, -8);
}

static bool may_have_return(Dwarf_Frame *f, s64 cfa)
{
	(void)cfa;
	return saved_at(f, RA, -8);
}
#else
static bool has_return(Dwarf_Frame *f, u32 rule)
{
	u32 link = unwind_link(rule);

	return link ? saved_at(f, RA, -8 * (s64)link) : is_unknown(f, RA, false);
}

static bool may_have_return(Dwarf_Frame *f, s64 cfa)
{
	return cfa >= -(8 << 13) && cfa < 8 << 13 && fits(f, RA, UNWIND_LINK_MASK);
}
#endif

/* A rich row claims nothing but that there is a rule which is not one of ours. */
static bool is_rich(Dwarf_Frame *f)
{
	Dwarf_Op *ops = NULL;
	size_t n = 0;

	if (dwarf_frame_cfa(f, &ops, &n) != 0 || n != 1)
		return true;
	if (!is_breg(&ops[0], SP) && !is_breg(&ops[0], FP))
		return true;
	if (breg_offset(&ops[0]) % 8 || !may_have_return(f, breg_offset(&ops[0])))
		return true;
	return !fits(f, FP, UNWIND_FP_MAX);
}

static bool same(Dwarf_Frame *f, u32 rule)
{
	switch (unwind_kind(rule)) {
	case UNWIND_GAP:
		return false;
	case UNWIND_END:
		return is_unknown(f, RA, true);
	case UNWIND_RICH:
		return is_rich(f);
	case UNWIND_SIGNAL:
		return same_cfa(f, rule);
	default:
		return same_cfa(f, rule) && same_fp(f, rule) && has_return(f, rule);
	}
}

/* libdw knows no function here: nor do we, or it is the padding before the next one. */
static void check_between(struct bench *b, u64 pc, u32 rule)
{
	Dwarf_Frame *f = NULL;
	u64 next = pc + 1;

	if (unwind_kind(rule) == UNWIND_GAP)
		return;
	while (next < pc + 16 && dwarf_cfi_addrframe(b->cfi, next, &f) != 0)
		next++;
	assert_non_null(f);
	free(f);
}

static void check_at(struct bench *b, u64 pc)
{
	Dwarf_Frame *f = NULL;
	u32 rule = ehframe_rule(&b->rows, (u32)pc);

	if (dwarf_cfi_addrframe(b->cfi, pc, &f) != 0)
		check_between(b, pc, rule);
	else if (!same(f, rule))
		fail_msg("at 0x%llx the rule is 0x%x and libdw differs", (unsigned long long)pc,
		         rule);
	free(f);
}

/* Every address where libdw's rule may change is the start of one of its rows. */
static u32 check_functions(struct bench *b)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off off = 0, next;
	Elf_Data *data = NULL;
	GElf_Ehdr eh;
	Elf_Scn *scn = NULL;
	u64 vaddr = 0;
	u32 n = 0;
	size_t names;

	assert_non_null(gelf_getehdr(b->theirs, &eh));
	assert_int_equal(elf_getshdrstrndx(b->theirs, &names), 0);
	while (!data && (scn = elf_nextscn(b->theirs, scn))) {
		const char *name;
		GElf_Shdr sh;

		assert_non_null(gelf_getshdr(scn, &sh));
		name = elf_strptr(b->theirs, names, sh.sh_name);
		if (name && strcmp(name, ".eh_frame") == 0) {
			data = elf_getdata(scn, NULL);
			vaddr = sh.sh_addr;
		}
	}
	assert_non_null(data);
	if (!data)
		return 0; /* the analyzer does not know the line above */
	while (dwarf_next_cfi(eh.e_ident, data, true, off, &next, &entry) == 0) {
		if (!dwarf_cfi_cie_p(&entry)) {
			/* Of both kinds of Debian's binaries: pc-relative, four bytes. */
			s32 rel;
			u64 at;

			memcpy(&rel, entry.fde.start, sizeof(rel));
			at = vaddr + (u64)((const u8 *)entry.fde.start - (const u8 *)data->d_buf);
			check_at(b, at + (u64)(s64)rel);
			n++;
		}
		off = next;
	}
	return n;
}

static void check_file(const char *path)
{
	struct bench b;
	u32 n;

	if (!bench_open(&b, path)) {
		print_message("%s is not here\n", path);
		skip();
	}
	n = check_functions(&b);
	assert_int_equal(n, b.rows.n_functions);
	assert_int_equal(b.rows.n_damaged, 0);
	for (u32 i = 0; i < b.rows.n; i++) {
		check_at(&b, b.rows.v[i].pc);
		if (i)
			check_at(&b, b.rows.v[i].pc - 1);
	}
	print_message("%s: %u functions, %u rows, %u rich\n", path, n, b.rows.n, b.rows.n_rich);
	bench_close(&b);
}

#if defined(__x86_64__)
static void test_libc(void **state)
{
	(void)state;
	check_file("/lib/x86_64-linux-gnu/libc.so.6");
}

static void test_python(void **state)
{
	char *path = realpath("/usr/bin/python3", NULL);

	(void)state;
	assert_non_null(path);
	check_file(path);
	free(path);
}

static void test_memcached(void **state)
{
	(void)state;
	check_file("/usr/bin/memcached");
}

/* Debian's node is a small program before a big library. */
static void test_node(void **state)
{
	glob_t found;

	(void)state;
	check_file(glob("/usr/lib/x86_64-linux-gnu/libnode.so.*", 0, NULL, &found) == 0
	                   ? found.gl_pathv[0]
	                   : "/usr/bin/node");
	globfree(&found);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_libc),
	cmocka_unit_test(test_python),
	cmocka_unit_test(test_memcached),
	cmocka_unit_test(test_node),
};
#else
#define LIBRARIES "/lib/aarch64-linux-gnu/"

static void test_libc(void **state)
{
	(void)state;
	check_file(LIBRARIES "libc.so.6");
}

static void test_loader(void **state)
{
	(void)state;
	check_file(LIBRARIES "ld-linux-aarch64.so.1");
}

static void test_libstdcxx(void **state)
{
	(void)state;
	check_file(LIBRARIES "libstdc++.so.6");
}

/* With functions written by hand. */
static void test_libcrypto(void **state)
{
	(void)state;
	check_file(LIBRARIES "libcrypto.so.3");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_libc),
	cmocka_unit_test(test_loader),
	cmocka_unit_test(test_libstdcxx),
	cmocka_unit_test(test_libcrypto),
};
#endif

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
