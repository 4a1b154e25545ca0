/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libbpf makes of an object's relocations, read from what it says while it loads the object
 * with another BTF as the kernel's. Whether the programs then load does not matter.
 */
#ifndef TESTS_CORE_ORACLE_H
#define TESTS_CORE_ORACLE_H

#include "base/buf.h"

struct oracle_relo {
	char text[128]; /* its own name for it */
	bool poison, patched, error;
	bool bad_width; /* poisoned, for the access would have to become wider or narrower */
	u64 value;
	u32 type;    /* the first candidate that fits */
	u32 matches; /* those that do */
};

struct oracle {
	struct oracle_relo *v;
	u32 n;
	bool loaded;
	char *log;
};

/* False when libbpf did not get as far as relocations. */
bool oracle_run(struct oracle *o, const void *object, size_t n, const char *btf_path);
void oracle_free(struct oracle *o);

/* An object of the build directory, tests/core/<name>. In programs whose section ends in "matches",
 * "type exists" becomes "type matches", which the compiler can not write. */
void oracle_object(struct buf *b, const char *name);
/* Path of such a file. */
const char *oracle_path(char *path, size_t n, const char *name);
/* target.o with a 64-bit enum added, in a new file; the caller removes it. */
void oracle_wide_target(char *path, size_t n);
/* Split BTF on target.o's: struct split_only { u32 x, y; }, and another struct twin. */
void oracle_split(struct buf *b);
/* BTF of a program's: enum64 wide { WIDE_A, WIDE_B }, and "0" and "1" among its strings. */
void oracle_wide_local(struct buf *b, u32 *enum_id, u32 access[2]);
/* A kernel of x86-64 that virtual machines run here, or NULL: those of arm64 are no ELF files. */
const char *oracle_other_kernel(char *path, size_t n);

#endif
