/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * elfutils' libdebuginfod, loaded when DEBUGINFOD_URLS is set and a debug file is wanted. It
 * keeps what it fetched, and that a server does not have a file, in the user's cache.
 *
 * A server that does not answer must not hold up tracing for long: the time spent here is
 * counted over all files, and once it is used up no more are asked for.
 */
#include "sym/debuginfod.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host.h"

#define PATIENCE_MS 30000u

/* Of elfutils/debuginfod.h, whose package is not needed for three calls. */
struct client;
typedef struct client *begin_fn(void);
typedef int find_fn(struct client *c, const unsigned char *id, int length, char **path);
typedef int progress_fn(struct client *c, long a, long b);
typedef void set_progress_fn(struct client *c, progress_fn *fn);
typedef void end_fn(struct client *c);

struct library {
	begin_fn *begin;
	find_fn *find;
	set_progress_fn *set_progress;
	end_fn *end;
};

/* The progress callback has no argument of its own. */
static u64 spent_ms, started_ms;
static bool given_up, missing;

static bool is_given_up(void)
{
	return __atomic_load_n(&given_up, __ATOMIC_RELAXED);
}

void debuginfod_give_up(void)
{
	__atomic_store_n(&given_up, true, __ATOMIC_RELAXED);
}

bool debuginfod_is_missing(void)
{
	return __atomic_load_n(&missing, __ATOMIC_RELAXED);
}

/* Nonzero gives up. */
static int on_progress(struct client *c, long a, long b)
{
	(void)c;
	(void)a;
	(void)b;
	return is_given_up() || spent_ms + clock_ms() - started_ms > PATIENCE_MS;
}

static bool load(struct library *l)
{
	void *so = host_library("libdebuginfod.so.1");

	if (!so) {
		__atomic_store_n(&missing, true, __ATOMIC_RELAXED);
		return false;
	}
	l->begin = (begin_fn *)host_symbol(so, "debuginfod_begin");
	l->find = (find_fn *)host_symbol(so, "debuginfod_find_debuginfo");
	l->set_progress = (set_progress_fn *)host_symbol(so, "debuginfod_set_progressfn");
	l->end = (end_fn *)host_symbol(so, "debuginfod_end");
	return l->begin && l->find && l->set_progress && l->end;
}

static bool ask(const struct library *l, const char *build_id, struct buf *path)
{
	struct client *c = l->begin();
	char *found = NULL;
	int fd;

	if (!c)
		return false;
	l->set_progress(c, on_progress);
	/* Length 0: the id is text. */
	fd = l->find(c, (const unsigned char *)build_id, 0, &found);
	l->end(c);
	if (fd < 0)
		return false;
	close(fd);
	buf_reset(path);
	buf_puts(path, found);
	free(found);
	return true;
}

bool debuginfod_find(const char *build_id, struct buf *path)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct library l = { 0 };
	bool ok;

	if (!urls || !*urls || !*build_id || is_given_up() || spent_ms > PATIENCE_MS)
		return false;
	started_ms = clock_ms();
	ok = load(&l) && ask(&l, build_id, path);
	spent_ms += clock_ms() - started_ms;
	return ok;
}
