/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Going into processes: a child with many threads that are never idle, whose own counts have to be
 * right however often it is stopped, and mappings that have to be the same afterwards.
 * Only on x86_64: its code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "base/file.h"
#include "inject/filter.h"
#include "inject/room.h"
#include "unit/inject_aid.h"

#define ROUNDS  200
#define WORKERS 58 /* and six threads of other kinds */
#define CODE    (2 * (u64)arch_page())
#define DATA    (u64) arch_page()

/* ---- the child ------------------------------------------------------------------------------ */

struct crowd {
	volatile bool stop;
	volatile u32 wrong;     /* what went wrong, bits */
	volatile u64 sent, got; /* queued signals */
	volatile u64 ones, twos;
	pthread_t target;
	int pipe[2], wake;
};

enum {
	WRONG_SUM = 1,
	WRONG_BYTE = 2,
	WRONG_INTR = 4,
	WRONG_SIGNALS = 8,
	WRONG_CHILD = 16,
	WRONG_ANSWER = 32,
	WRONG_TIME = 64,
};

static struct crowd *crowd;

/* Alone in its pages: the first one is replaced. */
extern const u8 answer_page[];
int answer(void);
__asm__(".pushsection .text.answer, \"ax\", @progbits\n"
        ".balign 4096\n"
        ".globl answer, answer_page\n"
        ".type answer, @function\n"
        "answer_page:\n"
        "answer: mov $1, %eax\n"
        "ret\n"
        ".balign 4096\n"
        ".popsection\n");

static void wrong(u32 what)
{
	__atomic_or_fetch(&crowd->wrong, what, __ATOMIC_SEQ_CST);
}

static void count(int number)
{
	int before = errno;

	(void)number;
	__atomic_add_fetch(&crowd->got, 1, __ATOMIC_SEQ_CST);
	errno = before;
}

static u64 sum_of(u64 seed)
{
	double f = 1;

	for (u32 i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		f = f * 1.0000001 + (double)(seed & 7);
	}
	return seed + (u64)f;
}

static void *work(void *seed)
{
	u64 first = sum_of((u64)(uintptr_t)seed);

	while (!crowd->stop) {
		int a = answer();

		if (sum_of((u64)(uintptr_t)seed) != first)
			wrong(WRONG_SUM);
		__atomic_add_fetch(a == 1 ? &crowd->ones : &crowd->twos, 1, __ATOMIC_RELAXED);
		if (a != 1 && a != 2)
			wrong(WRONG_ANSWER);
		if ((uintptr_t)seed % 16)
			poll(NULL, 0, 4);
	}
	return NULL;
}

/* Each byte once, in order. */
static void *write_bytes(void *arg)
{
	for (u8 b = 0; !crowd->stop; b++)
		if (write(crowd->pipe[1], &b, 1) != 1)
			wrong(WRONG_BYTE);
	close(crowd->pipe[1]);
	return arg;
}

static void *read_bytes(void *arg)
{
	u8 want = 0, b;
	ssize_t n;

	while ((n = read(crowd->pipe[0], &b, 1)) == 1)
		if (b != want++)
			wrong(WRONG_BYTE);
	if (n)
		wrong(WRONG_BYTE);
	return arg;
}

/* Waits in calls that a signal ends; no signal comes to this thread. */
static void *wait_for_wake(void *arg)
{
	int e = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = { .events = EPOLLIN };

	if (epoll_ctl(e, EPOLL_CTL_ADD, crowd->wake, &ev))
		wrong(WRONG_INTR);
	if (epoll_wait(e, &ev, 1, -1) != 1)
		wrong(WRONG_INTR);
	close(e);
	return arg;
}

static void *sleep_on_time(void *arg)
{
	while (!crowd->stop) {
		struct timespec t = { .tv_nsec = 20000000 }, from, to;

		clock_gettime(CLOCK_MONOTONIC, &from);
		if (nanosleep(&t, NULL))
			wrong(WRONG_TIME);
		clock_gettime(CLOCK_MONOTONIC, &to);
		if ((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec < 20000000)
			wrong(WRONG_TIME);
	}
	return arg;
}

static void *take_signals(void *arg)
{
	sigset_t set, none;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	sigemptyset(&none);
	while (!crowd->stop) {
		struct timespec t = { .tv_nsec = 1000000 };

		ppoll(NULL, 0, &t, &none); /* with another mask for the time */
	}
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *start_others(void *arg)
{
	while (!crowd->stop) {
		pthread_t t;
		int status;
		pid_t p;

		if (!pthread_create(&t, NULL, nothing, NULL))
			pthread_join(t, NULL);
		p = fork();
		if (!p)
			_exit(answer() == 1 || answer() == 2 ? 7 : 8);
		if (waitpid(p, &status, 0) != p || status != 7 << 8)
			wrong(WRONG_CHILD);
		poll(NULL, 0, 2);
	}
	return arg;
}

static void run_crowd(int end_fd)
{
	void *(*const kinds[])(void *) = { write_bytes,   read_bytes,   wait_for_wake,
		                           sleep_on_time, take_signals, start_others };
	pthread_t t[WORKERS + ARRAY_SIZE(kinds)];
	const struct sigaction act = { .sa_handler = count };
	sigset_t set;
	char c;

	sigaction(SIGRTMIN, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (u32 i = 0; i < ARRAY_SIZE(t); i++)
		pthread_create(&t[i], NULL, i < WORKERS ? work : kinds[i - WORKERS],
		               (void *)(uintptr_t)(i + 1));
	while (poll(&(struct pollfd){ .fd = end_fd, .events = POLLIN }, 1, 1) == 0)
		if (pthread_sigqueue(t[WORKERS + 4], SIGRTMIN, (union sigval){ 0 }) == 0)
			crowd->sent++;
	(void)!read(end_fd, &c, 1);
	for (u32 i = 0; i < 1000 && crowd->got != crowd->sent; i++)
		poll(NULL, 0, 10);
	if (crowd->got != crowd->sent)
		wrong(WRONG_SIGNALS);
	crowd->stop = true;
	eventfd_write(crowd->wake, 1);
	for (u32 i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
	_exit(0);
}

static struct inject_child start_crowd(void)
{
	struct inject_child c;

	crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	assert_true(crowd != MAP_FAILED);
	memset((void *)crowd, 0, sizeof(*crowd));
	assert_int_equal(pipe(crowd->pipe), 0);
	crowd->wake = eventfd(0, EFD_CLOEXEC);
	c = inject_start(run_crowd);
	close(crowd->pipe[0]);
	close(crowd->pipe[1]);
	close(crowd->wake);
	for (u32 i = 0; i < 1000 && !crowd->got; i++)
		poll(NULL, 0, 10);
	return c;
}

static void end_crowd(struct inject_child *c)
{
	inject_end(c);
	assert_int_equal(crowd->wrong, 0);
	assert_true(crowd->sent > 0);
	munmap(crowd, sizeof(*crowd));
}

/* ---- in and out ----------------------------------------------------------------------------- */

struct visit {
	struct room room;
	u64 maps_before, maps_after; /* of /proc/PID/maps, while all stand still */
	u8 *stand_in;
	bool in;
};

static enum enter_end go_in(struct hold *h, void *ctx, struct err *e)
{
	struct visit *v = ctx;

	v->maps_before = inject_maps(h->pid);
	return room_find(&v->room, h, e) && room_enter(&v->room, h, e) ? ENTER_DONE : ENTER_REFUSED;
}

static enum enter_end go_out(struct hold *h, void *ctx, struct err *e)
{
	struct visit *v = ctx;

	return room_leave(&v->room, h, e) ? ENTER_DONE : ENTER_REFUSED;
}

/* In and out while nothing runs in between. */
static enum enter_end go_in_and_out(struct hold *h, void *ctx, struct err *e)
{
	struct visit *v = ctx;
	enum enter_end end = go_in(h, ctx, e);

	if (end == ENTER_DONE)
		end = go_out(h, ctx, e);
	v->maps_after = inject_maps(h->pid);
	return end;
}

static void visit_init(struct visit *v)
{
	*v = (struct visit){ 0 };
	v->room.near = (u64)(uintptr_t)answer_page;
	v->room.code = calloc(1, CODE);
	v->room.code_size = CODE;
	v->room.data_size = DATA;
	v->stand_in = malloc(arch_page());
	memcpy(v->stand_in, answer_page, arch_page());
	v->stand_in[1] = 2; /* mov $2, %eax */
	v->room.pages[0] = (struct room_page){ v->room.near, v->stand_in };
	v->room.n_pages = 1;
}

static void visit_free(struct visit *v)
{
	u8 *code = base_plain(v->room.code);

	free(code);
	free(v->stand_in);
}

static void test_rounds(void **state)
{
	struct inject_child c = start_crowd();
	struct visit v;
	u64 twos = 0;

	(void)state;
	visit_init(&v);
	for (u32 i = 0; i < ROUNDS; i++) {
		inject_enter(c.pid, go_in, &v, sizeof(v));
		/* The stand-in runs, and nothing but it. */
		for (u32 k = 0; k < 20000 && crowd->twos == twos; k++)
			poll(NULL, 0, 1);
		inject_enter(c.pid, go_out, &v, sizeof(v));
		assert_true(crowd->twos > twos);
		twos = crowd->twos;
	}
	inject_enter(c.pid, go_in_and_out, &v, sizeof(v));
	assert_true(v.maps_before && v.maps_before == v.maps_after);
	visit_free(&v);
	end_crowd(&c);
}

/* ---- one thread ----------------------------------------------------------------------------- */

/* Until the child has slept for a while; half a second for one that never does. */
static void wait_until_it_waits(pid_t pid)
{
	u32 slept = 0;

	for (u32 i = 0; i < 100 && slept < 8; i++) {
		char state = hold_state(pid, pid);

		slept = state == 'S' || state == 'D' ? slept + 1 : 0;
		poll(NULL, 0, 5);
	}
}

static pid_t start_child(void (*prepare)(void))
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (prepare)
			prepare();
		for (;;)
			pause();
	}
	return pid;
}

static pid_t start_waiting(void (*prepare)(void))
{
	pid_t pid = start_child(prepare);

	wait_until_it_waits(pid);
	return pid;
}

static void finish(pid_t pid)
{
	int status;

	kill(pid, SIGKILL); /* it has not died of anything else */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void refused(pid_t pid, const char *why)
{
	struct visit v;
	struct enter n = { .pid = pid, .fn = go_in, .ctx = &v, .size = sizeof(v), .ms = 100 };

	visit_init(&v);
	inject_refused(&n, why);
	visit_free(&v);
}

struct counted {
	volatile u64 n, signals;
};

static struct counted *counted;

static void count_signal(int number)
{
	(void)number;
	counted->signals++;
}

static void count_on(void)
{
	signal(SIGUSR1, count_signal);
	for (;;)
		counted->n++;
}

/* By turns it runs and stands, although it was asked to stop once more while it stood. A signal
 * that comes meanwhile arrives. */
static enum enter_end run_and_stand(struct hold *h, void *ctx, struct err *e)
{
	(void)ctx;
	for (u32 i = 0; i < 10; i++) {
		u64 was = counted->n;

		if (!hold_is_paused(h) || ptrace(PTRACE_INTERRUPT, h->v[0].tid, 0, 0) < 0)
			return ENTER_REFUSED;
		hold_run_on(h);
		kill(h->pid, SIGUSR1);
		for (u32 k = 0; k < 5000 && (counted->n == was || counted->signals == i); k++) {
			hold_keep_running(h);
			poll(NULL, 0, 1);
		}
		if (counted->n == was || counted->signals != i + 1 || !hold_stand_again(h, e))
			return ENTER_REFUSED;
		was = counted->n;
		poll(NULL, 0, 2);
		if (counted->n != was)
			return ENTER_REFUSED;
	}
	return ENTER_DONE;
}

static void test_run_on(void **state)
{
	pid_t pid;
	int status;
	u64 was;

	(void)state;
	counted = mmap(NULL, sizeof(*counted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	               -1, 0);
	assert_true(counted != MAP_FAILED);
	pid = start_child(count_on);
	for (u32 k = 0; k < 5000 && !counted->n; k++)
		poll(NULL, 0, 1);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	inject_enter(pid, run_and_stand, &status, sizeof(status));
	was = counted->n;
	poll(NULL, 0, 20);
	assert_true(counted->n == was); /* as before */
	assert_int_equal(hold_state(pid, pid), 'T');
	finish(pid);
	munmap(counted, sizeof(*counted));
}

static void test_stopped(void **state)
{
	pid_t pid = start_waiting(NULL);
	struct visit v;
	int status;

	(void)state;
	visit_init(&v);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	inject_enter(pid, go_in, &v, sizeof(v));
	inject_enter(pid, go_out, &v, sizeof(v));
	poll(NULL, 0, 20);
	assert_int_equal(hold_state(pid, pid), 'T'); /* as before */
	kill(pid, SIGCONT);
	for (u32 i = 0; i < 500 && hold_state(pid, pid) != 'S'; i++)
		poll(NULL, 0, 10);
	assert_int_equal(hold_state(pid, pid), 'S');
	assert_true(inject_maps(pid) == v.maps_before);
	visit_free(&v);
	finish(pid);
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void have_two_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_ever, NULL);
}

/* A call that lasts, in the first thread, until somebody ends the process. */
static enum enter_end call_until_killed(struct hold *h, void *ctx, struct err *e)
{
	static const struct timespec day = { 86400, 0 };
	const u64 args[6] = { (u64)(uintptr_t)&day };
	struct visit *v = ctx;
	pid_t target = h->pid;
	s64 result;

	if (!room_look(&v->room, h, e))
		return ENTER_REFUSED;
	h->call_at = v->room.call_at;
	if (fork() == 0) {
		poll(NULL, 0, 50);
		_exit(kill(target, SIGKILL));
	}
	return hold_call(h, SYS_nanosleep, args, &result, e) ? ENTER_DONE : ENTER_REFUSED;
}

static void test_killed(void **state)
{
	pid_t pid = start_waiting(have_two_threads);
	struct visit v;
	struct enter n = {
		.pid = pid, .fn = call_until_killed, .ctx = &v, .size = sizeof(v), .ms = 20000
	};
	struct err e = { 0 };

	(void)state;
	visit_init(&v);
	assert_false(enter_process(&n, &e));
	assert_non_null(strstr(e.text, "ended while it was stopped"));
	visit_free(&v);
	finish(pid);
}

/* It takes longer than there is time for, and has to be tried again. */
static enum enter_end be_late(struct hold *h, void *ctx, struct err *e)
{
	u32 *tries;

	(void)h;
	memcpy(&tries, ctx, sizeof(tries));
	poll(NULL, 0, 10);
	err_set(e, "not yet");
	return ++*tries < 7 ? ENTER_LATER : ENTER_DONE;
}

/* Each try gives threads twice as long to stop: the longest is not left out. */
static void test_slow(void **state)
{
	pid_t pid = start_waiting(NULL);
	u32 *tries = mmap(NULL, sizeof(*tries), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	                  -1, 0);
	struct enter n = {
		.pid = pid, .fn = be_late, .ctx = &tries, .size = sizeof(tries), .ms = 1
	};
	struct err e = { 0 };

	(void)state;
	assert_true(tries != MAP_FAILED);
	if (!enter_process(&n, &e))
		fail_msg("%s", e.text);
	assert_int_equal(*tries, 7);
	assert_int_equal(n.stops, 7);
	munmap(tries, sizeof(*tries));
	finish(pid);
}

/* Never in a system call. */
static void spin(void)
{
	for (;;)
		answer();
}

static void test_spinning(void **state)
{
	pid_t pid = start_waiting(spin);
	struct visit v;

	(void)state;
	visit_init(&v);
	inject_enter(pid, go_in, &v, sizeof(v));
	inject_enter(pid, go_out, &v, sizeof(v));
	assert_true(inject_maps(pid) == v.maps_before);
	visit_free(&v);
	finish(pid);
}

/* In a child of the process the data are zeros again, and the code is there. */
static enum enter_end write_data(struct hold *h, void *ctx, struct err *e)
{
	struct visit *v = ctx;
	enum enter_end end = go_in(h, ctx, e);
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", h->pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (end == ENTER_DONE &&
	    pwrite(fd, "x", 1, (off_t)(v->room.at + room_size(&v->room)) - 1) != 1)
		end = ENTER_REFUSED;
	close(fd);
	return end;
}

static void fork_now(int number)
{
	(void)number;
	fork();
}

static void prepare_fork(void)
{
	signal(SIGUSR1, fork_now);
}

static char last_byte(pid_t pid, const struct visit *v)
{
	char path[64], byte = '?';
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (pread(fd, &byte, 1, (off_t)(v->room.at + room_size(&v->room)) - 1) != 1)
		byte = '?';
	close(fd);
	return byte;
}

static pid_t only_child(pid_t pid)
{
	struct buf b = { 0 };
	char path[64];
	struct err e;
	pid_t child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	child = file_read(path, &b, 4096, &e) ? (pid_t)strtol(buf_text(&b), NULL, 10) : 0;
	buf_free(&b);
	return child;
}

static void test_fork(void **state)
{
	pid_t pid = start_waiting(prepare_fork), child = 0;
	struct visit v;

	(void)state;
	visit_init(&v);
	inject_enter(pid, write_data, &v, sizeof(v));
	assert_int_equal(last_byte(pid, &v), 'x');
	kill(pid, SIGUSR1);
	for (u32 i = 0; i < 500 && !child; i++) {
		poll(NULL, 0, 10);
		child = only_child(pid);
	}
	assert_true(child > 0);
	assert_int_equal(last_byte(child, &v), 0);
	visit_free(&v);
	kill(child, SIGKILL);
	finish(pid);
}

/* ---- refused -------------------------------------------------------------------------------- */

#define NUMBER          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define UNLESS(n, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, skip)
#define RETURN(what)    BPF_STMT(BPF_RET | BPF_K, what)

static void install(const struct sock_filter *f, u16 n)
{
	struct sock_fprog p = { .len = n, .filter = base_plain(f) };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		_exit(1);
}

/* Who makes code dies of it. */
static void forbid_code(void)
{
	static const struct sock_filter f[] = {
		NUMBER,
		UNLESS(SYS_mmap, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ALLOW),
	};

	install(f, ARRAY_SIZE(f));
}

static void forbid_leaving(void)
{
	static const struct sock_filter f[] = {
		NUMBER,
		UNLESS(SYS_munmap, 1),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};

	install(f, ARRAY_SIZE(f));
}

static void forbid_other(void)
{
	static const struct sock_filter f[] = {
		NUMBER,
		UNLESS(SYS_reboot, 1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		RETURN(SECCOMP_RET_ALLOW),
	};

	install(f, ARRAY_SIZE(f));
}

static void test_filters(void **state)
{
	pid_t pid = start_waiting(forbid_code);
	struct visit v;
	char text[64];

	(void)state;
	snprintf(text, sizeof(text), "(seccomp) forbids call %d", SYS_mmap);
	refused(pid, text);
	finish(pid);
	pid = start_waiting(forbid_leaving);
	snprintf(text, sizeof(text), "(seccomp) forbids call %d", SYS_munmap);
	refused(pid, text);
	finish(pid);
	pid = start_waiting(forbid_other);
	visit_init(&v);
	inject_enter(pid, go_in, &v, sizeof(v));
	inject_enter(pid, go_out, &v, sizeof(v));
	visit_free(&v);
	finish(pid);
}

static void test_filter_run(void **state)
{
	static const u64 args[6] = { 7, 0x500000009 };
	const struct filter_call c = { 42, 0x1000, args };
	const struct sock_filter sum[] = {
		/* (arg 0 * 3 - 1 | 64) by x and memory, plus the high half of arg 1 */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 1),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, 64),
		BPF_STMT(BPF_ST, 5),
		BPF_STMT(BPF_LDX | BPF_MEM, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]) + 4),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	const struct sock_filter jumps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		UNLESS(AUDIT_ARCH_X86_64, 4),
		NUMBER,
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 42, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 42, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_TRAP),
	};

	(void)state;
	assert_int_equal(filter_run(sum, ARRAY_SIZE(sum), &c), (20 | 64) + 5);
	assert_int_equal(filter_run(jumps, ARRAY_SIZE(jumps), &c), SECCOMP_RET_ALLOW);
	/* Without a return it is damaged. */
	assert_int_equal(filter_run(sum, 3, &c), SECCOMP_RET_KILL_PROCESS);
}

static int sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg != NULL;
}

/* Another process, no thread, in the same memory. */
static void share_by(int flags)
{
	u8 *stack = malloc(65536);

	if (!stack || clone(sleep_on, stack + 65536, CLONE_VM | flags, NULL) < 0)
		_exit(1);
}

static void share(void)
{
	share_by(SIGCHLD);
}

/* As vfork() does it: the parent waits for it. */
static void share_and_wait(void)
{
	share_by(CLONE_VFORK | SIGCHLD);
}

static void test_refused(void **state)
{
	pid_t pid = start_waiting(NULL);

	(void)state;
	refused(getpid(), "is memtap itself");
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
	refused(pid, "is traced by process");
	finish(pid);
	refused(pid, "there is no process");
	refused(2, "has no memory of its own");
	pid = start_waiting(share);
	refused(pid, "runs in the memory of process");
	kill(only_child(pid), SIGKILL);
	finish(pid);
	pid = start_waiting(share_and_wait);
	refused(pid, "runs in the memory of process");
	kill(only_child(pid), SIGKILL);
	finish(pid);
}

/* ---- a thread that waits with another mask -------------------------------------------------- */

static volatile sig_atomic_t handled;

static void handle(int number)
{
	handled = number;
}

static void suspend(void)
{
	sigset_t set, old;

	signal(SIGUSR1, handle);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	sigsuspend(&old);
	sigprocmask(SIG_BLOCK, NULL, &old);
	_exit(handled == SIGUSR1 && sigismember(&old, SIGUSR1) ? 3 : 4);
}

static void test_suspended(void **state)
{
	pid_t pid = start_waiting(suspend);
	struct visit v;
	int status;

	(void)state;
	visit_init(&v);
	inject_enter(pid, go_in, &v, sizeof(v));
	inject_enter(pid, go_out, &v, sizeof(v));
	poll(NULL, 0, 50);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* still suspended */
	kill(pid, SIGUSR1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 3 << 8);
	visit_free(&v);
}

/* Others' processes are root's matter, and so are the filters of one's own. */
static int needs_root(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter_run),
		cmocka_unit_test_setup(test_refused, needs_root),
		cmocka_unit_test_setup(test_filters, needs_root),
		cmocka_unit_test_setup(test_run_on, needs_root),
		cmocka_unit_test_setup(test_stopped, needs_root),
		cmocka_unit_test_setup(test_killed, needs_root),
		cmocka_unit_test_setup(test_slow, needs_root),
		cmocka_unit_test_setup(test_spinning, needs_root),
		cmocka_unit_test_setup(test_fork, needs_root),
		cmocka_unit_test_setup(test_suspended, needs_root),
		cmocka_unit_test_setup(test_rounds, needs_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
