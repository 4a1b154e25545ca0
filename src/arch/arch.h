/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The machine that programs run on, in five headers: registers and how they are used, numbers of
 * the kernel and of ELF (this one); where C's arguments are (calls.h); code (insn.h); operands of
 * the assembler (operand.h); vector instructions (bytes.h). The files MACHINE*.c define all of it.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include "base/base.h"
#include "base/str.h"

#define ARCH_INTS 16u /* registers that a convention has for integers, at most */

/* How functions are called. Registers are named as reg() names them. */
struct arch_calls {
	const char *const *ints; /* integers and pointers, in the order of arguments */
	const char *n_ints_word; /* their number as a word */
	u32 n_ints, n_floats;    /* registers for each */
	const char *const *results;
	u32 n_results, n_float_results;
	const char *result_address; /* at the return, of a result in memory; NULL: it is not kept */
	/* bytes above the stack pointer, at the entry, where arguments in memory start */
	u32 stack_at;
};

/* How frames lie on the stack, and which registers lead from one to the next (base/unwind.h). */
struct arch_frames {
	u8 sp, fp, ra; /* their numbers in DWARF; ra: the return address */
	/* bytes below the CFA where a call puts the return address; 0: it puts it into a register,
	 * and rows are those of UNWIND_LINK_* */
	u8 return_below;
	u8 plt_slot; /* bytes of a slot that UNWIND_PLT is about, a power of two */
	/* Where the kernel puts registers in a signal's frame, from the stack pointer on. The
	 * instruction pointer comes after the stack pointer. */
	s16 signal_sp, signal_fp, signal_link;
};

/* Where loaders find the machine's libraries. Of lists the last is NULL. */
struct arch_libraries {
	const char *const *dirs;   /* besides what the loader's cache says */
	const char *const *levels; /* below dirs' glibc-hwcaps/, for newer processors */
	u32 cache_flags;           /* in that cache (glibc, sysdeps/generic/ldconfig.h) */
	const char *lib;           /* what glibc puts for $LIB */
	const char *musl_path;     /* the file in which musl's loader finds its directories */
};

/* A register by its name for reg(): where struct pt_regs keeps it. */
struct arch_reg {
	const char *name;
	s16 at;
	bool kept; /* the same at a function's entry and at its first cheap place (elf/site.h) */
};

struct arch {
	const char *name;
	const struct arch_reg *regs;
	u32 n_regs;
	/* Byte offsets in the kernel's struct pt_regs. */
	s16 ip, sp, fp, result;
	s16 link; /* where a call leaves the return address, when frames.return_below is 0 */
	/* A register from which (value & user_mask) >> user_shift is 1 in user mode, else 0; the
	 * other way round with user_is_clear. */
	s16 user_at;
	u8 user_mask, user_shift;
	bool user_is_clear;
	s32 user_code;      /* and what it is in 64-bit code of the user: ... */
	u32 user_code_mask; /* ... of these bits, 0: all */
	struct arch_calls c, go;
	struct arch_frames frames;
	/* Types of dynamic relocations: an address in the file itself, of a function, of data. */
	u32 rel_relative, rel_function, rel_data;
	u32 sys_uprobe;  /* number of the system call uprobe(), 0: there is none */
	u32 watches;     /* bits 1 << HW_BREAKPOINT_*: what watchpoints of the processor can see */
	u32 trampolines; /* the KERNEL_VERSION() from which on functions have them */
	struct arch_libraries libraries;
};

extern const struct arch arch;

/* Bytes of a page of memory. Where kernels differ in it, the running one's. */
u32 arch_page(void);
/* Bits of a return address that say where it leads; others may be a signature. */
u64 arch_return_mask(void);
/* The machine's own system calls from 0 on, for str_nth(); "-" where a number has none. */
#define ARCH_SYSCALLS_COMMON 424
extern const char arch_syscalls[];
/* "read"; NULL for a number without a name. */
const char *arch_syscall_name(u64 n);
/* The kernel has the half of all addresses whose top bit is set; programs are compiled so, too. */
static inline bool arch_is_kernel(u64 address)
{
	return address >> 63;
}

/* The register of that name; NULL when there is none. */
const struct arch_reg *arch_reg(struct str name);

/* The CFA as linkers describe it for a slot of a PLT, an expression of DWARF: from which byte of
 * the slot on there is a word more on the stack. -1 for any other expression. */
s32 arch_plt_cfa(const u8 *expression, size_t n);

#endif
