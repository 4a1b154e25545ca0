/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All names of one mapped file, from all sources.
 */
#ifndef SYM_SYMFILE_H
#define SYM_SYMFILE_H

#include "elf/elf.h"
#include "sym/debugfile.h"
#include "sym/lines.h"

struct symfile;

/* Reads the names of the file at `path`; `where` is needed to find its debug file. NULL when it is
 * missing or foreign. The file is closed again. */
struct symfile *symfile_read(const char *path, const struct debugfile_place *where);
/* The same for a file that lies in memory, such as the vdso. */
struct symfile *symfile_read_memory(const void *p, size_t n);
/* NULL is fine. */
void symfile_free(struct symfile *f);

/* The function whose code is at that file offset, and the distance from its start. Lives until the
 * next call; NULL when there is none. */
const char *symfile_name(struct symfile *f, u64 offset, bool demangled, u64 *off);
/* Virtual address, as the file's own headers count, of what is at a file offset. */
u64 symfile_vaddr(const struct symfile *f, u64 offset);
/* The segment that is at a file offset; NULL: none. */
const struct elf_segment *symfile_segment(const struct symfile *f, u64 offset);
/* Source lines of an address, see lines_find(). `path` is the file again. */
u32 symfile_lines(struct symfile *f, const char *path, const struct debugfile_place *where,
                  u64 vaddr, bool demangled, struct line_frame *out, u32 max);
/* Memory the names take. */
size_t symfile_bytes(const struct symfile *f);

#endif
