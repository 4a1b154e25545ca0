/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For functions that save a register first, as most do that keep something over a call. */
#ifndef PROGS_KEPT_H
#define PROGS_KEPT_H

#if defined(__x86_64__)
#define KEPT "rbx"
#else
#define KEPT "x19"
#endif

#endif
