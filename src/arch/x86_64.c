/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * x86-64. struct pt_regs: arch/x86/include/asm/ptrace.h; C: System V AMD64 psABI 3.2.3; Go: its
 * ABIInternal; relocations: psABI 4.4.1; registers in DWARF: psABI 3.6.2; signal frames: struct
 * ucontext and arch/x86/include/uapi/asm/sigcontext.h.
 */
#include "arch/arch.h"

#if defined(__x86_64__)

#include <dwarf.h>
#include <elf.h>
#include <linux/hw_breakpoint.h>
#include <linux/version.h>
#include <string.h>

static const char *const c_ints[] = { "di", "si", "dx", "cx", "r8", "r9" };
static const char *const c_results[] = { "ax", "dx" };
static const char *const go_ints[] = { "ax", "bx", "cx", "di", "si", "r8", "r9", "r10", "r11" };

_Static_assert(ARRAY_SIZE(go_ints) <= ARCH_INTS, "pieces of a value");

/* Arguments and the stack pointer are kept on the way to a cheap place for a probe. */
static const struct arch_reg regs[] = {
	{ "r8", 72, true },         { "r9", 64, true },   { "r10", 56, false },
	{ "r11", 48, false },       { "r12", 24, false }, { "r13", 16, false },
	{ "r14", 8, false },        { "r15", 0, false },  { "ax", 80, false },
	{ "bx", 40, false },        { "cx", 88, true },   { "dx", 96, true },
	{ "si", 104, true },        { "di", 112, true },  { "bp", 32, false },
	{ "sp", 152, true },        { "ip", 128, false }, { "pc", 128, false },
	{ "cs", 136, false },       { "ss", 160, false }, { "flags", 144, false },
	{ "orig_rax", 120, false },
};

static const char *const library_dirs[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/usr/local/lib",
	"/lib",
	"/usr/lib",
	NULL,
};

static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4", NULL };

/* Registers as DWARF numbers them. */
#define RBP 6
#define RSP 7
#define RIP 16

/* The return address lies below the arguments on the stack. */
const struct arch arch = {
	.name = "x86-64",
	.regs = regs,
	.n_regs = ARRAY_SIZE(regs),
	.ip = 128,
	.sp = 152,
	.fp = 32,
	.result = 80,
	/* The privilege level in the code segment. */
	.user_at = 136,
	.user_mask = 3,
	.user_shift = 1,
	.user_code = 0x33, /* __USER_CS */
	.c = { .ints = c_ints,
	       .n_ints_word = "six",
	       .n_ints = ARRAY_SIZE(c_ints),
	       .n_floats = 8,
	       .results = c_results,
	       .n_results = ARRAY_SIZE(c_results),
	       .n_float_results = ARRAY_SIZE(c_results),
	       .result_address = "ax",
	       .stack_at = 8 },
	.go = { .ints = go_ints,
	        .n_ints_word = "nine",
	        .n_ints = ARRAY_SIZE(go_ints),
	        .n_floats = 15,
	        .results = go_ints,
	        .n_results = ARRAY_SIZE(go_ints),
	        .stack_at = 8 },
	.frames = { .sp = RSP,
	            .fp = RBP,
	            .ra = RIP,
	            .return_below = 8,
	            .plt_slot = 16,
	            .signal_sp = 160,
	            .signal_fp = 120 },
	.rel_relative = R_X86_64_RELATIVE,
	.rel_function = R_X86_64_JUMP_SLOT,
	.rel_data = R_X86_64_GLOB_DAT,
	.sys_uprobe = 336, /* Linux 6.18 */
	.trampolines = KERNEL_VERSION(5, 5, 0),
	.watches = 1u << HW_BREAKPOINT_W | 1u << HW_BREAKPOINT_RW | 1u << HW_BREAKPOINT_X,
	.libraries = { .dirs = library_dirs,
	               .levels = levels,
	               .cache_flags = 0x0303, /* ELF for glibc 2, x86-64 */
	               .lib = "lib/x86_64-linux-gnu",
	               .musl_path = "/etc/ld-musl-x86_64.path" },
};

u32 arch_page(void)
{
	return 4096;
}

/* They are not signed. */
u64 arch_return_mask(void)
{
	return UINT64_MAX;
}

/* ---- linkage tables ------------------------------------------------------------------------- */

/* "rsp + 8 + ((rip & 15) >= N) * 8": a slot pushes one word, at its byte N. */
s32 arch_plt_cfa(const u8 *e, size_t n)
{
	static const u8 head[] = { DW_OP_breg0 + RSP, 8,        DW_OP_breg0 + RIP, 0,
		                   DW_OP_lit15,       DW_OP_and };
	static const u8 tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	u8 lit;

	if (n != sizeof(head) + 1 + sizeof(tail) || memcmp(e, head, sizeof(head)) != 0 ||
	    memcmp(e + sizeof(head) + 1, tail, sizeof(tail)) != 0)
		return -1;
	lit = e[sizeof(head)];
	return lit >= DW_OP_lit0 && lit <= DW_OP_lit15 ? lit - DW_OP_lit0 : -1;
}

#endif
