/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses to names. Kernel symbols are read on first use; a process's maps are read on
 * first sight of the process and kept, and the symbol table of a file on first use of the file.
 */
#ifndef SYM_SYM_H
#define SYM_SYM_H

#include "base/buf.h"

struct sym;

struct sym *sym_new(void);
void sym_free(struct sym *s);

/* "name+off", unresolved "0x..." */
void sym_kernel(struct sym *s, struct buf *b, u64 addr);
/* As bpftrace prints it: "malloc+0", unresolved "0x7f...". *module gets the file's path or "",
 * valid until the next call; it may be NULL. */
void sym_user(struct sym *s, struct buf *b, u32 pid, u64 addr, const char **module);
/* The name alone, without "+off": what ksym() and usym() print. */
void sym_kernel_name(struct sym *s, struct buf *b, u64 addr);
void sym_user_name(struct sym *s, struct buf *b, u32 pid, u64 addr);
/* Reads (again) the maps of a process now, so that its addresses can be named after it has
 * ended. Cheap when nothing changed; silently does nothing when it is gone. */
void sym_note_process(struct sym *s, u32 pid);

#endif
