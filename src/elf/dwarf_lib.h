/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * elfutils' libdw, loaded when debug information is asked for the first time. Only for the files
 * dwarf_*.c, and sym/lines.c.
 */
#ifndef ELF_DWARF_LIB_H
#define ELF_DWARF_LIB_H

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/err.h"

#define DWARF_LIB(X)                                                                               \
	X(dwarf_begin)                                                                             \
	X(dwarf_end)                                                                               \
	X(dwarf_errmsg)                                                                            \
	X(dwarf_get_units)                                                                         \
	X(dwarf_cu_info)                                                                           \
	X(dwarf_addrdie)                                                                           \
	X(dwarf_diecu)                                                                             \
	X(dwarf_child)                                                                             \
	X(dwarf_siblingof)                                                                         \
	X(dwarf_tag)                                                                               \
	X(dwarf_attr)                                                                              \
	X(dwarf_attr_integrate)                                                                    \
	X(dwarf_hasattr)                                                                           \
	X(dwarf_whatform)                                                                          \
	X(dwarf_formref_die)                                                                       \
	X(dwarf_formstring)                                                                        \
	X(dwarf_formudata)                                                                         \
	X(dwarf_formsdata)                                                                         \
	X(dwarf_formflag)                                                                          \
	X(dwarf_diename)                                                                           \
	X(dwarf_entrypc)                                                                           \
	X(dwarf_haspc)                                                                             \
	X(dwarf_srclang)                                                                           \
	X(dwarf_getsrclines)                                                                       \
	X(dwarf_onesrcline)                                                                        \
	X(dwarf_linesrc)                                                                           \
	X(dwarf_lineno)                                                                            \
	X(dwarf_linecol)                                                                           \
	X(dwarf_lineaddr)                                                                          \
	X(dwarf_linebeginstatement)                                                                \
	X(dwarf_lineendsequence)                                                                   \
	X(dwarf_nextcu)                                                                            \
	X(dwarf_offdie)                                                                            \
	X(dwarf_getsrc_die)                                                                        \
	X(dwarf_getsrcfiles)                                                                       \
	X(dwarf_filesrc)

struct dwarf_lib {
#define X(name) __typeof__(&name) name;
	DWARF_LIB(X)
#undef X
};

/* The library, or NULL and *e that says what to install. It stays loaded. */
const struct dwarf_lib *dwarf_lib(struct err *e);

#endif
