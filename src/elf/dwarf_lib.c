/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loading libdw.
 *
 * The one idea: few scripts need debug information, so the library that reads it is opened by
 * name when one does. Linking it would cost every start its relocations, and the archive brings
 * three compression libraries along. Its own copy of libelf never meets ours: only file
 * descriptors are handed over.
 */
#include "elf/dwarf_lib.h"

#include <stddef.h>
#include <string.h>

#include "base/host.h"

static const struct {
	const char *name;
	size_t off;
} entries[] = {
#define X(name) { #name, offsetof(struct dwarf_lib, name) },
	DWARF_LIB(X)
#undef X
};

static bool load(struct dwarf_lib *l, struct err *e)
{
	void *h = host_library("libdw.so.1");

	if (!h) {
		err_set(e, "debug information can not be read: libdw.so.1 is not installed");
		return err_hint(e, "it is elfutils' library: on Debian, apt install libdw1");
	}
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		void *f = host_symbol(h, entries[i].name);

		if (!f) {
			err_set(e, "debug information can not be read: libdw.so.1 has no %s()",
			        entries[i].name);
			return err_hint(e, "elfutils 0.178 or later is needed");
		}
		memcpy((char *)l + entries[i].off, &f, sizeof(f));
	}
	return true;
}

const struct dwarf_lib *dwarf_lib(struct err *e)
{
	static struct dwarf_lib lib;
	static bool loaded;

	loaded = loaded || load(&lib, e);
	return loaded ? &lib : NULL;
}
