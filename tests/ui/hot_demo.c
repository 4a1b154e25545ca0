/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The screen of mctop over calls that are made up and always the same, at a time that stands still:
 * for tests/run/scenarios/ui.py. SIGUSR1 brings ten more calls of one key and ends an interval.
 *
 *     hot_demo [BYTES]      with a limit of memory, so that keys take each other's slots
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ui/hot_screen.h"

#define SECOND 1000000000ull
#define START  (1000 * SECOND)

static volatile sig_atomic_t asked;
static struct hot *hot;
static u64 clock_ns = START;

static void on_asked(int number)
{
	(void)number;
	asked++;
}

static void call(const char *key, u32 n, enum op op, enum outcome outcome, u64 size, u64 took,
                 u8 host)
{
	struct client from = { { 10, 0, 0, host }, 4000, AF_INET };
	struct command c = { .op = op,
		             .verb = "get",
		             .key = { key, n },
		             .key_size = n,
		             .outcome = outcome,
		             .sized = outcome == OUTCOME_HIT,
		             .size = size,
		             .started = clock_ns - took,
		             .ended = clock_ns,
		             .answered = true,
		             .cpu = took / 2,
		             .first = true };

	hot_command(hot, &c, &from);
}

/* Key i is asked for 400 / i times; every third is missed. */
static void fill(void)
{
	static const char binary[] = "bin\0\x01\xff\\key";
	char key[160];

	for (u32 i = 1; i <= 40; i++) {
		int n = snprintf(key, sizeof(key), "user:%04u:%.*s", i, i == 3 ? 120 : 4,
		                 "feed-with-a-name-that-is-longer-than-any-terminal-is-wide-and-"
		                 "so-has-to-be-scrolled-sideways-up-to-where-it-ends-HERE");

		for (u32 k = 0; k < 400 / i; k++) {
			clock_ns += 1000000;
			call(key, (u32)n, k % 8 == 7 ? OP_SET : OP_GET,
			     k % 3 == 2 ? OUTCOME_MISS : OUTCOME_HIT, 100 * i + k / 50,
			     2000 * (1 + k % 16), (u8)(1 + k % 3));
		}
	}
	call(binary, sizeof(binary) - 1, OP_DELETE, OUTCOME_HIT, 5, 3000, 9);
}

static bool dump(void *ctx, struct buf *b)
{
	(void)ctx;
	buf_printf(b, "dumped %llu calls", (unsigned long long)hot_totals(hot)->calls);
	return true;
}

static bool serve(struct top *t, struct hot_screen *s)
{
	for (; asked; asked--) {
		for (u32 i = 0; i < 10; i++)
			call("late", 4, OP_GET, OUTCOME_HIT, 7, 9000, 4);
		clock_ns += SECOND;
		hot_tick(hot, clock_ns);
		s->now.clock = clock_ns;
	}
	return top_tick(t);
}

int main(int argc, char **argv)
{
	struct hot_options o = { .limit = argc > 1 ? strtoull(argv[1], NULL, 10) : 0,
		                 .start = START };
	struct sigaction action = { .sa_handler = on_asked };
	struct hot_screen screen = { .dump = dump };
	struct err e = { 0 };
	struct term term;
	struct top *top;
	bool on = true;

	hot = hot_new(&o, &e);
	if (!hot || !term_open(&term, &e)) {
		fprintf(stderr, "%s\n%s\n", e.text, e.hint);
		hot_free(hot);
		return 1;
	}
	fprintf(stderr, "said meanwhile\n");
	sigaction(SIGUSR1, &action, NULL);
	fill();
	hot_tick(hot, clock_ns);
	screen.hot = hot;
	screen.now = (struct report_of){ .hot = hot,
		                         .time = 1000000000ull * SECOND,
		                         .clock = clock_ns,
		                         .server = argc > 2 ? argv[2] : "memcached",
		                         .pid = 4711,
		                         .missed.events = 3 };
	hot_screen_init(&screen, HOT_CALLS);
	top = top_new(&term, &screen.model);
	while (on) {
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

		on = serve(top, &screen);
		if (on && poll(&p, 1, -1) < 0 && errno != EINTR)
			on = false;
	}
	top_free(top);
	term_close();
	hot_free(hot);
	return 0;
}
