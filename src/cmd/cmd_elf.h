/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* --emit-elf FILE: the programs of a script as an object file. */
#ifndef CMD_ELF_H
#define CMD_ELF_H

#include "cmd/job.h"

/*
 * The kernel that such a file is made for: one that can attach everything, and has nothing that
 * only new kernels have. The script is compiled for it.
 */
extern const struct features cmd_elf_kernel;

/* Writes a compiled script; what is wrong is said. The exit code. */
int cmd_elf_write(const struct job *j, const char *path);

#endif
