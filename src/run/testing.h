/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The test probes of a script, one after the other. */
#ifndef RUN_TESTING_H
#define RUN_TESTING_H

#include "run/event.h"

/*
 * Runs each program of kind TEST and prints what became of it. A test fails when it returns
 * something else than 0, leaves with exit(n) for another n, or says something with errorf(); what
 * it printed is shown then. *failed is the number of those. False and *e when one could not be run.
 */
bool testing_run(struct events *ev, u32 *failed, struct err *e);

#endif
