/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef VIEW_CACHE_ASK_H
#define VIEW_CACHE_ASK_H

#include "base/buf.h"
#include "base/err.h"
#include "view/servers.h"

/* Adds the answer to b: of Redis and its relatives (`resp`) one string, of memcached lines up to
 * END. */
bool cache_ask(const struct server *s, const char *question, bool resp, struct buf *b,
               struct err *e);

#endif
