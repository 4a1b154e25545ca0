/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * arm64. struct pt_regs: arch/arm64/include/uapi/asm/ptrace.h; C: AAPCS64 6; Go: its ABIInternal;
 * relocations: ELF for AArch64 5.7; registers in DWARF: DWARF for AArch64 4.1; signal frames:
 * struct rt_sigframe and arch/arm64/include/uapi/asm/sigcontext.h.
 */
#include "arch/arch.h"

#if defined(__aarch64__)

#include <elf.h>
#include <linux/hw_breakpoint.h>
#include <linux/version.h>
#include <sys/auxv.h>
#include <unistd.h>

static const char *const ints[] = { "x0", "x1", "x2",  "x3",  "x4",  "x5",  "x6",  "x7",
	                            "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15" };

_Static_assert(ARRAY_SIZE(ints) <= ARCH_INTS, "pieces of a value");

/* What insn_is_harmless() lets an instruction change, x9 to x17, is not kept. */
static const struct arch_reg regs[] = {
	{ "x0", 0, true },        { "x1", 8, true },     { "x2", 16, true },
	{ "x3", 24, true },       { "x4", 32, true },    { "x5", 40, true },
	{ "x6", 48, true },       { "x7", 56, true },    { "x8", 64, true },
	{ "x9", 72, false },      { "x10", 80, false },  { "x11", 88, false },
	{ "x12", 96, false },     { "x13", 104, false }, { "x14", 112, false },
	{ "x15", 120, false },    { "x16", 128, false }, { "x17", 136, false },
	{ "x18", 144, true },     { "x19", 152, true },  { "x20", 160, true },
	{ "x21", 168, true },     { "x22", 176, true },  { "x23", 184, true },
	{ "x24", 192, true },     { "x25", 200, true },  { "x26", 208, true },
	{ "x27", 216, true },     { "x28", 224, true },  { "x29", 232, true },
	{ "x30", 240, true },     { "fp", 232, true },   { "lr", 240, true },
	{ "sp", 248, true },      { "pc", 256, false },  { "ip", 256, false },
	{ "pstate", 264, false },
};

static const char *const library_dirs[] = {
	"/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/usr/local/lib",
	"/lib",
	"/usr/lib",
	NULL,
};

static const char *const levels[] = { NULL };

/* Registers as DWARF numbers them. */
#define X29 29
#define X30 30
#define SP  31

/* Below a signal's frame lies struct siginfo, 128 bytes, and 176 of struct ucontext. */
#define MCONTEXT (128 + 176)

const struct arch arch = {
	.name = "arm64",
	.regs = regs,
	.n_regs = ARRAY_SIZE(regs),
	.ip = 256,
	.sp = 248,
	.fp = 232,
	.link = 240,
	.result = 0,
	/* The low bit of the exception level's name: its own stack pointer, which only the kernel
	 * runs with. */
	.user_at = 264,
	.user_mask = 1,
	.user_is_clear = true,
	.user_code = 0, /* PSR_MODE_EL0t */
	.user_code_mask = 0x1f,
	.c = { .ints = ints,
	       .n_ints_word = "eight",
	       .n_ints = 8,
	       .n_floats = 8,
	       .results = ints,
	       .n_results = 2,
	       .n_float_results = 4 },
	.go = { .ints = ints,
	        .n_ints_word = "sixteen",
	        .n_ints = 16,
	        .n_floats = 16,
	        .results = ints,
	        .n_results = 16,
	        .stack_at = 8 },
	.frames = { .sp = SP,
	            .fp = X29,
	            .ra = X30,
	            .plt_slot = 16,
	            .signal_sp = MCONTEXT + 8 + 31 * 8,
	            .signal_fp = MCONTEXT + 8 + X29 * 8,
	            .signal_link = MCONTEXT + 8 + X30 * 8 },
	.rel_relative = R_AARCH64_RELATIVE,
	.rel_function = R_AARCH64_JUMP_SLOT,
	.rel_data = R_AARCH64_GLOB_DAT,
	.trampolines = KERNEL_VERSION(6, 4, 0),
	.watches = 1u << HW_BREAKPOINT_R | 1u << HW_BREAKPOINT_W | 1u << HW_BREAKPOINT_RW |
	           1u << HW_BREAKPOINT_X,
	.libraries = { .dirs = library_dirs,
	               .levels = levels,
	               .cache_flags = 0x0a03, /* ELF for glibc 2, AArch64 of 64 bits */
	               .lib = "lib/aarch64-linux-gnu",
	               .musl_path = "/etc/ld-musl-aarch64.path" },
};

/* 4, 16 or 64 KB. */
u32 arch_page(void)
{
	return (u32)getpagesize();
}

/*
 * A return address may be signed: the signature is in the bits above those of user addresses, of
 * which there are 39 to 48 as the kernel was built. The stack lies at their top, and AT_RANDOM on
 * it. Addresses of 52 bits are only given to who asks for them.
 */
u64 arch_return_mask(void)
{
	u64 top = getauxval(AT_RANDOM);
	u32 bits = top ? 64 - (u32)__builtin_clzll(top) : 48;

	return (1ull << MAX(bits, 39u)) - 1;
}

/* Linkers describe none. */
s32 arch_plt_cfa(const u8 *expression, size_t n)
{
	(void)expression;
	(void)n;
	return -1;
}

#endif
