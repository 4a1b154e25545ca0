/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that a program takes from the kernel by itself: its own pools, an interpreter's arenas.
 *
 * Allocators do so too, and what they give out of it is counted already: a call that comes from
 * the file with malloc, or from the C library, is passed over (`around`). Where there is no malloc,
 * all are counted.
 *
 * Where malloc is in the program itself, none is. Which of its functions are the allocator's is
 * written nowhere. To follow the calls from malloc on does not find them: jemalloc, tcmalloc and
 * others ask for memory through a pointer. Nor does the stack tell, for a malloc that jumps on to
 * another function is not on it. What is counted twice is worse than what is missing and said.
 */
#include "inject/heap_files.h"

#define FAR ((u64)1 << 30) /* bytes from malloc: a jump reaches twice as far */

static const struct heap_function functions[] = {
	{ "mmap", SAMPLER_MAP, false },
	{ "mmap64", SAMPLER_MAP, false },
	{ "munmap", SAMPLER_UNMAP, false },
	{ "mremap", SAMPLER_REMAP, false },
};

_Static_assert(ARRAY_SIZE(functions) <= HEAP_MAPPINGS, "there is room");

static bool has_mmap(struct elf *f)
{
	struct elf_sym s;

	return elf_find(f, "mmap", &s) && s.is_func && elf_find(f, "munmap", &s) && s.is_func;
}

static bool find(void *ctx, struct elf *f, const struct procmap *m)
{
	struct heap_allocator *a = ctx;
	u64 vaddr;

	if (has_mmap(f) && (!a->f || heap_is_libc(f)) && elf_vaddr(f, m->offset, &vaddr)) {
		a->kernel = f;
		a->kernel_bias = m->start - vaddr;
		return false;
	}
	elf_close(f);
	return true;
}

static void add_around(struct heap_allocator *a, struct elf *f, u64 bias)
{
	const u8 *p;
	size_t n;
	u64 vaddr;

	for (u32 i = 0; a->n_around < SAMPLER_AROUND && elf_code(f, i, &p, &n, &vaddr); i++)
		a->around[a->n_around++] = (struct sampler_inside){ bias + vaddr,
			                                            bias + vaddr + n };
}

static bool is_known(const struct heap_allocator *a, u64 at)
{
	for (u32 i = 0; i < a->n; i++)
		if (a->hooks[i].bias + a->hooks[i].entry == at)
			return true;
	return false;
}

static void add(struct heap_allocator *a, struct elf *f, u64 bias)
{
	for (u32 i = 0; i < ARRAY_SIZE(functions); i++) {
		struct elf_sym s;

		if (!elf_find(f, functions[i].name, &s) || !s.is_func ||
		    is_known(a, bias + s.value))
			continue;
		a->functions[a->n] = functions[i];
		a->hooks[a->n++] = (struct hook){
			.f = f, .bias = bias, .entry = s.value, .size = s.size
		};
	}
}

void heap_mappings_add(struct heap_allocator *a, pid_t pid)
{
	struct elf *f = a->f;
	u64 bias = a->bias;
	struct err e;

	if (f && elf_is_program(f)) {
		if (!a->left)
			a->left =
				"mappings (mmap) are not counted: malloc is in the program itself";
		return;
	}
	if (!f || !has_mmap(f)) {
		if (!heap_each_file(&a->arena, pid, find, a, &e) || !a->kernel)
			return;
		f = a->kernel;
		bias = a->kernel_bias;
		if (a->f && bias - a->bias + FAR > 2 * FAR)
			return;
	}
	if (a->f)
		add_around(a, a->f, a->bias);
	if (a->f && f != a->f)
		add_around(a, f, bias);
	add(a, f, bias);
}
