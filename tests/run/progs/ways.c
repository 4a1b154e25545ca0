/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ways WAY: allocates without a pause in one way, says "ready", and after a line on standard input
 * whether all came out right: "wrong 0", and its exit status.
 *
 *   threads    200 threads
 *   signals    in handlers of signals, on a stack of their own
 *   jumps      longjmp() out of frames that have allocated
 *   contexts   coroutines (makecontext), which switch between two calls
 *   filtered   a filter of system calls (seccomp) that has nothing against any of these
 *   forbidden  one that ends the process at mmap()
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define BLOCKS    16
#define THREADS   200
#define CONTEXTS  8
#define STACK     65536
#define DEEP      12
#define EACH_TURN 50

static volatile int stop, wrong;

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Blocks, each written, moved now and then, and looked at before it goes. */
struct set {
	unsigned char *p[BLOCKS];
	size_t n[BLOCKS];
	uint64_t x;
};

static void look(const struct set *s, int k)
{
	for (size_t i = 0; i < s->n[k]; i++)
		if (s->p[k][i] != (unsigned char)(k + 1))
			wrong = 1;
}

static void step(struct set *s)
{
	uint64_t r = next(&s->x);
	int k = (int)(r % BLOCKS);
	size_t n = (r >> 8) % 900 + 1;

	look(s, k);
	if (r >> 62) {
		free(s->p[k]);
		s->p[k] = r >> 61 & 1 ? malloc(n) : calloc(1, n);
	} else {
		s->p[k] = realloc(s->p[k], n);
	}
	s->n[k] = n;
	memset(s->p[k], k + 1, n);
}

static void end(struct set *s)
{
	for (int k = 0; k < BLOCKS; k++) {
		look(s, k);
		free(s->p[k]);
	}
}

static int goes_on(void)
{
	stop = stop || poll(&(struct pollfd){ .fd = 0, .events = POLLIN }, 1, 0) != 0;
	return !stop;
}

/* ---- ways ----------------------------------------------------------------------------------- */

static void plain(void)
{
	struct set s = { .x = 1 };

	while (goes_on())
		for (int i = 0; i < EACH_TURN; i++)
			step(&s);
	end(&s);
}

/* Nanoseconds of the processor that this thread has had. */
static uint64_t had(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* All together take half a processor, however slow it is, so that others get it, too. */
static void *one_of_many(void *seed)
{
	struct set s = { .x = (uintptr_t)seed * 2654435761u };

	while (!stop) {
		uint64_t from = had(), ns;

		for (int i = 0; i < EACH_TURN; i++)
			step(&s);
		ns = (had() - from) * 2 * THREADS;
		for (; ns && !stop; ns -= ns < 20000000 ? ns : 20000000)
			usleep((useconds_t)(ns < 20000000 ? ns / 1000 : 20000));
	}
	end(&s);
	return NULL;
}

static void threads(void)
{
	static pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, one_of_many, (void *)(i + 1)))
			wrong = 1;
	while (goes_on())
		usleep(1000);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static struct set in_handler = { .x = 7 };

static void handle(int number)
{
	(void)number;
	for (int i = 0; i < EACH_TURN; i++)
		step(&in_handler);
}

/* They come where the program is not in malloc itself, which would not be allowed. */
static void signals(void)
{
	const stack_t stack = { .ss_sp = malloc(STACK), .ss_size = STACK };
	const struct sigaction act = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
	struct set s = { .x = 3 };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &act, NULL);
	while (goes_on()) {
		for (int i = 0; i < EACH_TURN; i++)
			step(&s);
		raise(SIGUSR1);
	}
	end(&s);
	end(&in_handler);
}

static jmp_buf out;
static volatile int stays; /* it never does */

__attribute__((noinline)) static int deeper(struct set *s, int depth)
{
	volatile char frame[64];

	frame[0] = (char)depth;
	step(s);
	if (depth == 0 && !stays)
		longjmp(out, 1);
	return depth ? deeper(s, depth - 1) + frame[0] : 0;
}

static void jumps(void)
{
	static struct set s = { .x = 5 };

	while (goes_on())
		for (volatile int i = 0; i < EACH_TURN; i++)
			if (!setjmp(out))
				deeper(&s, DEEP);
	end(&s);
}

static ucontext_t home, contexts[CONTEXTS];

static void coroutine(int me)
{
	struct set s = { .x = (uint64_t)me + 11 };

	while (!stop) {
		step(&s);
		swapcontext(&contexts[me], &home);
	}
	end(&s);
}

static void run_contexts(void)
{
	for (int i = 0; i < CONTEXTS; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack = (stack_t){ .ss_sp = malloc(STACK), .ss_size = STACK };
		contexts[i].uc_link = &home;
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
	do {
		goes_on();
		for (int i = 0; i < CONTEXTS; i++)
			swapcontext(&home, &contexts[i]);
	} while (!stop);
	for (int i = 0; i < CONTEXTS; i++)
		free(contexts[i].uc_stack.ss_sp);
}

/* ---- filters -------------------------------------------------------------------------------- */

static void kill_at(unsigned number)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		wrong = 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		unsigned filter; /* a call at which it is killed */
	} ways[] = {
		{ "threads", threads, 0 },
		{ "signals", signals, 0 },
		{ "jumps", jumps, 0 },
		{ "contexts", run_contexts, 0 },
		{ "filtered", plain, SYS_reboot },
		{ "forbidden", plain, SYS_mmap },
	};

	setvbuf(stdout, NULL, _IOLBF, 1024);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		if (ways[i].filter)
			kill_at(ways[i].filter);
		printf("ready\n");
		ways[i].run();
		printf("wrong %d\n", wrong);
		return wrong;
	}
	return 2;
}
