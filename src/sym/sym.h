/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses to names. Kernel symbols are found when they are asked for; a process's maps are read
 * on first sight of the process and kept, and the symbols of a file on first use of the file.
 */
#ifndef SYM_SYM_H
#define SYM_SYM_H

#include <sys/types.h>

#include "base/buf.h"
#include "sym/ksym.h"

struct sym;

/* Source lines and inlined functions in stacks, where there is DWARF. */
enum sym_lines {
	SYM_LINES_NONE,
	SYM_LINES_FOUND, /* in stacks as text, of files on this machine */
	SYM_LINES_ALL,   /* in the functions of stacks too, and debug files may be fetched */
};

/* The file whose code memtap has put into a process, which is no part of the process's stacks. It
 * is told by its number: others may give a file the same name. inode 0: none. */
struct sym_graft {
	dev_t dev;
	u64 inode;
};

struct sym_options {
	bool mangled; /* names of C++ and Rust functions as the linker sees them */
	enum sym_lines lines;
	struct sym_graft graft;
	ksym_ask_fn *ask; /* how the kernel is asked for a name, NULL: by /proc/kallsyms only */
	void *ask_ctx;
};

/* NULL for the defaults, all zero. */
struct sym *sym_new(const struct sym_options *o);
void sym_free(struct sym *s);
/* See usym_set_files(). */
struct usym_file;
void sym_set_files(struct sym *s, bool (*find)(void *ctx, u32 number, struct usym_file *f),
                   void *ctx);

/* What precedes an address in the stack of calls. */
enum sym_kind {
	SYM_EXACT,  /* nothing: the instruction itself */
	SYM_RETURN, /* a return address: the call is before it, perhaps in another function */
};

/* "name+off", unresolved "0x...". *module gets the kernel module's name or "", valid until the next
 * call; it may be NULL. */
void sym_kernel(struct sym *s, struct buf *b, enum sym_kind kind, u64 addr, const char **module);
/* "malloc+0"; without a function "libc.so.6+0x1234", the address in the file as its headers count;
 * not mapped "0x7f...". *module gets the file's path or "", valid until the next call; it may be
 * NULL. */
void sym_user(struct sym *s, struct buf *b, enum sym_kind kind, u32 pid, u64 addr,
              const char **module);
/* The name alone, without "+off": what ksym() and usym() print. */
void sym_kernel_name(struct sym *s, struct buf *b, u64 addr);
void sym_user_name(struct sym *s, struct buf *b, u32 pid, u64 addr);
/* Where an address is in a file, as that file's headers count: of the instruction that is named,
 * and the segment it is in. */
struct sym_place {
	u64 address;
	u64 start, limit, offset; /* of the segment: from there to there, and where in the file */
	const char *build_id;     /* in hexadecimal, "" none; valid until the next call */
	bool is_known;            /* else all of it is nothing */
	bool has_name;            /* the function has */
};
/* The function an address is in, without the place: "malloc"; without a name "[libc.so.6]", not
 * mapped "[unknown]". *module as above. */
void sym_kernel_function(struct sym *s, struct buf *b, enum sym_kind kind, u64 addr,
                         const char **module);
void sym_user_function(struct sym *s, struct buf *b, enum sym_kind kind, u32 pid, u64 addr,
                       const char **module, struct sym_place *place);
/* The source lines of an address as lines_find() gives them, 0 unless at least `least` is asked
 * for. */
struct line_frame;
u32 sym_user_lines(struct sym *s, enum sym_lines least, enum sym_kind kind, u32 pid, u64 addr,
                   struct line_frame *out, u32 max);
/* The build-id, in hexadecimal, of the file that is mapped there and the address's offset in that
 * file; "" when there is none. Valid until the next call. */
const char *sym_user_build_id(struct sym *s, u32 pid, u64 addr, u64 *off);
/* That of the running kernel, or of a module of it unless that is "". False: it has none, or is no
 * module. */
bool sym_kernel_build_id(const char *module, char buf[64]);
/* Whether that is a place in options.graft. */
bool sym_is_grafted(struct sym *s, u32 pid, u64 addr);
/* Reads (again) the maps of a process now, so that its addresses can be named after it has
 * ended. Cheap when nothing changed; silently does nothing when it is gone. */
void sym_note_process(struct sym *s, u32 pid);
/* Processes that we were not allowed to look into, so far: their addresses have no names. */
u32 sym_denied(const struct sym *s);
/* See files_rest(). */
void sym_rest(struct sym *s);
/* See usym_unread(). */
u64 sym_unread(const struct sym *s, const char **first);

#endif
