/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stopping a process.
 *
 * Threads are seized (PTRACE_SEIZE) and interrupted, which sends no signal and stops them on their
 * way out of the kernel, before a system call is started again and before a signal's handler runs.
 * What else they report meanwhile is a signal on its way to them: it goes on. A thread that was not
 * seized yet may start others, so the list is read again until all that are in it stand still: then
 * nobody is left who could start one.
 *
 * An interrupted system call is the kernel's matter: it starts most of them again. Those that
 * signal(7) lists as ending with EINTR after a stop, although no handler ran, are made to start
 * again like others. Their timeouts count anew.
 */
#include "inject/hold.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"

#define GIVE_UP_NS 60000000000u /* for threads that are to stop and do not */
#define SUNK_NS    5000000000u  /* ... all of them in uninterruptible sleep */
#define DEEP_NS    20000000u    /* in such a sleep, before the first is stopped */
#define RUN_ON_MS  2000u
#define LISTS      3u        /* of threads, before the first is stopped */
#define LOOK_NS    50000u    /* between two looks whether a thread has stopped */
#define REST_NS    10000000u /* ... at most, of those that are given up */
#define LOOKS      8u        /* at one of them, then at all */

static bool read_task(pid_t pid, pid_t tid, const char *file, struct buf *b)
{
	char path[64];
	struct err e;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, file);
	return file_read(path, b, 65536, &e);
}

char hold_state(pid_t pid, pid_t tid)
{
	struct buf b = { 0 };
	const char *end = read_task(pid, tid, "stat", &b) ? strrchr(buf_text(&b), ')') : NULL;
	char state = end && end[1] ? end[2] : 0;

	buf_free(&b);
	return state;
}

bool hold_status(pid_t pid, pid_t tid, const char *name, u64 *value)
{
	struct buf b = { 0 };
	char key[32];
	const char *at;

	snprintf(key, sizeof(key), "\n%s:", name);
	at = read_task(pid, tid, "status", &b) ? strstr(buf_text(&b), key) : NULL;
	if (at)
		*value = strtoull(at + strlen(key), NULL, 16);
	buf_free(&b);
	return at;
}

/* ---- stopping ------------------------------------------------------------------------------- */

static struct hold_thread *find(const struct hold *h, pid_t tid)
{
	for (u32 i = 0; i < h->n; i++)
		if (h->v[i].tid == tid)
			return &h->v[i];
	return NULL;
}

static void drop(struct hold *h, struct hold_thread *t)
{
	*t = h->v[--h->n];
}

static void add(struct hold *h, pid_t tid)
{
	if (h->n == h->room) {
		h->room = h->room ? 2 * h->room : 64;
		h->v = reallocarray(h->v, h->room, sizeof(*h->v));
		if (!h->v)
			base_no_memory();
	}
	h->v[h->n++] = (struct hold_thread){ .tid = tid };
}

static bool is_over(char state)
{
	return !state || state == 'Z' || state == 'X';
}

/* Nothing changes for it until it is interrupted. */
static bool seize(struct hold *h, pid_t tid, struct err *e)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) < 0) {
		int code = errno;

		return is_over(hold_state(h->pid, tid)) ||
		       err_sys(e, code, "process %d can not be stopped", h->pid);
	}
	add(h, tid);
	return true;
}

static bool interrupt(struct hold *h, u32 from, struct err *e)
{
	for (u32 i = from; i < h->n; i++)
		if (ptrace(PTRACE_INTERRUPT, h->v[i].tid, 0, 0) < 0 && errno != ESRCH)
			return err_sys(e, errno, "thread %d can not be interrupted", h->v[i].tid);
	return true;
}

static void rest(u64 ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

/* Before anybody is stopped: one that stays deep in the kernel would let all others wait for it. */
static bool comes_out(struct hold *h, pid_t tid, struct err *e)
{
	u64 until = clock_ns(CLOCK_MONOTONIC) + DEEP_NS;

	while (hold_state(h->pid, tid) == 'D') {
		if (clock_ns(CLOCK_MONOTONIC) > until)
			return err_set(e, "thread %d of process %d is in uninterruptible sleep",
			               tid, h->pid);
		rest(LOOK_NS);
	}
	return true;
}

static bool seize_new(struct hold *h, pid_t tid, struct err *e)
{
	return find(h, tid) || seize(h, tid, e);
}

typedef bool task_fn(struct hold *h, pid_t tid, struct err *e);

static bool each_task(struct hold *h, task_fn *fn, struct err *e)
{
	char path[64];
	DIR *d;
	bool ok = true;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task", h->pid);
	fd = file_open_dir(path);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return err_set(e, "there is no process with pid %d", h->pid);
	}
	for (struct dirent *one; ok && (one = readdir(d));) {
		pid_t tid = (pid_t)strtol(one->d_name, NULL, 10);

		if (tid > 0)
			ok = fn(h, tid, e);
	}
	closedir(d);
	return ok;
}

/* What waitpid() says of a thread that is on its way to its stop. */
static void reported(struct hold *h, struct hold_thread *t, int status)
{
	if (!WIFSTOPPED(status)) {
		drop(h, t);
	} else if (status >> 16 == PTRACE_EVENT_STOP) {
		t->stands = true;
		t->paused |= WSTOPSIG(status) != SIGTRAP;
	} else {
		/* A stop for a signal may have taken the place of the one that was asked for. */
		ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
		ptrace(PTRACE_CONT, t->tid, 0, WSTOPSIG(status));
	}
}

/* Takes what is reported of one; whether it is still moving. It is gone when another one has its
 * place in h->v. A process's first thread is reported as ended only with the last one. */
static bool is_moving(struct hold *h, struct hold_thread *t)
{
	int status;
	pid_t got;

	if (t->stands)
		return false;
	got = waitpid(t->tid, &status, __WALL | WNOHANG);
	if (got == t->tid)
		reported(h, t, status);
	else if (got < 0 || (t->tid == h->pid && is_over(hold_state(h->pid, t->tid))))
		drop(h, t);
	else
		return true;
	return false;
}

/* One that does not stand, after all reports. */
static struct hold_thread *moving(struct hold *h)
{
	struct hold_thread *found = NULL;

	for (u32 i = h->n; i--;)
		if (is_moving(h, &h->v[i]) || (i < h->n && !h->v[i].stands))
			found = &h->v[i];
	return found;
}

/* Who looks at all of them again and again takes the processor that they need. */
static bool wait_stops(struct hold *h, u64 until, struct err *e)
{
	struct hold_thread *t;

	while ((t = moving(h))) {
		if (clock_ns(CLOCK_MONOTONIC) > until)
			return err_set(e, "thread %d of process %d does not stop (its state is %c)",
			               t->tid, h->pid, hold_state(h->pid, t->tid));
		for (u32 i = 0; i < LOOKS; i++) {
			rest(LOOK_NS);
			if (!is_moving(h, t))
				break;
		}
	}
	return true;
}

static bool get_regs(struct hold_thread *t)
{
	struct iovec io = { t->regs.v, sizeof(t->regs.v) };
	bool ok = ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &io) == 0;

	t->regs.n = io.iov_len;
	return ok;
}

static bool all_regs(struct hold *h, struct err *e)
{
	for (u32 i = 0; i < h->n; i++) {
		if (!get_regs(&h->v[i]))
			return err_set(e, "process %d ended while it was stopped", h->pid);
		if (!thread_is_native(&h->v[i].regs))
			return err_set(e, "process %d does not run this machine's 64-bit code",
			               h->pid);
	}
	return h->n || err_set(e, "there is no process with pid %d", h->pid);
}

/* ---- going on ------------------------------------------------------------------------------- */

void hold_go_on_at(struct hold *h, u32 i, u64 ip)
{
	thread_set_ip(&h->v[i].regs, ip);
	h->v[i].moves = true;
}

/* Ends with EINTR after a stop, and has done nothing by then. */
static bool starts_again(u64 number)
{
	static const u64 calls[] = {
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
		SYS_epoll_pwait,
		SYS_epoll_pwait2,
		SYS_semop,
		SYS_semtimedop,
		SYS_rt_sigtimedwait,
		/* with a timeout of the socket */
		SYS_read,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_accept,
		SYS_accept4,
	};

	for (u32 i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i] == number)
			return true;
	return false;
}

static void set_regs(struct hold_thread *t)
{
	struct iovec io = { t->regs.v, 0 };
	bool moves = t->moves;
	u64 number;

	if ((t->regs.n || get_regs(t)) && thread_in_call(&t->regs, &number) &&
	    starts_again(number) && thread_result(&t->regs) == -EINTR) {
		thread_restart(&t->regs);
		moves = true;
	}
	io.iov_len = t->regs.n;
	if (moves)
		ptrace(PTRACE_SETREGSET, t->tid, NT_PRSTATUS, &io);
	t->moves = false;
}

static void let_go(struct hold_thread *t)
{
	set_regs(t);
	ptrace(PTRACE_DETACH, t->tid, 0, 0);
}

static void let_standing_go(struct hold *h)
{
	for (u32 i = 0; i < h->n;) {
		if (h->v[i].stands) {
			let_go(&h->v[i]);
			drop(h, &h->v[i]);
		} else {
			i++;
		}
	}
	if (h->since)
		h->stood_ns = clock_ns(CLOCK_MONOTONIC) - h->since;
	h->since = 0;
}

/* Threads on their way are waited for; those that are deep in the kernel not for so long. */
static bool is_worth_waiting(struct hold *h, u64 since)
{
	u64 passed = clock_ns(CLOCK_MONOTONIC) - since;

	moving(h);
	for (u32 i = 0; i < h->n && passed < GIVE_UP_NS; i++)
		if (passed < SUNK_NS || hold_state(h->pid, h->v[i].tid) != 'D')
			return true;
	return false;
}

/*
 * Of a stop that came to nothing: threads that were on their way are met there and let go. What is
 * left when it is given up is let go by this process's end; but a thread that was called out of a
 * system call and only waits for a processor would see that the call was interrupted.
 */
static void give_up(struct hold *h)
{
	u64 since = clock_ns(CLOCK_MONOTONIC);

	for (let_standing_go(h); is_worth_waiting(h, since);) {
		let_standing_go(h);
		/* We come before all others; they need the processor. */
		rest(MIN(LOOK_NS + (clock_ns(CLOCK_MONOTONIC) - since) / 8, REST_NS));
	}
	let_standing_go(h);
}

/* All threads that there are; others may have started meanwhile. */
static bool seize_all(struct hold *h, struct err *e)
{
	u32 before;

	for (u32 i = 0; i < LISTS; i++) {
		before = h->n;
		if (!each_task(h, seize_new, e))
			return false;
		if (h->n == before)
			break;
	}
	return true;
}

static bool stop_all(struct hold *h, u32 ms, struct err *e)
{
	u64 until = clock_ns(CLOCK_MONOTONIC) + (u64)ms * 1000000;
	u32 from = 0;
	bool ok = true;

	do {
		ok = ok && interrupt(h, from, e) && wait_stops(h, until, e);
		from = h->n;
		ok = ok && each_task(h, seize_new, e);
	} while (ok && h->n > from);
	return ok && all_regs(h, e);
}

bool hold_all(struct hold *h, pid_t pid, u32 ms, struct err *e)
{
	bool ok;

	*h = (struct hold){ .pid = pid, .caller = HOLD_NOBODY };
	if (!each_task(h, comes_out, e))
		return false;
	ok = seize_all(h, e);
	h->since = clock_ns(CLOCK_MONOTONIC);
	if (ok && stop_all(h, ms, e))
		return true;
	interrupt(h, 0, &(struct err){ 0 });
	give_up(h);
	free(h->v);
	h->v = NULL;
	return false;
}

bool hold_is_paused(const struct hold *h)
{
	for (u32 i = 0; i < h->n; i++)
		if (h->v[i].paused)
			return true;
	return false;
}

void hold_run_on(struct hold *h)
{
	for (u32 i = 0; i < h->n; i++) {
		set_regs(&h->v[i]);
		h->v[i].stands = false;
		ptrace(PTRACE_CONT, h->v[i].tid, 0, 0);
		h->v[i].regs.n = 0;
	}
	arena_free(&h->arena);
	h->has_maps = false;
}

void hold_keep_running(struct hold *h)
{
	for (u32 i = h->n; i--;) {
		struct hold_thread *t = &h->v[i];
		int status;

		if (waitpid(t->tid, &status, __WALL | WNOHANG) != t->tid)
			continue;
		if (!WIFSTOPPED(status))
			drop(h, t);
		else
			ptrace(PTRACE_CONT, t->tid, 0,
			       status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status));
	}
}

bool hold_stand_again(struct hold *h, struct err *e)
{
	return stop_all(h, RUN_ON_MS, e);
}

const struct procmaps *hold_maps(struct hold *h, struct err *e)
{
	h->has_maps = h->has_maps || procmaps_read(&h->arena, h->pid, &h->maps, e);
	return h->has_maps ? &h->maps : NULL;
}

bool hold_let_go(struct hold *h, struct err *e)
{
	bool ok = hold_end_calls(h, e);

	let_standing_go(h);
	arena_free(&h->arena);
	free(h->v);
	h->v = NULL;
	return ok;
}
