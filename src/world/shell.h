/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A command of system(), run by the shell.
 */
#ifndef WORLD_SHELL_H
#define WORLD_SHELL_H

#include "base/buf.h"
#include "base/err.h"
#include "world/stop.h"

/* Runs it to its end and appends what it writes to its standard output, at most `limit` bytes
 * (the rest is read and dropped). It is ended when `stop` is over, which is an error; what it wrote
 * until then is in b. */
bool shell_run(const char *command, struct buf *b, size_t limit, struct stop *stop, struct err *e);

#endif
