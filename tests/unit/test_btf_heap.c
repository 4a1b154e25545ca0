/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening and asking take nothing from the heap: malloc and its like are counted here, from opening
 * the kernel's BTF to closing it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "btf/btf.h"
#include "btf/btf_impl.h"

#ifdef __SANITIZE_ADDRESS__
#define COUNTS false /* the sanitizer's own are in place */
static u32 n_calls;
#else
#define COUNTS true
static u32 n_calls;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	n_calls++;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	n_calls++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	n_calls++;
	return __libc_realloc(p, n);
}
#endif

static bool count_candidate(void *ctx, u32 query, u32 id)
{
	*(u32 *)ctx += query < 4 && id;
	return true;
}

static bool count_name(void *ctx, u32 id, const char *name)
{
	*(u32 *)ctx += id && name[0];
	return true;
}

static void one(struct btf *b)
{
	assert_true(btf_find(b, BTF_KIND_STRUCT, "task_struct"));
	assert_true(btf_find(b, BTF_KIND_STRUCT, "oom_control"));
	assert_false(btf_find(b, BTF_KIND_STRUCT, "no_such_struct"));
}

static void several(struct btf *b)
{
	struct btf_query q[] = { { "file", BTF_KIND_STRUCT, 0 },
		                 { "page", BTF_KIND_STRUCT, 0 },
		                 { "vfs_read", BTF_KIND_FUNC, 0 } };
	u32 n = 0;

	assert_int_equal(btf_find_many(b, q, 3, 0), 3);
	btf_find_all(b, q, 2, BTF_FIND_FLAVORS, count_candidate, &n);
	btf_find_all(b, q, 3, 0, count_candidate, &n);
	assert_true(n >= 5);
}

static void paths(struct btf *b)
{
	u32 vma = btf_find_c(b, "struct vm_area_struct"), oom = btf_find_c(b, "struct oom_control");
	struct btf_path p;

	for (u32 i = 0; i < 2; i++) {
		assert_true(btf_path(b, vma, "vm_file->f_path.dentry->d_name.name", &p, NULL));
		assert_true(btf_path(b, oom, "chosen->pid", &p, NULL));
	}
}

static void globs(struct btf *b)
{
	u32 n = 0;

	btf_each(b, BTF_KIND_FUNC, "vfs_*", count_name, &n);
	btf_each(b, BTF_KIND_FUNC, "*_mmap", count_name, &n);
	assert_true(n > 10);
}

static void others(struct btf *b)
{
	struct btf_info t;
	s64 value;
	u32 id, n;
	bool variadic;

	assert_true(btf_proto(b, btf_find(b, BTF_KIND_FUNC, "vfs_read"), &t, &n, &variadic));
	assert_true(n == 4 && !variadic);
	assert_true(btf_enum_find(b, "BPF_MAP_TYPE_HASH", &value, &id) && value == 1);
	assert_true(btf_count(b) > 1000);
}

static void asks_without_the_heap(void **state)
{
	void (*const asks[])(struct btf * b) = { one, several, paths, globs, others };

	(void)state;
	if (!COUNTS || access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
		print_message("skipped: malloc is not counted here, or there is no BTF\n");
		skip();
	}
	free(malloc(1));
	assert_true(n_calls > 0); /* they are counted */
	for (u32 i = 0; i < 2 * ARRAY_SIZE(asks); i++) {
		struct btf *b;

		n_calls = 0;
		b = btf_open_how("/sys/kernel/btf/vmlinux", NULL, i % 2, NULL);
		if (!b) {
			fail_msg("the kernel's BTF does not open");
			return;
		}
		asks[i / 2](b);
		btf_unref(b);
		assert_int_equal(n_calls, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_without_the_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
