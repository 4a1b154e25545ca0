/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening debug information.
 *
 * The one idea: DWARF is read by libdw, and entries (DIEs) are handed out as numbers, so that
 * nothing outside these files sees the library's types.
 *
 * Which file holds the debug information of a program is not decided here (sym/debugfile.c).
 */
#include "elf/dwarf_impl.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

bool dwarf_file_in(struct elf *f)
{
	return elf_has_section(f, ".debug_info") || elf_has_section(f, ".zdebug_info");
}

/* ---- opening -------------------------------------------------------------------------------- */

static bool begin(struct dwarf_file *d, struct err *e)
{
	d->fd = file_open(d->path, e);
	if (d->fd < 0)
		return false;
	file_guard(); /* libdw maps it */
	d->dbg = d->lib->dwarf_begin(d->fd, DWARF_C_READ);
	if (d->dbg)
		return true;
	err_set(e, "the debug information in %s can not be read: %s", d->path,
	        d->lib->dwarf_errmsg(-1));
	return false;
}

struct dwarf_file *dwarf_file_open(const char *path, struct err *e)
{
	const struct dwarf_lib *lib = dwarf_lib(e);
	struct dwarf_file *d;

	if (!lib)
		return NULL;
	d = calloc(1, sizeof(*d));
	if (!d)
		base_no_memory();
	d->lib = lib;
	d->path = arena_strdup(&d->arena, path);
	if (begin(d, e))
		return d;
	dwarf_file_close(d);
	return NULL;
}

void dwarf_file_close(struct dwarf_file *d)
{
	if (!d)
		return;
	if (d->dbg)
		d->lib->dwarf_end(d->dbg);
	if (d->fd >= 0)
		close(d->fd);
	hmap_free(&d->numbers);
	hmap_free(&d->found);
	arena_free(&d->arena);
	free(d);
}

/* ---- entries -------------------------------------------------------------------------------- */

u32 dwarf_number(struct dwarf_file *d, const Dwarf_Die *die)
{
	void **known = hmap_find(&d->numbers, &die->addr, sizeof(die->addr)), **key;

	if (known)
		return (u32)(uintptr_t)*known;
	vec_add(&d->arena, &d->dies, *die);
	key = arena_new(&d->arena, void *);
	*key = die->addr;
	hmap_put(&d->numbers, key, sizeof(*key), (void *)(uintptr_t)d->dies.n);
	return d->dies.n;
}

bool dwarf_die(const struct dwarf_file *d, u32 number, Dwarf_Die *die)
{
	if (!number || number > d->dies.n)
		return false;
	*die = d->dies.v[number - 1];
	return true;
}

u32 dwarf_target(struct dwarf_file *d, Dwarf_Die *die)
{
	Dwarf_Attribute at;
	Dwarf_Die to;

	if (!d->lib->dwarf_attr_integrate(die, DW_AT_type, &at) ||
	    !d->lib->dwarf_formref_die(&at, &to))
		return 0;
	return dwarf_number(d, &to);
}

bool dwarf_flag(const struct dwarf_file *d, Dwarf_Die *die, u32 attr)
{
	Dwarf_Attribute at;
	bool set = false;

	return d->lib->dwarf_attr_integrate(die, attr, &at) &&
	       d->lib->dwarf_formflag(&at, &set) == 0 && set;
}

bool dwarf_value(const struct dwarf_file *d, Dwarf_Die *die, u32 attr, u64 *value)
{
	Dwarf_Attribute at;
	Dwarf_Word word;

	if (!d->lib->dwarf_attr_integrate(die, attr, &at) ||
	    d->lib->dwarf_formudata(&at, &word) != 0)
		return false;
	*value = word;
	return true;
}

bool dwarf_next_root(struct dwarf_units *u)
{
	const struct dwarf_lib *l = u->d->lib;
	Dwarf_Die split;
	u8 type;

	if (l->dwarf_get_units(u->d->dbg, u->cu, &u->cu, NULL, &type, &u->root, &split) != 0)
		return false;
	if (type == DW_UT_skeleton && split.addr)
		u->root = split;
	return true;
}
