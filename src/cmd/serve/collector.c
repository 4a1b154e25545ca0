/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/collector.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/words.h"
#include "cmd/serve/own.h"
#include "cmd/tools.h"
#include "view/metrics_feed.h"

#define PAUSE_MOST   300   /* seconds */
#define PAUSE_RESETS 60000 /* ms: one that ran so long begins with the first pause again */
#define STOP_MS      900
#define TAKE_OUT_MS  25000          /* more than the 20 s of cmd/heap_target.c */
#define IN_PROCESS   "--in-process" /* of memleak, or with a value: --in-process=true */

/* "reads" of "/etc/memtap/reads.bt" */
static const char *base_name(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name);

	return n > 3 && strcmp(name + n - 3, ".bt") == 0 ? arena_strndup(a, name, n - 3) : name;
}

static bool is_tool(const char *name)
{
	return tools_has(name) || tools_has_file(name);
}

bool collector_init(struct collector *c, struct arena *a, const char *folder, const char *text,
                    struct err *e)
{
	struct near near;
	struct stat st;
	char **path;

	*c = (struct collector){ .fd = -1 };
	if (!words_split(a, "a collector", text, &c->words, &c->n_words, e))
		return false;
	path = &c->words[0];
	c->name = base_name(a, *path);
	if (is_tool(*path))
		return true;
	if (**path != '/')
		*path = arena_printf(a, "%s%s", folder, *path);
	if (stat(*path, &st) == 0 && access(*path, R_OK) == 0) {
		c->version = (struct stamp){ st.st_dev, st.st_ino,
			                     (u64)st.st_mtim.tv_sec * 1000000000 +
			                             (u64)st.st_mtim.tv_nsec };
		return true;
	}
	err_sys(e, errno, "there is no tool '%s', and as a script it can not be read", *path);
	near_init(&near, c->name);
	tools_offer(&near);
	if (near_best(&near))
		return err_hint(e, "did you mean '%s'?", near.best);
	return err_hint(e, "memtap tools lists the tools");
}

bool collector_same(const struct collector *a, const struct collector *b)
{
	bool same = strcmp(a->name, b->name) == 0 && a->n_words == b->n_words &&
	            a->max_series == b->max_series && a->idle == b->idle &&
	            a->restart == b->restart &&
	            memcmp(&a->version, &b->version, sizeof(a->version)) == 0;

	for (u32 i = 0; same && i < a->n_words; i++)
		same = strcmp(a->words[i], b->words[i]) == 0;
	return same;
}

void collector_take(struct collector *to, struct collector *from)
{
	struct collector what = *to;

	*to = *from;
	to->name = what.name;
	to->words = what.words;
	from->pid = 0;
	from->fd = -1;
	from->answer = from->kept = (struct buf){ 0 };
}

/* ---- the process ---- */

/* Its output has no reader; what it says to the user goes where ours goes. */
static pid_t run(struct collector *c)
{
	char **argv = calloc(c->n_words + 5, sizeof(*argv));
	char self[] = "memtap", option[] = "--feed", quiet[] = "-q";
	pid_t pid;

	if (!argv || asprintf(&argv[2], "%d,%u,%u,%s", OWN_FD, c->max_series, c->idle, c->name) < 0)
		base_no_memory();
	argv[0] = self;
	argv[1] = option;
	argv[3] = quiet;
	memcpy(argv + 4, c->words, c->n_words * sizeof(*argv));
	pid = own_start(c->name, argv, &c->fd);
	free(argv[2]);
	free(argv);
	return pid;
}

void collector_start(struct collector *c)
{
	if (c->pid || c->paused || clock_ms() < c->next_start)
		return;
	c->began = clock_ms();
	c->next_start = c->began + c->restart * 1000ull;
	c->pid = run(c);
	c->starts += c->pid != 0;
}

int collector_wait(const struct collector *c)
{
	u64 now = clock_ms();

	if (c->pid || c->paused)
		return -1;
	return c->next_start > now ? (int)(c->next_start - now) : 0;
}

static void forget(struct collector *c)
{
	c->pid = 0;
	close(c->fd);
	c->fd = -1;
	c->asked = c->late = c->apart = c->answered = false;
	buf_reset(&c->answer);
}

void collector_reap(struct collector *c)
{
	u64 now = clock_ms();
	int status;

	if (!c->pid || waitpid(c->pid, &status, WNOHANG) != c->pid)
		return;
	forget(c);
	c->pause = !c->pause || now - c->began > PAUSE_RESETS ? c->restart
	                                                      : MIN(c->pause * 2, PAUSE_MOST);
	c->next_start = now + c->pause * 1000ull;
}

/* One that has put code into a process takes it out first, however long a thread of it sleeps. */
static u64 stop_ms(const struct collector *c)
{
	if (strcmp(c->words[0], "heap") == 0)
		return TAKE_OUT_MS;
	for (u32 i = 1; i < c->n_words; i++)
		if (strncmp(c->words[i], IN_PROCESS, strlen(IN_PROCESS)) == 0)
			return TAKE_OUT_MS;
	return STOP_MS;
}

void collectors_stop(struct collector *const *all, u32 n)
{
	u64 asked = clock_ms();

	for (u32 i = 0; i < n; i++)
		if (all[i]->pid)
			kill(all[i]->pid, SIGTERM);
	for (u32 i = 0; i < n; i++) {
		struct collector *c = all[i];

		while (c->pid && waitpid(c->pid, NULL, WNOHANG) == 0) {
			if (clock_ms() - asked > stop_ms(c))
				kill(c->pid, SIGKILL);
			usleep(2000);
		}
		if (c->pid)
			forget(c);
		buf_free(&c->answer);
		buf_free(&c->kept);
	}
}

/* ---- its page ---- */

static size_t answer_size(const struct collector *c)
{
	struct metrics_answer head;

	if (c->answer.n < sizeof(head))
		return sizeof(head);
	memcpy(&head, c->answer.p, sizeof(head));
	return sizeof(head) + head.bytes;
}

static void ask(struct collector *c, struct str what)
{
	if (c->fd < 0 || c->asked)
		return;
	buf_reset(&c->answer);
	c->answered = false;
	c->asked = send(c->fd, what.p, what.n, MSG_NOSIGNAL) == (ssize_t)what.n;
}

static void keep(struct collector *c)
{
	struct buf empty = c->kept;

	c->kept = c->answer;
	c->answer = empty;
	buf_reset(&c->answer);
	c->apart = false;
}

/* What has come so far. The answer to an older page is of no use any more, then `what` is asked. */
static void take(struct collector *c, struct str what)
{
	size_t left = answer_size(c) - c->answer.n;
	ssize_t n = recv(c->fd, buf_need(&c->answer, left), left, MSG_DONTWAIT);

	if (n <= 0) {
		c->asked = n < 0 && errno == EAGAIN; /* else it is at its end */
		c->apart &= c->asked;
		return;
	}
	c->answer.n += (size_t)n;
	if (c->answer.n < answer_size(c))
		return;
	c->asked = false;
	c->answered = !c->late && !c->apart;
	if (c->apart)
		keep(c);
	if (c->late && what.n)
		ask(c, what);
	c->late = false;
}

static void ask_all(struct collector *const *all, u32 n, struct str what, u32 ms)
{
	struct pollfd *p = calloc(n + 1, sizeof(*p));
	u64 until = clock_ms() + ms, now = 0;
	bool waits = true;

	if (!p)
		base_no_memory();
	for (u32 i = 0; i < n; i++) {
		all[i]->late = all[i]->asked;
		all[i]->answered = false;
		ask(all[i], what);
	}
	while (waits && (now = clock_ms()) < until) {
		waits = false;
		for (u32 i = 0; i < n; i++) {
			p[i] = (struct pollfd){ all[i]->asked ? all[i]->fd : -1, POLLIN, 0 };
			waits |= all[i]->asked;
		}
		if (waits && poll(p, n, (int)(until - now)) < 0 && errno != EINTR)
			break;
		for (u32 i = 0; i < n; i++)
			if (p[i].revents)
				take(all[i], what);
	}
	free(p);
}

void collectors_ask(struct collector *const *all, u32 n, u32 what, u32 ms)
{
	char byte = (char)(METRICS_ASK + what);

	ask_all(all, n, (struct str){ &byte, 1 }, ms);
}

void collector_ask_about(struct collector *c, u32 what, const struct feed_about *about, u32 ms)
{
	char bytes[1 + sizeof(*about)];

	bytes[0] = (char)(METRICS_ASK + what);
	memcpy(bytes + 1, about, sizeof(*about));
	ask_all(&c, 1, (struct str){ bytes, sizeof(bytes) }, ms);
}

struct str collector_page(const struct collector *c)
{
	size_t head = sizeof(struct metrics_answer);

	if (!c->answered)
		return (struct str){ "", 0 };
	return (struct str){ c->answer.p + head, (u32)(c->answer.n - head) };
}

/* ---- answers that nobody waits for ---- */

void collector_ask_apart(struct collector *c, u32 what)
{
	char byte = (char)(METRICS_ASK + what);

	if (collector_owes(c) || c->asked || c->kept.n)
		return;
	ask(c, (struct str){ &byte, 1 });
	c->apart = c->asked;
}

bool collector_owes(struct collector *c)
{
	size_t had = ~(size_t)0;

	while (c->asked && c->answer.n != had) {
		had = c->answer.n;
		c->late |= !c->apart; /* nobody waits for it now */
		take(c, (struct str){ "", 0 });
	}
	return c->apart;
}

struct str collector_apart(const struct collector *c)
{
	size_t head = sizeof(struct metrics_answer);

	if (!c->kept.n)
		return (struct str){ "", 0 };
	return (struct str){ c->kept.p + head, (u32)(c->kept.n - head) };
}

void collector_had(struct collector *c)
{
	buf_free(&c->kept);
}
