/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the files dwarf_*.c. */
#ifndef ELF_DWARF_IMPL_H
#define ELF_DWARF_IMPL_H

#include "base/hmap.h"
#include "elf/dwarf_file.h"
#include "elf/dwarf_lib.h"

struct dwarf_file {
	const struct dwarf_lib *lib;
	Dwarf *dbg;
	int fd;
	const char *path;
	struct arena arena;
	VEC(Dwarf_Die) dies; /* the number of a type is its place here, from 1 */
	struct hmap numbers; /* where a DIE lies -> its number */
	struct hmap found;   /* name -> number, of searches done */
};

/* The number of a DIE. */
u32 dwarf_number(struct dwarf_file *d, const Dwarf_Die *die);
/* The DIE of a number; false when there is none. */
bool dwarf_die(const struct dwarf_file *d, u32 number, Dwarf_Die *die);
/* The type an entry names, 0 none. */
u32 dwarf_target(struct dwarf_file *d, Dwarf_Die *die);
bool dwarf_flag(const struct dwarf_file *d, Dwarf_Die *die, u32 attr);
bool dwarf_value(const struct dwarf_file *d, Dwarf_Die *die, u32 attr, u64 *value);
/* The units of the file one by one: their root, after a skeleton the split one. */
struct dwarf_units {
	struct dwarf_file *d;
	Dwarf_CU *cu;
	Dwarf_Die root;
};
bool dwarf_next_root(struct dwarf_units *u);

#endif
