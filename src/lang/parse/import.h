/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * import "file.bt": the texts of other files after the script's own.
 */
#ifndef LANG_PARSE_IMPORT_H
#define LANG_PARSE_IMPORT_H

#include "lang/parse/ast.h"

/* An import that was written, its text not yet taken in. */
struct import {
	const char *path; /* real, or PACKED and the path there; in the script's arena */
	struct loc loc;   /* of the statement's text */
	struct str text;  /* of a packed file */
};

typedef VEC(struct import) import_list;

/* True for the standard library, which is always there. */
bool import_is_library(struct str path);
/* Adds the file, or the scripts of the directory, that `path` means where it is written, or the
 * packed file of that path; nothing when it is there already. False after an error. */
bool import_add(import_list *list, const struct script *s, struct str path, struct loc loc,
                struct diags *d);
/* The real path of the file that an #include names; NULL when there is none. A name in quotes is
 * one beside the file that it is written in, or in the working directory, before those of
 * script.headers. */
const char *import_header(const struct script *s, struct str name, bool quoted, u32 off);
/* Puts the text of a file after the source's. False after an error. */
bool import_take(struct script *s, const struct import *file, struct diags *d);

#endif
