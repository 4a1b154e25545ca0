/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Text with wildcards. */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "base/str.h"

/* True if pattern has a wildcard: '*', '?' or a '[...]' set. */
bool glob_is(struct str pattern);
/* Shell-style match of the whole text: '*', '?', '[a-z]', '[!a]'. Linear in practice. */
bool glob_match(struct str pattern, struct str text);

#endif
