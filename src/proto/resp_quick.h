/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands of one key, whole at hand, in one step; what is not such is left to resp.c. Private to
 * proto/. */
#ifndef PROTO_RESP_QUICK_H
#define PROTO_RESP_QUICK_H

#include "proto/resp.h"

/* As the functions of struct parser, at the start of a request or of an answer. 0: not such a one,
 * and nothing was done. */
size_t resp_quick_request(struct proto *c, const char *p, size_t n);
size_t resp_quick_reply(struct proto *c, const char *p, size_t n);

#endif
