/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `--info`: what this machine and kernel offer. */
#ifndef CMD_CMD_INFO_H
#define CMD_CMD_INFO_H

#include "lang/parse/world.h"
#include "out/out.h"

/* On stdout, as text or as one JSON object. Returns the exit code. */
int cmd_info_print(struct world *w, const struct out_ops *out);

#endif
