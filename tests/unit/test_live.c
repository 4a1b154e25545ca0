/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kern/ on the running kernel, with units built by hand: small programs that count in a map or
 * send a record. What this kernel or user can not do is skipped with a printed reason.
 *
 * Needs the machine itself: bpf().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/code.h"
#include "kern/kern.h"

#define COUNT_MAP 0 /* what every program here counts in: per-CPU array or hash */
#define DATA_MAP  1
#define RING_MAP  2

/* ---- targets ---- */

static volatile int sink;

__attribute__((noinline, noclone)) void test_target(int n);
__attribute__((noinline, noclone)) void test_target(int n)
{
	sink += n;
}

/* 300 nops with a ret after each: places for many probes. */
__asm__(".text\n.globl test_many\ntest_many:\n.rept 300\nnop\nret\n.endr\n");
extern const char test_many[];
#if defined(__x86_64__)
#define STRIDE 2
#else
#define STRIDE 8
#endif

static int find_bias(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(const struct dl_phdr_info **)ctx = NULL;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = (uintptr_t)test_many - info->dlpi_addr;

		if (p->p_type == PT_LOAD && at >= p->p_vaddr && at < p->p_vaddr + p->p_memsz) {
			*(u64 *)ctx = info->dlpi_addr + p->p_vaddr - p->p_offset;
			return 1;
		}
	}
	return 0;
}

static u64 file_offset(const void *address)
{
	u64 bias = 0;

	dl_iterate_phdr(find_bias, &bias);
	return (uintptr_t)address - bias;
}

/* ---- units by hand ---- */

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct unit *new_unit(u32 n_errors)
{
	struct unit *u = unit_new();
	struct umap counts = { .name = "@counts",
		               .role = UMAP_USER,
		               .bpf_type = BPF_MAP_TYPE_HASH,
		               .key_size = 8,
		               .value_size = 8,
		               .max_entries = 4096 };
	struct umap data = { .name = "data",
		             .role = UMAP_DATA,
		             .bpf_type = BPF_MAP_TYPE_ARRAY,
		             .flags = BPF_F_MMAPABLE,
		             .key_size = 4,
		             .value_size = (UDATA_ERRORS + n_errors) * 8,
		             .max_entries = 1 };
	struct umap ring = { .name = "ring",
		             .role = UMAP_RING,
		             .bpf_type = BPF_MAP_TYPE_RINGBUF,
		             .max_entries = 16384 };

	unit_set_source(u, "stdin", "line one\nline two\n");
	vec_add(&u->arena, &u->maps, counts);
	vec_add(&u->arena, &u->maps, data);
	vec_add(&u->arena, &u->maps, ring);
	return u;
}

static struct uprog *add_prog(struct unit *u, enum attach_kind kind, struct code *c,
                              const struct usite *sites, u32 n_sites)
{
	struct err e = { 0 };
	struct uprog p = {
		.name = attach_kind_name(kind), .kind = kind, .sites = sites, .n_sites = n_sites
	};

	assert_true(code_finish(c, &e));
	p.insns = c->insns.v;
	p.locs = c->locs.v;
	p.n_insns = c->insns.n;
	vec_add(&u->arena, &u->progs, p);
	return &u->progs.v[u->progs.n - 1];
}

/* Counts in the data word UDATA_ERRORS + word. */
static struct code count_code(struct unit *u, u32 word)
{
	struct code c;

	code_init(&c, &u->arena);
	code_map_value(&c, R1, DATA_MAP, (UDATA_ERRORS + word) * 8);
	code_alu_imm(&c, BPF_MOV, R2, 1);
	code_atomic(&c, BPF_ADD, R1, 0, R2);
	code_alu_imm(&c, BPF_MOV, R0, 0);
	code_exit(&c);
	return c;
}

/* counts[cookie] += 1; for one thread at a time. */
static struct code count_by_cookie(struct unit *u)
{
	struct code c;
	u32 absent, done;

	code_init(&c, &u->arena);
	absent = code_label(&c);
	done = code_label(&c);
	code_call(&c, BPF_FUNC_get_attach_cookie);
	code_store(&c, 8, R10, -8, R0);
	code_map(&c, R1, COUNT_MAP);
	code_mov(&c, R2, R10);
	code_alu_imm(&c, BPF_ADD, R2, -8);
	code_call(&c, BPF_FUNC_map_lookup_elem);
	code_if_imm(&c, BPF_JEQ, R0, 0, absent);
	code_alu_imm(&c, BPF_MOV, R1, 1);
	code_atomic(&c, BPF_ADD, R0, 0, R1);
	code_goto(&c, done);
	code_bind(&c, absent);
	code_store_imm(&c, 8, R10, -16, 1);
	code_map(&c, R1, COUNT_MAP);
	code_mov(&c, R2, R10);
	code_alu_imm(&c, BPF_ADD, R2, -8);
	code_mov(&c, R3, R10);
	code_alu_imm(&c, BPF_ADD, R3, -16);
	code_alu_imm(&c, BPF_MOV, R4, BPF_ANY);
	code_call(&c, BPF_FUNC_map_update_elem);
	code_bind(&c, done);
	code_alu_imm(&c, BPF_MOV, R0, 0);
	code_exit(&c);
	return c;
}

static void no_warning(void *ctx, struct loc loc, const char *text)
{
	(void)ctx;
	(void)loc;
	fail_msg("unexpected warning: %s", text);
}

static struct live *load(const struct unit *u, const struct features *f)
{
	struct live_options o = { .features = f };
	struct err e = { 0 };
	struct live *l = live_load(u, &o, &e);

	if (!l)
		fail_msg("load: %s (%s)", e.text, e.hint);
	return l;
}

static u32 attach(struct live *l)
{
	struct err e = { 0 };
	u32 n;

	if (!live_attach(l, &n, no_warning, NULL, &e))
		fail_msg("attach: %s (%s)", e.text, e.hint);
	return n;
}

static void need_root(void)
{
	if (geteuid() != 0) {
		print_message("SKIP: needs root\n");
		skip();
	}
}

static u64 word(struct live *l, u32 w)
{
	return live_data(l, UDATA_ERRORS + w);
}

static void done(struct live *l, struct unit *u)
{
	live_free(l);
	unit_free(u);
}

/* ---- cases ---- */

struct seen {
	u32 n, stop; /* after so many, 0: never */
	u64 last;
};

static bool see_record(void *ctx, const void *record, u32 size)
{
	struct seen *s = ctx;

	assert_int_equal(size, 16);
	memcpy(&s->last, (const u8 *)record + 8, 8);
	return ++s->n != s->stop;
}

/* Sends a record of two words, of which r10-16 is the first. */
static void send_word(struct code *c, s32 value)
{
	code_store_imm(c, 8, R10, -8, value);
	code_map(c, R1, RING_MAP);
	code_mov(c, R2, R10);
	code_alu_imm(c, BPF_ADD, R2, -16);
	code_alu_imm(c, BPF_MOV, R3, 16);
	code_alu_imm(c, BPF_MOV, R4, 0);
	code_call(c, BPF_FUNC_ringbuf_output);
}

static bool kernel_is(u32 major, u32 minor)
{
	u32 a = 0, b = 0;
	struct utsname u;

	uname(&u);
	sscanf(u.release, "%u.%u", &a, &b); /* NOLINT(cert-err34-c) */
	return a > major || (a == major && b >= minor);
}

static void test_begin_sends_records(void **state)
{
	struct unit *u = new_unit(1);
	struct seen seen = { .stop = 3 };
	struct err e = { 0 };
	struct live *l;
	struct code c;

	(void)state;
	need_root();
	code_init(&c, &u->arena);
	code_store_imm(&c, 8, R10, -16, 0);
	for (s32 i = 1; i <= 4; i++)
		send_word(&c, i * 11);
	code_alu_imm(&c, BPF_MOV, R0, 0);
	code_exit(&c);
	add_prog(u, ATTACH_BEGIN, &c, NULL, 0);
	l = load(u, NULL);
	assert_true(live_run(l, ATTACH_END, &e));
	live_ring_read(l, see_record, &seen);
	assert_int_equal(seen.n, 0);
	assert_true(live_run(l, ATTACH_BEGIN, &e));
	live_ring_read(l, see_record, &seen);
	assert_int_equal(seen.n, 3); /* the callback stopped it */
	assert_int_equal(seen.last, 33);
	live_ring_read(l, see_record, &seen);
	assert_int_equal(seen.n, 4);
	assert_int_equal(seen.last, 44);
	assert_true(live_insns(l, 0) > 0 || !kernel_is(5, 16));
	done(l, u);
}

/* Twice round a ring of 128 KiB, of which less is mapped at first: each record comes once. */
static void test_ring_is_mapped_as_it_fills(void **state)
{
	struct unit *u = new_unit(1);
	struct seen seen = { 0 };
	struct err e = { 0 };
	struct live *l;
	struct code c;

	(void)state;
	need_root();
	u->maps.v[RING_MAP].max_entries = 128 * 1024;
	code_init(&c, &u->arena);
	code_store_imm(&c, 8, R10, -16, 0);
	send_word(&c, 7);
	code_alu_imm(&c, BPF_MOV, R0, 0);
	code_exit(&c);
	add_prog(u, ATTACH_BEGIN, &c, NULL, 0);
	l = load(u, NULL);
	for (u32 i = 0; i < 2 * 128 * 1024 / 24; i++) {
		assert_true(live_run(l, ATTACH_BEGIN, &e));
		if (i % 1000 == 0)
			live_ring_read(l, see_record, &seen);
	}
	live_ring_read(l, see_record, &seen);
	assert_int_equal(seen.n, 2 * 128 * 1024 / 24);
	assert_int_equal(seen.last, 7);
	done(l, u);
}

/* A record at `at` of a ring of 64 bytes in memory that is there twice. */
static void put_record(u8 *data, u64 at, u32 size, u32 bits, u32 value)
{
	u32 head[] = { size | bits, 0, value };
	u8 bytes[sizeof(head)];

	memcpy(bytes, head, sizeof(bytes));
	for (u32 i = 0; i < sizeof(bytes); i++)
		data[(at + i) % 64] = data[(at + i) % 64 + 64] = bytes[i];
}

struct numbers {
	u32 size[8], value[8];
	u32 n;
};

static bool take_number(void *ctx, const void *record, u32 size)
{
	struct numbers *t = ctx;

	t->size[t->n] = size;
	memcpy(&t->value[t->n++], record, sizeof(u32));
	return true;
}

/* Reading starts at byte 48 of the second round. */
static void test_ring_records(void **state)
{
	_Alignas(8) u8 data[128];
	u64 read = 64 + 48, reserved = 64 + 48 + 16 + 24 + 16;
	struct live l = { .ring = { &read, &reserved, data, 64, 128 } };
	struct numbers t = { .n = 0 };

	(void)state;
	put_record(data, 64 + 48, 4, 0, 11);
	put_record(data, 64 + 64, 12, BPF_RINGBUF_DISCARD_BIT, 12);
	put_record(data, 64 + 88, 5, BPF_RINGBUF_BUSY_BIT, 13);
	live_ring_read(&l, take_number, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.value[0], 11);
	assert_int_equal(t.size[0], 4);
	assert_int_equal(read, 64 + 88); /* not what is being written */
	put_record(data, 64 + 88, 5, 0, 13);
	reserved += 16;
	put_record(data, 64 + 104, 12, 0, 14); /* over the end */
	reserved += 8;
	live_ring_read(&l, take_number, &t);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.value[1], 13);
	assert_int_equal(t.size[1], 5);
	assert_int_equal(t.value[2], 14);
	assert_int_equal(read, reserved);
	live_ring_read(&l, take_number, &t);
	assert_int_equal(t.n, 3);
}

/* Two lanes of two parts of 64 bytes. A record at `at` of a lane, as a program leaves it. */
#define PART      64u
#define PART_ROOM (PART + 40u)

static void put_in_lane(struct lanes *a, u32 lane, u64 at, u32 size, u64 time, u32 value)
{
	u64 part = lane * 2 + at / PART % 2;
	struct unit_lane_head head = { size, time };
	u8 *to = a->data + part * PART_ROOM + at % PART;
	u64 end = at + ROUND_UP(sizeof(head) + size, 8u);

	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), &value, sizeof(value));
	a->lanes[lane].end = MAX(a->lanes[lane].end, end);
}

static void assert_values(struct numbers *t, const u32 *values, u32 n)
{
	assert_int_equal(t->n, n);
	for (u32 i = 0; i < n; i++)
		assert_int_equal(t->value[i], values[i]);
	t->n = 0;
}

static bool all_zero(const u8 *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static void test_lanes(void **state)
{
	_Alignas(8) u8 data[4 * PART_ROOM] = { 0 };
	struct unit_lane lanes[2] = { { .read = 0 } };
	struct live l = { .lanes = { .shape = { .n = 2, .part = PART, .parts = 2, .most = 24 },
		                     .lanes = lanes,
		                     .data = data,
		                     .stride = PART_ROOM } };
	struct lanes *a = &l.lanes;
	struct numbers t = { .n = 0 };
	u64 later = UINT64_MAX;

	(void)state;
	live_ring_read(&l, take_number, &t);
	assert_values(&t, NULL, 0);
	/* by time, and in its lane one after the other whatever its time */
	put_in_lane(a, 0, 0, 4, 10, 1);
	put_in_lane(a, 0, 24, 16, 30, 3);
	put_in_lane(a, 1, 0, 8, 20, 2);
	put_in_lane(a, 1, 24, 8, 40, 4);
	put_in_lane(a, 1, 48, 24, 35, 5); /* beyond the end of the part */
	assert_int_equal(live_ring_at(&l).reserved, 56 + 88);
	assert_int_equal(live_ring_at(&l).size, 2 * PART);
	assert_int_equal(live_ring_at(&l).waiting, 88); /* in the fuller one */
	live_ring_read(&l, take_number, &t);
	assert_int_equal(t.size[1], 8);
	assert_int_equal(t.size[4], 24);
	assert_values(&t, (const u32[]){ 1, 2, 3, 4, 5 }, 5);
	assert_true(all_zero(data, sizeof(data)));
	assert_int_equal(lanes[0].read, 56);
	assert_int_equal(lanes[1].read, 88);
	assert_int_equal(live_ring_at(&l).read, live_ring_at(&l).reserved);
	/* one that is not complete may be what the other's follows from */
	put_in_lane(a, 0, 56, 0, 0, 0);
	lanes[0].end = 56 + 24;
	put_in_lane(a, 1, 88, 8, 50, 7);
	live_ring_read(&l, take_number, &t);
	assert_values(&t, NULL, 0);
	put_in_lane(a, 0, 56, 8, 45, 6);
	put_in_lane(a, 0, 80, 8, later, 9); /* was begun after this */
	live_ring_read(&l, take_number, &t);
	assert_values(&t, (const u32[]){ 6, 7 }, 2);
	assert_int_equal(lanes[0].read, 80);
	/* second time round */
	put_in_lane(a, 1, 112, 4, 60, 8);
	put_in_lane(a, 1, 136, 4, 70, 10);
	put_in_lane(a, 0, 80, 8, 65, 9);
	live_ring_read(&l, take_number, &t);
	assert_values(&t, (const u32[]){ 8, 9, 10 }, 3);
	assert_true(all_zero(data, sizeof(data)));
}

static void check_uprobe(const struct features *f)
{
	struct unit *u = new_unit(2);
	struct usite entry = { .name = "entry",
		               .path = "/proc/self/exe",
		               .offset = file_offset((const void *)(uintptr_t)test_target),
		               .pid = getpid() };
	struct usite ret = entry;
	struct code a = count_code(u, 0), b = count_code(u, 1);
	struct live *l;

	ret.name = "return";
	ret.pid = 0;
	ret.path = "/proc/self/exe";
	add_prog(u, ATTACH_UPROBE, &a, &entry, 1);
	add_prog(u, ATTACH_URETPROBE, &b, &ret, 1);
	l = load(u, f);
	assert_int_equal(attach(l), 2);
	for (int i = 0; i < 7; i++)
		test_target(i);
	assert_int_equal(word(l, 0), 7);
	assert_int_equal(word(l, 1), 7);
	live_detach(l);
	test_target(1);
	assert_int_equal(word(l, 0), 7);
	assert_int_equal(word(l, 1), 7);
	done(l, u);
}

static void test_uprobe(void **state)
{
	(void)state;
	need_root();
	check_uprobe(NULL);
}

/* As on kernels before 6.6. */
static void test_uprobe_without_multi(void **state)
{
	struct features none = { .asked = FEATURES_ALL };
	double start = now_ms();

	(void)state;
	need_root();
	check_uprobe(&none);
	print_message("  all of it: %.1f ms\n", now_ms() - start);
}

struct sums {
	u64 n, total;
};

static bool sum_rows(void *ctx, const void *key, const void *cells)
{
	struct sums *s = ctx;
	u64 k, v;

	memcpy(&k, key, 8);
	memcpy(&v, cells, 8);
	assert_int_equal(v, k % 3 + 1);
	s->n++;
	s->total += v;
	return true;
}

/* How many calls that were. */
static u64 hit_many(u64 n)
{
	u64 calls = 0;

	for (u64 i = 0; i < n; i++)
		for (u64 j = 0; j <= i % 3; j++, calls++)
			((void (*)(void))(uintptr_t)(test_many + STRIDE * i))();
	return calls;
}

/* Returns the milliseconds that the end of all took. */
static double check_many(const struct features *f, u32 n)
{
	struct unit *u = new_unit(0);
	struct usite *sites = arena_array(&u->arena, struct usite, n);
	struct sums sums = { 0 };
	struct err e = { 0 };
	struct code c = count_by_cookie(u);
	struct live *l;
	double t0, t1, t2;
	u64 calls;

	for (u32 i = 0; i < n; i++)
		sites[i] = (struct usite){ .name = "many",
			                   .loc = { i, 1 },
			                   .path = "/proc/self/exe",
			                   .offset = file_offset(test_many + STRIDE * i),
			                   .cookie = i };
	add_prog(u, ATTACH_UPROBE, &c, sites, n);
	l = load(u, f);
	t0 = now_ms();
	assert_int_equal(attach(l), n);
	t1 = now_ms();
	calls = hit_many(n);
	assert_true(live_map_each(l, COUNT_MAP, sum_rows, &sums, &e));
	assert_int_equal(sums.n, n);
	assert_int_equal(sums.total, calls);
	t2 = now_ms();
	live_detach(l);
	t2 = now_ms() - t2;
	print_message("  %u uprobes: attach %.1f ms, detach %.1f ms\n", n, t1 - t0, t2);
	hit_many(n);
	sums = (struct sums){ 0 };
	assert_true(live_map_each(l, COUNT_MAP, sum_rows, &sums, &e));
	assert_int_equal(sums.total, calls);
	done(l, u);
	return t2;
}

/* Do they end together? One after the other they would take so many times as long as one alone; on
 * a machine with other work a few measurements may be off. */
static void check_end_together(const struct features *f, u32 n)
{
	for (u32 i = 0; i < 10; i++) {
		double one = check_many(f, 1), all = check_many(f, n);

		if (all < one * n * 0.6)
			return;
	}
	fail_msg("%u probes end one by one", n);
}

static void test_many_uprobes(void **state)
{
	struct features f = { 0 };

	(void)state;
	need_root();
	features_probe(&f, FEATURE_UPROBE_MULTI);
	if (!f.uprobe_multi) {
		print_message("SKIP: no uprobe_multi in this kernel\n");
		skip();
	}
	check_end_together(&f, 300);
}

static void test_many_uprobes_without_multi(void **state)
{
	struct features none = { .asked = FEATURES_ALL, .cookie = true };

	(void)state;
	need_root();
	if (!kernel_is(6, 13)) {
		print_message("SKIP: before Linux 6.13 the kernel ends one after the other\n");
		skip();
	}
	check_end_together(&none, 9);
}

static void count_warning(void *ctx, struct loc loc, const char *text)
{
	assert_int_equal(loc.off, 14);
	assert_non_null(strstr(text, "bad one"));
	++*(u32 *)ctx;
}

/* A site whose bytes are no instruction fails the link of all; it must be found and named. */
static void test_bad_site_is_named(void **state)
{
	struct unit *u = new_unit(0);
	struct usite sites[5];
	struct code c = count_by_cookie(u);
	struct err e = { 0 };
	struct live *l;
	u32 n, warnings = 0;

	(void)state;
	need_root();
	for (u32 i = 0; i < 5; i++)
		sites[i] = (struct usite){ .name = i == 3 ? "bad one" : "good one",
			                   .path = "/proc/self/exe",
			                   .offset = i == 3 ? 0x7fffffff000
			                                    : file_offset(test_many + STRIDE * i),
			                   .cookie = i,
			                   .loc = { i == 3 ? 14 : 20 + i, 3 } };
	add_prog(u, ATTACH_UPROBE, &c, sites, 5);
	l = load(u, NULL);
	assert_false(live_attach(l, &n, count_warning, &warnings, &e));
	assert_non_null(strstr(e.text, "can not attach bad one: "));
	assert_true(e.placed && e.off == 14 && e.len == 3);
	u->lenient_probes = true;
	assert_true(live_attach(l, &n, count_warning, &warnings, &e));
	assert_int_equal(n, 4);
	assert_int_equal(warnings, 1);
	assert_int_equal(live_attached_by(l, 0).sites, 4);
	assert_true(live_attached_by(l, 0).links > 0);
	assert_non_null(strstr(live_attached_by(l, 0).how, "uprobe"));
	done(l, u);
}

static u64 tracepoint_id(const char *name)
{
	char path[128];
	u64 id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%lu", &id) != 1)
		id = 0;
	fclose(f);
	return id;
}

static void test_tracepoint(void **state)
{
	struct unit *u = new_unit(1);
	struct usite site = { .name = "tracepoint:syscalls:sys_enter_getppid",
		              .event = "syscalls:sys_enter_getppid" };
	struct code c = count_code(u, 0);
	struct live *l;
	u64 before;

	(void)state;
	need_root();
	site.tracepoint_id = tracepoint_id("syscalls/sys_enter_getppid");
	if (!site.tracepoint_id) {
		print_message("SKIP: tracefs is not mounted\n");
		skip();
	}
	add_prog(u, ATTACH_TRACEPOINT, &c, &site, 1);
	l = load(u, NULL);
	attach(l);
	for (int i = 0; i < 50; i++)
		getppid();
	assert_true(word(l, 0) >= 50);
	live_detach(l);
	before = word(l, 0);
	getppid();
	assert_int_equal(word(l, 0), before);
	done(l, u);
}

static void test_raw_tracepoint(void **state)
{
	struct unit *u = new_unit(1);
	struct usite site = { .name = "rawtracepoint:sys_enter", .event = "sys_enter" };
	struct code c = count_code(u, 0);
	struct live *l;

	(void)state;
	need_root();
	add_prog(u, ATTACH_RAWTP, &c, &site, 1);
	l = load(u, NULL);
	attach(l);
	for (int i = 0; i < 50; i++)
		getppid();
	assert_true(word(l, 0) >= 50);
	done(l, u);
}

static void touch_pages(u32 n)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	madvise(p, n * 4096, MADV_NOHUGEPAGE);
	for (u32 i = 0; i < n; i++)
		p[i * 4096] = 1;
	munmap(p, n * 4096);
}

static void check_page_faults(s32 pid)
{
	struct unit *u = new_unit(1);
	struct usite site = { .name = "software:page-faults:1",
		              .perf_config = PERF_COUNT_SW_PAGE_FAULTS,
		              .period = 1,
		              .pid = pid };
	struct code c = count_code(u, 0);
	struct live *l;

	need_root();
	add_prog(u, ATTACH_SOFTWARE, &c, &site, 1);
	l = load(u, NULL);
	attach(l);
	touch_pages(100);
	assert_true(word(l, 0) >= 100);
	if (pid)
		assert_true(word(l, 0) < 200);
	done(l, u);
}

static void test_page_faults(void **state)
{
	(void)state;
	check_page_faults(0);
}

static void test_page_faults_of_process(void **state)
{
	(void)state;
	check_page_faults(getpid());
}

static void test_timers(void **state)
{
	struct unit *u = new_unit(2);
	struct usite interval = { .name = "interval:ms:5", .period = 5000000 };
	struct usite profile = { .name = "profile:hz:200", .period = 5000000 };
	struct code a = count_code(u, 0), b = count_code(u, 1);
	u64 ticks = 0, samples = 0, most;
	struct live *l;
	double start;

	(void)state;
	need_root();
	add_prog(u, ATTACH_INTERVAL, &a, &interval, 1);
	add_prog(u, ATTACH_PROFILE, &b, &profile, 1);
	l = load(u, NULL);
	start = now_ms();
	attach(l);
	while ((ticks < 5 || samples < 5) && now_ms() - start < 60000) {
		usleep(5000);
		ticks = word(l, 0);
		samples = word(l, 1);
	}
	most = (u64)((now_ms() - start) / 5) + 1;
	assert_in_range(ticks, 5, most);
	assert_in_range(samples, 5, most * (u64)sysconf(_SC_NPROCESSORS_ONLN));
	done(l, u);
}

static void test_wrong_kinds_explain(void **state)
{
	static const struct {
		enum attach_kind kind;
		struct usite site;
		const char *text;
	} cases[] = {
		{ ATTACH_UPROBE,
		  { .name = "u", .path = "/no/such/file", .offset = 16 },
		  "no file /no/such/file" },
		{ ATTACH_RAWTP,
		  { .name = "r", .event = "nothing_here" },
		  "no tracepoint nothing_here" },
		{ ATTACH_SOFTWARE,
		  { .name = "s", .perf_config = 0, .period = 1, .pid = 0x3fffffff },
		  "no process" },
	};

	(void)state;
	need_root();
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unit *u = new_unit(1);
		struct code c = count_code(u, 0);
		struct err e = { 0 };
		struct live *l;
		u32 n;

		add_prog(u, cases[i].kind, &c, &cases[i].site, 1);
		l = load(u, NULL);
		assert_false(live_attach(l, &n, no_warning, NULL, &e));
		if (!strstr(e.text, cases[i].text))
			fail_msg("case %u: %s", i, e.text);
		done(l, u);
	}
}

static void test_refused_program(void **state)
{
	struct unit *u = new_unit(0);
	struct buf log = { 0 };
	struct live_options o = { .log = &log };
	struct err e = { 0 };
	struct code c;

	(void)state;
	need_root();
	code_init(&c, &u->arena);
	c.loc = 14; /* "two" in line 2 */
	code_alu_imm(&c, BPF_MOV, R1, 4096);
	code_load(&c, 8, R0, R1, 0);
	code_exit(&c);
	add_prog(u, ATTACH_BEGIN, &c, NULL, 0);
	assert_null(live_load(u, &o, &e));
	assert_non_null(strstr(e.text, "the kernel refused the program for BEGIN"));
	assert_true(e.placed && e.off == 14 && e.len == 3);
	assert_non_null(strstr(e.text, "an address is used in a way"));
	assert_true(log.n > 0);
	buf_free(&log);
	unit_free(u);
}

static void test_clear_and_zero(void **state)
{
	struct unit *u = new_unit(0);
	struct usite sites[3];
	struct code c = count_by_cookie(u);
	struct sums sums = { 0 };
	struct err e = { 0 };
	struct live *l;
	u64 key = 2, value = 9;

	(void)state;
	need_root();
	for (u32 i = 0; i < 3; i++)
		sites[i] = (struct usite){ .name = "many",
			                   .path = "/proc/self/exe",
			                   .offset = file_offset(test_many + STRIDE * i),
			                   .cookie = i };
	add_prog(u, ATTACH_UPROBE, &c, sites, 3);
	l = load(u, NULL);
	attach(l);
	hit_many(3);
	assert_true(live_map_get(l, COUNT_MAP, &key, &value));
	assert_int_equal(value, 3);
	assert_true(live_map_zero(l, COUNT_MAP, &e));
	assert_true(live_map_get(l, COUNT_MAP, &key, &value));
	assert_int_equal(value, 0);
	hit_many(3);
	assert_true(live_map_each(l, COUNT_MAP, sum_rows, &sums, &e));
	assert_int_equal(sums.n, 3);
	assert_true(live_map_clear(l, COUNT_MAP, &e));
	assert_false(live_map_get(l, COUNT_MAP, &key, &value));
	live_data_set(l, UDATA_START, 77);
	assert_int_equal(live_data(l, UDATA_START), 77);
	done(l, u);
}

static void test_keys_that_fit(void **state)
{
	(void)state;
	/* 142,987 would fit with a table of 262,144 chains: less than a quarter more. */
	assert_int_equal(kern_map_fits(16u << 20, 88), 131072);
	/* 65,536 fit with as many chains, and with twice the table 81,920, which is a quarter. */
	assert_int_equal(kern_map_fits((131072u * 16) + (81920u * 88), 88), 81920);
	assert_int_equal(kern_map_fits((131072u * 16) + (81919u * 88), 88), 65536);
	for (u64 element = 8; element < 5000; element += 61)
		for (u64 bytes = 1u << 20; bytes < 1u << 30; bytes *= 3) {
			u64 n = kern_map_fits(bytes, element), chains = 1;

			while (chains < n)
				chains *= 2;
			assert_true((chains * 16) + (n * element) <= bytes);
			assert_true(n + (n / 4) + 1 >= bytes / (element + 32));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_that_fit),
		cmocka_unit_test(test_begin_sends_records),
		cmocka_unit_test(test_ring_is_mapped_as_it_fills),
		cmocka_unit_test(test_ring_records),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_uprobe),
		cmocka_unit_test(test_uprobe_without_multi),
		cmocka_unit_test(test_many_uprobes),
		cmocka_unit_test(test_many_uprobes_without_multi),
		cmocka_unit_test(test_bad_site_is_named),
		cmocka_unit_test(test_tracepoint),
		cmocka_unit_test(test_raw_tracepoint),
		cmocka_unit_test(test_page_faults),
		cmocka_unit_test(test_page_faults_of_process),
		cmocka_unit_test(test_timers),
		cmocka_unit_test(test_wrong_kinds_explain),
		cmocka_unit_test(test_refused_program),
		cmocka_unit_test(test_clear_and_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
