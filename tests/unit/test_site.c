/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Cheaper places for probes: the rule by hand-made code, each reason to stay, and jumps from
 * elsewhere at every distance.
 *
 * Only on x86_64: its code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elf/site.h"

#define BASE  0x400000u
#define ENTRY 0x1000u /* of the function in the file's code */
#define SIZE  0x2000u

static struct insn_decoder *decoder;
static u8 code[SIZE];
static const struct site_code file = { code, SIZE, BASE };

static int open_decoder(void **state)
{
	struct err e;

	(void)state;
	decoder = insn_decoder_open(&e);
	return decoder ? 0 : -1;
}

static int close_decoder(void **state)
{
	(void)state;
	insn_decoder_close(decoder);
	return 0;
}

/* A file of nops with this function in it. */
static struct site make(const char *bytes, size_t n)
{
	memset(code, 0x90, sizeof(code));
	memcpy(code + ENTRY, bytes, n);
	return (struct site){ .entry = BASE + ENTRY, .size = n };
}

#define MAKE(bytes) make(bytes, sizeof(bytes) - 1)

static void strike_all(struct site *s)
{
	sites_sort(s, 1);
	sites_strike_code(s, 1, &file, decoder);
}

/* Where the probe of a function of these bytes goes. */
static u32 moved(const char *bytes, size_t n, bool nop5)
{
	struct site s = make(bytes, n);

	assert_false(site_is_cheap(&s, &file, nop5));
	site_propose(&s, &file, decoder, nop5);
	strike_all(&s);
	assert_true(s.moved != 0 || s.why);
	return s.moved;
}

#define MOVED(bytes)      moved(bytes, sizeof(bytes) - 1, false)
#define MOVED_NOP5(bytes) moved(bytes, sizeof(bytes) - 1, true)

static void test_cheap(void **state)
{
	static const char *const cheap[] = { "\x50",         "\x41\x57",        "\x90",
		                             "\xeb\x05",     "\x74\x05",        "\xe8\1\0\0\0",
		                             "\xe9\1\0\0\0", "\x0f\x84\1\0\0\0" };
	static const u8 sizes[] = { 1, 2, 1, 2, 2, 5, 5, 6 };
	static const u8 nop[] = { 0x0f, 0x1f, 0x44, 0, 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cheap); i++) {
		assert_true(insn_is_cheap((const u8 *)cheap[i], sizes[i], false));
		assert_false(insn_is_cheap((const u8 *)cheap[i], sizes[i] - 1u, false));
	}
	assert_true(insn_is_cheap(nop, 5, true));
	assert_false(insn_is_cheap(nop, 5, false));
	assert_false(insn_is_cheap(nop, 4, true));
	assert_false(insn_is_cheap((const u8 *)"\x66\x90", 2, true)); /* old kernels refuse it */
	assert_false(insn_is_cheap((const u8 *)"\xf3\x0f\x1e\xfa", 4, true));
	assert_false(insn_is_cheap((const u8 *)"\xc3", 1, true));
}

/* What the kernel takes for `out`, `jle`, `jp`, a call, a return, `popf` and a prefix of old; and
 * what it takes for nothing else. */
static void test_mistaken(void **state)
{
	static const char *const mistaken[] = {
		"\xc5\xf9\xef\xc0",     "\xc5\xf9\x7e\xc0",     "\x62\xe2\x7d\x28\x7a\xc6",
		"\xc4\xc1\x71\xe8\xc1", "\xc5\xf0\xc2\xd1\x00", "\xc4\xe2\x71\x9d\xd1",
		"\x65\xc5\xf9\x6f\x00",
	};
	static const char *const others[] = {
		"\xc5\xf8\x10\x04\x24", /* vmovups (%rsp),%xmm0 */
		"\xc5\xf8\x57\xc0",     /* vxorps: `push` is told by its length */
		"\x66\x0f\x7e\xc0",     /* movd */
		"\x66\x0f\xef\xc0",     /* pxor */
		"\x7e\x05",             /* jle */
	};
	static const u8 ends[] = { 2, 2, 4, 3, 2, 3, 3 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(mistaken); i++) {
		assert_true(insn_is_mistaken((const u8 *)mistaken[i], ends[i] + 1u));
		for (u32 n = 0; n <= ends[i]; n++)
			assert_false(insn_is_mistaken((const u8 *)mistaken[i], n));
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(insn_is_mistaken((const u8 *)others[i], strlen(others[i])));
}

static void test_moves(void **state)
{
	(void)state;
	/* test %rdi,%rdi; je +1; push %rbx; ret */
	assert_int_equal(MOVED("\x48\x85\xff\x74\x01\x53\xc3"), 3);
	/* endbr64; push %rbp; ret */
	assert_int_equal(MOVED("\xf3\x0f\x1e\xfa\x55\xc3"), 4);
	/* mov %rdi,%rax; xor %r10d,%r10d; call +0; ret */
	assert_int_equal(MOVED("\x48\x89\xf8\x45\x31\xd2\xe8\0\0\0\0\xc3"), 6);
	/* lea 8(%rdi,%rsi,4),%r11; jmp +0; ret */
	assert_int_equal(MOVED("\x4c\x8d\x5c\xb7\x08\xeb\x00\xc3"), 5);
	/* cmpb $0,0x100(%rip); je +0; ret */
	assert_int_equal(MOVED("\x80\x3d\0\1\0\0\0\x74\0\xc3"), 7);
	/* mov 8(%rsp),%rax; nop; ret */
	assert_int_equal(MOVED("\x48\x8b\x44\x24\x08\x90\xc3"), 5);
	/* mov %fs:0x28,%rax; nop; ret */
	assert_int_equal(MOVED("\x64\x48\x8b\x04\x25\x28\0\0\0\x90\xc3"), 9);
	/* nopw; push: a nop that may be expensive is passed over */
	assert_int_equal(MOVED("\x66\x90\x55\xc3"), 2);
	/* vpbroadcastb %esi,%ymm16; mov %edi,%eax; push: vectors are not looked at */
	assert_int_equal(MOVED("\x62\xe2\x7d\x28\x7a\xc6\x89\xf8\x55\xc3"), 8);
	/* vpxor %xmm0,%xmm0,%xmm0; push */
	assert_int_equal(MOVED("\xc5\xf9\xef\xc0\x55\xc3"), 4);
	assert_int_equal(MOVED("\x0f\x57\xc0\x90\xc3"), 3); /* xorps %xmm0,%xmm0; nop */
	/* kmovd %k0,%eax; push. Not: vaddps, which can trap; vmovups (%rdi), which can fail */
	assert_int_equal(MOVED("\xc5\xfb\x93\xc0\x55\xc3"), 4);
	assert_int_equal(MOVED("\xc5\xf0\x58\xd1\x55\xc3"), 0);
	assert_int_equal(MOVED("\xc5\xf8\x10\x07\x55\xc3"), 0);
	/* vmovd %xmm0,%edx: an argument */
	assert_int_equal(MOVED("\xc5\xf9\x7e\xc2\x55\xc3"), 0);
	/* test %edi,%edi; nop5; push: the nop is one the kernel knows or not */
	assert_int_equal(MOVED("\x85\xff\x0f\x1f\x44\0\0\x55\xc3"), 7);
	assert_int_equal(MOVED_NOP5("\x85\xff\x0f\x1f\x44\0\0\x55\xc3"), 2);
}

#define GO(bytes) insn_go_start((const u8 *)(bytes), sizeof(bytes) - 1)

static void test_go(void **state)
{
	static const char huge[] =
		"\x49\x89\xe4\x49\x81\xec\xb8\x1b\0\0\x0f\x82\x0a\0\0\0\x4d\x3b\x66"
		"\x10\x76\x04\x48\x83\xec\x38\xe8\0\0\0\0\xe9\xdc\xff\xff\xff";

	(void)state;
	/* cmp 16(%r14),%rsp; jbe +2; push %rbp; ret; call; jmp back */
	assert_int_equal(GO("\x49\x3b\x66\x10\x76\x02\x55\xc3\xe8\0\0\0\0\xeb\xf1"), 6);
	/* lea -0x20(%rsp),%r12; cmp 16(%r14),%r12; jbe +5; sub $0x38,%rsp; ret; call; jmp back */
	assert_int_equal(
		GO("\x4c\x8d\x64\x24\xe0\x4d\x3b\x66\x10\x76\x05\x48\x83\xec\x38\xc3\xe8\0\0\0"
	           "\0\xeb\xe9"),
		11);
	/* mov %rsp,%r12; sub $0x1bb8,%r12; jb; cmp; jbe +4; sub $0x38,%rsp; call; jmp back */
	assert_int_equal(GO(huge), 22);
	for (u32 n = 0; n < sizeof(huge) - 1; n++) { /* cut anywhere, it has no jump back */
		u8 *cut = malloc(n + 1);

		memcpy(cut, huge, n);
		assert_int_equal(insn_go_start(cut, n), 0);
		free(cut);
	}
	/* A frame of 128 bytes: add $-128,%rsp */
	assert_int_equal(GO("\x49\x3b\x66\x10\x76\x04\x48\x83\xc4\x80\xe8\0\0\0\0\xeb\xef"), 6);
	/* No jump back to the entry; one branch backwards; another register; no frame. */
	assert_int_equal(GO("\x49\x3b\x66\x10\x76\x02\x55\xc3\xe8\0\0\0\0\xeb\xf2"), 0);
	assert_int_equal(GO("\x49\x3b\x66\x10\x76\xfa\x55\xc3\xe8\0\0\0\0\xeb\xf1"), 0);
	assert_int_equal(GO("\x49\x3b\x67\x10\x76\x02\x55\xc3\xe8\0\0\0\0\xeb\xf1"), 0);
	assert_int_equal(GO("\x49\x3b\x66\x10\x76\x02\x90\xc3\xe8\0\0\0\0\xeb\xf1"), 0);
}

static void test_stays(void **state)
{
	(void)state;
	/* mov %rsi,%rdi; nop */
	assert_int_equal(MOVED("\x48\x89\xf7\x90\xc3"), 0);
	assert_int_equal(MOVED("\x31\xc9\x90\xc3"), 0);             /* xor %ecx,%ecx */
	assert_int_equal(MOVED("\x48\x83\xec\x08\x90\xc3"), 0);     /* sub $8,%rsp */
	assert_int_equal(MOVED("\x48\x89\xe5\x90\xc3"), 0);         /* mov %rsp,%rbp */
	assert_int_equal(MOVED("\x48\x89\xfb\x90\xc3"), 0);         /* mov %rdi,%rbx */
	assert_int_equal(MOVED("\x58\x90\xc3"), 0);                 /* pop %rax */
	assert_int_equal(MOVED("\x48\x89\x07\x90\xc3"), 0);         /* mov %rax,(%rdi) */
	assert_int_equal(MOVED("\x48\x8b\x07\x90\xc3"), 0);         /* mov (%rdi),%rax */
	assert_int_equal(MOVED("\x48\x8b\x44\xfc\x08\x90\xc3"), 0); /* 8(%rsp,%rdi,8) */
	assert_int_equal(MOVED("\x64\x48\x8b\x07\x90\xc3"), 0);     /* %fs:(%rdi) */
	assert_int_equal(MOVED("\xf6\xf1\x90\xc3"), 0);             /* div %cl */
	assert_int_equal(MOVED("\x0f\x20\xc0\x90\xc3"), 0);         /* mov %cr0,%rax */
	assert_int_equal(MOVED("\x8e\xe0\x90\xc3"), 0);             /* mov %eax,%fs */
	assert_int_equal(MOVED("\x0f\xa2\x90\xc3"), 0);             /* cpuid */
	assert_int_equal(MOVED("\x0f\xae\xf0\x90\xc3"), 0);         /* mfence */
	assert_int_equal(MOVED("\xf4\x90\xc3"), 0);                 /* hlt */
	assert_int_equal(MOVED("\x0f\x05\x90\xc3"), 0);             /* syscall */
	assert_int_equal(MOVED("\xcc\x90\xc3"), 0);                 /* int3 */
	assert_int_equal(MOVED("\xff\xd0\x90\xc3"), 0);             /* call *%rax */
	assert_int_equal(MOVED("\xf3\xa4\x90\xc3"), 0);             /* rep movsb */
	assert_int_equal(MOVED("\xc3\x90"), 0);                     /* ret */
	assert_int_equal(MOVED("\xe3\x00\x90\xc3"), 0);             /* jrcxz */
	assert_int_equal(MOVED("\x06\x90\xc3"), 0);                 /* no instruction */
	/* Nothing cheap before the end, or within so many instructions. */
	assert_int_equal(MOVED("\x31\xc0\x31\xc0"), 0);
	assert_int_equal(MOVED("\x31\xc0\x31\xc0\x31\xc0\x31\xc0\x31\xc0\x31\xc0\x31\xc0\x31\xc0"
	                       "\x31\xc0\x90\xc3"),
	                 0);
	/* Further down: what can not be decoded, a jump through a register, one to the second
	 * step. */
	assert_int_equal(MOVED("\x31\xc0\x90\x06\xc3"), 0);
	assert_int_equal(MOVED("\x31\xc0\x90\xff\xe0"), 0);
	assert_int_equal(MOVED("\x31\xc0\x90\xeb\xfd"), 0);
	/* ... while one to the entry is a call like any other. */
	assert_int_equal(MOVED("\x31\xc0\x90\xeb\xfb"), 2);
}

static void test_function_cut(void **state)
{
	struct site s = MAKE("\x31\xc0\x90\xc3");

	(void)state;
	s.size = 0;
	site_propose(&s, &file, decoder, false);
	assert_int_equal(s.moved, 0);
	s.size = SIZE;
	site_propose(&s, &file, decoder, false);
	assert_int_equal(s.moved, 0);
	s.entry = BASE + SIZE;
	assert_false(site_is_cheap(&s, &file, false));
	site_propose(&s, &file, decoder, false);
	assert_int_equal(s.moved, 0);
	assert_non_null(s.why);
}

/* push %r12; push %rbp; cmp $1,%edi; then a byte that is no instruction, and nops. */
static void test_begins(void **state)
{
	static const bool begins[] = { true, false, true, true, false, false, true, true, true };
	struct site s = MAKE("\x41\x54\x55\x83\xff\x01\x06");

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(begins); i++)
		assert_int_equal(site_begins(&file, decoder, s.entry, s.entry + i), begins[i]);
}

/* xor %eax,%eax; nop; ret */
static struct site proposed(void)
{
	struct site s = MAKE("\x31\xc0\x90\xc3");

	site_propose(&s, &file, decoder, false);
	assert_int_equal(s.moved, 2);
	return s;
}

/* Puts a jump of `head` and `width` bytes of distance at `at`, to the function's byte `to`. */
static void put_jump(u32 at, const char *head, u32 width, u32 to)
{
	u32 n = (u32)strlen(head);
	s32 distance = (s32)(ENTRY + to) - (s32)(at + n + width);

	for (u32 i = 0; i < n; i++)
		code[at + i] = (u8)head[i];
	memcpy(code + at + n, &distance, width);
}

static u32 after_jump(u32 at, const char *head, u32 width, u32 to)
{
	struct site s = proposed();

	put_jump(at, head, width, to);
	strike_all(&s);
	return s.moved;
}

/* Jumps of four bytes from everywhere: all lanes of the search, and its tail. */
static void test_far_jumps(void **state)
{
	static const char *const heads[] = { "\xe8", "\xe9", "\x0f\x85", "\x48\x8d\x05" };

	(void)state;
	for (u32 at = 0; at < SIZE - 8; at++) {
		const char *head = heads[at % ARRAY_SIZE(heads)];

		if (at + 8 > ENTRY && at < ENTRY + 4)
			continue;
		assert_int_equal(after_jump(at, head, 4, 2), 0);
		assert_int_equal(after_jump(at, head, 4, 0), 2); /* to the entry: a call */
		assert_int_equal(after_jump(at, head, 4, 3), 2); /* after it: nothing to us */
	}
	assert_int_equal(after_jump(SIZE - 5, "\xe9", 4, 2), 0);
}

static void test_near_jumps(void **state)
{
	(void)state;
	for (u32 at = ENTRY - 124; at <= ENTRY - 2; at++) {
		assert_int_equal(after_jump(at, "\xeb", 1, 2), 0);
		assert_int_equal(after_jump(at, "\x75", 1, 0), 2);
	}
	for (u32 at = ENTRY + 4; at <= ENTRY + 126; at++)
		assert_int_equal(after_jump(at, "\x7f", 1, 2), 0);
}

static void test_symbols_and_neighbours(void **state)
{
	static const u8 again[] = { 0x31, 0xc0, 0x90, 0xc3 };
	struct site v[3];

	(void)state;
	v[0] = proposed();
	sites_strike(v, 1, BASE + ENTRY, "itself");
	sites_strike(v, 1, BASE + ENTRY + 1, "in the middle of an instruction");
	sites_strike(v, 1, BASE + ENTRY + 3, "behind");
	sites_strike(v, 1, 1, "elsewhere");
	assert_int_equal(v[0].moved, 2);
	/* Three sites, two of them on one function; what hits the function hits both. */
	memcpy(code + ENTRY + 16, again, sizeof(again));
	v[1] = (struct site){ .entry = BASE + ENTRY + 16, .size = 4 };
	site_propose(&v[1], &file, decoder, false);
	v[2] = v[0];
	sites_sort(v, 3);
	assert_true(v[0].entry == v[1].entry && v[2].entry == BASE + ENTRY + 16);
	sites_strike(v, 3, BASE + ENTRY + 2, "a reason");
	assert_int_equal(v[0].moved, 0);
	assert_string_equal(v[1].why, "a reason");
	assert_int_equal(v[2].moved, 2);
	assert_null(v[2].why);
}

/* The bytes that a jump of 5 bytes lies on; 0 where something may lead into them. */
static u32 covered(const char *bytes, size_t n, u64 symbol)
{
	struct site s = make(bytes, n);

	site_cover(&s, &file, decoder, 5);
	sites_sort(&s, 1);
	sites_strike_code(&s, 1, &file, decoder);
	sites_strike(&s, 1, symbol, "a symbol");
	assert_true(!s.moved == !!s.why);
	return s.moved;
}

#define COVERED(bytes) covered(bytes, sizeof(bytes) - 1, 0)

static void test_covered(void **state)
{
	/* push %rbp; mov %rsp, %rbp; sub $16, %rsp; ... ret */
	static const char start[] = "\x55\x48\x89\xe5\x48\x83\xec\x10\x90\xc3";

	(void)state;
	assert_int_equal(COVERED("\x55\x48\x89\xe5\x48\x83\xec\x10\x90\xc3"), 8);
	/* One instruction is all: nothing can lead into it. */
	assert_int_equal(COVERED("\x80\x3d\x10\x00\x00\x00\x00\xeb\xf7"), 7);
	/* jmp back to the mov; to the entry; to the end of the stretch */
	assert_int_equal(COVERED("\x55\x48\x89\xe5\x48\x83\xec\x10\xeb\xf7"), 0);
	assert_int_equal(COVERED("\x55\x48\x89\xe5\x48\x83\xec\x10\xeb\xf6"), 8);
	assert_int_equal(COVERED("\x55\x48\x89\xe5\x48\x83\xec\x10\x90\xeb\xfd"), 8);
	/* jmp *%rax may lead anywhere. */
	assert_int_equal(COVERED("\x55\x48\x89\xe5\x48\x83\xec\x10\xff\xe0"), 0);
	assert_int_equal(COVERED("\x90\xc3"), 0); /* too short */
	assert_int_equal(covered(start, sizeof(start) - 1, BASE + ENTRY), 8);
	assert_int_equal(covered(start, sizeof(start) - 1, BASE + ENTRY + 1), 0);
	assert_int_equal(covered(start, sizeof(start) - 1, BASE + ENTRY + 8), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cheap),        cmocka_unit_test(test_mistaken),
		cmocka_unit_test(test_moves),        cmocka_unit_test(test_go),
		cmocka_unit_test(test_stays),        cmocka_unit_test(test_begins),
		cmocka_unit_test(test_function_cut), cmocka_unit_test(test_far_jumps),
		cmocka_unit_test(test_near_jumps),   cmocka_unit_test(test_symbols_and_neighbours),
		cmocka_unit_test(test_covered),
	};

	return cmocka_run_group_tests(tests, open_decoder, close_decoder);
}
