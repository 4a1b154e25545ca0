/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The mapped files of all processes, and their names.
 */
#ifndef SYM_FILES_H
#define SYM_FILES_H

#include "sym/symfile.h"

#include <sys/types.h>

struct procmap;
struct files;

/* A file in the cache: a slot, and how often the slot had been given away. All zero is none. */
struct file_id {
	u32 slot, generation;
};

struct files *files_new(void);
void files_free(struct files *s);

/* The file that process `pid` has mapped at `m`, held open from now on so that it can be read when
 * the process has ended. None when it can not be reached. */
struct file_id files_bind(struct files *s, u32 pid, const struct procmap *m);
/* A file by a descriptor (O_PATH), which is taken over. None for -1. */
struct file_id files_adopt(struct files *s, int fd);
/* A descriptor of it, the caller's to close; -1 when it is not held any more. */
int files_dup(const struct files *s, struct file_id id);
/* True while the slot still holds that file. */
bool files_holds(const struct files *s, struct file_id id);
/* True when it is held and is the one of that number. */
bool files_is(const struct files *s, struct file_id id, dev_t dev, u64 inode);
/* Its names, read now if they were not: `where` says where it is. NULL when it has none or is not
 * held any more. Valid until the next call. */
struct symfile *files_names(struct files *s, struct file_id id,
                            const struct debugfile_place *where);
/* No name is wanted for some time: all are forgotten, and read again when one is. */
void files_rest(struct files *s);
/* Why the last file that could not be opened or read could not. */
const char *files_why(const struct files *s);
/* Its build-id in hexadecimal, "" when it has none or is not held any more. */
const char *files_build_id(struct files *s, struct file_id id);
/* The same as files_names() found it, without reading the file again. */
const char *files_table_id(const struct files *s, struct file_id id);
/* A path by which it can be opened, "" when it is not held any more. */
struct files_path {
	char text[32];
};
struct files_path files_path(const struct files *s, struct file_id id);

#endif
