/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the symbols and the DWARF of a stripped file are.
 */
#ifndef SYM_DEBUGFILE_H
#define SYM_DEBUGFILE_H

#include "base/buf.h"

struct elf;

/* How a file is reached. */
struct debugfile_place {
	const char *root; /* of the file system that holds it, as "/proc/12/root"; "" is ours */
	const char *name; /* its path below that root, "" when not known */
	bool fetch;       /* for source lines: a server may be asked for the debug file */
};

/* Directories, with ':' or ',' between them, in which debug files are looked for first. For the
 * whole program, before threads are started; the text is kept. */
void debugfile_set_dirs(const char *list);
/* Path of the file that belongs to `f`: by build id and by debug link (checked), in the user's
 * directories, below its own root, then below ours. False when there is none. */
bool debugfile_find(struct elf *f, const struct debugfile_place *where, struct buf *path);

#endif
