/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/otlp.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/serve/own.h"
#include "cmd/serve/serve.h"

#define AGAIN_MS 20 /* until the process has read some of a page */

static void begin(struct otlp *o)
{
	char self[] = "memtap", serve[] = "serve", to[] = "--otlp", feed[] = "--otlp-feed";
	char *argv[] = { self, serve, to, base_plain(o->url), feed, NULL };

	o->pid = own_start("--otlp", argv, &o->fd);
	buf_reset(&o->page);
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
	u32 size = 0;

	buf_add(&o->page, &size, sizeof(size));
	serve_page(s, METRICS_NATIVE, &o->page);
	size = (u32)(o->page.n - sizeof(size));
	memcpy(o->page.p, &size, sizeof(size));
}

int otlp_work(struct otlp *o, struct serve *s)
{
	u64 now = clock_ms();

	if (!o->url)
		return -1;
	if (!o->next)
		o->next = now + o->every * 1000ull;
	if (now >= o->next) {
		o->next = now + o->every * 1000ull;
		if (!o->pid)
			begin(o);
		if (o->page.n || !o->pid)
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

/* It has nothing to be put in order. */
void otlp_stop(struct otlp *o)
{
	if (!o->pid)
		return;
	kill(o->pid, SIGKILL);
	waitpid(o->pid, NULL, 0);
	forget(o);
}
