/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * world_linux.c (with tracefs.c and resolve.c) on a world made of files and on this machine.
 *
 * Needs the machine itself: the files of processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "world/world_linux.h"

#if defined(__x86_64__)
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#else
#define LOADER "/lib/ld-linux-aarch64.so.1"
#endif

static const struct features some_features = { .asked = FEATURES_ALL, .uprobe_multi = true };

static const struct world_linux_options files = {
	.root = "tests/data/world",
	.path = "/nowhere::/usr/bin",
	.tracefs = "tests/data/world/tracing",
	.btf = "tests/data/world/none.btf",
	.kallsyms = "tests/data/world/kallsyms",
	.features = &some_features,
};

static struct world *made_of_files(void)
{
	return world_linux_new(&files);
}

static struct world *real(void)
{
	return world_linux_new(&(struct world_linux_options){ .features = &some_features });
}

static bool add_pair(void *ctx, const char *a, const char *b)
{
	buf_printf(ctx, "%s:%s ", a, b);
	return true;
}

static void reads_formats_and_keeps_them(void **state)
{
	struct world *w = made_of_files();
	const struct tpformat *f;
	struct err e;

	(void)state;
	f = w->ops->tracepoint(w, "sched", "sched_switch", &e);
	assert_non_null(f);
	assert_int_equal(f->id, 314);
	assert_ptr_equal(w->ops->tracepoint(w, "sched", "sched_switch", &e), f);
	assert_null(w->ops->tracepoint(w, "sched", "none", &e));
	assert_string_equal(e.text, "there is no tracepoint sched:none");
	assert_int_equal(e.code, 2);
	assert_null(w->ops->tracepoint(w, "..", "sched", &e));
	assert_null(w->ops->tracepoint(w, "sched", "../sched/sched_switch", &e));
	assert_null(w->ops->tracepoint(w, "", "", &e));
	assert_null(w->ops->tracepoint(w, "broken", "bad", &e));
	assert_non_null(strstr(e.text, "line 4 of the event format"));
	world_linux_free(w);
}

static bool stop_at_first(void *ctx, const char *a, const char *b)
{
	add_pair(ctx, a, b);
	return false;
}

static void lists_tracepoints_sorted(void **state)
{
	struct world *w = made_of_files();
	struct buf b = { 0 };
	struct err e;

	(void)state;
	assert_true(w->ops->tracepoints(w, STR("*"), STR("*"), add_pair, &b, &e));
	assert_string_equal(buf_text(&b), "broken:bad sched:sched_switch sched:sched_wakeup "
	                                  "vmscan:mm_shrink_slab_start ");
	buf_reset(&b);
	assert_true(w->ops->tracepoints(w, STR("sched"), STR("*w[ai]*"), add_pair, &b, &e));
	assert_string_equal(buf_text(&b), "sched:sched_switch sched:sched_wakeup ");
	buf_reset(&b);
	assert_true(w->ops->tracepoints(w, STR("s*"), STR("*"), stop_at_first, &b, &e));
	assert_string_equal(buf_text(&b), "sched:sched_switch ");
	buf_free(&b);
	world_linux_free(w);
}

static void resolves_names_to_files(void **state)
{
	struct world *w = made_of_files();
	char cwd[4096], want[8192];
	const char *path;
	struct err e;

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(want, sizeof(want), "%s/tests/data/world/usr/bin/tool", cwd);
	path = w->ops->resolve(w, 0, "tool", &e);
	assert_string_equal(path, want);
	assert_ptr_equal(w->ops->resolve(w, 0, "tool", &e), path);
	assert_string_equal(w->ops->resolve(w, 0, "./tests/data/world/usr/bin/tool", &e), want);
	/* The newest version; the linker's "libfoo.so" only by its own name. */
	path = w->ops->resolve(w, 0, "libfoo", &e);
	assert_non_null(strstr(path, "/lib64/libfoo.so.10"));
	path = w->ops->resolve(w, 0, "libfoo.so.1", &e);
	assert_string_equal(strrchr(path, '/'), "/libfoo.so.1");
	world_linux_free(w);
}

static void says_why_a_name_has_no_file(void **state)
{
	struct world *w = made_of_files();
	struct err e;

	(void)state;
	assert_null(w->ops->resolve(w, 0, "data", &e));
	assert_string_equal(e.text, "no program or library is called 'data'");
	assert_string_equal(e.hint, "give the path of the file"); /* there is none of that name */
	assert_null(w->ops->resolve(w, 0, "Makefile", &e));
	assert_string_equal(e.hint, "the file in this directory is written './Makefile'");
	assert_null(w->ops->resolve(w, 0, "libfo", &e));
	assert_string_equal(e.hint, "did you mean 'libfoo'?");
	assert_null(w->ops->resolve(w, 0, "tol", &e));
	assert_string_equal(e.hint, "did you mean 'tool'?");
	assert_null(w->ops->resolve(w, 0, "", &e));
	assert_null(w->ops->resolve(w, 0, "/does/not/exist", &e));
	assert_string_equal(e.text, "can not open /does/not/exist: No such file or directory");
	assert_null(w->ops->resolve(w, 0, "tests/data", &e));
	assert_string_equal(e.text, "tests/data is not a program or library: Is a directory");
	assert_null(w->ops->resolve(w, 0, "/dev/null", &e));
	assert_string_equal(e.text, "/dev/null is not a regular file");
	world_linux_free(w);
}

static void lists_functions_of_the_tracer(void **state)
{
	struct world *w = made_of_files();
	struct buf b = { 0 };
	struct err e;

	(void)state;
	assert_true(w->ops->functions(w, STR("*"), add_pair, &b, &e));
	assert_string_equal(buf_text(&b), "vfs_read: vfs_readv: mod_func:mod ");
	buf_free(&b);
	world_linux_free(w);
}

/* Whatever the kernel would list. */
static void lists_functions_of_a_file(void **state)
{
	struct world_linux_options o = files;
	struct buf b = { 0 };
	struct world *w;
	struct err e;

	(void)state;
	o.tracefs = "tests/data/none";
	o.functions = "tests/data/world/tracing/available_filter_functions";
	w = world_linux_new(&o);
	assert_true(w->ops->functions(w, STR("*"), add_pair, &b, &e));
	assert_string_equal(buf_text(&b), "vfs_read: vfs_readv: mod_func:mod ");
	world_linux_free(w);
	o.functions = "tests/data/none";
	w = world_linux_new(&o);
	assert_false(w->ops->functions(w, STR("vfs_read"), add_pair, &b, &e));
	assert_non_null(strstr(e.text, "tests/data/none"));
	buf_free(&b);
	world_linux_free(w);
}

static void lists_symbols_where_there_is_nothing_better(void **state)
{
	struct world_linux_options o = files;
	struct buf b = { 0 };
	struct world *w;
	struct err e;

	(void)state;
	o.tracefs = "tests/data/none";
	w = world_linux_new(&o);
	assert_true(w->ops->functions(w, STR("*read"), add_pair, &b, &e));
	assert_string_equal(buf_text(&b), "vfs_read: weak_read: ");
	buf_free(&b);
	world_linux_free(w);
}

static void answers_small_questions(void **state)
{
	struct world *w = made_of_files();
	struct err e;
	u64 id;

	(void)state;
	w->ops->machine(w);
	assert_int_equal(w->n_cpus, 3);
	assert_true(w->ops->features(w, FEATURE_UPROBE_MULTI)->uprobe_multi);
	assert_false(w->ops->features(w, FEATURE_BTF)->btf);
	assert_true(w->ops->kaddr(w, "jiffies") == 0xffffffff82000000);
	assert_true(w->ops->kaddr(w, "none") == 0);
	assert_null(w->ops->btf(w, &e));
	assert_string_equal(e.text, "this kernel has no type information (BTF): "
	                            "tests/data/world/none.btf is missing");
	assert_non_null(strstr(e.hint, "CONFIG_DEBUG_INFO_BTF"));
	assert_false(w->ops->cgroupid(w, "/proc", &id, &e));
	assert_string_equal(e.text, "/proc is not a directory of the unified cgroup hierarchy");
	assert_false(w->ops->cgroupid(w, "/does/not/exist", &id, &e));
	world_linux_free(w);
}

static void knows_the_pid_namespace(void **state)
{
	struct world *w = real();
	struct stat st;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
	assert_int_equal(w->n_cpus, 0);
	w->ops->machine(w);
	assert_int_equal(w->pid_ns_ino, st.st_ino);
	assert_int_equal(w->pid_ns_dev, st.st_dev);
	assert_int_equal(w->nested_pid_ns, st.st_ino != 0xEFFFFFFC);
	assert_true(w->n_cpus >= 1);
	world_linux_free(w);
}

struct own_files {
	struct world *w;
	u32 n;
	bool self;
};

static bool look_at_file(void *ctx, const char *path)
{
	struct own_files *o = ctx;
	struct elf_sym s;
	struct err e;
	struct elf *f = o->w->ops->elf(o->w, path, &e);

	assert_non_null(f);
	assert_ptr_equal(o->w->ops->elf(o->w, path, &e), f);
	o->n++;
	o->self |= elf_find(f, "look_at_file", &s);
	return true;
}

static void lists_the_files_of_a_process(void **state)
{
	struct own_files o = { .w = real() };
	struct err e;

	(void)state;
	assert_true(o.w->ops->process_files(o.w, getpid(), look_at_file, &o, &e));
	assert_true(o.self);
	assert_true(o.n >= 2);
	assert_false(o.w->ops->process_files(o.w, 0x7fffffff, look_at_file, &o, &e));
	assert_string_equal(e.text, "there is no process with pid 2147483647");
	world_linux_free(o.w);
}

/* One path a line, after a newline. */
static bool add_path(void *ctx, const char *path)
{
	buf_printf(ctx, "\n%s", path);
	return true;
}

static void as_the_loader_lists(const char *program)
{
	struct world *w = real();
	struct buf ours = { 0 };
	char command[256], line[4096];
	u32 n = 2; /* the program itself and its loader */
	struct err e;
	FILE *p;

	assert_true(w->ops->command_files(w, program, add_path, &ours, &e));
	buf_putc(&ours, '\n');
	snprintf(command, sizeof(command),
	         LOADER " --list %s | sed -n 's/.* => \\(.*\\) (.*/\\1/p'", program);
	p = popen(command, "r");
	assert_non_null(p);
	line[0] = '\n';
	for (; fgets(line + 1, sizeof(line) - 1, p); n++)
		if (!strstr(buf_text(&ours), line))
			fail_msg("%s needs %s", program, line + 1);
	pclose(p);
	for (const char *at = buf_text(&ours); (at = strchr(at, '\n')) && at[1]; at++)
		n -= !strstr(at, "/glibc-hwcaps/");
	assert_int_equal(n, 0);
	buf_free(&ours);
	world_linux_free(w);
}

/* Without running it. These two may be run. */
static void knows_what_a_program_will_load(void **state)
{
	(void)state;
	as_the_loader_lists("/bin/bash");
	as_the_loader_lists(access("/usr/bin/gdb", X_OK) == 0 ? "/usr/bin/gdb" : "/bin/ls");
}

struct one_file {
	const char *path;
	u32 n;
};

static bool look_for_file(void *ctx, const char *path)
{
	struct one_file *f = ctx;

	f->n += strcmp(path, f->path) == 0;
	return true;
}

/* Each file once, whoever maps it, and by its own path where the root is ours. */
static void lists_the_files_of_all(void **state)
{
	struct world *w = real();
	struct one_file libc = { 0 };
	struct err e;

	(void)state;
	libc.path = w->ops->resolve(w, 0, "libc", &e);
	assert_non_null(libc.path);
	libc.path = realpath(libc.path, NULL);
	assert_true(w->ops->process_files(w, 0, look_for_file, &libc, &e));
	assert_int_equal(libc.n, 1);
	free((void *)libc.path);
	world_linux_free(w);
}

/* A process that maps a file's code, and with `own_root` has mounts of its own, once `go` has a
 * byte; what became of that goes to `said`. */
static void map_file(int fd, int go, int said)
{
	char own_root = 0, ok;

	if (read(go, &own_root, 1) == 1) {
		ok = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED &&
		     (!own_root || unshare(CLONE_NEWNS) == 0 ||
		      unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
		if (write(said, &ok, 1) == 1)
			pause();
	}
	_exit(1);
}

/* The first one that maps it lives in another root. */
static void names_a_file_by_one_of_our_root(void **state)
{
	struct one_file file = { 0 };
	struct world *w = real();
	char path[] = "/var/tmp/memtap-test-XXXXXX", page[4096] = "", ok[2] = "";
	int fd = mkstemp(path), go[2][2], said[2];
	pid_t pids[2];
	struct err e;

	(void)state;
	assert_true(fd >= 0 && write(fd, page, sizeof(page)) == sizeof(page));
	assert_int_equal(pipe(said), 0);
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(pipe(go[i]), 0);
		pids[i] = fork();
		if (pids[i] == 0)
			map_file(fd, go[i][0], said[1]);
		assert_true(pids[i] > 0);
	}
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(write(go[i][1], pids[i] < pids[!i] ? "\1" : "\0", 1), 1);
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(read(said[0], &ok[i], 1), 1);
	file.path = path;
	if (ok[0] && ok[1])
		assert_true(w->ops->process_files(w, 0, look_for_file, &file, &e));
	for (u32 i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		close(go[i][0]);
		close(go[i][1]);
		close(said[i]);
	}
	close(fd);
	unlink(path);
	world_linux_free(w);
	if (!ok[0] || !ok[1]) {
		print_message("skipped: a process can not have mounts of its own here\n");
		skip();
	}
	assert_int_equal(file.n, 1);
}

static void lists_the_files_of_a_pattern(void **state)
{
	struct world *w = real();
	struct one_file self = { .path = "/proc/self/status" };
	struct err e;

	(void)state;
	assert_true(w->ops->files(w, "/proc/sel[f]/stat*", look_for_file, &self, &e));
	assert_int_equal(self.n, 1);
	assert_true(w->ops->files(w, "/nowhere/*", look_for_file, &self, &e));
	assert_int_equal(self.n, 1);
	world_linux_free(w);
}

/* With a process, a bare name is first one of its mapped files. */
static void resolves_names_of_a_process(void **state)
{
	struct world *w = real();
	const char *path;
	struct err e;

	(void)state;
	path = w->ops->resolve(w, getpid(), "libc", &e);
	assert_non_null(path);
	assert_non_null(strstr(path, "/libc.so"));
	path = w->ops->resolve(w, getpid(), program_invocation_short_name, &e);
	assert_non_null(path);
	assert_non_null(strstr(path, program_invocation_short_name));
	assert_null(w->ops->resolve(w, getpid(), "no such program", &e));
	world_linux_free(w);
}

static void finds_the_c_library(void **state)
{
	struct world *w = real();
	struct elf_sym s;
	struct err e;
	const char *path = w->ops->resolve(w, 0, "libc", &e);

	(void)state;
	assert_non_null(path);
	assert_string_equal(w->ops->resolve(w, 0, "libc.so.6", &e), path);
	assert_true(elf_find(w->ops->elf(w, path, &e), "malloc", &s));
	world_linux_free(w);
}

/* Also where tracefs is not mounted: the world makes a view of its own and leaves no mount. */
static void reads_real_events(void **state)
{
	struct world *w = real();
	struct buf b = { 0 };
	const struct tpformat *f;
	struct err e;

	(void)state;
	f = w->ops->tracepoint(w, "syscalls", "sys_enter_brk", &e);
	if (!f) {
		world_linux_free(w);
		print_message("skipped: %s\n", e.text);
		skip();
		return;
	}
	assert_true(f->id > 0);
	assert_string_equal(f->fields[f->n_fields - 1].name, "brk");
	assert_true(w->ops->tracepoints(w, STR("syscalls"), STR("sys_e*_brk"), add_pair, &b, &e));
	assert_string_equal(buf_text(&b), "syscalls:sys_enter_brk syscalls:sys_exit_brk ");
	buf_free(&b);
	world_linux_free(w);
}

/* Where whole file and world read another number of fields, the name of the event is kept. */
struct whole {
	struct world *w;
	struct arena arena;
	u32 n_events;
	const char *differs;
};

static bool compare_whole(void *ctx, const char *group, const char *name)
{
	struct whole *c = ctx;
	const struct tpformat *f;
	struct tpformat all;
	struct buf b = { 0 };
	struct err e;
	char path[256];

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/%s/format", group, name);
	f = c->w->ops->tracepoint(c->w, group, name, &e);
	if (!file_read(path, &b, 1u << 20, &e) ||
	    !tpformat_parse(&c->arena, (struct str){ buf_text(&b), (u32)b.n }, &all, &e) || !f ||
	    f->n_fields != all.n_fields)
		c->differs = arena_strdup(&c->arena, name);
	c->n_events++;
	buf_free(&b);
	return !c->differs;
}

/* The world reads no further than it must, and that depends on the kernel's way to hand it out. */
static void reads_all_fields_of_real_events(void **state)
{
	static const char *const groups[] = { "kmem", "vmscan", "huge_memory", "sched" };
	struct whole c = { .w = real() };
	struct err e;

	(void)state;
	if (access("/sys/kernel/tracing/events/kmem", R_OK) != 0) {
		world_linux_free(c.w);
		print_message("skipped: no tracefs is mounted\n");
		skip();
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		assert_true(c.w->ops->tracepoints(c.w, str_of(groups[i]), STR("*"), compare_whole,
		                                  &c, &e));
	assert_null(c.differs);
	assert_true(c.n_events > 20);
	arena_free(&c.arena);
	world_linux_free(c.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_formats_and_keeps_them),
		cmocka_unit_test(lists_tracepoints_sorted),
		cmocka_unit_test(resolves_names_to_files),
		cmocka_unit_test(says_why_a_name_has_no_file),
		cmocka_unit_test(lists_functions_of_the_tracer),
		cmocka_unit_test(lists_functions_of_a_file),
		cmocka_unit_test(lists_symbols_where_there_is_nothing_better),
		cmocka_unit_test(answers_small_questions),
		cmocka_unit_test(knows_the_pid_namespace),
		cmocka_unit_test(lists_the_files_of_a_process),
		cmocka_unit_test(knows_what_a_program_will_load),
		cmocka_unit_test(lists_the_files_of_all),
		cmocka_unit_test(names_a_file_by_one_of_our_root),
		cmocka_unit_test(lists_the_files_of_a_pattern),
		cmocka_unit_test(resolves_names_of_a_process),
		cmocka_unit_test(finds_the_c_library),
		cmocka_unit_test(reads_real_events),
		cmocka_unit_test(reads_all_fields_of_real_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
