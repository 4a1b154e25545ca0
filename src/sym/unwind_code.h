/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unwind rows for code that nothing describes, from its instructions.
 */
#ifndef SYM_UNWIND_CODE_H
#define SYM_UNWIND_CODE_H

#include "elf/ehframe.h"
#include "elf/elf.h"
#include "arch/insn.h"

/*
 * Fills the gaps of a file's rows that are code, rows->v may be empty. Distances count from `base`,
 * as in the rows. *decoder is opened when it is first needed; the caller closes it. Does nothing
 * where instructions can not be decoded on this machine (a library is not there), or where so much
 * is described by nothing that it is no oversight.
 */
void unwind_code_fill(struct elf *f, u64 base, struct insn_decoder **decoder,
                      struct ehframe_rows *rows);

#endif
