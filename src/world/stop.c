/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SIGINT, SIGTERM and SIGHUP of a session; see stop.h.
 *
 * The one idea: the session has these signals blocked, and a thread that does nothing else waits
 * for them. It notes the time and makes a descriptor readable, for whatever looks or polls. A
 * system call that does neither is interrupted, by a signal whose handler does nothing; it is sent
 * again and again while the call lasts, so it makes no difference that one may come just before
 * the call.
 *
 * The thread is a sixth of what a start costs, so there is none before somebody may have to wait:
 * signals that come earlier stay blocked until it is there, or until the end.
 */
#include "world/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "sym/debuginfod.h"

#define POKE         SIGURG /* ignored by all who do not handle it */
#define POKE_MS      20
#define STUCK_MS     800 /* after the wish, then a call is given up */
#define STUCK_NEW_MS 500 /* but one that began later has so long */
#define THREAD_STACK (64 * 1024)
#define MS           1000000ull
#define NULL_DEVICE  makedev(1, 3) /* /dev/null; Documentation/admin-guide/devices.txt */

struct stop {
	pthread_t thread, waiter;
	sigset_t wishes; /* the signals that ask */
	sigset_t old_mask;
	struct sigaction old_poke;
	bool listening;           /* the session's alone: there is a thread */
	int fd, target;           /* eventfd; pidfd, borrowed */
	u64 asked_ns;             /* atomic; CLOCK_MONOTONIC, 0: not asked */
	bool ending, closing;     /* atomic */
	u64 allowed_ns, least_ns; /* the session's alone: after asked_ns; not before */
	pthread_mutex_t lock;     /* of what is below */
	u64 waiting_ns;           /* since then the session is in a call; 0: it is not */
	bool interrupted;
};

static u64 now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static u64 asked_ns(const struct stop *s)
{
	return s ? __atomic_load_n(&s->asked_ns, __ATOMIC_ACQUIRE) : 0;
}

/* ---- for the session ---- */

void stop_ask(struct stop *s)
{
	u64 one = 1, not_yet = 0;
	ssize_t n;

	if (!s || !__atomic_compare_exchange_n(&s->asked_ns, &not_yet, now_ns(), false,
	                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	debuginfod_give_up();
	n = write(s->fd, &one, sizeof(one));
	(void)n;
	if (s->listening)
		pthread_kill(s->thread, POKE); /* it looks after calls from now on */
}

bool stop_asked(const struct stop *s)
{
	return asked_ns(s) != 0;
}

void stop_is_ending(struct stop *s)
{
	if (s)
		__atomic_store_n(&s->ending, true, __ATOMIC_RELEASE);
}

void stop_allow(struct stop *s, u32 ms, u32 more)
{
	if (!s)
		return;
	s->allowed_ns = ms * MS;
	s->least_ns = now_ns() + more * MS;
}

int stop_left(const struct stop *s)
{
	u64 asked = asked_ns(s), now = now_ns(), until;

	if (!asked)
		return -1;
	until = MAX(asked + s->allowed_ns, s->least_ns);
	return until > now ? (int)((until - now) / MS) + 1 : 0;
}

bool stop_over(const struct stop *s)
{
	return stop_asked(s) && stop_left(s) == 0;
}

/* ---- the thread ---- */

static void do_nothing(int number)
{
	(void)number;
}

/* As the signal would have done without us; a handler that is there (ui/term_curses.c) runs. */
static void end_at_once(const struct stop *s, int number)
{
	struct sigaction now;
	sigset_t set;

	if (s->target >= 0)
		syscall(SYS_pidfd_send_signal, s->target, SIGKILL, NULL, 0);
	if (sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
		signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	_exit(128 + number);
}

static void on_signal(struct stop *s, int number)
{
	u64 asked = asked_ns(s);

	if (!asked && !__atomic_load_n(&s->ending, __ATOMIC_ACQUIRE))
		stop_ask(s);
	else if (now_ns() - asked >= STOP_ECHO_MS * MS)
		end_at_once(s, number);
}

static void interrupt_stuck(struct stop *s)
{
	u64 asked = asked_ns(s), now = now_ns();

	pthread_mutex_lock(&s->lock);
	if (s->waiting_ns && now >= MAX(asked + STUCK_MS * MS, s->waiting_ns + STUCK_NEW_MS * MS)) {
		s->interrupted = true;
		pthread_kill(s->waiter, POKE);
	}
	pthread_mutex_unlock(&s->lock);
}

/* SIGHUP that is ignored (nohup) is not a wish. */
static sigset_t wishes(void)
{
	struct sigaction hang_up;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hang_up) < 0 || hang_up.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	return set;
}

static void *listen(void *ctx)
{
	const struct timespec poke = { .tv_nsec = POKE_MS * MS };
	struct stop *s = ctx;
	sigset_t set = s->wishes;

	caps_keep(CAPS(CAP_KILL)); /* its child may be another user's */
	sigaddset(&set, POKE);
	while (!__atomic_load_n(&s->closing, __ATOMIC_ACQUIRE)) {
		int number = sigtimedwait(&set, NULL, stop_asked(s) ? &poke : NULL);

		if (number > 0 && number != POKE)
			on_signal(s, number);
		if (stop_asked(s))
			interrupt_stuck(s);
	}
	return NULL;
}

/* It takes all signals that are blocked elsewhere; none is for it. */
static int start_thread(struct stop *s)
{
	pthread_attr_t attr;
	sigset_t all, mask;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	r = pthread_create(&s->thread, &attr, listen, s);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

/* One that was blocked and is there already counts at once, not when the thread gets a
 * processor. */
static void take_pending(struct stop *s)
{
	const struct timespec none = { 0 };

	if (!stop_asked(s) && sigtimedwait(&s->wishes, NULL, &none) > 0)
		stop_ask(s);
}

bool stop_listen(struct stop *s, struct err *e)
{
	int r;

	if (s->listening)
		return true;
	take_pending(s);
	r = start_thread(s);
	s->listening = r == 0;
	return s->listening || err_sys(e, r, "can not receive signals");
}

/* ---- for those who wait ---- */

/* Without a thread a signal has to act as without us: there is nobody else who could take it. */
static void listen_or_let_go(struct stop *s)
{
	struct err ignored;

	if (s && !s->listening && !stop_listen(s, &ignored))
		pthread_sigmask(SIG_SETMASK, &s->old_mask, NULL);
}

int stop_fd(struct stop *s)
{
	listen_or_let_go(s);
	return s ? s->fd : -1;
}

bool stop_poll(struct stop *s, int fd)
{
	for (;;) {
		/* Once asked, the descriptor stays readable. */
		struct pollfd p[] = { { .fd = fd, .events = POLLIN },
			              { .fd = stop_asked(s) ? -1 : stop_fd(s), .events = POLLIN } };

		if (poll(p, ARRAY_SIZE(p), stop_left(s)) > 0 && p[0].revents)
			return true;
		if (stop_over(s))
			return false;
	}
}

void stop_wait(struct stop *s)
{
	if (!s)
		return;
	listen_or_let_go(s);
	pthread_mutex_lock(&s->lock);
	s->waiting_ns = now_ns();
	s->interrupted = false;
	pthread_mutex_unlock(&s->lock);
}

/* Of a pipe that has room the kernel takes so many bytes whole. A terminal may be stopped in the
 * middle of them. */
static bool may_block(int fd, size_t n)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct stat st;

	/* As fstat(), whose own "" would be another 64 KB of libc in memory. */
	if (n > PIPE_BUF || fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return true;
	if (S_ISFIFO(st.st_mode))
		return poll(&p, 1, 0) != 1 || p.revents != POLLOUT;
	return !S_ISREG(st.st_mode) && st.st_rdev != NULL_DEVICE;
}

void stop_wait_write(struct stop *s, int fd, size_t n)
{
	if (s && (s->listening || may_block(fd, n)))
		stop_wait(s);
}

bool stop_waited(struct stop *s)
{
	bool interrupted;

	if (!s)
		return true;
	pthread_mutex_lock(&s->lock);
	s->waiting_ns = 0;
	interrupted = s->interrupted;
	pthread_mutex_unlock(&s->lock);
	return !interrupted;
}

/* ---- its life ---- */

static const int heeded[] = { SIGINT, SIGTERM };
static bool was_ignored[ARRAY_SIZE(heeded)];

void stop_heed(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(heeded); i++)
		was_ignored[i] = signal(heeded[i], SIG_DFL) == SIG_IGN;
}

void stop_ignore_again(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(heeded); i++)
		if (was_ignored[i])
			signal(heeded[i], SIG_IGN);
}

static void change_mask(struct stop *s)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, &s->wishes, &s->old_mask);
	sigemptyset(&set);
	sigaddset(&set, POKE);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void free_it(struct stop *s)
{
	sigaction(POKE, &s->old_poke, NULL);
	pthread_sigmask(SIG_SETMASK, &s->old_mask, NULL);
	if (s->fd >= 0)
		close(s->fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void stop_hold(sigset_t *before)
{
	sigset_t set = wishes();

	pthread_sigmask(SIG_BLOCK, &set, before);
}

void stop_release(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

struct stop *stop_open(int target, struct err *e)
{
	const struct sigaction poke = { .sa_handler = do_nothing }; /* no SA_RESTART: EINTR */
	struct stop *s = calloc(1, sizeof(*s));

	if (!s)
		base_no_memory();
	pthread_mutex_init(&s->lock, NULL);
	s->waiter = pthread_self();
	s->wishes = wishes();
	s->target = target;
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd < 0)
		err_sys(e, errno, "can not receive signals");
	sigaction(POKE, &poke, &s->old_poke);
	change_mask(s);
	take_pending(s);
	if (s->fd >= 0)
		return s;
	free_it(s);
	return NULL;
}

/* The same wish that came twice is not to end the process when it has done what was wished. */
static void take_echo(const struct stop *s)
{
	const struct timespec none = { 0 };

	while (stop_asked(s) && now_ns() - asked_ns(s) < STOP_ECHO_MS * MS)
		if (sigtimedwait(&s->wishes, NULL, &none) < 0 && errno != EINTR)
			break;
}

void stop_close(struct stop *s)
{
	if (!s)
		return;
	if (s->listening) {
		__atomic_store_n(&s->closing, true, __ATOMIC_RELEASE);
		pthread_kill(s->thread, POKE);
		pthread_join(s->thread, NULL);
	} else {
		take_pending(s);
	}
	take_echo(s);
	free_it(s);
}
