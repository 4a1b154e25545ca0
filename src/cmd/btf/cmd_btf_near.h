/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Types by the names that users write, and what to say when BTF has no such name. */
#ifndef CMD_BTF_CMD_BTF_NEAR_H
#define CMD_BTF_CMD_BTF_NEAR_H

#include "cmd/btf/cmd_btf.h"

/* "there is no struct x", with the nearest name of that kind as a hint, or what the name is
 * instead. `what` is as written: "struct x", "func x", "x". Always false. */
bool cmd_btf_missing(struct btf_job *j, const char *what, struct err *e);
/* A type as the library takes it: "task_struct" is "struct task_struct"; a name of C, and one that
 * there is not, stay as they are. */
const char *cmd_btf_type(struct btf_job *j, const char *what);
/* After btf_path(..., id, text, p, ...) has failed: the nearest member there is, as a hint. Always
 * false. */
bool cmd_btf_near_member(const struct btf *b, u32 id, const char *text, const struct btf_path *p,
                         struct err *e);
/* "struct x" is kind STRUCT and name "x"; without a known word the kind is 0. */
u32 cmd_btf_split(const char *what, const char **name);

/* Calls back for each type named by the arguments from number `from` on: "struct page", or "struct"
 * "page", or several names after one word. Ends with the first false. */
bool cmd_btf_each_name(struct btf_job *j, u32 from,
                       bool (*cb)(void *ctx, struct btf_job *j, const char *what, struct err *e),
                       void *ctx, struct err *e);

#endif
