/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What tests of code in processes have in common. Included after cmocka.h. */
#ifndef TESTS_INJECT_AID_H
#define TESTS_INJECT_AID_H

#include "inject/enter.h"

/* Of /proc/PID/maps. */
u64 inject_maps(pid_t pid);
/* Goes in within a minute, or the test fails. `size` bytes of ctx come back. */
void inject_enter(pid_t pid, enter_fn *fn, void *ctx, size_t size);
/* It is refused, after `ms` at the latest, with a sentence that has `why` in it, and the process's
 * mappings are the same. */
void inject_refused(const struct enter *n, const char *why);

/* A child that runs until it finds the end of a pipe. */
struct inject_child {
	pid_t pid;
	int end_fd; /* closing it is that end */
};
/* run() does not return; it is killed when the test is. */
struct inject_child inject_start(void (*run)(int end_fd));
/* It must end with status 0. */
void inject_end(struct inject_child *c);

#endif
