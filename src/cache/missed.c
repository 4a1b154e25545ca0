// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What was not seen, as text and for formats. Text leaves out what rarely happens and did not. */
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

void missed_tree(struct tree *t, const struct missed *m)
{
	static const struct column columns[] = {
		COL_COUNT("lost_events", NULL),
		COL_COUNT("lost_commands", NULL),
		COL_COUNT("lost_commands_error", "more or less"),
		COL_COUNT("unseen_replies", NULL),
		COL_COUNT("unconfirmed_calls", NULL),
		COL_COUNT("master_bytes", "from its master, not counted"),
		COL_COUNT("unknown_commands", NULL),
	};
	const u64 counts[] = { m->events,      m->commands,    m->error,  m->replies,
		               m->unconfirmed, m->from_master, m->unknown };

	for (u32 i = 0; i < ARRAY_SIZE(columns); i++)
		tree_whole(t, &columns[i], counts[i]);
}
