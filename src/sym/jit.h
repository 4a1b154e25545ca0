/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of code that a process has compiled while running, from its perf map
 * (/tmp/perf-PID.map).
 */
#ifndef SYM_JIT_H
#define SYM_JIT_H

#include "base/base.h"

struct jit;

/* What is needed to find the map of a process, read while it lives. Nothing is opened but
 * directories. */
struct jit *jit_new(u32 pid);
/* NULL is fine. */
void jit_free(struct jit *j);
/* Opens the map if the process has one by now, so that it stays readable. */
void jit_note(struct jit *j);
/* The function at an address, and the distance from its start; NULL when there is none. The map is
 * read (on, or again) when it has changed. Lives until the next call. */
const char *jit_name(struct jit *j, u64 addr, u64 *off);
size_t jit_bytes(const struct jit *j);
/* Forgets what was read; it is read again when it is asked for. */
void jit_drop(struct jit *j);

#endif
