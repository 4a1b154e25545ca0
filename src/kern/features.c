/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asks the running kernel what it can do. The idea: call it in a way that must fail, and read
 * from the errno whether it failed for the missing feature or only for the bad argument.
 * Never attaches anything.
 */
#include "kern/kern.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/caps.h"
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
static bool features_uprobe_multi(void)
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

static bool features_kprobe(void)
{
	return sys_event_source("kprobe") > 0;
}

/*
 * One function, whose address lies at an address that nobody has: EFAULT from kernels that got so
 * far as to look. Without CONFIG_FPROBE it is EOPNOTSUPP, EINVAL where the type is not known.
 */
static bool links_kprobes(u32 attach_type)
{
	struct sys_kprobe_multi m = { .attach_type = attach_type,
		                      .addresses = (const u64 *)sizeof(u64),
		                      .n = 1 };
	int prog, r;

	if (!features_kprobe())
		return false;
	prog = load_nothing(BPF_PROG_TYPE_KPROBE, attach_type);
	if (prog < 0)
		return false;
	r = sys_link_kprobe_multi(prog, &m);
	if (r >= 0)
		close(r);
	close(prog);
	return r == -EFAULT;
}

static bool features_kprobe_multi(void)
{
	return links_kprobes(BPF_TRACE_KPROBE_MULTI);
}

static bool features_kprobe_session(void)
{
	return links_kprobes(MT_BPF_TRACE_KPROBE_SESSION);
}

static bool features_btf(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) == 0;
}

/*
 * A tracing program on BTF type 1, which is no function: a kernel that lets us load tracing
 * programs says EINVAL, one whose policy does not says EPERM before it looks. To a user without the
 * right it says so too: then it is taken to be there, and the loader will name what is missing.
 */
static bool features_fentry(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = BPF_TRACE_FENTRY,
	            .attach_btf_id = 1);
	int prog;

	if (!features_btf())
		return false;
	prog = sys_prog_load(BPF_PROG_TYPE_TRACING, nothing, ARRAY_SIZE(nothing), &o);
	if (prog >= 0)
		close(prog);
	return (prog != -EPERM && prog != -EACCES) || caps_missing(CAPS_TRACING);
}

/* A cookie for a tracepoint that does not exist: old kernels refuse the longer argument. */
static bool features_rawtp_cookie(void)
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

/*
 * The system call that probes on 5-byte nops make; called from anywhere but the kernel's own
 * trampoline it does nothing and says ENXIO.
 */
static bool features_uprobe_nop5(void)
{
	return arch.sys_uprobe && syscall((long)arch.sys_uprobe) < 0 && errno == ENXIO;
}

/*
 * A call without arguments is refused for that (EACCES) where the function is known, and for the
 * function (EINVAL) where it is not.
 */
static bool features_loop(void)
{
	static const struct bpf_insn call[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_loop },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o);
	int prog = sys_prog_load(BPF_PROG_TYPE_KPROBE, call, ARRAY_SIZE(call), &o);

	if (prog >= 0)
		close(prog);
	return prog == -EACCES;
}

void features_probe(struct features *f, u32 wanted)
{
	static const struct {
		u32 feature;
		size_t at;
		bool (*ask)(void);
	} rows[] = {
		{ FEATURE_BTF, offsetof(struct features, btf), features_btf },
		{ FEATURE_KPROBE, offsetof(struct features, kprobe), features_kprobe },
		{ FEATURE_KPROBE_MULTI, offsetof(struct features, kprobe_multi),
		  features_kprobe_multi },
		{ FEATURE_KPROBE_SESSION, offsetof(struct features, kprobe_session),
		  features_kprobe_session },
		{ FEATURE_FENTRY, offsetof(struct features, fentry), features_fentry },
		{ FEATURE_UPROBE_MULTI, offsetof(struct features, uprobe_multi),
		  features_uprobe_multi },
		{ FEATURE_RAWTP_COOKIE, offsetof(struct features, rawtp_cookie),
		  features_rawtp_cookie },
		{ FEATURE_LOOP, offsetof(struct features, loop), features_loop },
		{ FEATURE_UPROBE_NOP5, offsetof(struct features, uprobe_nop5),
		  features_uprobe_nop5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].feature & wanted & ~f->asked)
			*(bool *)((char *)f + rows[i].at) = rows[i].ask();
	f->asked |= wanted;
}
