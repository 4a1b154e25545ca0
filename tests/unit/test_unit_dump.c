/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The dump of a unit built by hand, compared as a whole. */
#include "unit/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bpf/code.h"

static const char source[] = "BEGIN {\n\t@x[pid, \"a\"] = 1;\n\tprintf(\"%d\\n\", 5 / 0);\n}\n";

static void add_maps(struct unit *u)
{
	const struct type *parts[] = { &type_u32, type_str(&u->arena, 16, true) };
	const struct type *key = type_tuple(&u->arena, parts, 2);
	struct umap x = { .name = "@x",
		          .role = UMAP_USER,
		          .bpf_type = BPF_MAP_TYPE_HASH,
		          .flags = BPF_F_NO_PREALLOC,
		          .key_size = 24,
		          .value_size = 8,
		          .max_entries = 4096,
		          .key = key,
		          .value = &type_s64 };
	struct umap counts = { .name = "@n",
		               .role = UMAP_USER,
		               .bpf_type = BPF_MAP_TYPE_PERCPU_ARRAY,
		               .key_size = 4,
		               .value_size = 8,
		               .max_entries = 1,
		               .value = type_plain(&u->arena, TYPE_COUNT),
		               .per_cpu = true };
	struct umap ring = { .name = "ring",
		             .role = UMAP_RING,
		             .bpf_type = BPF_MAP_TYPE_RINGBUF,
		             .max_entries = 262144 };

	vec_add(&u->arena, &u->maps, x);
	vec_add(&u->arena, &u->maps, counts);
	vec_add(&u->arena, &u->maps, ring);
}

static void add_records(struct unit *u)
{
	static const struct field args[] = { { .type = &type_s64, .off = 8 } };
	struct urecord printf_ = { .action = ACTION_PRINTF,
		                   .size = 16,
		                   .args = args,
		                   .n_args = 1,
		                   .text = "%d \"\\\x01\n",
		                   .map = -1,
		                   .loc = { 28, 6 } };
	struct urecord print = {
		.action = ACTION_PRINT_MAP, .size = 8, .map = 0, .top = 3, .div = 2, .loc = { 9, 2 }
	};
	struct uerror error = { .kind = UERROR_DIV_ZERO, .loc = { 44, 5 } };
	struct uerror full = { .kind = UERROR_UPDATE, .loc = { 9, 2 }, .what = "@x" };

	vec_add(&u->arena, &u->records, printf_);
	vec_add(&u->arena, &u->records, print);
	vec_add(&u->arena, &u->errors, error);
	vec_add(&u->arena, &u->errors, full);
}

static void add_progs(struct unit *u)
{
	static const struct usite begin = { .name = "BEGIN" };
	static const struct usite sites[] = {
		{ .name = "usdt:./a:p:one",
		  .path = "./a",
		  .offset = 0x1139,
		  .ref_ctr = 0x4010,
		  .pid = 77,
		  .cookie = 1 },
		{ .name = "tracepoint:a:b", .event = "a:b", .tracepoint_id = 12, .period = 1 },
	};
	struct uprog prog = {
		.name = "BEGIN", .kind = ATTACH_BEGIN, .sites = &begin, .n_sites = 1
	};
	struct code c;

	code_init(&c, &u->arena);
	c.loc = 9;
	code_map(&c, R1, 0);
	code_call(&c, BPF_FUNC_ktime_get_ns);
	c.loc = 44;
	code_const(&c, R0, 0);
	code_exit(&c);
	prog.insns = c.insns.v;
	prog.locs = c.locs.v;
	prog.n_insns = c.insns.n;
	vec_add(&u->arena, &u->progs, prog);
	prog = (struct uprog){
		.name = "usdt:./a:p:one", .kind = ATTACH_USDT, .sites = sites, .n_sites = 2
	};
	vec_add(&u->arena, &u->progs, prog);
	vec_add(&u->arena, &u->probe_names, "BEGIN");
	vec_add(&u->arena, &u->probe_names, "usdt:./a:p:one");
}

static const char expected[] =
	"unit stdin: strings 1024 bytes, cut mark \"..\", stacks bpftrace, ring 64 pages\n"
	"map 0 @x: user, hash, key (uint32,string[16]) (24 bytes), value int64 (8 bytes), "
	"4096 entries, flags 0x1\n"
	"map 1 @n: user, percpu_array, key (4 bytes), value count_t (8 bytes), 1 entries, per cpu\n"
	"map 2 ring: ring, ringbuf, 262144 entries\n"
	"record 0 printf: 16 bytes, \"%d \\\"\\\\\\x01\\n\" at 3:2\n"
	"  +8 int64\n"
	"record 1 print map: 8 bytes, map @x, top 3, div 2 at 2:2\n"
	"error 0 division by zero at 3:18\n"
	"error 1 update (@x) at 2:2\n"
	"probe 0 BEGIN\n"
	"probe 1 usdt:./a:p:one\n"
	"\n"
	"program BEGIN: BEGIN, 5 instructions, 1 site\n"
	"  site BEGIN\n"
	"  ; 2: @x[pid, \"a\"] = 1;\n"
	"     0: r1 = map[0]\n"
	"     2: call ktime_get_ns#5\n"
	"  ; 3: printf(\"%d\\n\", 5 / 0);\n"
	"     3: r0 = 0\n"
	"     4: exit\n"
	"\n"
	"program usdt:./a:p:one: usdt, 0 instructions, 2 sites\n"
	"  site usdt:./a:p:one file ./a offset 0x1139 semaphore 0x4010 pid 77 cookie 1\n"
	"  site tracepoint:a:b event a:b id 12 period 1\n";

static void test_whole(void **state)
{
	struct unit *u = unit_new();
	struct buf b = { 0 };

	(void)state;
	unit_set_source(u, "stdin", source);
	add_maps(u);
	add_records(u);
	add_progs(u);
	unit_print(&b, u);
	assert_string_equal(buf_text(&b), expected);
	buf_free(&b);
	unit_free(u);
}

static void test_settings(void **state)
{
	struct unit *u = unit_new();
	struct buf b = { 0 };

	(void)state;
	u->print_maps_on_exit = false;
	u->lenient_probes = true;
	u->stack_mode = STACK_RAW;
	unit_print(&b, u);
	assert_string_equal(buf_text(&b), "unit stdin: strings 1024 bytes, cut mark \"..\", "
	                                  "stacks raw, ring 64 pages, maps not printed at exit, "
	                                  "probes may be missing\n");
	buf_free(&b);
	unit_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
