/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which capabilities this process has, and how to say that one is missing; see capabilities(7).
 * What each is needed for is in the manual, under PRIVILEGES.
 */
#ifndef BASE_CAPS_H
#define BASE_CAPS_H

#include <linux/capability.h>

#include "base/err.h"

#define CAPS(n)        (1ull << (n))
#define CAPS_TRACING   (CAPS(CAP_BPF) | CAPS(CAP_PERFMON))
#define CAPS_FILES     CAPS(CAP_DAC_READ_SEARCH) /* that others may not read */
#define CAPS_PROCESSES CAPS(CAP_SYS_PTRACE)      /* of other users */
#define CAPS_ADMIN     CAPS(CAP_SYS_ADMIN)
#define CAPS_PACKETS   CAPS(CAP_NET_ADMIN)    /* of control groups */
#define CAPS_LIMITS    CAPS(CAP_SYS_RESOURCE) /* to go beyond */
#define CAPS_ALL       (~0ull)

/* Those of `wanted` that it lacks, and no wider one stands for. */
u64 caps_missing(u64 wanted);
/* "CAP_BPF is missing", "CAP_BPF and CAP_PERFMON are missing". */
const char *caps_text(char *text, size_t n, u64 missing);
/* A call was refused with errno `code`: "WHAT: CAP_BPF is missing: Operation not permitted", and
 * where to get it. When none of `wanted` is missing it names what is: CAP_SYS_ADMIN, or the reason
 * that capabilities do not help. Returns false. */
bool caps_refused(struct err *e, int code, u64 wanted, const char *what);
/* Where a file could not be opened, and e says so: the hint, when a capability would have helped.
 * Nothing for other failures. Returns false. */
bool caps_file(struct err *e, const char *path);
/* The calling thread, and those it starts, have no others from here on, nor get them by running
 * programs (no_new_privs). Nothing for CAPS_ALL. */
void caps_keep(u64 kept);
/* The calling thread acts with no others from here on. It could take them back; what it runs as
 * root has them. */
void caps_use(u64 used);

#endif
