/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * USDT probes with every kind of operand a compiler writes into a note: registers of one, two,
 * four and eight bytes, signed and unsigned, memory at a register and at rip, constants,
 * the same probe at sites that differ, a semaphore, and quotes in its names. `./probes N` runs
 * each N times; `./probes N wait` first waits for a line on stdin.
 *
 * One probe's arguments are handed over in inline assembly, so that its operands do not depend
 * on the compiler's mood.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEMAPHORE __attribute__((section(".probes"), used))
SEMAPHORE unsigned short demo_small_semaphore;
SEMAPHORE unsigned short demo_wide_semaphore;
SEMAPHORE unsigned short demo_text_semaphore;
SEMAPHORE unsigned short demo_site_semaphore;
SEMAPHORE unsigned short demo_guarded_semaphore;
SEMAPHORE unsigned short demo_fixed_semaphore;
SEMAPHORE unsigned short demo_many_semaphore;

static volatile int64_t global = 77;
static unsigned long guarded;

/* Sign and size: the values do not fit into the next smaller type, the signed ones are negative. */
__attribute__((noipa)) static void small(int8_t a, uint8_t b, int16_t c, uint16_t d)
{
	DTRACE_PROBE4(demo, small, a, b, c, d);
}

__attribute__((noipa)) static void wide(int32_t a, uint32_t b, int64_t c, uint64_t d)
{
	DTRACE_PROBE4(demo, wide, a, b, c, d);
}

__attribute__((noipa)) static void text(const char *s, size_t n)
{
	DTRACE_PROBE2(demo, text, s, n);
}

/* Three sites of one probe: a constant, memory, a register. */
__attribute__((noipa)) static void sites(int64_t i)
{
	volatile int64_t on_stack = 1000 + i;

	DTRACE_PROBE2(demo, site, 1, -1);
	DTRACE_PROBE2(demo, site, 2, on_stack);
	DTRACE_PROBE2(demo, site, 3, global);
}

/* Work done only while a tracer wants it. */
__attribute__((noinline)) static void costly(void)
{
	if (demo_guarded_semaphore) {
		guarded++;
		DTRACE_PROBE1(demo, guarded, guarded);
	}
}

__attribute__((noinline)) static void many(void)
{
	DTRACE_PROBE12(demo, many, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
}

/*
 * A note by hand, with operands a compiler seldom picks: parts of registers, a place below the
 * stack pointer, scaled index, a global, and constants of both signs.
 */
#if defined(__x86_64__)
#define BELOW    "movq $55, -16(%%rsp)\n"
#define OPERANDS "1@%%cl -2@%%dx 8@-16(%%rsp) 8@(%%rsi,%%rdi,8) 8@global(%%rip) -4@$-5 4@$7"
#define NINE     "-4@$9"
#define SPARE    "r9"
#define R1       "rcx"
#define R2       "rdx"
#define R3       "rsi"
#define R4       "rdi"
#define R5       "r8"
#else
#define BELOW    "mov x9, 55\nstr x9, [sp, -16]\n"
#define OPERANDS "1@w1 -2@w2 8@[sp, -16] 8@[x3, x4, lsl 3] 8@[x5] -4@-5 4@7"
#define NINE     "-4@9"
#define SPARE    "x9"
#define R1       "x1"
#define R2       "x2"
#define R3       "x3"
#define R4       "x4"
#define R5       "x5"
#endif
__attribute__((noinline)) static void fixed(void)
{
	static const int64_t table[4] = { 100, 200, 300, 400 };
	register unsigned long r1 __asm__(R1) = 0x1ff;
	register long r2 __asm__(R2) = -3;
	register const int64_t *r3 __asm__(R3) = table;
	register unsigned long r4 __asm__(R4) = 2;
	register const void *r5 __asm__(R5) = (const void *)&global;

	__asm__ volatile(BELOW "990: nop\n"
	                       ".pushsection .note.stapsdt,\"\",\"note\"\n"
	                       ".balign 4\n"
	                       ".4byte 992f-991f, 994f-993f, 3\n"
	                       "991: .asciz \"stapsdt\"\n"
	                       "992: .balign 4\n"
	                       "993: .8byte 990b\n"
	                       ".8byte _.stapsdt.base\n"
	                       ".8byte demo_fixed_semaphore\n"
	                       ".asciz \"demo\"\n"
	                       ".asciz \"fixed\"\n"
	                       ".asciz \"" OPERANDS "\"\n"
	                       "994: .balign 4\n"
	                       ".popsection\n"
	                 :
	                 : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "m"(global)
	                 : SPARE, "memory");
}

__attribute__((noinline)) static void quoted(void)
{
	__asm__ volatile("990: nop\n"
	                 ".pushsection .note.stapsdt,\"\",\"note\"\n"
	                 ".balign 4\n"
	                 ".4byte 992f-991f, 994f-993f, 3\n"
	                 "991: .asciz \"stapsdt\"\n"
	                 "992: .balign 4\n"
	                 "993: .8byte 990b, _.stapsdt.base, 0\n"
	                 ".asciz \"\\\"demo\\\"\"\n"
	                 ".asciz \"\\\"quoted\\\"\"\n"
	                 ".asciz \"" NINE "\"\n"
	                 "994: .balign 4\n"
	                 ".popsection\n");
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	const char *words[] = { "alpha", "beta", "gamma" };

	if (argc > 2 && !strcmp(argv[2], "wait"))
		getchar();
	for (unsigned long i = 0; i < n; i++) {
		small(-5, 250, -300, 65000);
		wide(-70000, 4000000000u, -5000000000l, 18000000000000000000ul);
		text(words[i % 3], strlen(words[i % 3]));
		sites((int64_t)i);
		costly();
		many();
		fixed();
		quoted();
	}
	printf("%lu guarded\n", guarded);
	return 0;
}
