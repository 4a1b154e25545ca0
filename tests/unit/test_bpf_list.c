/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bpf_list.c and kern/programs.c: two programs of our own are found among those of this kernel.
 *
 * Needs the machine itself: bpf().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <string.h>
#include <unistd.h>

#include "btf_build.h"
#include "world/bpf_list.h"

static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int load(const char *name, struct bpf_prog_load_opts *o)
{
	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, name, "GPL", nothing,
	                     ARRAY_SIZE(nothing), o);
}

/* A descriptor of types of "int a_function_with_a_long_name(int n)", which has the id 3. */
static int load_types(void)
{
	struct btf_build w = { 0 };
	size_t n;
	const void *p;
	int fd;

	btf_build_type(&w, "int", BTF_KIND_INT, 0, 4);
	btf_build_word(&w, 1u << 24 /* signed */ | 32);
	btf_build_type(&w, "", BTF_KIND_FUNC_PROTO, 1, 1);
	btf_build_two(&w, btf_build_name(&w, "n"), 1);
	btf_build_type(&w, "a_function_with_a_long_name", BTF_KIND_FUNC, 0, 2);
	p = btf_build_file(&w, &n);
	fd = bpf_btf_load(p, n, NULL);
	btf_build_free(&w);
	return fd;
}

static u32 id_of(int fd)
{
	struct bpf_prog_info info = { 0 };
	u32 size = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	return info.id;
}

struct find {
	u32 id, n;
	struct bpf_function f;
};

static bool find(void *ctx, const struct bpf_function *f)
{
	struct find *w = ctx;

	if (f->prog_id == w->id) {
		w->f = *f;
		w->n++;
	}
	return true;
}

static struct find find_one(const struct bpf_list *l, int fd)
{
	struct find w = { .id = id_of(fd) };

	bpf_list_each(l, find, &w);
	assert_int_equal(w.n, 1);
	assert_true(w.f.is_main);
	return w;
}

static void finds_functions_and_programs(void **state)
{
	struct bpf_func_info info = { .type_id = 3 };
	LIBBPF_OPTS(bpf_prog_load_opts, o, .func_info = &info, .func_info_cnt = 1,
	            .func_info_rec_size = sizeof(info));
	struct err e = { 0 };
	struct bpf_list *l;
	struct find w;
	struct btf_info t;
	int types, typed, bare;

	(void)state;
	if (geteuid() != 0) {
		print_message("SKIP: needs root\n");
		skip();
	}
	types = load_types();
	assert_true(types >= 0);
	o.prog_btf_fd = (u32)types;
	typed = load("test_typed", &o);
	bare = load("test_bare", NULL);
	assert_true(typed >= 0 && bare >= 0);
	l = bpf_list_new(&e);
	assert_non_null(l);
	w = find_one(l, typed);
	assert_string_equal(w.f.prog, "test_typed");
	assert_string_equal(w.f.name, "a_function_with_a_long_name");
	assert_true(btf_info(w.f.btf, w.f.btf_id, &t));
	assert_int_equal(t.kind, BTF_KIND_FUNC);
	w = find_one(l, bare);
	assert_string_equal(w.f.name, "test_bare");
	assert_null(w.f.btf);
	bpf_list_free(l);
	close(typed);
	close(bare);
	close(types);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_functions_and_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
