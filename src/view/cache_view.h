/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the views of cache servers share: which server, and options that come as a record. */
#ifndef VIEW_CACHE_VIEW_H
#define VIEW_CACHE_VIEW_H

#include "cache/item.h"
#include "view/views.h"
#include "view/servers.h"

/* The one server of this machine; with several they are listed in *e. */
bool cache_view_find(struct arena *a, u32 *pid, struct err *e);
/* The same of servers of one kind only. */
bool cache_view_find_kind(struct arena *a, const struct item_kind *kind, u32 *pid, struct err *e);
/* The cheapest way that sees all that the server is asked; NULL: system calls. */
const char *cache_view_way(struct arena *a, u32 pid);
/* A field of the record in which the script hands on its options; 0 or "" when it is not there.
 * Text is copied to the arena. */
u64 cache_view_number(const struct urecord *r, const u8 *bytes, const char *name);
const char *cache_view_text(struct arena *a, const struct urecord *r, const u8 *bytes,
                            const char *name);
/* Is there a probe on a place whose name ends so? */
bool cache_view_has_probe(const struct unit *u, const char *name);
/* The way commands are taken by, as --via names it. Says what can not be known by it. */
bool cache_view_via(const char *via, const struct view_of *of, struct err *e);

#endif
