// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What was not seen, as text and as JSON. Text leaves out what rarely happens and did not. */
#include "cache/missed.h"

static void put(struct buf *b, u64 n, const char *what)
{
	if (n)
		buf_printf(b, ", %llu %s", (unsigned long long)n, what);
}

void missed_print(struct buf *b, const struct missed *m)
{
	buf_printf(b, "%llu events lost, %s%llu commands lost", (unsigned long long)m->events,
	           m->at_least ? "at least "
	           : m->error  ? "about "
	                       : "",
	           (unsigned long long)m->commands);
	if (m->error)
		buf_printf(b, " (+-%llu)", (unsigned long long)m->error);
	put(b, m->replies, "replies not seen");
	put(b, m->unconfirmed, "calls not confirmed");
	put(b, m->from_master, "bytes from its master not counted");
	put(b, m->unknown, "unknown commands");
}

void missed_json(struct buf *b, const struct missed *m)
{
	buf_printf(b,
	           "\"lost_events\":%llu,\"lost_commands\":%llu,\"lost_commands_error\":%llu,"
	           "\"unseen_replies\":%llu,\"unconfirmed_calls\":%llu,\"master_bytes\":%llu,"
	           "\"unknown_commands\":%llu",
	           (unsigned long long)m->events, (unsigned long long)m->commands,
	           (unsigned long long)m->error, (unsigned long long)m->replies,
	           (unsigned long long)m->unconfirmed, (unsigned long long)m->from_master,
	           (unsigned long long)m->unknown);
}
