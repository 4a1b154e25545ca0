/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of a process that lead elsewhere from their first instruction on: a jump there, in
 * stand-ins for their pages (room.h), and the instructions that it lies on moved to where it comes
 * from in the end. Pure: bytes of a file in, bytes out.
 *
 *      function                         code put in
 *      +---------------------+          +----------------------+
 *      | jump ---------------|--------->| whatever is to happen |
 *      | (rest of what moved)|          | instructions moved    |
 *      | next instruction <--|----------| jump                  |
 *      | ...                 |          +----------------------+
 */
#ifndef INJECT_HOOK_H
#define INJECT_HOOK_H

#include "arch/insn.h"
#include "elf/elf.h"

/* Bytes of moved instructions and the jump after them, at most. */
#define HOOK_MOVED 160u
#define HOOK_STEPS 8u /* one more than instructions that a jump lies on */

/* A function; addresses are virtual addresses of its file, `bias` is where the process has it. */
struct hook {
	/* In. */
	struct elf *f;
	u64 bias;
	u64 entry, size;
	/* Out: bytes at the entry that the jump lies on, whole instructions; 0, and why not. */
	u32 length;
	const char *why;
};

/* Whether and how functions can be hooked: nothing in their file may lead into the bytes but to the
 * first one. Those of one file follow one another. */
void hook_look(const struct insn_decoder *d, struct hook *v, u32 n);
/* Which instruction went where: bytes from the entry, and bytes written before it. Where the moved
 * ones go on in the function counts as one of them. */
struct hook_steps {
	u8 n;
	u8 from[HOOK_STEPS], to[HOOK_STEPS];
};

/* Writes what runs at `at`, in the process: the function from its entry on. Bytes written; 0, and
 * *why, when an instruction can not be moved. */
u32 hook_move(const struct insn_decoder *d, const struct hook *h, u64 at, u8 out[HOOK_MOVED],
              struct hook_steps *steps, const char **why);
/* Whether `bytes`, what the process has in the function's page at `at`, is what the file has.
 * False and *why when others have changed it (a breakpoint, a uprobe), or when it is not all in
 * the file. */
bool hook_page_is_intact(const struct hook *h, u64 at, const u8 *bytes, const char **why);
/* Puts the part of the function's jump to `to` that lies in that page there. */
bool hook_jump(const struct hook *h, u64 to, u64 at, u8 *bytes);

#endif
