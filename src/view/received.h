/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a process has received over its TCP connections, as their sockets count it. */
#ifndef VIEW_RECEIVED_H
#define VIEW_RECEIVED_H

#include "base/arena.h"

#define RECEIVED_MOST 1024u /* connections that are looked at */

struct received {
	u64 inode, bytes;
	u16 port; /* ours */
};

typedef VEC(struct received) received_list;

/* Of the connections that are open. None when we may not look (pidfd_getfd(2), Linux 5.6). */
void received_read(struct arena *a, u32 pid, int pidfd, received_list *list);
/* Has something come in since? Connections that were opened meanwhile count. */
bool received_more(const received_list *before, const received_list *now);

#endif
