/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * memcached's meta commands (doc/protocol.txt of memcached 1.6, "Meta commands"), which stand
 * between classic ones in the same stream. Private to proto/.
 */
#ifndef PROTO_TEXT_H
#define PROTO_TEXT_H

#include "proto/conn.h"

/* The rest of a line that began with a meta verb; *p is of that verb. */
void meta_request(struct proto *c, struct pending p, struct str line);
/* False when the line is not the answer to a meta command. */
bool meta_reply(struct proto *c, struct str word, struct str line);
/* The value of a counter, which the answer before announced (await_number). */
void meta_number(struct proto *c, struct str word);

#endif
