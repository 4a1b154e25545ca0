/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where a file that is stored in a zip archive lies in it. Android's packages keep libraries so,
 * and programs run them from there.
 */
#ifndef ELF_ZIP_H
#define ELF_ZIP_H

#include "base/err.h"
#include "base/str.h"

/* What stands between the path of an archive and that of a file in it. */
#define ZIP_SEPARATOR "!/"

/* Finds a member by its whole name: its bytes are [*off, *off + *size). False and *e when the n
 * bytes at p are no archive, when there is no such member, or when it is packed. */
bool zip_find(const u8 *p, size_t n, struct str name, size_t *off, size_t *size, struct err *e);

#endif
