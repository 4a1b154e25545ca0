/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What memtap needs of an ELF file: function symbols and where their code lies in the
 * file, notes, the build id. Only 64-bit little-endian files.
 */
#ifndef ELF_ELF_H
#define ELF_ELF_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct elf;

struct elf_sym {
	const char *name; /* lives as long as the struct elf */
	u64 value;        /* virtual address */
	u64 size;
	u64 room;   /* bytes from value to the end of its section, given when size is 0 */
	u64 offset; /* file offset of value, valid when has_offset */
	bool has_offset;
	bool is_func;
};

/* NULL and *e for a missing, truncated or foreign file. "archive!/member" is a file that is stored
 * in a zip archive. */
struct elf *elf_open(const char *path, struct err *e);
/* Borrows the memory; `path` is only the name used in messages. */
struct elf *elf_open_memory(const void *p, size_t n, const char *path, struct err *e);
void elf_close(struct elf *f);
const char *elf_path(const struct elf *f);
/* The "!/member" of a path into an archive, NULL in other paths. */
const char *elf_in_archive(const char *path);
/* Bytes of the archive before it, 0 outside of archives: offsets count from there. */
u64 elf_base(const struct elf *f);
/* Address of the first instruction that runs, 0 none. */
u64 elf_entry(const struct elf *f);

/* All defined symbols of .symtab, then .dynsym (duplicates possible); cb false stops. Names of
 * 32 KiB and more are left out. */
void elf_each(struct elf *f, bool (*cb)(void *ctx, const struct elf_sym *s), void *ctx);
/* A function (or, without one, an object) by exact name; version suffixes "@..." are ignored. */
bool elf_find(struct elf *f, const char *name, struct elf_sym *out);
/* Virtual address <-> file offset by the program headers. */
bool elf_offset(struct elf *f, u64 vaddr, u64 *offset);
bool elf_vaddr(struct elf *f, u64 offset, u64 *vaddr);
/* Loadable segment i with bytes in the file; false after the last. */
struct elf_segment {
	u64 vaddr, offset, size;
};
bool elf_segment(const struct elf *f, u32 i, struct elf_segment *s);
/* The i-th segment of code, as far as the file holds it; false after the last. */
bool elf_code(struct elf *f, u32 i, const u8 **p, size_t *n, u64 *vaddr);
/* True for a position-independent executable or shared library. */
bool elf_is_pie(const struct elf *f);
/* The texts of .dynamic with a tag (DT_NEEDED, DT_RUNPATH, ...), in their order: the i-th from 0
 * on, NULL after the last. */
const char *elf_dynamic(struct elf *f, s64 tag, u32 i);
/* True for what is started as a program, false for a shared library, also for one that can be
 * started, as libc can: libraries have a name to be linked by (DT_SONAME). */
bool elf_is_program(struct elf *f);
/* The GNU build id as lower-case hex in buf; false when there is none. */
bool elf_build_id(struct elf *f, char buf[64]);
/* The same of notes as they stand in a segment. */
bool elf_build_id_in(const u8 *notes, size_t n, char buf[64]);
/* Bytes and address of a section by name, unpacked; false when absent or NOBITS. */
bool elf_section(struct elf *f, const char *name, const u8 **p, size_t *n, u64 *vaddr);

/* True when it has content, compressed or not. */
bool elf_has_section(struct elf *f, const char *name);

/* One record of a note section or segment; points into the section. */
struct elf_note {
	struct str name; /* n as in the file: counts the NUL */
	u32 type;
	const u8 *desc;
	u32 n;
};
/* Reads the note at *pos (start with 0) and moves *pos. False at the end; when the section ends
 * in the middle of a note, *pos is below n. */
bool elf_note_next(const u8 *p, size_t n, size_t *pos, struct elf_note *note);

#endif
