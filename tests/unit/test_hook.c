/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Instructions at another place: by hand, and the entries of all functions of this machine's
 * libraries, whose text has to be the same when Zydis prints it. Then hooks in a process: calls are
 * counted, and what the functions do is as before.
 * Only on x86_64: its code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <Zydis/Zydis.h>
#include <glob.h>
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
#include "arch/move.h"
#include "base/buf.h"
#include "base/file.h"
#include "inject/graft.h"
#include "read/procmaps.h"
#include "unit/inject_aid.h"

#define FROM 0x7f0000400000u
#define TO   0x7f0040000000u

static struct insn_decoder *decoder;

static int open_decoder(void **state)
{
	struct err e;

	(void)state;
	decoder = insn_decoder_open(&e);
	return decoder ? 0 : -1;
}

static int close_decoder(void **state)
{
	(void)state;
	insn_decoder_close(decoder);
	return 0;
}

/* ---- instructions --------------------------------------------------------------------------- */

static void becomes(const char *bytes, size_t n, const char *want, size_t length, bool ends)
{
	u8 out[MOVE_LONGEST];
	struct move m;
	const char *why = move_insn(decoder, (const u8 *)bytes, n, FROM, TO, out, &m);

	if (why)
		fail_msg("%s", why);
	assert_int_equal(m.taken, n);
	assert_int_equal(m.length, length);
	assert_memory_equal(out, want, length);
	assert_int_equal(m.ends, ends);
}

#define BECOMES(bytes, want, ends) becomes(bytes, sizeof(bytes) - 1, want, sizeof(want) - 1, ends)

static void test_moved(void **state)
{
	(void)state;
	BECOMES("\x55", "\x55", false);                         /* push %rbp */
	BECOMES("\x48\x83\xec\x18", "\x48\x83\xec\x18", false); /* sub $24, %rsp */
	BECOMES("\xc3", "\xc3", true);                          /* ret */
	/* mov 0x10(%rip), %rax: 0x3fc00000 nearer */
	BECOMES("\x48\x8b\x05\x10\x00\x00\x00", "\x48\x8b\x05\x10\x00\x40\xc0", false);
	/* cmpb $0, 0x10(%rip): the distance is not last */
	BECOMES("\x80\x3d\x10\x00\x00\x00\x00", "\x80\x3d\x10\x00\x40\xc0\x00", false);
	/* je .+0x10, short and long */
	BECOMES("\x74\x0e", "\x0f\x84\x0a\x00\x40\xc0", false);
	BECOMES("\x0f\x84\x0a\x00\x00\x00", "\x0f\x84\x0a\x00\x40\xc0", false);
	/* jmp .+0x10 */
	BECOMES("\xeb\x0e", "\xe9\x0b\x00\x40\xc0", true);
}

static void stays(const char *bytes, size_t n, u64 to)
{
	u8 out[MOVE_LONGEST];
	struct move m;

	assert_non_null(move_insn(decoder, (const u8 *)bytes, n, FROM, to, out, &m));
}

#define STAYS(bytes) stays(bytes, sizeof(bytes) - 1, TO)

static void test_not_moved(void **state)
{
	static const char load[] = "\x48\x8b\x05\x10\x00\x00\x00";

	(void)state;
	STAYS("\xe8\x00\x00\x00\x00"); /* call: the return address would be another */
	STAYS("\xff\xd0");             /* call *%rax */
	STAYS("\xe2\x10");             /* loop: a short form only */
	STAYS("\xe3\x10");             /* jrcxz */
	STAYS("\x0f\x05");             /* syscall */
	STAYS("\xcc");
	STAYS("\x06");                     /* none */
	STAYS("\xc7\xf8\x00\x00\x00\x00"); /* xbegin */
	stays(load, sizeof(load) - 1, FROM + (3ULL << 30));
}

/* ---- those of libraries --------------------------------------------------------------------- */

struct text {
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	u32 moved, stayed;
	u32 every, seen;
};

static void print_insn(struct text *t, const u8 *p, size_t n, u64 at, char *out, size_t room)
{
	ZydisDecodedInstruction z;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];

	assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&t->decoder, p, n, &z, o)));
	assert_true(ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
		&t->formatter, &z, o, z.operand_count_visible, out, room, at, NULL)));
}

static void compare(struct text *t, const u8 *p, size_t n, u64 from, u64 to)
{
	char a[256], b[256];
	u8 out[MOVE_LONGEST];
	struct move m;

	if (move_insn(decoder, p, n, from, to, out, &m)) {
		t->stayed++;
		return;
	}
	t->moved++;
	print_insn(t, p, n, from, a, sizeof(a));
	print_insn(t, out, m.length, to, b, sizeof(b));
	if (strcmp(a, b) != 0)
		fail_msg("\"%s\" at another place: \"%s\"", a, b);
}

struct file {
	struct text *t;
	struct elf *f;
};

/* The first 16 instructions, up and down. */
static bool compare_entry(void *ctx, const struct elf_sym *s)
{
	struct file *file = ctx;
	const u8 *p;
	size_t n;
	u64 vaddr;

	if (!s->is_func || !s->size || file->t->seen++ % file->t->every)
		return true;
	for (u32 i = 0; elf_code(file->f, i, &p, &n, &vaddr); i++) {
		u64 at = s->value - vaddr;
		struct insn one;

		if (at >= n || s->size > n - at)
			continue;
		for (u32 k = 0; k < 16 && at < n; k++, at += one.length) {
			u64 from = FROM + vaddr + at;

			if (!insn_read(decoder, p + at, n - at, from, &one))
				return true;
			compare(file->t, p + at, one.length, from, from + 0x3ffffff0 + k);
			compare(file->t, p + at, one.length, from, from - 0x3ffffff0 - k);
		}
	}
	return true;
}

/* With MEMTAP_MOVE_ALL the functions of all libraries, else some of some. */
static void test_libraries(void **state)
{
	bool all = getenv("MEMTAP_MOVE_ALL");
	struct text t = { .every = all ? 1 : 7 };
	u32 most = all ? UINT32_MAX : 200000, files = 0;
	glob_t g;

	(void)state;
	ZydisDecoderInit(&t.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&t.formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	assert_int_equal(glob(all ? "/usr/lib/x86_64-linux-gnu/lib*.so*"
	                          : "/usr/lib/x86_64-linux-gnu/lib[a-m]*.so.[0-9]",
	                      0, NULL, &g),
	                 0);
	for (size_t i = 0; i < g.gl_pathc && t.moved < most; i++) {
		struct err e;
		struct file file = { &t, elf_open(g.gl_pathv[i], &e) };

		if (file.f)
			elf_each(file.f, compare_entry, &file);
		files += file.f != NULL;
		elf_close(file.f);
	}
	globfree(&g);
	if (all)
		printf("%u files, %u instructions moved, %u refused\n", files, t.moved, t.stayed);
	assert_true(t.moved > 20000);
	assert_true(t.stayed < t.moved / 4); /* calls */
}

/* ---- in a process --------------------------------------------------------------------------- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

static const char *const names[] = { "malloc", "calloc", "realloc", "free" };
#define N ARRAY_SIZE(names)

struct shared {
	volatile bool stop;
	volatile u32 wrong;
	volatile u64 calls[N];
};

static struct shared *shared;

static void called(u32 i)
{
	__atomic_add_fetch(&shared->calls[i], 1, __ATOMIC_RELAXED);
}

static bool holds(const u8 *p, size_t n, u8 what)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != what)
			return false;
	return true;
}

static void *allocate(void *seed)
{
	u32 r = (u32)(uintptr_t)seed;

	while (!shared->stop) {
		size_t n = (r = r * 1664525 + 1013904223) >> 20;
		u8 *p = __libc_malloc(n + 1), *q = __libc_calloc(n + 1, 1);

		called(0);
		called(1);
		memset(p, (int)(r & 255), n + 1);
		if (!holds(q, n + 1, 0))
			shared->wrong = 1;
		p = __libc_realloc(p, 2 * n + 2);
		called(2);
		if (!holds(p, n + 1, (u8)r))
			shared->wrong = 1;
		__libc_free(p);
		__libc_free(q);
		called(3);
		called(3);
		if (r % 8 == 0)
			poll(NULL, 0, 1);
	}
	return NULL;
}

static void tick(int number)
{
	(void)number;
}

static void run_child(int end_fd)
{
	const struct sigaction act = { .sa_handler = tick, .sa_flags = SA_RESTART };
	pthread_t t[16];
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	sigaction(SIGUSR1, &act, NULL);
	for (u32 i = 0; i < ARRAY_SIZE(t); i++)
		pthread_create(&t[i], NULL, allocate, (void *)(uintptr_t)(i + 1));
	while (poll(&(struct pollfd){ .fd = end_fd, .events = POLLIN }, 1, 1) == 0)
		pthread_kill(t[0], SIGUSR1);
	(void)!read(end_fd, &c, 1);
	shared->stop = true;
	for (u32 i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
	_exit(0);
}

/* lock incq data + 8 * i */
static u32 emit_count(void *ctx, u32 i, u64 at, u64 data, u8 *out, u32 room, u32 *entry)
{
	static const u8 code[] = { 0xf0, 0x48, 0xff, 0x05 };
	s32 distance = (s32)(data + 8 * i - (at + 8));

	(void)ctx;
	assert_true(room >= 8 && *entry == 0);
	memcpy(out, code, sizeof(code));
	memcpy(out + 4, &distance, 4);
	return 8;
}

struct visit {
	struct graft g;
	u64 counted[N];
	u64 maps_before, maps_after;
};

static enum enter_end go_in(struct hold *h, void *ctx, struct err *e)
{
	struct visit *v = ctx;

	return graft_in(&v->g, h, e);
}

static enum enter_end go_out(struct hold *h, void *ctx, struct err *e)
{
	struct visit *v = ctx;
	struct iovec here = { v->counted, sizeof(v->counted) };
	struct iovec there = { (void *)(uintptr_t)graft_data(&v->g), sizeof(v->counted) };
	enum enter_end end;

	if (process_vm_readv(h->pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(v->counted))
		return ENTER_REFUSED;
	end = graft_out(&v->g, h, e);
	return end;
}

static enum enter_end go_in_and_out(struct hold *h, void *ctx, struct err *e)
{
	struct visit *v = ctx;
	enum enter_end end;

	v->maps_before = inject_maps(h->pid);
	end = go_in(h, ctx, e);
	if (end == ENTER_DONE)
		end = go_out(h, ctx, e);
	v->maps_after = inject_maps(h->pid);
	return end;
}

static struct elf *open_libc(void)
{
	struct arena a = { 0 };
	struct procmaps m;
	const struct procmap *p;
	struct elf *f = NULL;
	struct err e = { 0 };

	if (procmaps_read(&a, getpid(), &m, &e)) {
		p = procmaps_find(&m, (u64)(uintptr_t)__libc_malloc);
		f = p ? elf_open(p->path, &e) : NULL;
	}
	arena_free(&a);
	if (!f)
		fail_msg("%s", e.text);
	return f;
}

static void one_round(pid_t pid, struct visit *v)
{
	u64 before[N], counted;

	inject_enter(pid, go_in, v, sizeof(*v));
	for (u32 i = 0; i < N; i++)
		before[i] = shared->calls[i];
	for (u32 k = 0; k < 20000 && shared->calls[3] < before[3] + 200; k++)
		poll(NULL, 0, 1);
	for (u32 i = 0; i < N; i++)
		before[i] = shared->calls[i] - before[i];
	inject_enter(pid, go_out, v, sizeof(*v));
	for (u32 i = 0; i < N; i++) {
		counted = v->counted[i];
		/* Calls on the way when it was looked: one of each thread. */
		assert_in_range(counted + 32, before[i], UINT64_MAX);
		assert_true(before[i] > 0);
	}
	inject_enter(pid, go_in_and_out, v, sizeof(*v));
	assert_true(v->maps_before == v->maps_after);
}

static void test_functions(void **state)
{
	struct elf *f = open_libc();
	struct hook hooks[N] = { 0 };
	struct visit v = { .g = { .d = decoder,
		                  .hooks = hooks,
		                  .n = N,
		                  .emit = emit_count,
		                  .data_size = arch_page() } };
	int fds[2], status;
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	for (u32 i = 0; i < N; i++) {
		struct elf_sym s;

		assert_true(elf_find(f, names[i], &s));
		hooks[i] = (struct hook){ .f = f, .entry = s.value, .size = s.size };
		hooks[i].bias = (u64)(uintptr_t)__libc_malloc - hooks[0].entry;
	}
	hook_look(decoder, hooks, N);
	for (u32 i = 0; i < N; i++)
		if (!hooks[i].length)
			fail_msg("%s: %s", names[i], hooks[i].why);
	graft_init(&v.g);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	assert_true(shared != MAP_FAILED);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		close(fds[1]);
		run_child(fds[0]);
	}
	close(fds[0]);
	for (u32 i = 0; i < 30; i++)
		one_round(pid, &v);
	close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(shared->wrong, 0);
	munmap(shared, sizeof(*shared));
	graft_free(&v.g);
	elf_close(f);
}

/* ---- on instructions that move -------------------------------------------------------------- */

/* Alone in its page. Who calls it is on the second instruction nearly all the time. */
const u8 *long_load(u64 unused, const u8 *zeros, u64 unused_too, u64 n);
__asm__(".pushsection .text.long_load, \"ax\", @progbits\n"
        ".balign 4096\n"
        ".globl long_load\n"
        ".type long_load, @function\n"
        "long_load: nop\n"
        "rep lodsb\n"
        "nop\n"
        "nop\n"
        "mov %rsi, %rax\n"
        "ret\n"
        ".size long_load, . - long_load\n"
        ".balign 4096\n"
        ".popsection\n");

#define ZEROS ((u64)16 << 20)

static int goes_on[2];

static void wait_in_handler(int number)
{
	char c;

	(void)number;
	shared->calls[1]++;
	(void)!read(goes_on[0], &c, 1);
}

static void run_load(bool own_stack)
{
	const stack_t st = { .ss_sp = malloc(65536), .ss_size = 65536 };
	const struct sigaction act = { .sa_handler = wait_in_handler, .sa_flags = SA_ONSTACK };
	u8 *zeros = mmap(NULL, ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (own_stack)
		sigaltstack(&st, NULL);
	sigaction(SIGUSR1, &act, NULL);
	while (!shared->stop) {
		shared->wrong |= long_load(0, zeros, 0, ZEROS) != zeros + ZEROS;
		shared->calls[0]++;
	}
	_exit(0);
}

static void wait_for(volatile u64 *count, u64 more)
{
	u64 want = *count + more;

	for (u32 k = 0; k < 60000 && *count < want; k++)
		poll(NULL, 0, 1);
	assert_true(*count >= want);
}

/* In one stop. */
static void enter_once(pid_t pid, enter_fn *fn, struct visit *v)
{
	struct enter n = { .pid = pid, .fn = fn, .ctx = v, .size = sizeof(*v), .ms = 60000 };
	struct err e = { 0 };

	if (!enter_process(&n, &e))
		fail_msg("%s", e.text);
	assert_true(n.stops < 8); /* more than one where it does not stop in time */
}

/* The handler of a signal comes where the thread is, and stays. */
static void enter_in_handler(pid_t pid, enter_fn *fn, struct visit *v)
{
	u64 before = shared->calls[1];

	kill(pid, SIGUSR1);
	for (u32 k = 0; k < 60000 && shared->calls[1] == before; k++)
		poll(NULL, 0, 1);
	enter_once(pid, fn, v);
	assert_int_equal(write(goes_on[1], "", 1), 1);
	wait_for(&shared->calls[0], 2);
}

static struct visit visit_of(struct elf *f, struct hook *hook, const char *name, u64 at)
{
	struct visit v = { .g = { .d = decoder,
		                  .hooks = hook,
		                  .n = 1,
		                  .emit = emit_count,
		                  .data_size = arch_page() } };
	struct elf_sym s;

	assert_non_null(f);
	assert_true(elf_find(f, name, &s));
	*hook = (struct hook){ .f = f, .bias = at - s.value, .entry = s.value, .size = s.size };
	hook_look(decoder, hook, 1);
	return v;
}

/* Wherever a thread stands, in a function or in a handler of a signal that came there, it need not
 * be waited for, and comes to the right end. */
static void check_load(bool own_stack)
{
	struct hook hook;
	struct err e = { 0 };
	struct elf *f = elf_open("/proc/self/exe", &e);
	struct visit v = visit_of(f, &hook, "long_load", (u64)(uintptr_t)long_load);
	int status;
	pid_t pid;

	assert_int_equal(hook.length, 5);
	graft_init(&v.g);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	assert_true(shared != MAP_FAILED);
	assert_int_equal(pipe(goes_on), 0);
	pid = fork();
	if (!pid)
		run_load(own_stack);
	wait_for(&shared->calls[0], 1);
	for (u32 i = 0; i < 5; i++) {
		enter_once(pid, go_in, &v);
		wait_for(&shared->calls[0], 1);
		enter_once(pid, go_out, &v);
		assert_true(v.counted[0] > 0);
		enter_in_handler(pid, go_in, &v);
		enter_in_handler(pid, go_out, &v);
	}
	shared->stop = true;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(shared->wrong, 0);
	munmap(shared, sizeof(*shared));
	close(goes_on[0]);
	close(goes_on[1]);
	graft_free(&v.g);
	elf_close(f);
}

static void test_moves(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	check_load(false);
	check_load(true);
}

/* ---- refused -------------------------------------------------------------------------------- */

/* Alone in its page. */
void stuck(void);
__asm__(".pushsection .text.stuck, \"ax\", @progbits\n"
        ".balign 4096\n"
        ".globl stuck\n"
        ".type stuck, @function\n"
        "stuck: nop\n"
        "1: jmp 1b\n"
        "nop\n"
        "nop\n"
        "ret\n"
        ".size stuck, . - stuck\n"
        ".balign 4096\n"
        ".popsection\n");

static void break_page(void)
{
	u8 *p = (u8 *)(uintptr_t)stuck;

	if (mprotect(p, arch_page(), PROT_READ | PROT_WRITE | PROT_EXEC))
		_exit(1);
	p[100] = 0xcc;
	for (;;)
		pause();
}

static void check_refused(void (*child)(void), const char *why)
{
	struct hook hook;
	struct err e = { 0 };
	struct elf *f = elf_open("/proc/self/exe", &e);
	struct visit v = visit_of(f, &hook, "stuck", (u64)(uintptr_t)stuck);
	struct enter n = { .fn = go_in, .ctx = &v, .size = sizeof(v), .ms = 50 };

	assert_string_equal(hook.why, "it jumps back into its start");
	hook.length = 5; /* all the same */
	graft_init(&v.g);
	n.pid = fork();
	if (!n.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		child();
	}
	poll(NULL, 0, 50);
	inject_refused(&n, why);
	kill(n.pid, SIGKILL);
	waitpid(n.pid, NULL, 0);
	graft_free(&v.g);
	elf_close(f);
}

static void test_refused(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	check_refused(break_page, "a breakpoint or a uprobe is in it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moved),     cmocka_unit_test(test_not_moved),
		cmocka_unit_test(test_libraries), cmocka_unit_test(test_functions),
		cmocka_unit_test(test_moves),     cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, open_decoder, close_decoder);
}
