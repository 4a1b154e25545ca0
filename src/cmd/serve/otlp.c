/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/otlp.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/serve/otlp_to.h"
#include "cmd/serve/own.h"
#include "cmd/serve/serve.h"

#define AGAIN_MS 20 /* until the process has read some of a page */

/* A message is its size and so many bytes. */
static void add_message(struct buf *b, const char *text)
{
	u32 size = (u32)strlen(text);

	buf_add(b, &size, sizeof(size));
	buf_puts(b, text);
}

static void begin(struct otlp *o)
{
	char self[] = "memtap", serve[] = "serve", feed[] = "--otlp-feed";
	char *argv[] = { self, serve, feed, NULL };

	o->pid = own_start("--otlp", argv, &o->fd);
	buf_reset(&o->page);
	add_message(&o->page, o->to);
	o->at = 0;
}

/* What the process has not read of the last page goes before a new one. */
static void hand_over(struct otlp *o)
{
	while (o->at < o->page.n) {
		ssize_t n = send(o->fd, o->page.p + o->at, o->page.n - o->at,
		                 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0)
			return;
		o->at += (size_t)n;
	}
	buf_reset(&o->page);
	o->at = 0;
}

static void take_page(struct otlp *o, struct serve *s)
{
	size_t from = o->page.n;
	u32 size = 0;

	buf_add(&o->page, &size, sizeof(size));
	serve_page(s, METRICS_NATIVE, &o->page);
	size = (u32)(o->page.n - from - sizeof(size));
	memcpy(o->page.p + from, &size, sizeof(size));
}

int otlp_work(struct otlp *o, struct serve *s)
{
	u64 now = clock_ms();
	bool is_new;

	if (!o->to)
		return -1;
	if (!o->next)
		o->next = now + o->every * 1000ull;
	if (now >= o->next) {
		o->next = now + o->every * 1000ull;
		is_new = !o->pid;
		if (is_new)
			begin(o);
		if ((o->page.n && !is_new) || !o->pid)
			o->earlier.dropped++;
		else
			take_page(o, s);
	}
	if (o->page.n)
		hand_over(o);
	return o->page.n ? AGAIN_MS : (int)(o->next - now);
}

static void hear(struct otlp *o)
{
	struct otlp_told told;

	while (o->pid && recv(o->fd, &told, sizeof(told), MSG_DONTWAIT) == sizeof(told))
		o->told = told;
}

struct otlp_told otlp_told(struct otlp *o)
{
	hear(o);
	return (struct otlp_told){ o->earlier.sent + o->told.sent,
		                   o->earlier.dropped + o->told.dropped, o->told.queued };
}

/* What it had not sent is dropped. */
static void forget(struct otlp *o)
{
	hear(o);
	o->earlier.sent += o->told.sent;
	o->earlier.dropped += o->told.dropped + o->told.queued + (o->page.n != 0);
	o->told = (struct otlp_told){ 0 };
	o->pid = 0;
	close(o->fd);
	buf_free(&o->page);
	o->at = 0;
}

void otlp_reap(struct otlp *o)
{
	if (o->pid && waitpid(o->pid, NULL, WNOHANG) == o->pid)
		forget(o);
}

void otlp_set(struct otlp *o, const struct otlp_to *to, u32 every)
{
	struct arena a = { 0 };
	const char *text = to->url ? otlp_to_text(to, &a) : NULL;
	bool same = o->to && text ? strcmp(o->to, text) == 0 : !o->to == !text;

	o->every = every;
	if (!same) {
		otlp_stop(o);
		free(o->to);
		o->to = text ? strdup(text) : NULL;
		if (text && !o->to)
			base_no_memory();
		o->next = 0;
	}
	arena_free(&a);
}

/* It has nothing to be put in order. */
void otlp_stop(struct otlp *o)
{
	if (!o->pid)
		return;
	kill(o->pid, SIGKILL);
	waitpid(o->pid, NULL, 0);
	forget(o);
}
