/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The few kernel calls that the packaged libbpf has no wrapper for, and numbers from /sys.
 * Programs and maps are made here too: libbpf loads two programs of its own before the first,
 * to learn whether to raise a limit and whether names are known, and the answer is yes on every
 * kernel since 5.11.
 *
 * bpf(2) takes a union whose size grows with the kernel; fields after those a kernel knows must
 * be zero. So a call that uses newer fields has its own struct here, laid out as in the
 * kernel's include/uapi/linux/bpf.h (union bpf_attr, link_create.uprobe_multi and
 * raw_tracepoint).
 */
#include "kern/kern.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/file.h"
#include "bpf/uapi.h"

#define LOAD_TRIES 5u

/* union bpf_attr, BPF_LINK_CREATE of a uprobe_multi link. */
struct attr_uprobe_multi {
	u32 prog_fd, target_fd, attach_type, flags;
	u64 path, offsets, ref_ctr_offsets, cookies;
	u32 cnt, multi_flags, pid, pad;
};

/* The same, kprobe_multi. */
struct attr_kprobe_multi {
	u32 prog_fd, target_fd, attach_type, flags;
	u32 multi_flags, cnt;
	u64 syms, addrs, cookies;
};

/* union bpf_attr, BPF_RAW_TRACEPOINT_OPEN; cookie since Linux 6.10. */
#define CPUS_MAX 12288u /* kernels are built for up to 8192 */
#define CPUS_FEW 128u   /* most machines have fewer */

struct attr_raw_tracepoint {
	u64 name;
	u32 prog_fd, pad;
	u64 cookie;
};

static int sys_bpf(enum bpf_cmd cmd, const void *attr, size_t size)
{
	long r = syscall(SYS_bpf, cmd, attr, size);

	return r < 0 ? -errno : (int)r;
}

int sys_prog_load(enum bpf_prog_type type, const struct bpf_insn *insns, u32 n,
                  const struct bpf_prog_load_opts *o)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.expected_attach_type = o->expected_attach_type;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = n;
	attr.license = (uintptr_t) "GPL";
	memcpy(attr.prog_name, "memtap", sizeof("memtap"));
	attr.prog_flags = o->prog_flags;
	attr.attach_btf_id = o->attach_btf_id;
	attr.attach_btf_obj_fd = o->attach_btf_obj_fd;
	attr.prog_btf_fd = o->prog_btf_fd;
	attr.func_info = (uintptr_t)o->func_info;
	attr.func_info_cnt = o->func_info_cnt;
	attr.func_info_rec_size = o->func_info_rec_size;
	attr.log_level = o->log_level;
	attr.log_buf = (uintptr_t)o->log_buf;
	attr.log_size = o->log_size;
	/* A signal may end the kernel's check early. */
	for (u32 i = 0; i < LOAD_TRIES; i++) {
		fd = sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
		if (fd != -EAGAIN)
			break;
	}
	return fd;
}

int sys_map_create(const struct umap *m, const char *name, int inner)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = m->bpf_type;
	attr.key_size = m->key_size;
	attr.value_size = m->value_size;
	attr.max_entries = m->max_entries;
	attr.map_flags = m->flags;
	attr.inner_map_fd = inner < 0 ? 0 : (u32)inner;
	strncpy(attr.map_name, name, sizeof(attr.map_name) - 1);
	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

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

	return sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
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

	return sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int sys_raw_tracepoint(int prog, const char *name, u64 cookie)
{
	struct attr_raw_tracepoint attr = {
		.name = (uintptr_t)name,
		.prog_fd = (u32)prog,
		.cookie = cookie,
	};
	size_t size = cookie ? sizeof(attr) : offsetof(struct attr_raw_tracepoint, cookie);

	return sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, size);
}

int sys_event_source(const char *name)
{
	char path[96];
	struct buf b = { 0 };
	struct err ignored;
	int type = 0;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	if (file_read(path, &b, 64, &ignored))
		type = atoi(buf_text(&b));
	buf_free(&b);
	return type;
}

/* Reads a list as "0-3,8,10-11"; see Documentation/admin-guide/cputopology.rst. */
u32 *sys_online_cpus(struct arena *a, u32 *n)
{
	VEC(u32) cpus = { 0 };
	struct buf b = { 0 };
	struct err ignored;
	const char *p;

	file_read("/sys/devices/system/cpu/online", &b, 65536, &ignored);
	p = buf_text(&b);
	while (*p >= '0' && *p <= '9') {
		char *end;
		u32 first = (u32)strtoul(p, &end, 10), last = first;

		if (*end == '-')
			last = (u32)strtoul(end + 1, &end, 10);
		for (u32 cpu = first; cpu <= last && cpu < 65536; cpu++)
			vec_add(a, &cpus, cpu);
		p = *end == ',' ? end + 1 : end;
	}
	buf_free(&b);
	*n = cpus.n;
	return cpus.v;
}

/* Leading words of `words` that the kernel wrote when the element was looked up. */
static u32 cells_written(int map, u64 *words, u32 marked)
{
	union bpf_attr attr = { .map_fd = (u32)map };
	u32 key = 0, n = 0;

	memset(words, 0xff, marked * sizeof(*words));
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)words;
	if (sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) < 0)
		return 0;
	while (n < marked && words[n] == 0)
		n++;
	return n;
}

/* A new element is zeros, in each of its cells. /sys is not asked: it may be missing, or another
 * one may be mounted there, and the kernel writes as many cells as there are. */
u32 sys_possible_cpus(struct err *e)
{
	static const struct umap one = { .bpf_type = BPF_MAP_TYPE_PERCPU_ARRAY,
		                         .key_size = sizeof(u32),
		                         .value_size = sizeof(u64),
		                         .max_entries = 1 };
	int map = sys_map_create(&one, "memtap_cpus", -1);
	u64 *words = map < 0 ? NULL : malloc(CPUS_MAX * sizeof(*words));
	u32 n = 0;

	if (map < 0) {
		sys_refused(e, -map, "the kernel does not let this user make BPF maps");
		return 0;
	}
	if (!words)
		abort(); /* out of memory, see base/arena.h */
	/* Pages that nobody touches cost nothing. */
	n = cells_written(map, words, CPUS_FEW);
	if (n == CPUS_FEW)
		n = cells_written(map, words, CPUS_MAX);
	free(words);
	close(map);
	if (n && n < CPUS_MAX)
		return n;
	err_set(e, "the kernel does not say how many processors its maps are for");
	return 0;
}

bool sys_refused(struct err *e, int code, const char *what)
{
	return caps_refused(e, code, CAPS_TRACING, what);
}

/* Above 2, a value that distributions have added, CAP_PERFMON does not help. */
static int paranoid(void)
{
	struct buf b = { 0 };
	struct err ignored;
	int level = 0;

	if (file_read("/proc/sys/kernel/perf_event_paranoid", &b, 64, &ignored))
		level = atoi(buf_text(&b));
	buf_free(&b);
	return level;
}

bool sys_refused_event(struct err *e, int code, const char *what)
{
	int level = paranoid();

	if (level <= 2 || caps_missing(CAPS_TRACING) || !caps_missing(CAPS_ADMIN))
		return sys_refused(e, code, what);
	err_sys(e, code, "%s: kernel.perf_event_paranoid is %d, and CAP_SYS_ADMIN is missing", what,
	        level);
	return err_hint(e, "with kernel.perf_event_paranoid=2 (sysctl) CAP_PERFMON is enough");
}
