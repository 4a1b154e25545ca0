/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The unwind rows of one file, as they are to be loaded: .eh_frame, else .debug_frame.
 */
#ifndef SYM_UNWIND_TABLE_H
#define SYM_UNWIND_TABLE_H

#include "elf/ehframe.h"
#include "arch/insn.h"

/* Where a file's code is: segments that are mapped executable. */
struct unwind_code {
	u64 offset, size; /* in the file */
	u64 vaddr;
};

#define UNWIND_CODES 8u

struct unwind_table {
	struct ehframe_rows rows; /* none when the file has no call frame information */
	u64 base;                 /* rows count from here */
	char build_id[64];        /* "" none */
	struct unwind_code code[UNWIND_CODES];
	u32 n_codes;
};

struct unwind_reading {
	struct insn_decoder **decoder; /* code that nothing describes is read too (unwind_code.h) */
	bool (*given_up)(const void *ctx); /* true: the rest is left out */
	const void *ctx;
};

/* False and *e for a file that can not be read; one without rows is fine. The caller frees. `how`
 * NULL: what is described, to its end. */
bool unwind_table_read(const char *path, const struct unwind_reading *how, struct unwind_table *t,
                       struct err *e);
/* The kernel's vdso, which is the same in every process: read from our own memory. */
bool unwind_table_vdso(const struct unwind_reading *how, struct unwind_table *t, struct err *e);
void unwind_table_free(struct unwind_table *t);
/* Only the build id, as unwind_table_read() finds it; cheap. */
bool unwind_table_build_id(const char *path, char build_id[64]);
/* The bytes of the file that are mapped where that code is. */
void unwind_table_mapped(const struct unwind_code *c, u64 *from, u64 *to);
/* The file's own address of a byte of its code, by its offset. */
bool unwind_table_vaddr(const struct unwind_table *t, u64 offset, u64 *vaddr);

#endif
