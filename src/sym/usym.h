/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses of processes to names.
 */
#ifndef SYM_USYM_H
#define SYM_USYM_H

#include <sys/types.h>

#include "sym/lines.h"

struct elf_segment;
struct usym;

/* What is known of an address. Strings live until the next call. */
struct usym_place {
	const char *name;   /* function, or NULL */
	u64 off;            /* from its start */
	const char *module; /* path of the mapped file or kind of mapping, "" when not mapped */
	u64 module_off;     /* address as the file's headers count, else from the mapping's start */
	const struct elf_segment *segment; /* of that file; NULL: it is not known */
	const char *build_id;              /* in hexadecimal, "" none */
};

/* Where the file is whose number a frame has (base/unwind.h); false: there is none. */
struct usym_file {
	const char *path; /* "[vdso]": none, the kernel's */
	int fd;           /* O_PATH, is taken over; -1 when it can not be reached any more */
};
typedef bool usym_file_fn(void *ctx, u32 number, struct usym_file *f);

/* fetch_lines: debug files may be fetched from a server for source lines. */
struct usym *usym_new(bool demangled, bool fetch_lines);
/* See files_rest(). */
void usym_rest(struct usym *u);
/* From now on addresses with UNWIND_FRAME set are places in files that `find` knows. */
void usym_set_files(struct usym *u, usym_file_fn *find, void *ctx);
void usym_free(struct usym *u);
struct usym_place usym_find(struct usym *u, u32 pid, u64 addr);
/* Whether the address is in that file. */
bool usym_is_in(struct usym *u, u32 pid, u64 addr, dev_t dev, u64 inode);
/* The source lines of an address, see lines_find(). */
u32 usym_lines(struct usym *u, u32 pid, u64 addr, struct line_frame *out, u32 max);
/* See sym_user_build_id(). */
const char *usym_build_id(struct usym *u, u32 pid, u64 addr, u64 *off);
/* Takes in what the process has mapped now. */
void usym_note(struct usym *u, u32 pid);
/* Processes whose maps we were not allowed to read, so far. */
u32 usym_denied(const struct usym *u);
/* Addresses that have no name because the file they lie in could not be opened or read, so far;
 * *first: the path of the first one, and why. */
u64 usym_unread(const struct usym *u, const char **first);

#endif
