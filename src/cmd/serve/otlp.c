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

static void begin_message(struct otlp *o, enum otlp_kind kind, u32 size)
{
	u32 word = size | (u32)kind << OTLP_KIND_SHIFT;

	buf_add(&o->page, &word, sizeof(word));
}

static void begin(struct otlp *o)
{
	char self[] = "memtap", serve[] = "serve", feed[] = "--otlp-feed";
	char *argv[] = { self, serve, feed, NULL };

	o->pid = own_start("--otlp", argv, &o->fd);
	buf_reset(&o->page);
	begin_message(o, OTLP_METRICS, (u32)strlen(o->to));
	buf_puts(&o->page, o->to);
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
	memset(o->held, 0, sizeof(o->held));
	o->at = 0;
}

static void take_page(struct otlp *o, struct serve *s)
{
	size_t from = o->page.n;
	u32 size;

	begin_message(o, OTLP_METRICS, 0);
	serve_page(s, METRICS_NATIVE, &o->page);
	size = (u32)(o->page.n - from - sizeof(size));
	memcpy(o->page.p + from, &size, sizeof(size));
	o->held[OTLP_METRICS]++;
}

/* Each collector has a message for each of its maps. */
static void take_profiles(struct otlp *o, struct str page)
{
	u32 size;

	while (page.n > sizeof(size)) {
		memcpy(&size, page.p, sizeof(size));
		page = (struct str){ page.p + sizeof(size), page.n - (u32)sizeof(size) };
		size = MIN(size, page.n);
		begin_message(o, OTLP_PROFILES, size);
		buf_add(&o->page, page.p, size);
		page = (struct str){ page.p + size, page.n - size };
		o->held[OTLP_PROFILES]++;
	}
}

/* Those that have come. Is one still to come? */
static bool hear_profiles(struct otlp *o, struct serve *s)
{
	bool owe = false;

	for (u32 i = 0; o->pid && i < s->n; i++) {
		owe |= collector_owes(s->all[i]);
		take_profiles(o, collector_apart(s->all[i]));
		collector_had(s->all[i]);
	}
	return owe;
}

/* While an earlier one is not handed over a page is dropped; profiles come with the next ones. */
static void take(struct otlp *o, struct serve *s)
{
	bool is_new = !o->pid, busy;

	if (is_new)
		begin(o);
	busy = !o->pid || (o->page.n && !is_new);
	if (busy)
		o->earlier[OTLP_METRICS].dropped += o->sends[OTLP_METRICS];
	else if (o->sends[OTLP_METRICS])
		take_page(o, s);
	if (!busy && o->sends[OTLP_PROFILES])
		for (u32 i = 0; i < s->n; i++)
			collector_ask_apart(s->all[i], FEED_OTLP);
}

int otlp_work(struct otlp *o, struct serve *s)
{
	u64 now = clock_ms();
	int ms;

	if (!o->to)
		return -1;
	if (!o->next)
		o->next = now + o->every * 1000ull;
	if (now >= o->next) {
		o->next = now + o->every * 1000ull;
		o->asked = now;
		take(o, s);
	}
	ms = (int)(o->next - now);
	if (o->sends[OTLP_PROFILES] && hear_profiles(o, s))
		ms = MIN(ms, AGAIN_MS + (int)(now - o->asked) / 8);
	if (o->page.n)
		hand_over(o);
	return o->page.n ? AGAIN_MS : ms;
}

static void hear(struct otlp *o)
{
	struct otlp_told told[OTLP_KINDS];

	while (o->pid && recv(o->fd, told, sizeof(told), MSG_DONTWAIT) == sizeof(told))
		memcpy(o->told, told, sizeof(told));
}

struct otlp_told otlp_told(struct otlp *o, enum otlp_kind kind)
{
	const struct otlp_told *now = &o->told[kind], *earlier = &o->earlier[kind];

	hear(o);
	return (struct otlp_told){ earlier->sent + now->sent, earlier->dropped + now->dropped,
		                   now->queued };
}

/* What it had not sent is dropped. */
static void forget(struct otlp *o)
{
	hear(o);
	for (u32 i = 0; i < OTLP_KINDS; i++) {
		o->earlier[i].sent += o->told[i].sent;
		o->earlier[i].dropped += o->told[i].dropped + o->told[i].queued + o->held[i];
	}
	memset(o->told, 0, sizeof(o->told));
	memset(o->held, 0, sizeof(o->held));
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
	const char *text = to->url || to->profiles ? otlp_to_text(to, &a) : NULL;
	bool same = o->to && text ? strcmp(o->to, text) == 0 : !o->to == !text;

	o->every = every;
	o->sends[OTLP_METRICS] = to->url != NULL;
	o->sends[OTLP_PROFILES] = to->profiles != NULL;
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
