/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A BPF program that reads kernel structs is loaded with nothing but the part of the kernel's BTF
 * that was kept for it, and run: it must find this very process.
 *
 * Needs the machine itself: bpf().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <memtap/btf.h>

#include "core_oracle.h"

#define KERNEL "/sys/kernel/btf/vmlinux"

static void keep_part(const char *object_path, const char *to)
{
	struct btf_error e = { 0 };
	struct btf *kernel = btf_open_kernel(&e), *object = btf_open(object_path, &e);
	struct btf_subset *s;

	assert_non_null(kernel);
	assert_non_null(object);
	s = btf_filter_new(kernel, &e);
	if (!btf_filter_object(s, object, &e) || !btf_filter_save(s, to, &e))
		fail_msg("%s", e.text);
	btf_filter_free(s);
	btf_unref(object);
	btf_unref(kernel);
}

static u32 load_and_run(const char *object_path, const char *btf_path)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf_path);
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct bpf_object *o = bpf_object__open_file(object_path, &opts);
	struct bpf_program *p;

	assert_non_null(o);
	assert_int_equal(bpf_object__load(o), 0);
	p = bpf_object__find_program_by_name(o, "own_pid");
	assert_non_null(p);
	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(p), &run), 0);
	bpf_object__close(o);
	return run.retval;
}

static void test_load(void **state)
{
	char object[1100], part[] = "/tmp/test_btf_load.XXXXXX";
	int fd;

	(void)state;
	if (geteuid() != 0 || access(KERNEL, R_OK) != 0)
		skip();
	oracle_path(object, sizeof(object), "load.bpf.o");
	fd = mkstemp(part);
	assert_true(fd >= 0);
	close(fd);
	keep_part(object, part);
	assert_int_equal(load_and_run(object, part), getpid());
	unlink(part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
