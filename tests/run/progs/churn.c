/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * churn THREADS: allocates without a pause until standard input ends, and says whether all came
 * out right: exit status, and a line of what was done.
 *
 * Work is in units: of a seed all that is allocated, written, moved and read again follows, and so
 * does the sum over it, which was computed once before anything else. Threads end after some units
 * and others take their places, children are forked and do a unit, signals are queued (half of the
 * threads have an alternate stack for them), and numbers go through a pipe: none of them may be
 * missing, come twice, or come out of order.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEEDS  64
#define BLOCKS 24
#define UNITS  40 /* of a thread's life, on average */

static uint64_t sums[SEEDS];
static volatile int stop;
static volatile uint64_t units, threads, forks, sent, handled, wrong, numbers, interrupted;

#define COUNT(v, n) __atomic_add_fetch(&(v), (n), __ATOMIC_RELAXED)

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void *take(uint64_t how, size_t n)
{
	void *p = NULL;

	switch (how % 4) {
	case 0:
		return malloc(n);
	case 1:
		p = calloc(n, 1);
		for (size_t i = 0; p && i < n; i++)
			if (((unsigned char *)p)[i])
				COUNT(wrong, 1);
		return p;
	case 2:
		return aligned_alloc(64, (n + 63) / 64 * 64);
	default:
		return posix_memalign(&p, 256, n) ? NULL : p;
	}
}

static uint64_t unit(uint64_t seed)
{
	struct {
		unsigned char *p;
		size_t n;
	} v[BLOCKS] = { 0 };
	uint64_t x = seed * 0x9e3779b97f4a7c15u + 1, sum = 0;

	for (int i = 0; i < 6 * BLOCKS; i++) {
		uint64_t r = next(&x), k = r % BLOCKS;
		size_t n = (r >> 8) % ((r >> 40) % 16 ? 600 : 40000) + 1, old = v[k].n;

		for (size_t b = 0; b < old; b++)
			sum = sum * 31 + v[k].p[b];
		if (old && r >> 60) {
			v[k].p = realloc(v[k].p, n);
			for (size_t b = 0; b < old && b < n; b++)
				sum = sum * 31 + v[k].p[b];
		} else {
			free(v[k].p);
			v[k].p = take(r >> 50, n);
		}
		v[k].n = n;
		memset(v[k].p, (int)(r >> 32 & 255), n);
	}
	for (int k = 0; k < BLOCKS; k++) {
		for (size_t b = 0; b < v[k].n; b++)
			sum = sum * 31 + v[k].p[b];
		free(v[k].p);
	}
	return sum;
}

static void check_unit(uint64_t r)
{
	if (unit(r % SEEDS) != sums[r % SEEDS])
		COUNT(wrong, 1);
	COUNT(units, 1);
}

static void *work(void *arg)
{
	uint64_t x = (uint64_t)(uintptr_t)arg * 2654435761u + 1;
	stack_t alt = { .ss_size = 65536 };
	int own = next(&x) % 2;

	alt.ss_sp = own ? malloc(alt.ss_size) : NULL;
	if (own)
		sigaltstack(&alt, NULL);
	do {
		check_unit(next(&x));
		if (next(&x) % 8 == 0)
			poll(NULL, 0, 1);
	} while (!stop && next(&x) % UNITS);
	alt.ss_flags = SS_DISABLE;
	if (own)
		sigaltstack(&alt, NULL);
	free(alt.ss_sp);
	return NULL;
}

/* Each place in the crowd is a thread that waits for one worker after the other. */
static void *keep(void *arg)
{
	uintptr_t i = (uintptr_t)arg;

	for (uintptr_t round = 0; !stop; round++) {
		pthread_t t;

		if (pthread_create(&t, NULL, work, (void *)(i * 1000003 + round))) {
			COUNT(wrong, 1);
			break;
		}
		COUNT(threads, 1);
		pthread_join(t, NULL);
	}
	return NULL;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	COUNT(handled, (uint64_t)info->si_value.sival_int);
}

static void fork_one(uint64_t r)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(unit(r % SEEDS) != sums[r % SEEDS]);
	COUNT(forks, 1);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			status = -1;
	if (status)
		COUNT(wrong, 1);
}

static int ends[2];

static void *write_numbers(void *arg)
{
	(void)arg;
	for (uint64_t n = 1; !stop; n++)
		if (write(ends[1], &n, sizeof(n)) != sizeof(n))
			COUNT(wrong, 1);
	close(ends[1]);
	return NULL;
}

static void *read_numbers(void *arg)
{
	uint64_t n, want = 1;
	ssize_t got;

	(void)arg;
	while ((got = read(ends[0], &n, sizeof(n)))) {
		if (got < 0 && errno == EINTR) {
			COUNT(interrupted, 1);
			continue;
		}
		if (got != sizeof(n) || n != want)
			COUNT(wrong, 1);
		numbers = want++;
		usleep(50);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = on_signal,
		                 .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	uintptr_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 8;
	pthread_t *v = calloc(n + 2, sizeof(*v));
	uint64_t x = 88172645463325252u;

	for (uint64_t i = 0; i < SEEDS; i++)
		sums[i] = unit(i);
	sigaction(SIGRTMIN, &act, NULL);
	if (pipe(ends))
		return 2;
	for (uintptr_t i = 0; i < n; i++)
		pthread_create(&v[i], NULL, keep, (void *)(i + 1));
	pthread_create(&v[n], NULL, write_numbers, NULL);
	pthread_create(&v[n + 1], NULL, read_numbers, NULL);
	puts("ready");
	fflush(stdout);
	while (poll(&(struct pollfd){ .fd = 0, .events = POLLIN }, 1, 2) == 0 || errno == EINTR) {
		int value = (int)(next(&x) % 1000);

		errno = 0;
		if (sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = value }) == 0)
			COUNT(sent, (uint64_t)value);
		if (next(&x) % 4 == 0)
			fork_one(next(&x));
	}
	stop = 1;
	for (uintptr_t i = 0; i < n + 2; i++)
		pthread_join(v[i], NULL);
	for (int i = 0; i < 1000 && handled != sent; i++)
		usleep(1000);
	printf("units %llu threads %llu forks %llu signals %llu of %llu numbers %llu interrupted "
	       "%llu wrong "
	       "%llu\n",
	       (unsigned long long)units, (unsigned long long)threads, (unsigned long long)forks,
	       (unsigned long long)handled, (unsigned long long)sent, (unsigned long long)numbers,
	       (unsigned long long)interrupted, (unsigned long long)wrong);
	return wrong || handled != sent || interrupted;
}
