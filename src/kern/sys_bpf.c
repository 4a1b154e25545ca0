/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bpf(2) takes a union whose size grows with the kernel; what a kernel does not know must be zero.
 * So each call here starts from a union of zeros, and one that uses fields newer than the oldest
 * headers we build with has its own struct, laid out as in the kernel's include/uapi/linux/bpf.h
 * (union bpf_attr, link_create.uprobe_multi, link_create.kprobe_multi and raw_tracepoint).
 */
#include "kern/sys_bpf.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Levels of the verifier's log (Linux 5.2, include/linux/bpf_verifier.h). */
#define LOG_WALK    1
#define LOG_REASONS 4 /* and statistics */

#define LOAD_TRIES 5u

struct attr_uprobe_multi {
	u32 prog_fd, target_fd, attach_type, flags;
	u64 path, offsets, ref_ctr_offsets, cookies;
	u32 cnt, multi_flags, pid, pad;
};

struct attr_kprobe_multi {
	u32 prog_fd, target_fd, attach_type, flags;
	u32 multi_flags, cnt;
	u64 syms, addrs, cookies;
};

/* cookie since Linux 6.10. */
struct attr_raw_tracepoint {
	u64 name;
	u32 prog_fd, pad;
	u64 cookie;
};

static int call(enum bpf_cmd cmd, void *attr, size_t size)
{
	long r = syscall(SYS_bpf, cmd, attr, size);

	return r < 0 ? -errno : (int)r;
}

/* A union of zeros: an initializer need not touch what lies behind the named member. */
#define NO_ATTR(name)                                                                              \
	union bpf_attr name;                                                                       \
	memset(&name, 0, sizeof(name))

/* ---- programs and types --------------------------------------------------------------------- */

int sys_prog_load(const struct sys_prog *p)
{
	int fd = -EAGAIN;
	NO_ATTR(attr);

	attr.prog_type = p->type;
	attr.expected_attach_type = p->attach_type;
	attr.insns = (uintptr_t)p->insns;
	attr.insn_cnt = p->n;
	attr.license = (uintptr_t) "GPL";
	memcpy(attr.prog_name, "memtap", sizeof("memtap"));
	attr.prog_flags = p->flags;
	attr.attach_btf_id = p->btf_id;
	attr.attach_btf_obj_fd = (u32)p->owner; /* the place for a program's descriptor, too */
	if (p->n_funcs) {
		attr.prog_btf_fd = (u32)p->types;
		attr.func_info = (uintptr_t)p->funcs;
		attr.func_info_cnt = p->n_funcs;
		attr.func_info_rec_size = sizeof(*p->funcs);
	}
	attr.log_level = !p->log ? 0 : p->reasons ? LOG_REASONS : LOG_WALK;
	attr.log_buf = (uintptr_t)p->log;
	attr.log_size = p->log ? p->log_size : 0;
	for (u32 i = 0; fd == -EAGAIN && i < LOAD_TRIES; i++)
		fd = call(BPF_PROG_LOAD, &attr, sizeof(attr));
	return fd;
}

int sys_prog_run(int prog, u32 *result)
{
	int r;
	NO_ATTR(attr);

	attr.test.prog_fd = (u32)prog;
	r = call(BPF_PROG_TEST_RUN, &attr, sizeof(attr));
	*result = attr.test.retval;
	return r;
}

static int next_id(enum bpf_cmd cmd, u32 *id)
{
	int r;
	NO_ATTR(attr);

	attr.start_id = *id;
	r = call(cmd, &attr, sizeof(attr));
	if (r >= 0)
		*id = attr.next_id;
	return r;
}

static int open_id(enum bpf_cmd cmd, u32 id)
{
	NO_ATTR(attr);

	attr.prog_id = id; /* the place of all kinds */
	return call(cmd, &attr, sizeof(attr));
}

int sys_prog_next(u32 *id)
{
	return next_id(BPF_PROG_GET_NEXT_ID, id);
}

int sys_prog_open(u32 id)
{
	return open_id(BPF_PROG_GET_FD_BY_ID, id);
}

int sys_btf_next(u32 *id)
{
	return next_id(BPF_BTF_GET_NEXT_ID, id);
}

int sys_btf_open(u32 id)
{
	return open_id(BPF_BTF_GET_FD_BY_ID, id);
}

int sys_btf_load(const void *types, u32 size)
{
	NO_ATTR(attr);

	attr.btf = (uintptr_t)types;
	attr.btf_size = size;
	return call(BPF_BTF_LOAD, &attr, sizeof(attr));
}

/* ---- maps ----------------------------------------------------------------------------------- */

int sys_map_create(const struct umap *m, const char *name, int inner)
{
	NO_ATTR(attr);

	attr.map_type = m->bpf_type;
	attr.key_size = m->key_size;
	attr.value_size = m->value_size;
	attr.max_entries = m->max_entries;
	attr.map_flags = m->flags;
	attr.inner_map_fd = inner < 0 ? 0 : (u32)inner;
	strncpy(attr.map_name, name, sizeof(attr.map_name) - 1);
	return call(BPF_MAP_CREATE, &attr, sizeof(attr));
}

static int element(enum bpf_cmd cmd, int map, const void *key, const void *value, u64 flags)
{
	NO_ATTR(attr);

	attr.map_fd = (u32)map;
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	attr.flags = flags;
	return call(cmd, &attr, sizeof(attr));
}

int sys_map_lookup(int map, const void *key, void *value)
{
	return element(BPF_MAP_LOOKUP_ELEM, map, key, value, 0);
}

int sys_map_update(int map, const void *key, const void *value, u64 flags)
{
	return element(BPF_MAP_UPDATE_ELEM, map, key, value, flags);
}

int sys_map_delete(int map, const void *key)
{
	return element(BPF_MAP_DELETE_ELEM, map, key, NULL, 0);
}

int sys_map_freeze(int map)
{
	return element(BPF_MAP_FREEZE, map, NULL, NULL, 0);
}

int sys_map_batch(int map, bool removes, struct sys_batch *b)
{
	enum bpf_cmd cmd = removes ? BPF_MAP_LOOKUP_AND_DELETE_BATCH : BPF_MAP_LOOKUP_BATCH;
	int r;
	NO_ATTR(attr);

	attr.batch.map_fd = (u32)map;
	attr.batch.in_batch = (uintptr_t)b->from;
	attr.batch.out_batch = (uintptr_t)b->to;
	attr.batch.keys = (uintptr_t)b->keys;
	attr.batch.values = (uintptr_t)b->values;
	attr.batch.count = b->n;
	r = call(cmd, &attr, sizeof(attr));
	b->n = attr.batch.count;
	return r;
}

/* ---- links ---------------------------------------------------------------------------------- */

int sys_link_uprobe_multi(int prog, const struct sys_uprobe_multi *m)
{
	struct attr_uprobe_multi attr = {
		.prog_fd = (u32)prog,
		.attach_type = MT_BPF_TRACE_UPROBE_MULTI,
		.path = (uintptr_t)m->path,
		.offsets = (uintptr_t)m->offsets,
		.ref_ctr_offsets = (uintptr_t)m->ref_ctrs,
		.cookies = (uintptr_t)m->cookies,
		.cnt = m->n,
		.multi_flags = m->is_return ? MT_BPF_LINK_UPROBE_MULTI_RETURN : 0,
		.pid = (u32)m->pid,
	};

	return call(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int sys_link_kprobe_multi(int prog, const struct sys_kprobe_multi *m)
{
	struct attr_kprobe_multi attr = {
		.prog_fd = (u32)prog,
		.attach_type = m->attach_type,
		.multi_flags = m->is_return ? BPF_F_KPROBE_MULTI_RETURN : 0,
		.cnt = m->n,
		.syms = (uintptr_t)m->names,
		.addrs = (uintptr_t)m->addresses,
		.cookies = (uintptr_t)m->cookies,
	};

	return call(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int sys_link_perf_event(int prog, int event, u64 cookie)
{
	NO_ATTR(attr);

	attr.link_create.prog_fd = (u32)prog;
	attr.link_create.target_fd = (u32)event;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = cookie;
	return call(BPF_LINK_CREATE, &attr, sizeof(attr));
}

/* Before Linux 5.18 only the older call makes these links, and has no cookie. */
int sys_link_tracing(int prog, u32 attach_type, u64 cookie)
{
	int r;
	NO_ATTR(attr);

	attr.link_create.prog_fd = (u32)prog;
	attr.link_create.attach_type = attach_type;
	attr.link_create.tracing.cookie = cookie;
	r = call(BPF_LINK_CREATE, &attr, sizeof(attr));
	return r == -EINVAL && !cookie ? sys_raw_tracepoint(prog, NULL, 0) : r;
}

int sys_link_iter(int prog, s32 pid)
{
	union bpf_iter_link_info info;
	NO_ATTR(attr);

	memset(&info, 0, sizeof(info));
	attr.link_create.prog_fd = (u32)prog;
	attr.link_create.attach_type = BPF_TRACE_ITER;
	if (pid > 0) {
		info.task.pid = (u32)pid;
		attr.link_create.iter_info = (uintptr_t)&info;
		attr.link_create.iter_info_len = sizeof(info);
	}
	return call(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int sys_link_to(int prog, int target, u32 attach_type)
{
	NO_ATTR(attr);

	attr.link_create.prog_fd = (u32)prog;
	attr.link_create.target_fd = (u32)target;
	attr.link_create.attach_type = attach_type;
	return call(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int sys_raw_tracepoint(int prog, const char *name, u64 cookie)
{
	struct attr_raw_tracepoint attr = {
		.name = (uintptr_t)name,
		.prog_fd = (u32)prog,
		.cookie = cookie,
	};
	size_t size = cookie ? sizeof(attr) : offsetof(struct attr_raw_tracepoint, cookie);

	return call(BPF_RAW_TRACEPOINT_OPEN, &attr, size);
}

int sys_iter_create(int link)
{
	NO_ATTR(attr);

	attr.iter_create.link_fd = (u32)link;
	return call(BPF_ITER_CREATE, &attr, sizeof(attr));
}

/* ---- any of them ---------------------------------------------------------------------------- */

int sys_info(int fd, void *info, u32 size)
{
	NO_ATTR(attr);

	attr.info.bpf_fd = (u32)fd;
	attr.info.info = (uintptr_t)info;
	attr.info.info_len = size;
	return call(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
}

int sys_pin(int fd, const char *path)
{
	NO_ATTR(attr);

	attr.pathname = (uintptr_t)path;
	attr.bpf_fd = (u32)fd;
	return call(BPF_OBJ_PIN, &attr, sizeof(attr));
}
