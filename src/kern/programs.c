/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The BPF programs that the kernel holds: their functions can be traced as the kernel's own.
 *
 * The one idea: the kernel hands out numbers of programs one after the other; what a function is
 * called is in the types the program was loaded with, so of one without types nothing is known but
 * its name. It does not look into types; bytes are handed on.
 */
#include "kern/programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/caps.h"
#include "kern/kern.h"

#define FUNCS_MAX 65536u      /* functions of one program */
#define TYPES_MAX (64u << 20) /* bytes of its types */

/* The ids of the program's functions in its types, allocated; NULL when there are none. */
static u32 *function_ids(int fd, u32 *n, u32 stride)
{
	u32 words = stride / sizeof(u32);
	struct bpf_prog_info info = { .nr_func_info = *n, .func_info_rec_size = stride };
	u32 *records;

	if (!*n || *n > FUNCS_MAX || words < 2 || words > 64)
		return NULL;
	records = calloc(*n, stride);
	if (!records)
		base_no_memory();
	info.func_info = (uintptr_t)records;
	if (sys_info(fd, &info, sizeof(info)) < 0 || !info.func_info) {
		free(records);
		return NULL;
	}
	*n = MIN(*n, info.nr_func_info);
	/* struct bpf_func_info: where it starts, its id. */
	for (u32 i = 0; i < *n; i++)
		records[i] = records[(size_t)i * words + 1];
	return records;
}

static void one(int fd, void (*cb)(void *ctx, const struct program *p), void *ctx)
{
	struct bpf_prog_info info = { 0 };
	u32 *ids;
	struct program p = { 0 };

	if (sys_info(fd, &info, sizeof(info)) < 0)
		return;
	p.id = info.id;
	memcpy(p.name, info.name, sizeof(p.name) - 1);
	p.n_funcs = info.nr_func_info;
	ids = function_ids(fd, &p.n_funcs, info.func_info_rec_size);
	p.funcs = ids;
	if (ids)
		p.types = info.btf_id;
	else
		p.n_funcs = 0;
	cb(ctx, &p);
	free(ids);
}

bool programs_each(void (*cb)(void *ctx, const struct program *p), void *ctx, struct err *e)
{
	u32 id = 0;
	int fd, r;

	while ((r = sys_prog_next(&id)) >= 0) {
		fd = sys_prog_open(id);
		if (fd < 0)
			continue;
		one(fd, cb, ctx);
		close(fd);
	}
	if (r == -ENOENT)
		return true;
	return caps_refused(e, -r, CAPS_ADMIN,
	                    "the kernel does not show its programs to this user");
}

static bool read_types(int fd, struct buf *bytes, struct err *e)
{
	struct bpf_btf_info info = { 0 };
	u32 n;
	char *p;
	int r = sys_info(fd, &info, sizeof(info));

	if (r < 0)
		return err_sys(e, -r, "can not ask for a program's types");
	n = info.btf_size;
	if (n > TYPES_MAX)
		return err_set(e, "a program's types are larger than %u bytes", TYPES_MAX);
	p = malloc(n + 1);
	if (!p)
		base_no_memory();
	info = (struct bpf_btf_info){ .btf = (uintptr_t)p, .btf_size = n };
	r = sys_info(fd, &info, sizeof(info));
	if (r >= 0)
		buf_add(bytes, p, MIN(n, info.btf_size));
	free(p);
	return r >= 0 || err_sys(e, -r, "can not read a program's types");
}

bool programs_types(u32 types, struct buf *bytes, struct err *e)
{
	int fd = sys_btf_open(types);
	bool ok;

	if (fd < 0)
		return err_sys(e, -fd, "a program's types are gone");
	ok = read_types(fd, bytes, e);
	close(fd);
	return ok;
}
