/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Debug information of programs and libraries (DWARF 2 to 5): the parameters of functions, the
 * types of a program, and where lines of its source are. Read with libdw, which is loaded when
 * the first file is opened.
 *
 * A type is known by a small number, `die`, that is valid as long as its file is open; 0 is none
 * (void). All names live as long as the file.
 */
#ifndef ELF_DWARF_FILE_H
#define ELF_DWARF_FILE_H

#include "base/arena.h"
#include "base/err.h"
#include "elf/elf.h"

struct dwarf_file;

/* True when the file holds its debug information itself. */
bool dwarf_file_in(struct elf *f);
/* The debug information in the file at that path; NULL and *e. */
struct dwarf_file *dwarf_file_open(const char *path, struct err *e);
void dwarf_file_close(struct dwarf_file *d);

/* ---- types ---------------------------------------------------------------------------------- */

enum dwarf_kind {
	DWARF_VOID, /* also functions and what is not understood */
	DWARF_INT,  /* is_signed */
	DWARF_CHAR, /* is_signed */
	DWARF_BOOL,
	DWARF_FLOAT,  /* also complex numbers and vectors */
	DWARF_ENUM,   /* is_signed */
	DWARF_PTR,    /* pointers and references: target */
	DWARF_ARRAY,  /* target, dims */
	DWARF_RECORD, /* struct, class, union */
};

#define DWARF_DIMS 4u

struct dwarf_type {
	enum dwarf_kind kind;
	u32 die;                  /* behind typedefs and qualifiers */
	const char *name;         /* NULL none */
	const char *typedef_name; /* the outermost, NULL none */
	u64 size;                 /* bytes; 0 for what is only declared */
	bool is_signed, is_union, is_const;
	bool is_complex, is_vector; /* FLOAT */
	bool is_reference;          /* PTR: C++ reference */
	bool by_reference;          /* RECORD: passed as a pointer to a copy */
	u32 target;
	u32 dims[DWARF_DIMS], n_dims; /* outermost first; 0 open */
};

/* False for numbers that are no type. */
bool dwarf_type_read(struct dwarf_file *d, u32 die, struct dwarf_type *t);

struct dwarf_field {
	const char *name; /* NULL: anonymous, or the part a C++ class inherits */
	u32 type;
	u64 off;      /* bytes */
	u32 bit_off;  /* bit-field: from the start of the byte at off ... */
	u32 bit_size; /* ... and its width; 0 for an ordinary field */
};

/* The members of a RECORD in order, inherited parts first; cb false stops. */
void dwarf_type_fields(struct dwarf_file *d, u32 die,
                       bool (*cb)(void *ctx, const struct dwarf_field *f), void *ctx);
void dwarf_type_enumerators(struct dwarf_file *d, u32 die,
                            bool (*cb)(void *ctx, const char *name, s64 value), void *ctx);
/* A definition by name as C writes it: "struct x", "union x", "enum x", or a name alone for
 * typedefs, classes and basic types. 0 when there is none. */
u32 dwarf_type_find(struct dwarf_file *d, struct str name);
/* An enumerator of any enum at the top of a source file. */
bool dwarf_type_constant(struct dwarf_file *d, struct str name, s64 *value, u32 *die);

/* ---- functions ------------------------------------------------------------------------------- */

struct dwarf_arg {
	const char *name; /* "" when it has none */
	u32 type;
};

struct dwarf_func {
	const char *name;
	u32 returns;   /* 0: nothing */
	bool is_go;    /* registers are Go's ... */
	bool is_stack; /* ... or, before Go 1.17, all is on the stack */
	VEC(struct dwarf_arg) args;
};

/* The function whose code starts at that address of the program; false when none is described. */
bool dwarf_func_at(struct dwarf_file *d, struct arena *a, u64 vaddr, struct dwarf_func *f);
/* The .dwo file that has what there is about the code at that address and was not found, as the
 * program names it; NULL when no file is missing. *package: PROGRAM.dwp when there is one, which is
 * then too new for libdw, else NULL. */
const char *dwarf_split_missing(struct dwarf_file *d, u64 vaddr, const char **package);

/* ---- lines of the source -------------------------------------------------------------------- */

/* A place in the code that belongs to a line. */
struct dwarf_line {
	u64 vaddr;
	const char *file; /* as the compiler was given it */
	u32 line, column;
};

/* Statements that start on that line (and column, if not 0) of files whose path is `file` or ends
 * in "/file". cb false stops. *near is the next line after that has code, 0 none. */
void dwarf_line_each(struct dwarf_file *d, const char *file, u32 line, u32 column,
                     bool (*cb)(void *ctx, const struct dwarf_line *l), void *ctx, u32 *near);
/* True when any source file is called that. */
bool dwarf_line_known(struct dwarf_file *d, const char *file);

#endif
