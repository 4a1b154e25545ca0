/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Only on x86_64: sampling put into a child and taken out again, while its threads allocate; stubs
 * that run here; and the numbers that samples are drawn by.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/stub.h"
#include "arch/thread.h"
#include "base/clock.h"
#include "base/unpack.h"
#include "inject/heap.h"
#include "inject/sampler_draw.h"
#include "unit/inject_aid.h"

/* A sanitizer's malloc is none to put code into: it looks at what is on the stack. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* ---- numbers -------------------------------------------------------------------------------- */

static void test_gaps(void **state)
{
	static struct sampler_params p;
	struct sampler_cpu c = { .random = 1 };
	double sum = 0, squares = 0;
	const u32 n = 1000000;
	u32 beyond = 0;

	(void)state;
	sampler_fill(&p, 1 << 20);
	for (u32 i = 0; i < n; i++) {
		double g = (double)sampler_gap(&p, &c) / (1 << 20);

		sum += g;
		squares += g * g;
		beyond += g > 3;
	}
	assert_true(fabs(sum / n - 1) < 0.005);
	assert_true(fabs(squares / n - 2) < 0.03);
	assert_true(fabs((double)beyond / n - exp(-3)) < 0.001);
}

static void test_weights(void **state)
{
	static const u64 everies[] = { 1, 1000, 524288, HEAP_EVERY_MOST };
	static struct sampler_params p;

	(void)state;
	for (u32 k = 0; k < ARRAY_SIZE(everies); k++) {
		sampler_fill(&p, everies[k]);
		for (int i = 0; i < 112; i++) { /* from a thousandth to 40 times */
			u64 size = (u64)(0.001 * pow(1.1, i) * (double)everies[k]);
			double want = (double)size / -expm1(-(double)size / (double)everies[k]);

			if (size)
				assert_true(fabs((double)sampler_weight(&p, everies[k], size) -
				                 want) < want * 0.0002 + 0.51);
		}
	}
}

/* Where samples are left out there are as many as are wanted, and what remains stands for all. */
static void test_spares(void **state)
{
	static struct sampler_params p;
	struct sampler_cpu c = { .random = 1 };
	u64 now = 0, longer, longest = 0, taken = 0, seen = 0;
	double all = 0, weights = 0;
	const u32 n = 20000000;
	s64 left;

	(void)state;
	sampler_fill(&p, 4096);
	p.apart = 2000;
	left = (s64)sampler_gap(&p, &c);
	for (u32 i = 0; i < n; i++) {
		u64 size = i % 5000 ? 100 + i % 900 : 200000;

		now += i / 4000000 % 2 ? 10 : 90; /* by turns far too many and too many */
		all += (double)size;
		left -= (s64)size;
		if (left >= 0)
			continue;
		seen++;
		if (!sampler_spares(&p, &c, now, size, &longer)) {
			taken++;
			weights += (double)sampler_weight(&p, p.every << longer, size);
		}
		longest = MAX(longest, c.longer);
		left = (s64)sampler_gap(&p, &c);
	}
	assert_true(longest > 0);
	assert_true(seen > 2 * taken);
	assert_true(seen < 12 * taken); /* few of them in vain */
	assert_true(taken < now / p.apart + SAMPLER_SAVED * 8);
	assert_true(fabs(weights / all - 1) < 0.02);
}

static u64 splitmix(u64 *x)
{
	u64 z = *x += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Blocks of many sizes on two CPUs, of which half live: by how many of its standard errors, as
 * tools/heap.bt has them, the sum of those is wrong. */
static double off_by(const struct sampler_params *p, u64 *seed, u32 n, u64 apart)
{
	struct sampler_cpu cpus[2];
	double truth = 0, sum = 0, variance = 0;
	u64 now = 1ULL << 40, longer;

	for (u32 i = 0; i < 2; i++) {
		cpus[i] = (struct sampler_cpu){ .random = splitmix(seed) | 1 };
		cpus[i].left = sampler_gap(p, &cpus[i]);
	}
	for (u32 i = 0; i < n; i++, now += apart) {
		u64 r = splitmix(seed), size = r % 16 ? 1 + (r >> 8) % 1000 : (r >> 8) % 20000 + 1;
		struct sampler_cpu *c = &cpus[r >> 63];
		bool lives = r >> 62 & 1;
		double weight;

		truth += lives ? (double)size : 0;
		if (size <= c->left) {
			c->left -= size;
			continue;
		}
		lives &= !sampler_spares(p, c, now, size, &longer);
		c->left = sampler_gap(p, c);
		if (!lives)
			continue;
		weight = (double)sampler_weight(p, p->every << longer, size);
		sum += weight;
		variance += weight * (weight - (double)size);
	}
	return (sum - truth) / sqrt(variance);
}

/* 95 of 100 are within 1.96 of them, and 68 within one, also where samples are left out. */
static void test_errors(void **state)
{
	static const u64 aparts[] = { 0, 2000 };
	static struct sampler_params p;
	const u32 runs = 2000;
	u64 seed = 1;

	(void)state;
	sampler_fill(&p, 4096);
	for (u32 i = 0; i < ARRAY_SIZE(aparts); i++) {
		double sum = 0;
		u32 one = 0, two = 0;

		p.apart = aparts[i];
		for (u32 k = 0; k < runs; k++) {
			double z = off_by(&p, &seed, 10000, 100);

			one += fabs(z) <= 1;
			two += fabs(z) <= 1.96;
			sum += z;
		}
		print_message("%u of %u within 1, %u within 1.96, %+.3f on average\n", one, runs,
		              two, sum / runs);
		assert_in_range(one, 1300, 1430);
		assert_in_range(two, 1865, 1935);
		assert_true(fabs(sum / runs) < 0.15);
	}
}

/* ---- stubs ---------------------------------------------------------------------------------- */

/*
 * A page of code: the stub, "mov $1, %eax; ret" after it, and where the slow way goes
 * "mov $2, %eax; ret". The counters and the filter are in the page after it.
 */
struct lab {
	u8 code[4096];
	u64 counters[64];
	u8 filter[256];
};

#define SLOW 2048

typedef u64 lab_fn(u64 a, u64 b, u64 c);

static lab_fn *make(struct lab *l, struct stub *s)
{
	static const u8 one[] = { 0xb8, 1, 0, 0, 0, 0xc3 }, two[] = { 0xb8, 2, 0, 0, 0, 0xc3 };
	u32 n, entry;
	lab_fn *fn;
	u8 *code = l->code;

	s->counters = (u64)(uintptr_t)l->counters;
	s->filter = (u64)(uintptr_t)l->filter;
	s->shift = 6;
	s->cpus = 1; /* all count on the first */
	s->bytes = sizeof(l->filter);
	s->slow = (u64)(uintptr_t)code + SLOW;
	memset(l->counters, 0, sizeof(l->counters));
	memset(l->filter, 0, sizeof(l->filter));
	n = stub_emit(s, (u64)(uintptr_t)code, code, SLOW, &entry);
	assert_true(n > entry);
	memcpy(code + n, one, sizeof(one));
	memcpy(code + SLOW, two, sizeof(two)); /* does not look at where it would go on */
	code += entry;
	memcpy(&fn, &code, sizeof(fn));
	return fn;
}

static void test_stubs(void **state)
{
	struct lab *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE | PROT_EXEC,
	                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stub size = { .counts = true, .size = 1 };
	struct stub product = { .counts = true, .product = true };
	struct stub both = {
		.counts = true, .size = 1, .looks = true, .near = 4, .skip = STUB_SKIPS_NULL
	};
	struct stub small = { .counts = true, .size = 1, .skip = STUB_SKIPS_SMALL };
	struct stub looks = { .looks = true, .near = 10 };
	lab_fn *fn;

	(void)state;
	assert_true(l != MAP_FAILED);
	fn = make(l, &size);
	l->counters[0] = 100;
	assert_int_equal(fn(7, 60, 7), 1);
	assert_int_equal(l->counters[0], 40);
	assert_int_equal(fn(7, 40, 7), 1);
	assert_int_equal(fn(7, 1, 7), 2); /* used up */
	l->counters[0] = 100;
	assert_int_equal(fn(7, UINT64_MAX, 7), 2); /* not 101 */

	fn = make(l, &product);
	l->counters[0] = 100;
	assert_int_equal(fn(9, 11, 7), 1);
	assert_int_equal(l->counters[0], 1);
	assert_int_equal(fn(1ULL << 40, 1ULL << 40, 7), 1); /* calloc fails */
	assert_int_equal(l->counters[0], 1);
	assert_int_equal(fn(2, 1, 7), 2);

	fn = make(l, &both);
	l->counters[0] = 100;
	assert_int_equal(fn(0x1230, 50, 7), 1);
	l->filter[0x23] = 1;
	assert_int_equal(fn(0x1230, 1, 7), 2);
	assert_int_equal(fn(0x1240, 1, 7), 1);
	assert_int_equal(l->counters[0], 48);
	assert_int_equal(fn(0x1240, 49, 7), 2);
	assert_int_equal(fn(0, 1000, 7), 1); /* malloc counts it */

	fn = make(l, &small);
	l->counters[0] = 100;
	assert_int_equal(fn(STUB_SMALL, 1000, 7), 1);
	assert_int_equal(fn(STUB_SMALL + 1, 1000, 7), 2);

	fn = make(l, &looks);
	assert_int_equal(fn(0x123 << 10, 7, 7), 1);
	l->filter[0x23] = 1;
	assert_int_equal(fn((0x124 << 10) - 1, 7, 7), 2);
	assert_int_equal(fn(0x124 << 10, 7, 7), 1);
	munmap(l, sizeof(*l));
}

/* ---- a process ------------------------------------------------------------------------------ */

struct shared {
	volatile bool stop;
	volatile u32 wrong;
	volatile u64 bytes; /* asked for */
	volatile u64 rounds;
};

static struct shared *shared;

#define THREADS 8

static bool holds(const u8 *p, size_t n, u8 what)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != what)
			return false;
	return true;
}

/* The allocator's answers are looked at. */
static void one_of_each(u32 r)
{
	size_t n = (r >> 20) + 1;
	u8 *p = malloc(n), *q = calloc(n, 2), *s = aligned_alloc(64, ROUND_UP(n, (size_t)64));
	u8 *much;
	void *t = NULL;

	memset(p, (int)(r & 255), n);
	if (!holds(q, 2 * n, 0) || (uintptr_t)s % 64)
		shared->wrong = 1;
	p = realloc(p, 3 * n);
	if (!holds(p, n, (u8)r) || posix_memalign(&t, 4096, n) || (uintptr_t)t % 4096)
		shared->wrong = 1;
	much = realloc(q, SIZE_MAX / 4); /* fails, and q is as before */
	if (much || !holds(q, 2 * n, 0))
		shared->wrong = 1;
	if (!much)
		free(q);
	free(much);
	free(p);
	free(s);
	free(t);
	__atomic_add_fetch(&shared->bytes, n + 2 * n + ROUND_UP(n, (size_t)64) + 3 * n + n,
	                   __ATOMIC_RELAXED);
}

static void *allocate(void *seed)
{
	u32 r = (u32)(uintptr_t)seed;

	while (!shared->stop) {
		one_of_each(r = r * 1664525 + 1013904223);
		__atomic_add_fetch(&shared->rounds, 1, __ATOMIC_RELAXED);
		if (r % 16 == 0)
			poll(NULL, 0, 1);
	}
	return NULL;
}

static void tick(int number)
{
	(void)number;
	free(NULL);
}

/* The child of the child has the code, and nobody listens: it is to work, too. */
static void fork_one(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		one_of_each(12345678);
		_exit((int)shared->wrong);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		shared->wrong = 1;
}

static void run_child(int end_fd)
{
	const struct sigaction act = { .sa_handler = tick, .sa_flags = SA_RESTART };
	pthread_t t[THREADS];
	char c;

	sigaction(SIGUSR1, &act, NULL);
	for (u32 i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, allocate, (void *)(uintptr_t)(i + 1));
	while (poll(&(struct pollfd){ .fd = end_fd, .events = POLLIN }, 1, 3) == 0) {
		pthread_kill(t[0], SIGUSR1);
		fork_one();
	}
	(void)!read(end_fd, &c, 1);
	shared->stop = true;
	for (u32 i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	_exit(0);
}

static struct inject_child start_child_of(void (*run)(int end_fd))
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	assert_true(shared != MAP_FAILED);
	return inject_start(run);
}

static struct inject_child start_child(void)
{
	return start_child_of(run_child);
}

static void end_child(struct inject_child *c)
{
	inject_end(c);
	assert_int_equal(shared->wrong, 0);
	munmap(shared, sizeof(*shared));
}

static void wait_rounds(u64 more)
{
	u64 until = shared->rounds + more;

	for (u32 i = 0; i < 20000 && shared->rounds < until; i++)
		poll(NULL, 0, 1);
	assert_true(shared->rounds >= until);
}

static void put_in(pid_t pid, u64 every)
{
	struct heap_result r;
	struct err e = { 0 };
	char left[256];
	pid_t owner = 0;

	if (!heap_in(pid, every, 0, 60000, &r, left, &e))
		fail_msg("%s", e.text);
	assert_true(heap_is_in(pid, &owner));
	assert_int_equal(owner, getpid());
}

static struct heap_result take_out(pid_t pid)
{
	struct heap_result r;
	struct err e = { 0 };
	pid_t owner;

	if (!heap_out(pid, 60000, &r, &e))
		fail_msg("%s", e.text);
	assert_false(heap_is_in(pid, &owner));
	return r;
}

/* Pages of code, as the process sees them. */
static u64 hash_code(pid_t pid)
{
	const u8 *at = (const u8 *)((uintptr_t)malloc & ~(uintptr_t)4095);
	static u8 pages[8 * 4096];
	struct iovec here = { pages, sizeof(pages) }, there = { base_plain(at), sizeof(pages) };
	u64 h = 14695981039346656037u;

	assert_int_equal(process_vm_readv(pid, &here, 1, &there, 1, 0), sizeof(pages));
	for (size_t i = 0; i < sizeof(pages); i++)
		h = (h ^ pages[i]) * 1099511628211u;
	return h;
}

static void test_in_and_out(void **state)
{
	struct inject_child c;
	u64 code;

	(void)state;
	if (SANITIZED || geteuid())
		skip();
	c = start_child();
	wait_rounds(10);
	code = hash_code(c.pid);
	for (u32 i = 0; i < 15; i++) {
		put_in(c.pid, i % 3 ? 2000 : 1);
		assert_true(hash_code(c.pid) != code);
		wait_rounds(300);
		take_out(c.pid);
		assert_true(hash_code(c.pid) == code);
		wait_rounds(10);
	}
	end_child(&c);
}

static void wait_paused(pid_t pid)
{
	for (u32 k = 0; k < 1000 && hold_state(pid, pid) != 'T'; k++)
		poll(NULL, 0, 1);
	assert_int_equal(hold_state(pid, pid), 'T');
}

/* A process that a signal has stopped, wherever that was, is not waited for, and stays stopped. A
 * thread that has to come out of a sampled call does so the first time it is let run. */
static void test_paused(void **state)
{
	struct inject_child c;
	u32 stops = 0;
	u64 code;

	(void)state;
	if (SANITIZED || geteuid())
		skip();
	c = start_child();
	wait_rounds(10);
	code = hash_code(c.pid);
	for (u32 i = 0; i < 20; i++) {
		if (i % 2)
			kill(c.pid, SIGSTOP);
		put_in(c.pid, 1);
		kill(c.pid, SIGCONT);
		wait_rounds(20);
		kill(c.pid, SIGSTOP);
		if (i % 4)
			wait_paused(c.pid);
		stops += take_out(c.pid).stops;
		assert_true(hash_code(c.pid) == code);
		wait_paused(c.pid);
		kill(c.pid, SIGCONT);
		wait_rounds(10);
	}
	assert_in_range(stops, 20, 40);
	end_child(&c);
}

#define MAPS   5000
#define BLOCKS 70000

static void fill_maps(void)
{
	for (u32 i = 0; i < MAPS; i++)
		if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED)
			shared->wrong = 1;
}

static void fill_blocks(void)
{
	static void *kept[BLOCKS];

	for (u32 i = 0; i < BLOCKS; i++)
		kept[i] = malloc(100);
	for (u32 i = 0; i < BLOCKS; i++)
		free(kept[i]);
}

static void (*fill)(void);

static void run_full(int end_fd)
{
	char c;

	while (!shared->stop)
		poll(NULL, 0, 1);
	fill();
	shared->rounds = 1;
	(void)!read(end_fd, &c, 1);
	_exit(0);
}

/* More of a sort than there is room for, of which each is sampled; how many were too many. */
static u64 too_many(void (*fn)(void))
{
	struct inject_child c;
	u64 full;

	fill = fn;
	c = start_child_of(run_full);
	put_in(c.pid, 1);
	shared->stop = true;
	for (u32 i = 0; i < 20000 && !shared->rounds; i++)
		poll(NULL, 0, 1);
	assert_int_equal(shared->rounds, 1);
	full = take_out(c.pid).full;
	end_child(&c);
	return full;
}

static void test_full(void **state)
{
	(void)state;
	if (SANITIZED || geteuid())
		skip();
	assert_int_equal(too_many(fill_maps), MAPS - SAMPLER_MAPPINGS);
	/* Of a block only some places are tried. */
	assert_in_range(too_many(fill_blocks), BLOCKS - SAMPLER_TABLE, BLOCKS / 4);
}

static void wait_here(void)
{
	for (;;)
		pause();
}

static pid_t start_waiting(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		wait_here();
	}
	poll(NULL, 0, 20);
	return pid;
}

static void finish(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* One that allocates nothing, so that its mappings are its own again to the byte. */
static void test_mappings(void **state)
{
	u64 before;
	pid_t pid;

	(void)state;
	if (SANITIZED || geteuid())
		skip();
	pid = start_waiting();
	before = inject_maps(pid);
	put_in(pid, HEAP_EVERY);
	assert_true(inject_maps(pid) != before);
	take_out(pid);
	assert_true(inject_maps(pid) == before);
	finish(pid);
}

/* What the code in a process was given. */
static struct sampler_params params_in(pid_t pid)
{
	struct err e = { 0 };
	u8 *code = unpack(packed_sampler, packed_sampler_size, packed_sampler_text);
	struct elf *f = elf_open_memory(code, packed_sampler_text, "the sampler", &e);
	struct sampler_params p;
	struct graft_mark m = { 0 };
	struct elf_sym s = { 0 };
	struct graft g;
	struct iovec here = { &p, sizeof(p) }, there = { .iov_len = sizeof(p) };

	assert_true(f && elf_find(f, "sampler_params", &s) && graft_find(&g, &m, pid));
	there.iov_base = (void *)(uintptr_t)(m.at + s.value);
	assert_int_equal(process_vm_readv(pid, &here, 1, &there, 1, 0), sizeof(p));
	elf_close(f);
	free(code);
	return p;
}

/* As many cycles between two samples as make so many in a second. */
static void test_most(void **state)
{
	u64 ns, cycles;
	struct heap_result r;
	struct err e = { 0 };
	char left[256];
	double off = 1;

	(void)state;
	if (SANITIZED || geteuid())
		skip();
	for (u32 i = 0; i < 5 && off > 0.05; i++) { /* somebody else may have the processor */
		pid_t pid = start_waiting();
		struct sampler_params p;

		ns = clock_ns(CLOCK_MONOTONIC);
		cycles = thread_cycles();
		assert_true(heap_in(pid, 4096, 50, 60000, &r, left, &e));
		ns = clock_ns(CLOCK_MONOTONIC) - ns;
		cycles = thread_cycles() - cycles;
		p = params_in(pid);
		off = fabs((double)p.apart * 50 / 1e9 * (double)ns / (double)cycles - 1);
		assert_int_equal(p.every, 4096);
		finish(pid);
	}
	assert_true(off <= 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gaps),     cmocka_unit_test(test_weights),
		cmocka_unit_test(test_spares),   cmocka_unit_test(test_errors),
		cmocka_unit_test(test_stubs),    cmocka_unit_test(test_in_and_out),
		cmocka_unit_test(test_paused),   cmocka_unit_test(test_full),
		cmocka_unit_test(test_mappings), cmocka_unit_test(test_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
