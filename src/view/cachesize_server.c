/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * memtap cachesize on a memcached or Redis server as it is: what its clients ask and get,
 * from the system calls that mctop looks at (cache/uses.h).
 */
#include "view/cachesize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cache/uses.h"
#include "view/cache_feed.h"

struct cachesize_server {
	const struct cachesize_options *o;
	struct sizing *sizing;
	struct cache_feed feed;
	struct cache_uses uses;
};

/* ---- the script ---- */

void cachesize_server_script(struct buf *b, const struct cachesize_options *o)
{
	buf_printf(b,
	           "import \"lib/capture.bt\"\n\nBEGIN\n{\n"
	           "\t@server = (uint64)getopt(\"pid\", %u, \"the server\");\n}\n",
	           o->pid);
	if (o->duration)
		buf_printf(b, "\ninterval:s:%u {\n\texit();\n}\n", o->duration);
}

static void on_command(void *ctx, const struct command *c, const struct client *from)
{
	struct cachesize_server *w = ctx;

	(void)from;
	uses_command(&w->uses, c);
}

/* ---- the view ---- */

struct cachesize_server *cachesize_server_new(const struct cachesize_options *o, struct sizing *s)
{
	struct cachesize_server *w = calloc(1, sizeof(*w));

	if (!w)
		base_no_memory();
	w->o = o;
	w->sizing = s;
	w->uses = (struct cache_uses){ .kind = o->kind,
		                       .overhead = o->overhead_bytes,
		                       .sizing = s };
	w->feed.fd = -1;
	return w;
}

void cachesize_server_free(struct cachesize_server *w)
{
	if (!w)
		return;
	cache_feed_close(&w->feed);
	free(w);
}

bool cachesize_server_start(struct cachesize_server *w, const struct view_of *v, struct err *e)
{
	const struct item_kind *other;

	if (getrandom(&w->uses.secret, sizeof(w->uses.secret), 0) != sizeof(w->uses.secret))
		return err_sys(e, errno, "no random numbers");
	if (!cache_feed_open(&w->feed, v, w->o->pid, on_command, w, e))
		return false;
	other = item_of(w->feed.server.name);
	if (!other || other == w->o->kind)
		return true;
	err_set(e, "process %u is a %s", w->o->pid, w->feed.server.name);
	return err_hint(e, "memtap cachesize %s -p %u", other->name, w->o->pid);
}

bool cachesize_server_record(struct cachesize_server *w, const struct view_of *v,
                             const struct urecord *r, const u8 *bytes)
{
	return cache_feed_record(&w->feed, v, r, bytes);
}

void cachesize_server_end(struct cachesize_server *w, const struct view_of *v)
{
	struct missed missed;

	w->sizing->has_lookups = w->sizing->has_hits = true;
	if (!w->feed.wire)
		return;
	cache_feed_end(&w->feed, v);
	missed = cache_feed_missed(&w->feed, v);
	w->sizing->lost = missed.events + missed.commands;
	w->sizing->unseen = missed.replies;
}
