/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The libraries a program will map when it is started.
 */
#ifndef WORLD_PROGRAM_LIBS_H
#define WORLD_PROGRAM_LIBS_H

#include "base/arena.h"
#include "elf/elf.h"
#include "world/process.h"
#include "world/resolve.h"

/* Calls cb with the program itself, its dynamic loader and each library that this will load, with
 * our environment (LD_PRELOAD, LD_LIBRARY_PATH); a static program is alone. cb returns false to
 * stop. False and *e when there are too many. Paths live in the resolver's arena. */
bool program_libs_each(const struct resolver *r, struct elf *program, process_file_fn *cb,
                       void *ctx, struct err *e);

#endif
