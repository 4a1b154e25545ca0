/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names for stacks, addresses, users and cgroups. A cgroup's id is the inode number its
 * directory has in cgroup2, and at the same time the content of a file handle, so the kernel
 * itself turns it into a path (open_by_handle_at(2)) without a walk over the tree.
 */
#include "run/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/glob.h"
#include "base/host.h"
#include "kern/symbolize.h"
#include "run/site_func.h"
#include "sym/frames.h"

_Static_assert(KSYM_TEXT == SYMBOLIZE_TEXT, "one answer, two folders");

/* In place of frames that there are not. */
static const char *mark_of(u32 flags)
{
	return flags & USTACK_EXEC ? "[exec]" : flags & USTACK_CUT ? "[unknown]" : NULL;
}

/* The frames stored under `id`, as many as there are and the type allows. */
static struct stack_frames get_frames(struct names *n, const struct type *type, u64 id,
                                      struct ustack_value *v)
{
	u32 limit = MIN(type->limit ? type->limit : UNIT_STACK_FRAMES, UNIT_STACK_FRAMES);

	if (!id) /* of a variable that was never set */
		return (struct stack_frames){ v->ip, 0, NULL };
	if (!stackmap_find(n->stacks, id, v))
		return (struct stack_frames){ v->ip, 0, "[lost]" };
	return (struct stack_frames){ v->ip, (u32)MIN(v->n & USTACK_N, (u64)limit),
		                      mark_of((u32)(v->n >> USTACK_FLAGS_SHIFT)) };
}

/* Of a process or the kernel. */
static void add_frames(struct names *n, struct buf *b, const struct type *type, s64 pid, u64 id)
{
	struct ustack_value v = { 0 };
	struct stack_frames f = get_frames(n, type, id, &v);

	frames_add(b, n->sym, (enum frames_mode)type->mode, pid, &f);
}

static void name_stack(void *ctx, struct buf *b, const struct type *type, const u64 *words)
{
	struct names *n = ctx;

	buf_putc(b, '\n');
	if (type->kind != TYPE_USTACK)
		add_frames(n, b, type, FRAMES_KERNEL, words[type->kind == TYPE_STACK ? 2 : 0]);
	if (type->kind != TYPE_KSTACK)
		add_frames(n, b, type, (s64)(u32)words[1], words[0]);
}

static void each_frame(struct names *n, const struct type *type, s64 pid, u64 id, frame_fn *fn,
                       void *ctx)
{
	struct ustack_value v = { 0 };
	struct stack_frames f = get_frames(n, type, id, &v);

	frames_each(n->sym, pid, &f, fn, ctx);
}

static void name_frames(void *ctx, const struct type *type, const u64 *words, frame_fn *fn,
                        void *fn_ctx)
{
	u64 kernel = words[type->kind == TYPE_STACK ? 2 : 0];
	struct names *n = ctx;

	if (type->kind != TYPE_KSTACK)
		each_frame(n, type, (s64)(u32)words[1], words[0], fn, fn_ctx);
	if (type->kind != TYPE_USTACK)
		each_frame(n, type, FRAMES_KERNEL, kernel, fn, fn_ctx);
}

static void name_ksym(void *ctx, struct buf *b, u64 addr)
{
	sym_kernel_name(((struct names *)ctx)->sym, b, addr);
}

static void name_usym(void *ctx, struct buf *b, u64 addr, u32 pid)
{
	sym_user_name(((struct names *)ctx)->sym, b, pid, addr);
}

static void name_func(void *ctx, struct buf *b, u64 addr, u32 pid)
{
	struct names *n = ctx;
	struct buf place = { 0 };
	const char *module;
	struct str name;

	sym_user(n->sym, &place, SYM_EXACT, pid, addr, &module);
	if (!module[0] && site_func(n->unit, addr, &name))
		buf_add(b, name.p, name.n);
	else
		name_usym(n, b, addr, pid);
	buf_free(&place);
}

static void name_user(void *ctx, struct buf *b, u64 uid)
{
	(void)ctx;
	if (!host_user(b, (u32)uid))
		buf_printf(b, "%llu", (unsigned long long)uid);
}

/* ---- cgroups ---- */

#define FILEID_KERNFS 0xfe /* include/linux/exportfs.h */

static int open_cgroup(const char *mount, u64 id)
{
	union {
		struct file_handle h;
		u8 room[sizeof(struct file_handle) + sizeof(id)];
	} u = { .h = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	int at = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

	if (at < 0)
		return -1;
	memcpy(u.h.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(at, &u.h, O_PATH | O_CLOEXEC);
	close(at);
	return fd;
}

static bool cgroup_below(struct buf *b, const char *mount, u64 id)
{
	char link[64], path[4096];
	size_t n = strlen(mount);
	ssize_t got;
	int fd = open_cgroup(mount, id);

	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	got = readlink(link, path, sizeof(path) - 1);
	close(fd);
	if (got < (ssize_t)n || memcmp(path, mount, n) != 0)
		return false;
	path[got] = 0;
	buf_printf(b, "unified:%s", path[n] ? path + n : "/");
	return true;
}

/* "unified:/user.slice/..."; only cgroup2 has ids. */
static void name_cgroup(void *ctx, struct buf *b, u64 id, const char *filter)
{
	static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

	(void)ctx;
	if (filter && !glob_match(str_of(filter), STR("unified")))
		return;
	for (u32 i = 0; i < ARRAY_SIZE(mounts); i++)
		if (cgroup_below(b, mounts[i], id))
			return;
	buf_printf(b, "unified:%llu", (unsigned long long)id);
}

/* Over the last 1, 5 and 15 minutes; nothing where /proc is not mounted. */
static void name_loadavg(void *ctx, struct buf *b)
{
	double load[3];

	(void)ctx;
	if (getloadavg(load, 3) == 3)
		buf_printf(b, "%.2f %.2f %.2f", load[0], load[1], load[2]);
}

/* ---- all of it ---- */

static bool ask_kernel(void *ctx, u64 addr, char text[KSYM_TEXT])
{
	struct names *n = ctx;
	struct err e;

	if (!n->symbolize && !n->symbolize_tried)
		n->symbolize = symbolize_open(&e);
	n->symbolize_tried = true;
	return n->symbolize && symbolize_name(n->symbolize, addr, text);
}

void names_init(struct names *n, const struct unit *u, struct stackmap *stacks,
                const struct names_options *o)
{
	struct sym_options so = { .mangled = o->mangled,
		                  .lines = o->lines,
		                  .graft = o->graft,
		                  .ask = ask_kernel,
		                  .ask_ctx = n };

	*n = (struct names){ .sym = sym_new(&so), .stacks = stacks, .unit = u };
	n->namer = (struct namer){
		.ctx = n,
		.stack = name_stack,
		.frames = name_frames,
		.ksym = name_ksym,
		.usym = name_usym,
		.func = name_func,
		.username = name_user,
		.cgroup_path = name_cgroup,
		.loadavg = name_loadavg,
		.boot_to_real = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME),
	};
}

void names_free(struct names *n)
{
	sym_free(n->sym);
	symbolize_close(n->symbolize);
}

static bool holds_user_address(const struct type *t)
{
	if (!t)
		return false;
	if (t->kind == TYPE_USYM || t->kind == TYPE_USTACK || t->kind == TYPE_STACK)
		return true;
	for (u32 i = 0; t->kind == TYPE_TUPLE && i < t->n_fields; i++)
		if (holds_user_address(t->fields[i].type))
			return true;
	return false;
}

bool names_user_wanted(const struct unit *u)
{
	for (u32 i = 0; i < u->maps.n; i++)
		if (holds_user_address(u->maps.v[i].key) || holds_user_address(u->maps.v[i].value))
			return true;
	for (u32 i = 0; i < u->records.n; i++)
		for (u32 j = 0; j < u->records.v[i].n_args; j++)
			if (holds_user_address(u->records.v[i].args[j].type))
				return true;
	return false;
}
