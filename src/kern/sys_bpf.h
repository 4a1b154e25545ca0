/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bpf(2): a function for each command that memtap uses, and the ways to link a program. All return
 * -errno on failure and never print; what is returned otherwise is a new descriptor (closed when
 * another program is run, as the kernel makes them) or 0, unless a comment says something else.
 */
#ifndef KERN_SYS_BPF_H
#define KERN_SYS_BPF_H

#include "bpf/uapi.h"
#include "unit/unit.h"

/* ---- programs ---- */
struct sys_prog {
	enum bpf_prog_type type;
	u32 attach_type;
	const struct bpf_insn *insns;
	u32 n;
	u32 flags;   /* BPF_F_SLEEPABLE */
	u32 btf_id;  /* of the function that it is for, 0 none */
	int owner;   /* whose btf_id is: a descriptor of types or of a program; 0 the kernel */
	int types;   /* a descriptor of its own types, for funcs */
	u32 n_funcs; /* functions of its own, the whole program included */
	const struct bpf_func_info *funcs;
	char *log; /* gets what the verifier logs; NULL: it logs nothing */
	u32 log_size;
	bool reasons; /* of a refusal alone, without the instructions that it walked */
};

/* Again when a signal ended the kernel's check early (EAGAIN), a few times. */
int sys_prog_load(const struct sys_prog *p);
/* Runs it once without a context. *result is what it returned. */
int sys_prog_run(int prog, u32 *result);
/* The lowest number above *id; -ENOENT: there is no more. */
int sys_prog_next(u32 *id);
int sys_prog_open(u32 id);

/* ---- types ---- */
int sys_btf_load(const void *types, u32 size);
int sys_btf_next(u32 *id);
int sys_btf_open(u32 id);

/* ---- maps ---- */
/* inner: a map like those that a map of maps holds, else -1. */
int sys_map_create(const struct umap *m, const char *name, int inner);
int sys_map_lookup(int map, const void *key, void *value);
int sys_map_update(int map, const void *key, const void *value, u64 flags);
int sys_map_delete(int map, const void *key);
/* From now on nobody writes to it by bpf(2). */
int sys_map_freeze(int map);
struct sys_batch {
	const void *from; /* where `to` pointed at the last call; NULL: the first element */
	void *to;         /* gets where the next batch starts */
	void *keys, *values;
	u32 n; /* elements there is room for; then elements that there are */
};
/* Reads elements, and removes them. -ENOENT: these are the last; -ENOSPC: no room for the next. */
int sys_map_batch(int map, bool removes, struct sys_batch *b);

/* ---- links ---- */
struct sys_uprobe_multi {
	const char *path;
	const u64 *offsets, *ref_ctrs, *cookies; /* ref_ctrs may be NULL */
	u32 n;
	bool is_return;
	s32 pid;
};
int sys_link_uprobe_multi(int prog, const struct sys_uprobe_multi *m);
/* Functions of the kernel, by names or by addresses: the other is NULL. */
struct sys_kprobe_multi {
	u32 attach_type; /* that the program was loaded for */
	const char *const *names;
	const u64 *addresses, *cookies; /* cookies may be NULL */
	u32 n;
	bool is_return;
};
int sys_link_kprobe_multi(int prog, const struct sys_kprobe_multi *m);
int sys_link_perf_event(int prog, int event, u64 cookie);
/* fentry, fexit. */
int sys_link_tracing(int prog, u32 attach_type, u64 cookie);
/* pid 0: of all processes. */
int sys_link_iter(int prog, s32 pid);
/* To what `target` is open on: a control group. */
int sys_link_to(int prog, int target, u32 attach_type);
/* name NULL for what the program was loaded for; cookie 0 for none. */
int sys_raw_tracepoint(int prog, const char *name, u64 cookie);
/* A file of the iterator: reading it runs the program. */
int sys_iter_create(int link);

/* ---- any of them ---- */
/* info: the struct bpf_prog_info, bpf_map_info, ... of the descriptor's kind. */
int sys_info(int fd, void *info, u32 size);
/* path: in a file system of type bpf. */
int sys_pin(int fd, const char *path);

#endif
