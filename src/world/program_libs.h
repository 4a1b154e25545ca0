/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The libraries a program will map when it is started.
 */
#ifndef WORLD_PROGRAM_LIBS_H
#define WORLD_PROGRAM_LIBS_H

#include "base/arena.h"
#include "elf/elf.h"
#include "world/process.h"

/* Calls cb with the program itself and each library that its dynamic loader names, with our
 * environment (LD_PRELOAD, LD_LIBRARY_PATH); a static program is alone. cb returns false to
 * stop. False and *e when the loader can not be run. Paths live in the arena. */
bool program_libs_each(struct arena *a, struct elf *program, process_file_fn *cb, void *ctx,
                       struct err *e);

#endif
