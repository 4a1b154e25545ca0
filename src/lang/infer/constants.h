/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Integer macros of system headers by name: AF_INET, PROT_READ, O_CREAT, ENOENT, GFP_KERNEL. */
#ifndef LANG_INFER_CONSTANTS_H
#define LANG_INFER_CONSTANTS_H

#include "base/str.h"

bool constants_find(struct str name, s64 *value);
/* Name i in byte order, NULL after the last. */
const char *constants_name(u32 i);

#endif
