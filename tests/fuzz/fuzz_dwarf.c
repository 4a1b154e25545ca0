/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as a file with debug information: its functions, types and lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/type/debug_type.h"
#include "lang/type/uargs.h"
#include "elf/dwarf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void on_field(void *ctx, const struct field *f)
{
	*(size_t *)ctx += strlen(f->name) + f->off + f->type->size;
}

static bool on_line(void *ctx, const struct dwarf_line *l)
{
	*(size_t *)ctx += l->vaddr + l->line;
	return true;
}

static void walk(struct dwarf_file *d)
{
	static const char *const names[] = { "struct s", "union u", "enum e", "t", "int" };
	struct arena a = { 0 };
	struct script s = { .arena = &a };
	struct dwarf_func f;
	size_t sum = 0;
	u32 near;

	for (u64 at = 0; at < 128; at++)
		if (dwarf_func_at(d, &a, at, &f))
			sum += uargs_of(&s, d, &f)->n;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct type *t = debug_type(&s, d, dwarf_type_find(d, str_of(names[i])));

		if (t->kind == TYPE_STRUCT)
			debug_type_each(&s, t, on_field, &sum);
	}
	dwarf_line_each(d, "s.c", 10, 0, on_line, &sum, &near);
	*(volatile size_t *)&sum = sum;
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct err e = { 0 };
	struct dwarf_file *d;
	char path[32];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	d = dwarf_file_open(path, &e);
	if (d)
		walk(d);
	dwarf_file_close(d);
	close(fd);
	return 0;
}
