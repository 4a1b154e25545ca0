/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Attach points and the sites they expand to, over the fake world; this executable carries the
 * functions and static probes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/sdt.h>

#include "fake_world.h"
#include "lang/parse/lang.h"

#if defined(__x86_64__)
#define SECOND "+1" /* instruction of a function */
#else
#define SECOND "+4"
#endif

/* Functions for uprobes: two names of one place, and one of another. */
__attribute__((noinline, used)) void targets_fire_one(int n);
__attribute__((noinline, used)) void targets_fire_two(int n, volatile char *p);
void targets_fire_alias(int n) __attribute__((alias("targets_fire_one")));

void targets_fire_one(int n)
{
	DTRACE_PROBE2(memtap_test, hit, n, 3);
}

void targets_fire_two(int n, volatile char *p)
{
	DTRACE_PROBE2(memtap_test, hit, *p, 4);
	DTRACE_PROBE1(memtap_test, done, n);
}

struct run {
	struct arena arena;
	struct source source;
	struct request request;
	struct script script;
	struct config config;
	struct diags diags;
	struct fake_world world;
	bool ok;
};

static void setup(struct run *r)
{
	memset(r, 0, sizeof(*r));
	fake_world_init(&r->world);
}

static void expand(struct run *r, const char *text)
{
	struct err e;

	assert_true(source_set(&r->source, &r->arena, "stdin", str_of(text), &e));
	r->script = (struct script){ .arena = &r->arena,
		                     .source = &r->source,
		                     .request = r->request };
	r->diags = (struct diags){ .arena = &r->arena, .source = &r->source };
	assert_true(parse_script(&r->script, &r->diags));
	assert_true(config_read(&r->config, &r->script, &r->diags));
	r->ok = targets_expand(&r->script, &r->config, &r->world.world, &r->diags);
	assert_int_equal(r->ok, r->diags.n_errors == 0);
}

static void teardown(struct run *r)
{
	fake_world_free(&r->world);
	arena_free(&r->arena);
}

/* All sites, programs separated by '|', sites by ' '. */
static const char *sites(struct run *r)
{
	struct buf b = { 0 };
	const char *text;

	for (struct probe *p = r->script.probes; p; p = p->next)
		for (u32 i = 0; i < p->variants.n; i++) {
			if (b.n)
				buf_puts(&b, " | ");
			for (u32 k = 0; k < p->variants.v[i]->sites.n; k++)
				buf_printf(&b, "%s%s", k ? " " : "",
				           p->variants.v[i]->sites.v[k].name);
		}
	text = arena_strdup(&r->arena, buf_text(&b));
	buf_free(&b);
	return text;
}

struct place_row {
	const char *script, *sites;
};

static void check_places(const struct place_row *row)
{
	struct run r;

	setup(&r);
	expand(&r, row->script);
	if (!r.ok)
		print_message("%s: %s\n", row->script, r.diags.list.v[0].text);
	assert_true(r.ok);
	assert_string_equal(sites(&r), row->sites);
	teardown(&r);
}

static void test_names(void **state)
{
	static const struct place_row rows[] = {
		{ "begin {} END {}", "begin | END" },
		{ "BEGIN, END { }", "BEGIN | END" },
		{ "t:vmscan:* { @ = count(); }", "tracepoint:vmscan:mm_vmscan_lru_isolate "
		                                 "tracepoint:vmscan:mm_vmscan_write_folio" },
		{ "t:vmscan:* { print(args.nid); }", "tracepoint:vmscan:mm_vmscan_lru_isolate | "
		                                     "tracepoint:vmscan:mm_vmscan_write_folio" },
		{ "Tracepoint:sched:sched_switch { }", "tracepoint:sched:sched_switch" },
		{ "software:faults:1 {}", "software:faults:1" },
		{ "s:page-faults: {}", "software:page-faults:100" },
		{ "h:cache-misses:5 {}", "hardware:cache-misses:5" },
		{ "i:s:1, i:1s, i:ms:20 {}", "interval:s:1 interval:1s interval:ms:20" },
		{ "profile:hz:99 {}", "profile:hz:99" },
		{ "k:vfs_* { @[func] = count(); }",
		  "kprobe:vfs_open kprobe:vfs_read kprobe:vfs_write" },
		{ "kprobe:zram:* {}", "kprobe:zram:zram_write kprobe:zram:two_homes" },
		{ "kprobe:zram:two_homes {}", "kprobe:zram:two_homes" },
		{ "kprobe:*:vfs_read {}", "kprobe:vmlinux:vfs_read" },
		{ "kprobe:z*:zram_* {}", "kprobe:zram:zram_write" },
		{ "kprobe:two_f* {}", "kprobe:two_files" },
		{ "kprobe:vfs_read+8 {}", "kprobe:vfs_read+8" },
		{ "kretprobe:vfs_read {}", "kretprobe:vfs_read" },
		{ "fentry:vfs_* {}", "fentry:vmlinux:vfs_read | fentry:vmlinux:vfs_open" },
		{ "kretfunc:vfs_read {}", "fexit:vmlinux:vfs_read" },
		{ "f:mine:mine_start {}", "fentry:mine:mine_start" },
		{ "fexit:mine_start {}", "fexit:mine:mine_start" },
		{ "f:mi*:* {}", "fentry:mine:mine_start" },
		{ "f:vmlinux:vfs_open {}", "fentry:vmlinux:vfs_open" },
		{ "rt:wakeup {} tp_btf:wake* {}", "rawtracepoint:wakeup | btftracepoint:wakeup" },
		{ "rt:sched_switch {}", "rawtracepoint:sched_switch" },
		{ "rt:mine:mine_* {}", "rawtracepoint:mine_event" },
		{ "rt:vmlinux:wakeup {} rt:*:wakeup {}",
		  "rawtracepoint:wakeup | rawtracepoint:wakeup" },
		{ "u:self:targets_fire_two {}", "uprobe:/proc/self/exe:targets_fire_two" },
		{ "u:self:targets_fire_two" SECOND " {}",
		  "uprobe:/proc/self/exe:targets_fire_two" SECOND },
		{ "u:/proc/*/exe:targets_fire_two {}", "uprobe:/proc/self/exe:targets_fire_two" },
		{ "ur:self:targets_fire_two {}", "uretprobe:/proc/self/exe:targets_fire_two" },
		{ "usdt:self:memtap_test:done {}", "usdt:/proc/self/exe:memtap_test:done" },
		{ "usdt:self:done {}", "usdt:/proc/self/exe:memtap_test:done" },
		{ "profile:99hz, i:hz:10 {}", "profile:99hz | interval:hz:10" },
		{ "w:0xffff888000000000:8:rw {}", "watchpoint:0xffff888000000000:8:rw" },
		{ "asyncwatchpoint:0xffff888000000000:1:w {}",
		  "watchpoint:0xffff888000000000:1:w" },
		{ "iter:task {}", "iter:task" },
		{ "it:task:list {}", "iter:task:list" },
		{ "self:signal:SIGUSR1 {}", "self:signal:SIGUSR1" },
		{ "t:a:b || t:sched:* || i:1s {}", "tracepoint:sched:sched_switch" },
		{ "i:ms:1 || t:a:b {}", "interval:ms:1" },
		{ "i:ms:5, t:a:b || i:ms:1 {}", "interval:ms:5 interval:ms:1" },
		{ "config = { missing_probes = warn } i:ms:1, t:a:b || s:x:y {}", "interval:ms:1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_places(&rows[i]);
}

struct error_row {
	const char *script, *text, *hint;
};

static void check_error(const struct error_row *row)
{
	struct run r;

	setup(&r);
	expand(&r, row->script);
	assert_int_equal(r.diags.n_errors, 1);
	assert_string_equal(r.diags.list.v[0].text, row->text);
	if (row->hint) {
		assert_non_null(r.diags.list.v[0].hint);
		assert_string_equal(r.diags.list.v[0].hint, row->hint);
	}
	teardown(&r);
}

static void test_errors(void **state)
{
	static const struct error_row rows[] = {
		{ "uprob:x:y {}", "Unknown probe type: 'uprob'", "did you mean 'uprobe'?" },
		{ "t:vmscan {}", "tracepoint takes 2 parts, not 1",
		  "write it as tracepoint:GROUP:EVENT" },
		{ "t:vmscan:mm_vmscan_writepage {}",
		  "No matches for tracepoint vmscan:mm_vmscan_writepage.",
		  "did you mean 'vmscan:mm_vmscan_write_folio'?" },
		{ "t:vmscam:x {}", "No matches for tracepoint vmscam:x.",
		  "did you mean group 'vmscan'?" },
		{ "t:vmscan:zz* {}", "No matches for tracepoint vmscan:zz*.", NULL },
		{ "s:fault:1 {}", "Unknown software event: 'fault'", NULL },
		{ "s:faults:x {}", "'x' is not a number above 0", NULL },
		{ "s:faults:0 {}", "'0' is not a number above 0", NULL },
		{ "i:x:1 {}", "Unknown unit of time: 'x'", "use one of s, ms, us, hz" },
		{ "i:us:0 {}", "'0' is not a number above 0", NULL },
		{ "i:1 {}", "the shortest period is 1us", NULL },
		{ "i:1y {}", "'1y' is not a duration", NULL },
		{ "k:vfs_rea {}", "No matches for kprobe vfs_rea.", "did you mean 'vfs_read'?" },
		{ "k:0x1000 {}", "a kprobe on an address needs --unsafe", NULL },
		{ "kr:vfs_read+4 {}", "a kretprobe takes no offset", NULL },
		{ "k:two_files {}",
		  "'two_files' is ambiguous: the kernel has 2 functions of this name",
		  "choose one (an address needs --unsafe): kprobe:0xffffffff81001100 (after "
		  "vfs_open), "
		  "kprobe:0xffffffff81002900 (after vfs_read)" },
		{ "kr:two_homes {}",
		  "'two_homes' is ambiguous: the kernel has 2 functions of this name",
		  "choose one (an address needs --unsafe): kretprobe:vmlinux:two_homes, "
		  "kretprobe:zram:two_homes" },
		{ "k:ext4:two_homes {}", "No matches for kprobe ext4:two_homes.", NULL },
		{ "k:vfs_open+4096 {}",
		  "offset 4096 is outside of 'vfs_open', which has at most 4096 bytes", NULL },
		{ "f:vfs_reed {}", "No matches for fentry vfs_reed.", "did you mean 'vfs_read'?" },
		{ "f:zram:x {}", "there are no types of the module zram", NULL },
		{ "f:mine:vfs_open {}", "No matches for fentry mine:vfs_open.", NULL },
		{ "tp_btf:wakup {}", "No matches for btftracepoint wakup.",
		  "did you mean 'wakeup'?" },
		{ "rt:zram:wakeup {}", "No matches for rawtracepoint zram:wakeup.",
		  "did you mean 'vmlinux'?" },
		{ "rt:mine:wakeup {}", "No matches for rawtracepoint mine:wakeup.",
		  "did you mean 'vmlinux'?" },
		{ "tp_btf:mine:mine_event {}", "No matches for btftracepoint mine:mine_event.",
		  NULL },
		{ "u:nowhere:f {}", "no program or library 'nowhere'", NULL },
		{ "u:self:targets_fire_on {}",
		  "No matches for uprobe /proc/self/exe:targets_fire_on.",
		  "did you mean 'targets_fire_one'?" },
		{ "u::f {}", "uprobe: no path needs a process",
		  "name the file, or give -p PID or -c COMMAND; '*' is every file in use" },
		{ "u:*:f {}", "no process 0", NULL },
		{ "u:/nowhere/*:f {}", "No matches for uprobe /nowhere/*:f.", NULL },
		{ "ur:self:targets_fire_one+1 {}", "a uretprobe takes no offset", NULL },
		{ "usdt:self:memtap_test:dine {}", "No matches for usdt memtap_test:dine.",
		  "did you mean 'done'?" },
		{ "i:s:$1 {}", "positional parameter $1 is not given on the command line", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_error(&rows[i]);
}

static void test_errors_of_kinds(void **state)
{
	static const struct error_row rows[] = {
		{ "k:ext4:vfs_open {}", "No matches for kprobe ext4:vfs_open.",
		  "did you mean 'vmlinux'?" },
		{ "kr:vmlinux:vfs_opem {}", "No matches for kretprobe vmlinux:vfs_opem.",
		  "did you mean 'vfs_open'?" },
		{ "watchpoint:8:8:w {}",
		  "an address of a program means nothing without its process",
		  "give -p PID or -c COMMAND" },
		{ "w:0xffff888000000001:8:w {}",
		  "0xffff888000000001 is not a multiple of the length", NULL },
		{ "w:0xffff888000000000:3:w {}", "a watchpoint is 1, 2, 4 or 8 bytes long", NULL },
		{ "w:0xffff888000000000:8:rr {}", "'rr' is not a mode",
		  "use w (written), rw (read or written) or x (executed)" },
#if defined(__x86_64__)
		{ "w:0xffff888000000000:8:r {}", "this processor has no watchpoints of mode 'r'",
		  "use w (written), rw (read or written) or x (executed)" },
#endif
		{ "w:0xffff888000000000:4:x {}", "a watchpoint of mode x is 8 bytes long", NULL },
		{ "w:vfs_read+arg1:8:w {}", "'vfs_read+arg1' is not an address",
		  "a watchpoint on an argument of a function is not possible: print the argument, "
		  "then watch the address" },
		{ "iter:tusk {}", "No matches for iter tusk.", "did you mean 'task'?" },
		{ "iter:task:p {} BEGIN {}",
		  "a pinned iterator must be the only probe of its script", NULL },
		{ "iter:*:p {}", "one iterator can be pinned, not a pattern", NULL },
		{ "self:signal:SIGUSR2 {}", "memtap takes no signal 'SIGUSR2'",
		  "only SIGUSR1 is there for scripts" },
		{ "self:x:SIGUSR1 {}", "Unknown event of memtap itself: 'x'",
		  "write it as self:signal:SIGUSR1" },
		{ "bench:x {}", "memtap has no 'bench' probes", NULL },
		{ "p:0hz {}", "'0hz' is not a duration", NULL },
		{ "t:a:b || s:nosuch:1 || i:zz {}", "none of these probes is available",
		  "t:a:b: No matches for tracepoint a:b.; s:nosuch:1: Unknown software event: "
		  "'nosuch'; i:zz: 'zz' is not a duration" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_error(&rows[i]);
}

static void test_bpf_programs(void **state)
{
	static const struct place_row places[] = {
		{ "f:bpf:vfs_read {}", "fentry:bpf:7:vfs_read | fentry:bpf:9:vfs_read" },
		{ "fexit:bpf:9:vfs_* {}", "fexit:bpf:9:vfs_read" },
		{ "f:bpf:*:vfs_open {}", "fentry:bpf:7:vfs_open" },
		{ "f:bpf:cut_* {}", "fentry:bpf:7:cut_to_15_bytes" },
	};
	static const struct error_row errors[] = {
		{ "f:bpf:vfs_reed {}", "No matches for fentry bpf:vfs_reed.",
		  "did you mean 'vfs_read'?" },
		{ "f:bpf:bare {}", "The BPF program bare has no types, so it can not be traced.",
		  "its author has to load it with BTF, as libbpf does for objects compiled with "
		  "-g" },
		{ "f:bpf:ba* {}", "No matches for fentry bpf:ba*.", NULL },
		{ "f:bpf:8:vfs_read {}", "There is no BPF program with the id 8.",
		  "bpftool prog show lists them" },
		{ "f:bpf:0:x {}", "'0' is not the id of a BPF program",
		  "write it as fentry:bpf:[ID:]NAME" },
		{ "f:bpf:7a:x {}", "'7a' is not the id of a BPF program", NULL },
		{ "f:mine:7:x {}", "fentry of three parts is fentry:bpf:ID:NAME", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		check_places(&places[i]);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		check_error(&errors[i]);
}

/* Many share a link, by their addresses where names would not do; one is placed by its name. */
static void test_kprobe_addresses(void **state)
{
	const struct usite *s;
	struct run r;

	(void)state;
	setup(&r);
	expand(&r, "kprobe:* {}");
	assert_string_equal(sites(&r),
	                    "kprobe:vfs_open kprobe:vfs_read kprobe:vfs_write kprobe:zram_write "
	                    "kprobe:two_files kprobe:two_homes");
	assert_string_equal(r.diags.list.v[0].text,
	                    "2 more functions of names that others have are not probed");
	s = r.script.probes->variants.v[0]->sites.v;
	assert_int_equal(s[0].address, 0xffffffff81001000);
	assert_int_equal(s[1].address, 0);
	assert_int_equal(s[2].address, 0);
	assert_int_equal(s[3].address, 0xffffffffc0001000);
	expand(&r, "kprobe:vfs_open {}");
	assert_int_equal(r.script.probes->variants.v[0]->sites.v[0].address, 0);
	expand(&r, "kprobe:zram:two_homes {}");
	assert_int_equal(r.script.probes->variants.v[0]->sites.v[0].address, 0xffffffffc0001200);
	r.world.world.kernel_version = 0x060300;
	expand(&r, "kprobe:* {}");
	assert_int_equal(r.script.probes->variants.v[0]->sites.v[0].address, 0);
	teardown(&r);
}

static bool no_tracepoints(struct world *w, struct str group, struct str event,
                           bool (*cb)(void *ctx, const char *group, const char *name), void *ctx,
                           struct err *e)
{
	(void)w;
	(void)group;
	(void)event;
	(void)cb;
	(void)ctx;
	return err_set(e, "tracefs is not mounted");
}

/* Hints name what this kernel has. */
static void test_missing_tracefs(void **state)
{
	struct world_ops ops;
	struct run r;

	(void)state;
	setup(&r);
	ops = *r.world.world.ops;
	ops.tracepoints = no_tracepoints;
	r.world.world.ops = &ops;
	r.world.features = (struct features){ .btf = true };
	expand(&r, "fentry:vfs_read {}");
	assert_string_equal(r.diags.list.v[0].hint,
	                    "use a btftracepoint (memtap -l 'btftracepoint:*')");
	r.world.features = (struct features){ 0 };
	expand(&r, "kprobe:vfs_read {}");
	assert_non_null(strstr(r.diags.list.v[0].hint, "nor are there tracepoints"));
	teardown(&r);
}

static void test_missing_features(void **state)
{
	struct run r;

	(void)state;
	setup(&r);
	r.world.features = (struct features){ .btf = true };
	expand(&r, "kprobe:vfs_read {}");
	assert_non_null(strstr(r.diags.list.v[0].text, "no kprobes"));
	assert_non_null(strstr(r.diags.list.v[0].hint, "btftracepoint"));
	expand(&r, "kprobe:oom_kill_process {}");
	assert_non_null(strstr(r.diags.list.v[0].hint, "oom:mark_victim"));
	/* What comes near is not there either: sys_enter_madvise. */
	expand(&r, "kprobe:hugepage_madvise {}");
	assert_non_null(strstr(r.diags.list.v[0].hint, "use a tracepoint"));
	expand(&r, "fentry:vfs_read {}");
	assert_non_null(strstr(r.diags.list.v[0].text, "no fentry"));
	expand(&r, "fentry:bpf:vfs_read {}");
	assert_non_null(strstr(r.diags.list.v[0].text, "no fentry"));
	teardown(&r);
}

/* Only when the kernel itself has no such function, or the script names a module. */
static void opens_modules_when_needed(void **state)
{
	static const struct {
		const char *script;
		bool opens;
	} rows[] = {
		{ "BEGIN {} fentry:vfs_read {}", false }, { "fentry:vfs_* {}", false },
		{ "fentry:vmlinux:vfs_open {}", false },  { "fentry:mine_start {}", true },
		{ "fentry:mine:mine_* {}", true },        { "fentry:*:vfs_read {}", true },
	};

	(void)state;
	for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run r;

		setup(&r);
		expand(&r, rows[i].script);
		assert_true(r.ok);
		assert_int_equal(r.world.module != NULL, rows[i].opens);
		teardown(&r);
	}
}

/* Without kprobes: fentry has the same place; else a tracepoint may have. */
static void test_kprobe_otherwise(void **state)
{
	const struct variant *v;
	struct run r;

	(void)state;
	setup(&r);
	r.world.features = (struct features){ .btf = true, .fentry = true };
	expand(&r, "kprobe:vfs_read, kretprobe:vfs_open {}");
	assert_true(r.ok);
	assert_string_equal(sites(&r), "kprobe:vfs_read | kretprobe:vfs_open");
	assert_int_equal(r.script.probes->variants.v[0]->kind, ATTACH_FENTRY);
	assert_int_equal(r.script.probes->variants.v[1]->kind, ATTACH_FEXIT);
	assert_non_null(strstr(r.script.notes.v[0], "fentry taken"));
	r.world.features = (struct features){ .btf = true };
	expand(&r, "kprobe:set_task_cpu {}");
	assert_true(r.ok);
	v = r.script.probes->variants.v[0];
	assert_string_equal(v->sites.v[0].name, "kprobe:set_task_cpu");
	assert_string_equal(v->sites.v[0].event, "sched_migrate_task");
	assert_int_equal(v->kind, ATTACH_TPBTF);
	assert_non_null(strstr(r.diags.list.v[0].text, "stands in for set_task_cpu (it is hit"));
	/* not here: no such event, another place, a return, somebody else's choice */
	expand(&r, "kprobe:do_exit {}");
	assert_int_equal(r.diags.n_errors, 1);
	expand(&r, "kprobe:set_task_cpu+4 {}");
	assert_int_equal(r.diags.n_errors, 1);
	expand(&r, "kretprobe:set_task_cpu {}");
	assert_int_equal(r.diags.n_errors, 1);
	expand(&r, "kprobe:set_task_cpu || tp_btf:wakeup {}");
	assert_string_equal(sites(&r), "btftracepoint:wakeup");
	teardown(&r);
}

static void test_has(void **state)
{
	const char *problem = NULL;
	struct run r;

	(void)state;
	setup(&r);
	expand(&r, "BEGIN {}");
	assert_true(targets_has(&r.script, &r.config, &r.world.world, "t:sched:*", &problem));
	assert_true(targets_has(&r.script, &r.config, &r.world.world, "kprobe:vfs_read", &problem));
	assert_false(targets_has(&r.script, &r.config, &r.world.world, "t:a:b", &problem));
	assert_false(targets_has(&r.script, &r.config, &r.world.world, "no:such", &problem));
	assert_null(problem);
	r.world.features = (struct features){ .btf = true };
	assert_false(targets_has(&r.script, &r.config, &r.world.world, "k:set_task_cpu", &problem));
	assert_null(problem);
	targets_has(&r.script, &r.config, &r.world.world, "i:1s, i:2s", &problem);
	assert_non_null(problem);
	problem = NULL;
	targets_has(&r.script, &r.config, &r.world.world, "\"", &problem);
	assert_non_null(problem);
	teardown(&r);
}

static void test_missing_probes(void **state)
{
	struct run r;

	(void)state;
	setup(&r);
	expand(&r, "config = { missing_probes = \"warn\"; } t:vmscan:x, BEGIN {}");
	assert_true(r.ok);
	assert_int_equal(r.diags.list.n, 1);
	assert_int_equal(r.diags.list.v[0].level, DIAG_WARNING);
	expand(&r, "config = { missing_probes = \"ignore\"; } t:vmscan:x {}");
	assert_string_equal(r.diags.list.v[0].text, "No probes to attach");
	teardown(&r);
}

/* Of a list all must be there; what a wildcard stands for may be refused. */
static void test_missing_of_list(void **state)
{
	struct run r;

	(void)state;
	setup(&r);
	expand(&r, "t:a:b, t:sched:sched_switch, t:c:d {}");
	assert_int_equal(r.diags.n_errors, 2);
	assert_false(r.script.probes->variants.v[0]->sites.v[0].optional);
	expand(&r, "t:sched:* {} t:sched:sched_switch {}");
	assert_true(r.script.probes->variants.v[0]->sites.v[0].optional);
	assert_false(r.script.probes->next->variants.v[0]->sites.v[0].optional);
	teardown(&r);
}

/* a || b: what was tried and what was taken is noted; nothing of a failed try stays. */
static void test_choice_notes(void **state)
{
	struct run r;

	(void)state;
	setup(&r);
	expand(&r, "i:ms:1, t:a:b || i:zz || i:ms:2 {}");
	assert_true(r.ok);
	assert_int_equal(r.diags.list.n, 0);
	assert_int_equal(r.script.notes.n, 3);
	assert_string_equal(r.script.notes.v[0], "t:a:b: No matches for tracepoint a:b.");
	assert_string_equal(r.script.notes.v[1], "i:zz: 'zz' is not a duration");
	assert_string_equal(r.script.notes.v[2], "i:ms:2: taken");
	expand(&r, "config = { missing_probes = ignore } i:ms:1 {} t:a:b || t:c:d {}");
	assert_true(r.ok);
	assert_int_equal(r.diags.list.n, 0);
	teardown(&r);
}

static void test_limit(void **state)
{
	struct run r;

	(void)state;
	setup(&r);
	expand(&r, "config = { max_probes = 2; } BEGIN {} k:vfs_* {}");
	assert_int_equal(r.diags.n_errors, 1);
	assert_string_equal(r.diags.list.v[0].text,
	                    "the script has 4 probes, more than the limit of 2");
	assert_non_null(strstr(r.diags.list.v[0].hint, "max_probes = 4"));
	teardown(&r);
}

static void test_uprobe_glob_joins_aliases(void **state)
{
	const struct variant *v;
	struct run r;

	(void)state;
	setup(&r);
	expand(&r, "uprobe:self:targets_fire_* { }");
	assert_true(r.ok);
	v = r.script.probes->variants.v[0];
	assert_int_equal(r.script.probes->variants.n, 1);
	assert_int_equal(v->sites.n, 2);
	assert_int_not_equal(v->sites.v[0].offset, v->sites.v[1].offset);
	teardown(&r);
}

static void test_usdt_sites(void **state)
{
	struct run r;

	(void)state;
	setup(&r);
	expand(&r, "usdt:self:hit { @ = count(); }"); /* no argument: one program */
	assert_int_equal(r.script.probes->variants.n, 1);
	assert_int_equal(r.script.probes->variants.v[0]->sites.n, 2);
	expand(&r, "usdt:self:hit { print(arg1); }"); /* 3 here, 4 there */
	assert_int_equal(r.script.probes->variants.n, 2);
	assert_int_equal(r.script.probes->variants.v[1]->usdt[1].at.value, 4);
	teardown(&r);
}

static void test_process(void **state)
{
	const char *problem;
	struct run r;

	(void)state;
	setup(&r);
	r.request.pid = 77;
	expand(&r, "usdt::memtap_test:done, usdt::done, usdt:memtap_test:done, usdt:done {}");
	assert_true(r.ok);
	assert_int_equal(r.script.probes->variants.v[0]->sites.n, 4);
	assert_int_equal(r.script.probes->variants.v[0]->sites.v[0].pid, 77);
	expand(&r, "uprobe::targets_fire_two, s:faults:1, t:sched:sched_switch {}");
	assert_int_equal(r.script.probes->variants.v[0]->sites.v[0].pid, 77);
	assert_int_equal(r.script.probes->variants.v[1]->sites.v[0].pid, 77);
	assert_int_equal(r.script.probes->variants.v[2]->sites.v[0].pid, 0);
	expand(&r, "usdt::nothing {}");
	assert_string_equal(r.diags.list.v[0].text, "No matches for usdt nothing.");
	assert_true(targets_has(&r.script, &r.config, &r.world.world, "usdt::done", &problem));
	r.request.pid = 78;
	expand(&r, "usdt::nothing {}");
	assert_string_equal(r.diags.list.v[0].text, "no process 78");
	teardown(&r);
}

static void test_params(void **state)
{
	static const char *const params[] = { "5", "vmscan" };
	struct run r;

	(void)state;
	setup(&r);
	r.request.params = params;
	r.request.n_params = 2;
	expand(&r, "interval:s:$1 {}");
	assert_string_equal(sites(&r), "interval:s:5");
	assert_int_equal(r.script.probes->variants.v[0]->sites.v[0].period, 5000000000);
	expand(&r, "t:$2:mm_vmscan_lru_isolate {}");
	assert_string_equal(sites(&r), "tracepoint:vmscan:mm_vmscan_lru_isolate");
	teardown(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(opens_modules_when_needed),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_errors_of_kinds),
		cmocka_unit_test(test_bpf_programs),
		cmocka_unit_test(test_kprobe_addresses),
		cmocka_unit_test(test_missing_features),
		cmocka_unit_test(test_missing_tracefs),
		cmocka_unit_test(test_missing_probes),
		cmocka_unit_test(test_kprobe_otherwise),
		cmocka_unit_test(test_has),
		cmocka_unit_test(test_missing_of_list),
		cmocka_unit_test(test_choice_notes),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_uprobe_glob_joins_aliases),
		cmocka_unit_test(test_usdt_sites),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_params),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
