/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * /etc/ld.so.cache: where the dynamic loader finds libraries, as ldconfig of glibc wrote it.
 */
#ifndef ELF_LDCACHE_H
#define ELF_LDCACHE_H

#include "base/base.h"

#define LDCACHE_MAX (16u << 20) /* of such a file; a longer one has no libraries */

/*
 * Path of a library of this machine in the bytes of such a file: by file name ("libssl.so.3") or
 * without version ("libssl", the newest). NULL when absent or when the bytes are of another
 * form. Points into p.
 */
const char *ldcache_find(const void *p, size_t n, const char *name);
/* True if the file name is the library asked for: equal, or `name` + ".so." and a version. */
bool ldcache_name_is(const char *file, const char *name);

#endif
