/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A unit as an ELF object of BPF, as clang makes them and libbpf loads them. */
#ifndef UNIT_OBJECT_H
#define UNIT_OBJECT_H

#include "base/err.h"
#include "unit/unit.h"

/*
 * Appends the whole file to b. A site is a function of the section that libbpf knows its kind
 * by; a program with several sites is written once for each. False and *e, b then unchanged, when
 * the unit has what such a file has no words for.
 */
bool object_write(struct buf *b, const struct unit *u, struct err *e);

#endif
