/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rows of unit/kinds.h: against libbpf's table of sections, against each other, against what
 * the compiler makes of a script with such a probe, and against what people read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/libbpf.h>
#include <ctype.h>
#include <string.h>
#include <sys/sdt.h>

#include "base/file.h"
#include "fake_world.h"
#include "lang/parse/lang.h"
#include "unit/object_names.h"

/* What uprobes and the USDT probe are placed on. */
__attribute__((noinline, used)) void kinds_fire(int n);

void kinds_fire(int n)
{
	DTRACE_PROBE1(memtap_test, kinds, n);
}

static const struct row {
	enum attach_kind kind;
	const char *name, *section;
	bool has_attacher;
	enum bpf_prog_type program;
	u32 type; /* to attach it */
	u32 needs, uses;
	enum kind_args args;
	u32 traits;
} rows[] = {
#define K(id, name, section, place, program, type, attacher, needs, uses, args, traits)            \
	{ ATTACH_##id,                                                                             \
	  name,                                                                                    \
	  section,                                                                                 \
	  strcmp(#attacher, "NULL") != 0,                                                          \
	  BPF_PROG_TYPE_##program,                                                                 \
	  type,                                                                                    \
	  needs,                                                                                   \
	  uses,                                                                                    \
	  KIND_ARGS_##args,                                                                        \
	  traits },
	PROBE_KINDS(K)
#undef K
};

/* A script for each, by its long name. */
static const char *const scripts[ARRAY_SIZE(rows)] = {
	[ATTACH_BEGIN] = "BEGIN {}",
	[ATTACH_END] = "END {}",
	[ATTACH_UPROBE] = "uprobe:self:kinds_fire {}",
	[ATTACH_URETPROBE] = "uretprobe:self:kinds_fire {}",
	[ATTACH_USDT] = "usdt:self:memtap_test:kinds {}",
	[ATTACH_TRACEPOINT] = "tracepoint:sched:sched_switch {}",
	[ATTACH_RAWTP] = "rawtracepoint:wakeup {}",
	[ATTACH_TPBTF] = "btftracepoint:wakeup {}",
	[ATTACH_KPROBE] = "kprobe:vfs_read {}",
	[ATTACH_KRETPROBE] = "kretprobe:vfs_read {}",
	[ATTACH_FENTRY] = "fentry:vfs_read {}",
	[ATTACH_FEXIT] = "fexit:vfs_read {}",
	[ATTACH_SOFTWARE] = "software:page-faults:1 {}",
	[ATTACH_HARDWARE] = "hardware:cache-misses:1 {}",
	[ATTACH_INTERVAL] = "interval:s:1 {}",
	[ATTACH_CLOCK] = "interval:s:1 { for ($kv : @a) {} }",
	[ATTACH_PROFILE] = "profile:hz:99 {}",
	[ATTACH_WATCHPOINT] = "watchpoint:0xffff888000000000:8:w {}",
	[ATTACH_ITER] = "iter:task {}",
	[ATTACH_INGRESS] = "ingress:/sys/fs/cgroup/a {}",
	[ATTACH_EGRESS] = "egress:/sys/fs/cgroup/a {}",
	[ATTACH_SELF] = "self:signal:SIGUSR1 {}",
	[ATTACH_TEST] = "test:one {}",
};

/* What a kind may need, and how the fake world is without it. */
static const u32 needed[] = { FEATURE_BTF, FEATURE_KPROBE, FEATURE_FENTRY };

static void take_away(struct fake_world *f, u32 feature)
{
	f->no_btf = feature == FEATURE_BTF;
	f->features.btf = feature != FEATURE_BTF;
	f->features.kprobe = feature != FEATURE_KPROBE;
	f->features.fentry = feature != FEATURE_FENTRY;
}

/* True when the kind's script becomes one program of the kind on a kernel without the feature. */
static bool expands(const struct row *row, u32 lacking)
{
	struct err e = { 0 };
	struct arena arena = { 0 };
	struct source source = { 0 };
	struct script script = { .arena = &arena, .source = &source, .request = { .tests = true } };
	struct config config;
	struct diags diags = { .arena = &arena, .source = &source };
	struct fake_world world = { 0 };
	const struct probe *p;
	bool ok;

	if (!scripts[row->kind])
		fail_msg("there is no script with %s", row->name);
	fake_world_init(&world);
	take_away(&world, lacking);
	world.features.for_each = row->kind != ATTACH_CLOCK;
	assert_true(source_set(&source, &arena, "stdin", str_of(scripts[row->kind]), &e));
	assert_true(parse_script(&script, &diags));
	assert_true(config_read(&config, &script, &diags));
	ok = targets_expand(&script, &config, &world.world, &diags);
	p = script.probes;
	if (!ok && !lacking)
		print_message("%s: %s\n", scripts[row->kind], diags.list.v[0].text);
	ok = ok && p->variants.n == 1 && p->variants.v[0]->kind == row->kind;
	fake_world_free(&world);
	arena_free(&arena);
	return ok;
}

static void each_can_be_written(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (!expands(&rows[i], 0))
			fail_msg("%s can not be written", rows[i].name);
}

static void needs_are_needed(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 known = 0;

		for (u32 k = 0; k < ARRAY_SIZE(needed); k++) {
			bool works = expands(&rows[i], needed[k]);

			known |= needed[k];
			if (works == !!(rows[i].needs & needed[k]))
				fail_msg("%s without feature %u: %s", rows[i].name, needed[k],
				         works ? "works" : "does not work");
		}
		assert_int_equal(rows[i].needs & ~known, 0);
	}
}

/* libbpf knows a program by its section: another loader makes the same of our objects. */
static void sections_are_libbpfs(void **state)
{
	struct arena a = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct uprog p = { .kind = rows[i].kind };
		struct usite s = { .name = "uprobe:/a:f", .path = "/a", .event = "group:event" };
		const char *section = object_names_section(&a, &p, &s);
		enum bpf_attach_type type;
		enum bpf_prog_type program;

		assert_int_equal(strncmp(section, rows[i].section, strlen(rows[i].section)), 0);
		if (libbpf_prog_type_by_name(section, &program, &type))
			fail_msg("%s: libbpf has no section %s", rows[i].name, section);
		assert_int_equal(program, rows[i].program);
		assert_int_equal(type, rows[i].type);
	}
	arena_free(&a);
}

/* If one holds, the other must. */
static void implies(const struct row *row, bool one, bool other, const char *what)
{
	if (one && !other)
		fail_msg("%s: %s", row->name, what);
}

#define BOTH_WAYS(row, one, other, what)                                                           \
	do {                                                                                       \
		implies(row, one, other, what);                                                    \
		implies(row, other, one, what);                                                    \
	} while (0)

static void contexts_fit_programs(void **state)
{
	(void)state;
	for (const struct row *r = rows; r < rows + ARRAY_SIZE(rows); r++) {
		bool regs = r->traits & KIND_REGS, kprobe = r->program == BPF_PROG_TYPE_KPROBE;
		bool in_regs = r->args == KIND_ARGS_ENTRY || r->args == KIND_ARGS_RESULT ||
		               r->args == KIND_ARGS_NOTE;

		implies(r, regs, kprobe || r->program == BPF_PROG_TYPE_PERF_EVENT,
		        "its context has no registers");
		implies(r, kprobe, regs, "its context is registers");
		implies(r, in_regs, kprobe, "arguments in registers, in another context");
		BOTH_WAYS(r, r->traits & KIND_PACKET, r->program == BPF_PROG_TYPE_CGROUP_SKB,
		          "the context is a packet");
		BOTH_WAYS(r, r->args == KIND_ARGS_RECORD,
		          r->program == BPF_PROG_TYPE_TRACEPOINT || r->traits & KIND_PACKET,
		          "the context is a record, or a packet that is described as one");
		implies(r, r->args == KIND_ARGS_RAW, r->program == BPF_PROG_TYPE_RAW_TRACEPOINT,
		        "the context is an array");
		implies(r, r->args == KIND_ARGS_TRACED, r->program == BPF_PROG_TYPE_TRACING,
		        "only trampolines keep arguments");
		BOTH_WAYS(r, r->traits & KIND_PER_SITE, r->program == BPF_PROG_TYPE_TRACING,
		          "programs that are bound when loaded");
	}
}

static void traits_fit_each_other(void **state)
{
	(void)state;
	for (const struct row *r = rows; r < rows + ARRAY_SIZE(rows); r++) {
		bool function = r->traits & (KIND_USER | KIND_KERNEL);

		implies(r, r->traits & KIND_RETURN, function, "a return of what?");
		BOTH_WAYS(r, r->args == KIND_ARGS_RESULT,
		          (r->traits & KIND_RETURN) && (r->traits & KIND_REGS),
		          "result and return");
		BOTH_WAYS(r, r->traits & KIND_CALLED, !r->has_attacher, "called or attached");
		implies(r, r->traits & (KIND_CALLED | KIND_AROUND), r->traits & KIND_OWN,
		        "run by others");
		implies(r, r->traits & KIND_AROUND, r->traits & KIND_CALLED, "around, by an event");
		BOTH_WAYS(r, r->uses & FEATURE_UPROBE_MULTI, r->traits & KIND_USER,
		          "uprobe_multi is for user probes");
		BOTH_WAYS(r, r->uses & FEATURE_RAWTP_COOKIE, r->args == KIND_ARGS_RAW,
		          "the cookie is of raw tracepoints");
		implies(r, r->uses & (FEATURE_KPROBE_MULTI | FEATURE_KPROBE_SESSION),
		        (r->traits & KIND_KERNEL) && (r->needs & FEATURE_KPROBE),
		        "kprobe links are for kprobes");
	}
}

static void names_are_unique(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		for (u32 k = 0; k < i; k++)
			assert_string_not_equal(rows[i].name, rows[k].name);
}

/* ---- what people read ----------------------------------------------------------------------- */

/* The text of a file between two marks. */
static char *part_of_file(struct arena *a, const char *path, const char *from, const char *to)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	char *start, *end, *text;

	if (!file_read(path, &b, 1 << 20, &e))
		fail_msg("%s", e.text);
	start = strstr(buf_text(&b), from);
	assert_non_null(start);
	end = strstr(start + strlen(from), to);
	assert_non_null(end);
	text = arena_strndup(a, start, (size_t)(end - start));
	buf_free(&b);
	return text;
}

/* "uprobe" of "uprobe:self:kinds_fire {}". */
static struct str written(enum attach_kind kind)
{
	const char *script = scripts[kind] ? scripts[kind] : "";

	return (struct str){ script, (u32)strcspn(script, ": ") };
}

static bool is_written(const char *p, size_t n)
{
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str name = written(rows[i].kind);

		if (name.n == n && strncmp(name.p, p, n) == 0)
			return true;
	}
	return false;
}

static bool has_word(const char *text, struct str word)
{
	for (const char *p = text; (p = memmem(p, strlen(p), word.p, word.n)); p++) {
		bool font = p - text > 2 && p[-2] == 'f' && p[-3] == '\\'; /* \fBname */

		if ((p == text || font || !isalnum((u8)p[-1])) && !isalnum((u8)p[word.n]))
			return true;
	}
	return false;
}

/* The page says "name:" where it says how to write a probe, in the heads of its items. */
static void wants_known(const char *head)
{
	for (const char *p = head; (p = strchr(p, ':')); p++) {
		const char *from = p;

		while (from > head && islower((u8)from[-1]))
			from--;
		if (p - from > 3 && from[-1] != ':' && !is_written(from, (size_t)(p - from)))
			fail_msg("the manual page has '%.*s:', and there is no such kind",
			         (int)(p - from), from);
	}
}

static void manual_has_the_same(void **state)
{
	struct arena a = { 0 };
	char *text = part_of_file(&a, "man/memtap.1", ".SS Probes", ".SS Statements"), *rest = NULL;
	struct buf heads = { 0 };
	bool is_head = false;

	(void)state;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (is_head) {
			buf_printf(&heads, "%s\n", line);
			wants_known(line);
		}
		is_head = strcmp(line, ".TP") == 0;
	}
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (!has_word(buf_text(&heads), written(rows[i].kind)))
			fail_msg("the manual page does not say how to write %s", rows[i].name);
	buf_free(&heads);
	arena_free(&a);
}

/* README has a table of what the kernel needs for which probes. */
static void readme_has_the_needs(void **state)
{
	struct arena a = { 0 };
	char *text = part_of_file(&a, "README.md", "## What it needs", "## Building"), *rest = NULL;
	bool btf = false, kprobe = false;

	(void)state;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		u32 says = strstr(line, "BTF") ? FEATURE_BTF : 0;

		says |= strstr(line, "CONFIG_KPROBE_EVENTS") ? FEATURE_KPROBE : 0;
		btf |= says == FEATURE_BTF;
		kprobe |= says == FEATURE_KPROBE;
		if (line[0] != '|' || !says)
			continue;
		for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
			if (has_word(line, written(rows[i].kind)) != !!(rows[i].needs & says))
				fail_msg("README and the row of %s do not say the same: %s",
				         rows[i].name, line);
	}
	assert_true(btf && kprobe);
	arena_free(&a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_can_be_written),   cmocka_unit_test(needs_are_needed),
		cmocka_unit_test(sections_are_libbpfs),  cmocka_unit_test(contexts_fit_programs),
		cmocka_unit_test(traits_fit_each_other), cmocka_unit_test(names_are_unique),
		cmocka_unit_test(manual_has_the_same),   cmocka_unit_test(readme_has_the_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
