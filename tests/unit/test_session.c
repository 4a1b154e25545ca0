/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Children, and whole sessions over units built by hand: what ends them, what is printed, which
 * code comes back. Needs root for the sessions and says so when it is not.
 *
 * Needs the machine itself: bpf() and ptrace().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/code.h"
#include "run/session.h"

#define PIPE_BYTES 4096

/* A set of signals of a process, by its name in /proc. */
static u64 signals_of(pid_t pid, const char *name)
{
	char line[256], path[64];
	u64 set = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			set = strtoull(line + strlen(name), NULL, 16);
	if (f)
		fclose(f);
	return set;
}

/* ---- children ---- */

static void test_child_words(void **state)
{
	static const struct {
		const char *command;
		int code;
	} cases[] = {
		{ "true", 0 },
		{ "  /bin/false  ", 1 },
		{ "sh -c 'exit 7'", 7 },
		{ "sh -c \"test \\\"a b\\\" = 'a b' && exit 8\"", 8 },
		{ "test a\\ b = 'a b'", 0 },
		{ "test '' = \"\"", 0 },
		{ "test x'y z'\"w\" = 'xy zw'", 0 },
		{ "sh -c 'kill -TERM $$'", 128 + SIGTERM },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = { 0 };
		struct child *c = child_start(cases[i].command, &e);
		int code;

		if (!c)
			fail_msg("%s: %s", cases[i].command, e.text);
		assert_true(child_release(c, false, false, &e));
		child_resume(c);
		code = child_wait(c);
		if (code != cases[i].code)
			fail_msg("%s: code %d", cases[i].command, code);
		child_free(c);
	}
}

static void test_child_wrong(void **state)
{
	static const char *const cases[][2] = {
		{ "", "is empty" },
		{ "   ", "is empty" },
		{ "a 'b", "not closed" },
		{ "no-such-program-here x", "no program no-such-program-here" },
		{ "/no/such/file", "No such file" },
		{ "/etc/passwd", "Permission denied" },
		{ "/tmp", "Permission denied" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = { 0 };

		assert_null(child_start(cases[i][0], &e));
		if (!strstr(e.text, cases[i][1]))
			fail_msg("%s: %s", cases[i][0], e.text);
	}
}

/* A file that is executable but no program: known only when exec was tried. */
static void test_child_no_exec(void **state)
{
	char path[] = "/tmp/memtap-test-XXXXXX";
	struct err e = { 0 };
	struct child *c;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0 && write(fd, "junk", 4) == 4 && fchmod(fd, 0755) == 0);
	close(fd);
	c = child_start(path, &e);
	assert_non_null(c);
	assert_false(child_release(c, false, false, &e));
	assert_non_null(strstr(e.text, "Exec format error"));
	child_free(c);
	unlink(path);
}

static void test_child_never_released(void **state)
{
	struct err e = { 0 };
	struct child *c = child_start("sleep 100", &e);
	pid_t pid;

	(void)state;
	assert_non_null(c);
	pid = child_pid(c);
	assert_non_null(strstr(child_program(c), "/sleep"));
	assert_int_equal(kill(pid, 0), 0);
	child_free(c);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void test_child_ignores_sigterm(void **state)
{
	struct err e = { 0 };
	struct child *c = child_start("sh -c 'trap \"\" TERM; while :; do :; done'", &e);
	pid_t pid;

	(void)state;
	assert_non_null(c);
	pid = child_pid(c);
	assert_true(child_release(c, false, false, &e));
	child_resume(c);
	while (!(signals_of(pid, "SigIgn:") >> (SIGTERM - 1) & 1))
		;
	child_end(c, 50);
	assert_int_equal(kill(pid, 0), -1);
	child_end(c, 50); /* once more does nothing */
	child_free(c);
}

static void test_child_is_ended(void **state)
{
	struct err e = { 0 };
	struct child *c = child_start("sleep 100", &e);
	pid_t pid;

	(void)state;
	assert_non_null(c);
	pid = child_pid(c);
	assert_true(child_release(c, false, false, &e));
	child_resume(c);
	child_free(c);
	assert_int_equal(kill(pid, 0), -1);
}

/* ---- children held at their end ---- */

/* Serves it to its end; the number of times it was held after the first exec. */
static u32 serve_to_end(struct child *c)
{
	u32 n = 0;

	child_resume(c);
	while (child_held_fd(c) >= 0) {
		struct pollfd p = { .fd = child_held_fd(c), .events = POLLIN };

		assert_int_equal(poll(&p, 1, 10000), 1);
		if (child_is_held(c)) {
			n++;
			child_resume(c);
		}
	}
	return n;
}

static void test_child_held(void **state)
{
	static const struct {
		const char *command;
		u32 held;
		int code;
	} cases[] = {
		{ "true", 1, 0 },
		{ "sh -c 'exit 7'", 1, 7 },
		{ "sh -c 'exec sh -c \"exit 7\"'", 2, 7 },
		{ "sh -c 'kill -TERM $$'", 1, 128 + SIGTERM },
		{ "sh -c 'trap \"exit 3\" TERM; kill -TERM $$; sleep 9'", 1, 3 },
		{ "sh -c '(sleep 0.1; kill -CONT $$) & kill -STOP $$; exit 4'", 1, 4 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = { 0 };
		struct child *c = child_start(cases[i].command, &e);
		u32 held;
		int code;

		assert_non_null(c);
		assert_true(child_release(c, true, false, &e));
		held = serve_to_end(c);
		code = child_wait(c);
		if (held != cases[i].held || code != cases[i].code)
			fail_msg("%s: held %u, code %d", cases[i].command, held, code);
		child_free(c);
	}
}

static bool has_maps(pid_t pid)
{
	char path[64], c;
	bool has;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY);
	has = fd >= 0 && read(fd, &c, 1) == 1;
	close(fd);
	return has;
}

static void test_child_maps_at_end(void **state)
{
	struct err e = { 0 };
	struct child *c = child_start("true", &e);
	struct pollfd p = { .events = POLLIN };

	(void)state;
	assert_non_null(c);
	assert_true(child_release(c, true, false, &e));
	assert_true(has_maps(child_pid(c)));
	child_resume(c);
	p.fd = child_held_fd(c);
	do
		assert_int_equal(poll(&p, 1, 10000), 1);
	while (!child_is_held(c));
	assert_true(has_maps(child_pid(c)));
	child_resume(c);
	assert_int_equal(child_wait(c), 0);
	child_free(c);
}

/* Given up on while it runs, it ends as always, and at once. */
static void test_child_let_go(void **state)
{
	struct err e = { 0 };
	struct child *c = child_start("sleep 100", &e);

	(void)state;
	assert_non_null(c);
	assert_true(child_release(c, true, false, &e));
	child_resume(c);
	child_let_go(c);
	assert_int_equal(child_held_fd(c), -1);
	assert_int_equal(kill(child_pid(c), SIGTERM), 0);
	assert_int_equal(child_wait(c), 128 + SIGTERM);
	child_free(c);
}

/* While it stands at a system call of its loader: that is no signal that it could be given. */
static void test_child_let_go_in_its_loader(void **state)
{
	struct err e = { 0 };
	struct child *c = child_start("sh -c 'exit 5'", &e);
	struct pollfd p = { .events = POLLIN };

	(void)state;
	assert_non_null(c);
	assert_true(child_release(c, false, true, &e));
	child_resume(c);
	p.fd = child_held_fd(c);
	assert_int_equal(poll(&p, 1, 10000), 1);
	usleep(10000);
	child_let_go(c);
	p.fd = child_fd(c);
	assert_int_equal(poll(&p, 1, 5000), 1); /* it ends */
	assert_int_equal(child_wait(c), 5);
	child_free(c);
}

/* ---- units ---- */

enum { RING_MAP, DATA_MAP, VALUE_MAP };
enum { RECORD_HELLO, RECORD_EXIT, RECORD_VALUE };

static const struct field one_arg[] = { { .type = &type_s64, .off = 8 } };

static struct unit *new_unit(void)
{
	struct unit *u = unit_new();
	struct umap maps[] = {
		[RING_MAP] = { .name = "ring",
		               .role = UMAP_RING,
		               .bpf_type = BPF_MAP_TYPE_RINGBUF,
		               .max_entries = 65536 },
		[DATA_MAP] = { .name = "data",
		               .role = UMAP_DATA,
		               .bpf_type = BPF_MAP_TYPE_ARRAY,
		               .flags = BPF_F_MMAPABLE,
		               .key_size = 4,
		               .value_size = (UDATA_ERRORS + 1) * 8,
		               .max_entries = 1 },
		[VALUE_MAP] = { .name = "@x",
		                .role = UMAP_USER,
		                .bpf_type = BPF_MAP_TYPE_ARRAY,
		                .key_size = 4,
		                .value_size = 8,
		                .max_entries = 1,
		                .value = &type_s64 },
	};
	struct urecord records[] = {
		[RECORD_HELLO] = { .action = ACTION_PRINTF,
		                   .size = 8,
		                   .text = "hello\n",
		                   .map = -1 },
		[RECORD_EXIT] = { .action = ACTION_EXIT,
		                  .size = 16,
		                  .args = one_arg,
		                  .n_args = 1,
		                  .map = -1 },
		[RECORD_VALUE] = { .action = ACTION_PRINTF,
		                   .size = 16,
		                   .args = one_arg,
		                   .n_args = 1,
		                   .text = "value %lld\n",
		                   .map = -1 },
	};
	struct uerror error = { .kind = UERROR_DIV_ZERO, .what = "/" };

	unit_set_source(u, "stdin", "");
	u->print_maps_on_exit = true;
	for (u32 i = 0; i < ARRAY_SIZE(maps); i++)
		vec_add(&u->arena, &u->maps, maps[i]);
	for (u32 i = 0; i < ARRAY_SIZE(records); i++)
		vec_add(&u->arena, &u->records, records[i]);
	vec_add(&u->arena, &u->errors, error);
	return u;
}

static void send_record(struct code *c, s32 record, s32 arg)
{
	code_store_imm(c, 8, R10, -16, record);
	code_store_imm(c, 8, R10, -8, arg);
	code_map(c, R1, RING_MAP);
	code_mov(c, R2, R10);
	code_alu_imm(c, BPF_ADD, R2, -16);
	code_alu_imm(c, BPF_MOV, R3, record == RECORD_HELLO ? 8 : 16);
	code_alu_imm(c, BPF_MOV, R4, 0);
	code_call(c, BPF_FUNC_ringbuf_output);
}

/* One program that sends those records, -1 ends the list; exit() carries code 5. */
static void add_sender(struct unit *u, enum attach_kind kind, const s32 *records,
                       const struct usite *site)
{
	struct err e = { 0 };
	struct code c;
	struct uprog p = {
		.name = attach_kind_name(kind), .kind = kind, .sites = site, .n_sites = site ? 1 : 0
	};

	code_init(&c, &u->arena);
	for (; *records >= 0; records++)
		send_record(&c, *records, *records == RECORD_EXIT ? 5 : 42);
	code_alu_imm(&c, BPF_MOV, R0, 0);
	code_exit(&c);
	assert_true(code_finish(&c, &e));
	p.insns = c.insns.v;
	p.locs = c.locs.v;
	p.n_insns = c.insns.n;
	vec_add(&u->arena, &u->progs, p);
}

static const struct usite tick = { .name = "interval:ms:5", .period = 5000000 };
static const s32 nothing[] = { -1 }, hello[] = { RECORD_HELLO, -1 }, value[] = { RECORD_VALUE, -1 },
		 leave[] = { RECORD_EXIT, -1 },
		 leave_then_hello[] = { RECORD_VALUE, RECORD_EXIT, RECORD_HELLO, -1 };

/* ---- sessions ---- */

struct result {
	int code;
	struct err error;
	char output[4096];
	struct buf said;
};

static void remember(void *ctx, enum report kind, const struct loc *loc, const char *text)
{
	struct result *r = ctx;

	(void)loc;
	buf_printf(&r->said, "%d %s\n", kind, text);
}

/* Runs with the output in a file, which may then be compared. */
static struct result run_with(struct unit *u, struct session_options *o, struct child *child)
{
	char path[] = "/tmp/memtap-test-XXXXXX";
	struct result r = { 0 };
	int fd = mkstemp(path);
	ssize_t n;

	assert_true(fd >= 0);
	o->output = path;
	o->report = remember;
	o->report_ctx = &r;
	r.code = session_run(u, o, child, &r.error);
	n = read(fd, r.output, sizeof(r.output) - 1);
	assert_true(n >= 0);
	close(fd);
	unlink(path);
	unit_free(u);
	return r;
}

static void check(struct result r, int code, const char *output, const char *said)
{
	if (r.code != code)
		fail_msg("code %d, error \"%s\"", r.code, r.error.text);
	assert_string_equal(r.output, output);
	assert_string_equal(buf_text(&r.said), said);
	buf_free(&r.said);
}

static void need_root(void)
{
	if (geteuid() != 0) {
		print_message("SKIP: needs root\n");
		skip();
	}
}

static void test_begin_and_end(void **state)
{
	struct session_options o = { 0 };
	struct unit *u = new_unit();

	(void)state;
	need_root();
	add_sender(u, ATTACH_BEGIN, value, NULL);
	add_sender(u, ATTACH_END, hello, NULL);
	check(run_with(u, &o, NULL), 0, "value 42\nhello\n\n\n", "0 Attached 2 probes\n");
}

/* What follows exit() is dropped, END still speaks, nothing is attached. */
static void test_exit_in_begin(void **state)
{
	struct session_options o = { 0 };
	struct unit *u = new_unit();

	(void)state;
	need_root();
	add_sender(u, ATTACH_BEGIN, leave_then_hello, NULL);
	add_sender(u, ATTACH_END, hello, NULL);
	add_sender(u, ATTACH_INTERVAL, value, &tick);
	check(run_with(u, &o, NULL), 5, "value 42\nhello\n\n\n", "0 Attached 3 probes\n");
}

static void test_exit_in_probe(void **state)
{
	struct session_options o = { .quiet = true };
	struct unit *u = new_unit();

	(void)state;
	need_root();
	u->print_maps_on_exit = false;
	add_sender(u, ATTACH_INTERVAL, leave_then_hello, &tick);
	check(run_with(u, &o, NULL), 5, "value 42\n", "");
}

static void test_json(void **state)
{
	struct session_options o = { .format = &out_json };
	struct unit *u = new_unit();

	(void)state;
	need_root();
	add_sender(u, ATTACH_BEGIN, hello, NULL);
	check(run_with(u, &o, NULL), 0,
	      "{\"type\": \"attached_probes\", \"count\": 1, \"data\": {\"probes\": 1}}\n"
	      "{\"type\": \"printf\", \"data\": \"hello\\n\"}\n",
	      "");
}

static void test_dry_run(void **state)
{
	struct session_options o = { .dry_run = true };
	struct unit *u = new_unit();

	(void)state;
	need_root();
	add_sender(u, ATTACH_BEGIN, hello, NULL);
	add_sender(u, ATTACH_INTERVAL, hello, &tick);
	check(run_with(u, &o, NULL), 0, "", "0 Attached 2 probes\n");
}

static void check_child(const char *command, int code)
{
	struct session_options o = { .quiet = true };
	struct unit *u = new_unit();
	struct err e = { 0 };
	struct child *c = child_start(command, &e);

	assert_non_null(c);
	u->print_maps_on_exit = false;
	add_sender(u, ATTACH_BEGIN, nothing, NULL);
	check(run_with(u, &o, c), code, "", "");
	child_free(c);
}

static void test_child_code(void **state)
{
	(void)state;
	need_root();
	check_child("true", 0);
	check_child("sh -c 'exit 9'", 9);
	check_child("sh -c 'kill -KILL $$'", 128 + SIGKILL);
}

/* exit(n) wins over the child, which is ended with the session. */
static void test_exit_with_child(void **state)
{
	struct session_options o = { .quiet = true };
	struct unit *u = new_unit();
	struct err e = { 0 };
	struct child *c = child_start("sleep 100", &e);

	(void)state;
	need_root();
	u->print_maps_on_exit = false;
	add_sender(u, ATTACH_INTERVAL, leave, &tick);
	check(run_with(u, &o, c), 5, "", "");
	child_free(c);
}

static void test_process_ends(void **state)
{
	struct session_options o = { .quiet = true };
	struct unit *u = new_unit();
	pid_t pid;

	(void)state;
	need_root();
	pid = fork();
	if (pid == 0) {
		usleep(30000);
		_exit(3);
	}
	o.pid = pid;
	u->print_maps_on_exit = false;
	add_sender(u, ATTACH_INTERVAL, nothing, &tick);
	add_sender(u, ATTACH_END, hello, NULL);
	check(run_with(u, &o, NULL), 0, "hello\n", "");
	waitpid(pid, NULL, 0);
}

/*
 * Sends it, and once it was taken once more, as timeout(1) does. The session can not have ended by
 * then: it has to write, into a full pipe that is emptied afterwards.
 */
static pid_t start_sender(int signal, int from)
{
	pid_t self = getpid(), pid = fork();
	char filler[PIPE_BYTES];

	if (pid == 0) {
		kill(self, signal);
		while (signals_of(self, "ShdPnd:"))
			;
		kill(self, signal);
		_exit(read(from, filler, sizeof(filler)) != sizeof(filler));
	}
	return pid;
}

static void fill_pipe(int ends[2])
{
	static const char filler[PIPE_BYTES];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES), PIPE_BYTES);
	assert_int_equal(write(ends[1], filler, PIPE_BYTES), PIPE_BYTES);
}

/* Both signals are the session's: the first ends it, the second is no longer there after it. */
static void check_signal(int signal)
{
	static const char wanted[] = "hello\n\n\n";
	struct session_options o = { .quiet = true };
	struct unit *u = new_unit();
	struct timespec none = { 0 };
	char got[100] = "";
	struct err e = { 0 };
	int ends[2], status;
	sigset_t set;
	pid_t pid;

	need_root();
	/* One that comes before the session begins, or after it, waits. */
	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fill_pipe(ends);
	o.output_fd = ends[1];
	pid = start_sender(signal, ends[0]);
	add_sender(u, ATTACH_INTERVAL, nothing, &tick);
	add_sender(u, ATTACH_END, hello, NULL);
	assert_int_equal(session_run(u, &o, NULL, &e), 0);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], got, sizeof(got) - 1), strlen(wanted));
	assert_string_equal(got, wanted);
	assert_int_equal(sigtimedwait(&set, NULL, &none), -1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	close(ends[0]);
	close(ends[1]);
	unit_free(u);
}

static void test_signals(void **state)
{
	(void)state;
	check_signal(SIGINT);
	check_signal(SIGTERM);
}

/* A child besides that one? */
static bool has_child(pid_t pid, pid_t other)
{
	char path[64];
	int child;
	bool has = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1)
		has |= child != other;
	if (f)
		fclose(f);
	return has;
}

/* Of commands that wait in the ring some are run, and the others counted, when it is to end; END is
 * run all the same. */
static void test_commands_that_wait(void **state)
{
	struct session_options o = { .quiet = true };
	struct unit *u = new_unit();
	struct urecord sleep = {
		.action = ACTION_SYSTEM, .size = 8, .text = "sleep 99", .map = -1
	};
	s32 sleeps[] = { (s32)u->records.n, (s32)u->records.n, (s32)u->records.n, -1 };
	struct result r;
	pid_t self = getpid(), pid;

	(void)state;
	need_root();
	u->print_maps_on_exit = false;
	vec_add(&u->arena, &u->records, sleep);
	add_sender(u, ATTACH_BEGIN, sleeps, NULL);
	add_sender(u, ATTACH_END, hello, NULL);
	pid = fork();
	if (pid == 0) {
		while (!has_child(self, getpid()))
			;
		_exit(kill(self, SIGINT));
	}
	r = run_with(u, &o, NULL);
	waitpid(pid, NULL, 0);
	assert_int_equal(r.code, 0);
	assert_string_equal(r.output, "hello\n");
	assert_non_null(strstr(buf_text(&r.said), "2 the command was ended: it still ran"));
	assert_non_null(strstr(buf_text(&r.said), "1 Lost 2 events: they still waited"));
	buf_free(&r.said);
}

/* `memtap ... | head -1`: ends by itself and is no error. */
static void test_reader_gone(void **state)
{
	struct session_options o = { .quiet = true, .report = remember };
	struct unit *u = new_unit();
	struct result r = { 0 };
	int ends[2];

	(void)state;
	need_root();
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	o.output_fd = ends[1];
	o.report_ctx = &r;
	add_sender(u, ATTACH_INTERVAL, nothing, &tick);
	assert_int_equal(session_run(u, &o, NULL, &r.error), 0);
	close(ends[1]);
	unit_free(u);
	buf_free(&r.said);
}

static void test_output_not_writable(void **state)
{
	struct session_options o = { .quiet = true, .report = remember };
	struct unit *u = new_unit();
	struct result r = { 0 };

	(void)state;
	need_root();
	o.report_ctx = &r;
	o.output = "/no/such/directory/file";
	add_sender(u, ATTACH_BEGIN, hello, NULL);
	assert_int_equal(session_run(u, &o, NULL, &r.error), -1);
	assert_non_null(strstr(r.error.text, "can not write to /no/such/directory/file"));
	o.output = "/dev/full";
	assert_int_equal(session_run(u, &o, NULL, &r.error), 1);
	assert_non_null(strstr(buf_text(&r.said), "2 can not write the output: No space left"));
	unit_free(u);
	buf_free(&r.said);
}

/* A unit whose BEGIN counts three losses and three failures of its one kind. */
static struct unit *failing_unit(void)
{
	struct unit *u = new_unit();
	struct uprog p = { .name = "BEGIN", .kind = ATTACH_BEGIN };
	struct err e = { 0 };
	struct code c;

	u->print_maps_on_exit = false;
	code_init(&c, &u->arena);
	code_alu_imm(&c, BPF_MOV, R2, 3);
	code_map_value(&c, R1, DATA_MAP, UDATA_ERRORS * 8);
	code_atomic(&c, BPF_ADD, R1, 0, R2);
	code_map_value(&c, R1, DATA_MAP, UDATA_LOST * 8);
	code_atomic(&c, BPF_ADD, R1, 0, R2);
	code_alu_imm(&c, BPF_MOV, R0, 0);
	code_exit(&c);
	assert_true(code_finish(&c, &e));
	p.insns = c.insns.v;
	p.locs = c.locs.v;
	p.n_insns = c.insns.n;
	vec_add(&u->arena, &u->progs, p);
	return u;
}

static void test_runtime_errors(void **state)
{
	struct session_options o = { .quiet = true };
	struct unit *u;

	(void)state;
	need_root();
	u = failing_unit();
	check(run_with(u, &o, NULL), 0, "",
	      "1 Lost 3 events: they came faster than they could be printed; set ring_pages "
	      "higher in the script's config\n"
	      "1 '/' by zero; the result is taken to be 1 (3 times)\n");
}

/* What is said of an update is what the kernel answered to it. */
static void test_refused_updates(void **state)
{
	static const struct {
		int code;
		const char *text;
	} rows[] = {
		{ E2BIG, "1 @x is full and an update was lost; set max_map_keys higher" },
		{ ENOMEM, "1 the kernel had no memory at hand for one more key of @x" },
		{ EBUSY, "1 @x was being changed by another probe or processor at that moment" },
		{ EDEADLK, "1 @x was being changed by another probe or processor at that moment" },
		{ ETIMEDOUT, "1 @x was being changed by another probe or processor" },
		{ EINVAL, "1 the kernel refused an update of @x, and it was lost" },
	};
	struct session_options o = { .quiet = true };

	(void)state;
	need_root();
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct unit *u = failing_unit();
		struct result r;

		u->errors.v[0] = (struct uerror){ .kind = UERROR_UPDATE,
			                          .what = "@x",
			                          .answer = -(u32)rows[i].code &
			                                    (UERROR_ANSWERS - 1) };
		r = run_with(u, &o, NULL);
		if (!strstr(buf_text(&r.said), rows[i].text))
			fail_msg("%d: %s", rows[i].code, buf_text(&r.said));
		buf_free(&r.said);
	}
}

/* A session gives up rights that the next one needs: a process for each. */
static int alone(const struct CMUnitTest *test)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		exit(_cmocka_run_group_tests("tests", test, 1, NULL, NULL));
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child_words),
		cmocka_unit_test(test_child_wrong),
		cmocka_unit_test(test_child_no_exec),
		cmocka_unit_test(test_child_never_released),
		cmocka_unit_test(test_child_is_ended),
		cmocka_unit_test(test_child_ignores_sigterm),
		cmocka_unit_test(test_child_held),
		cmocka_unit_test(test_child_maps_at_end),
		cmocka_unit_test(test_child_let_go),
		cmocka_unit_test(test_child_let_go_in_its_loader),
		cmocka_unit_test(test_begin_and_end),
		cmocka_unit_test(test_exit_in_begin),
		cmocka_unit_test(test_exit_in_probe),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_dry_run),
		cmocka_unit_test(test_child_code),
		cmocka_unit_test(test_exit_with_child),
		cmocka_unit_test(test_process_ends),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_commands_that_wait),
		cmocka_unit_test(test_reader_gone),
		cmocka_unit_test(test_output_not_writable),
		cmocka_unit_test(test_runtime_errors),
		cmocka_unit_test(test_refused_updates),
	};
	int failed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		failed += alone(&tests[i]);
	return failed;
}
