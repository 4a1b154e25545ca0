/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The BTF reader as the rest of memtap uses it: the public header, and what joins it to the
 * project's own slices and errors.
 */
#ifndef BTF_BTF_H
#define BTF_BTF_H

#include <string.h>

#include <memtap/btf.h>

#include "base/err.h"
#include "base/str.h"

/* Takes the library's error over; returns false. */
static inline bool btf_to_err(const struct btf_error *from, struct err *e)
{
	err_set(e, "%s", from->text);
	e->code = from->code;
	return false;
}

/* btf_find_c of a slice. Names too long for any type are not found. */
static inline u32 btf_find_cs(const struct btf *b, struct str name)
{
	char z[256];

	if (name.n >= sizeof(z))
		return 0;
	if (name.n)
		memcpy(z, name.p, name.n);
	z[name.n] = 0;
	return btf_find_c(b, z);
}

#endif
