/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asks the running kernel what it can do. The idea: call it in a way that must fail, and read
 * from the errno whether it failed for the missing feature or only for the bad argument.
 * Never attaches anything.
 */
#include "kern/kern.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/uapi.h"

/* "return 0" */
static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int load_nothing(enum bpf_prog_type type, u32 attach_type)
{
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = attach_type);

	return sys_prog_load(type, nothing, ARRAY_SIZE(nothing), &o);
}

/* "/" is no regular file: EBADF from kernels that got so far as to look. */
bool features_uprobe_multi(void)
{
	u64 offset = 1;
	struct sys_uprobe_multi m = { .path = "/", .offsets = &offset, .n = 1 };
	int prog = load_nothing(BPF_PROG_TYPE_KPROBE, MT_BPF_TRACE_UPROBE_MULTI);
	int r;

	if (prog < 0)
		return false;
	r = sys_link_uprobe_multi(prog, &m);
	if (r >= 0)
		close(r);
	close(prog);
	return r == -EBADF;
}

/* Without CONFIG_FPROBE the link is EOPNOTSUPP; with it an unknown function is not found. */
bool features_kprobe_multi(void)
{
	const char *symbol = "memtap: no such function";
	LIBBPF_OPTS(bpf_link_create_opts, o, .kprobe_multi.cnt = 1, .kprobe_multi.syms = &symbol);
	int prog = load_nothing(BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI);
	int r;

	if (prog < 0)
		return false;
	r = bpf_link_create(prog, 0, BPF_TRACE_KPROBE_MULTI, &o);
	if (r >= 0)
		close(r);
	close(prog);
	return r >= 0 || (r != -EOPNOTSUPP && r != -EINVAL);
}

bool features_kprobe(void)
{
	return sys_event_source("kprobe") > 0;
}

/*
 * A tracing program on BTF type 1, which is no function: a kernel that lets us load tracing
 * programs says EINVAL, one whose policy does not says EPERM before it looks.
 */
static bool features_fentry(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = BPF_TRACE_FENTRY,
	            .attach_btf_id = 1);
	int prog = sys_prog_load(BPF_PROG_TYPE_TRACING, nothing, ARRAY_SIZE(nothing), &o);

	if (prog >= 0)
		close(prog);
	return prog != -EPERM && prog != -EACCES;
}

/* A cookie for a tracepoint that does not exist: old kernels refuse the longer argument. */
bool features_rawtp_cookie(void)
{
	int prog = load_nothing(BPF_PROG_TYPE_RAW_TRACEPOINT, 0);
	int r;

	if (prog < 0)
		return false;
	r = sys_raw_tracepoint(prog, "memtap_none", 1);
	if (r >= 0)
		close(r);
	close(prog);
	return r == -ENOENT;
}

void features_probe(struct features *f)
{
	*f = (struct features){
		.btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0,
		.kprobe = features_kprobe(),
		.uprobe_multi = features_uprobe_multi(),
		.rawtp_cookie = features_rawtp_cookie(),
	};
	f->kprobe_multi = f->kprobe && features_kprobe_multi();
	f->fentry = f->btf && features_fentry();
}
