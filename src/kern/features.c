/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asks the running kernel what it can do. The idea: call it in a way that must fail, and read
 * from the errno whether it failed for the missing feature or only for the bad argument.
 * Never attaches anything.
 */
#include "kern/kern.h"

#include <errno.h>
#include <linux/version.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/caps.h"
#include "base/kernel.h"
#include "bpf/uapi.h"

/* "return 0" */
static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int load_nothing(enum bpf_prog_type type, u32 attach_type)
{
	return sys_prog_load(&(struct sys_prog){ .type = type,
	                                         .attach_type = attach_type,
	                                         .insns = nothing,
	                                         .n = ARRAY_SIZE(nothing) });
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
 * Before the machine's functions have trampolines programs are loaded, but not attached.
 */
static bool features_fentry(void)
{
	struct sys_prog p = { .type = BPF_PROG_TYPE_TRACING,
		              .attach_type = BPF_TRACE_FENTRY,
		              .btf_id = 1,
		              .insns = nothing,
		              .n = ARRAY_SIZE(nothing) };
	int prog;

	if (!features_btf() || !features_sure(arch.trampolines))
		return false;
	prog = sys_prog_load(&p);
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

/* 0 when the kernel takes the program, else -errno. */
static int try_load(const struct sys_prog *p)
{
	int prog = sys_prog_load(p);

	if (prog >= 0)
		close(prog);
	return MIN(prog, 0);
}

bool features_program(enum bpf_prog_type type, u32 iterator)
{
	struct sys_prog p = { .type = type, .insns = nothing, .n = ARRAY_SIZE(nothing) };

	if (type == BPF_PROG_TYPE_TRACING) {
		p.attach_type = BPF_TRACE_ITER;
		p.btf_id = iterator;
	}
	return try_load(&p) == 0;
}

/*
 * A call without arguments is refused for that (EACCES) where the function is known, and for the
 * function (EINVAL) where it is not; one that takes no arguments is accepted. What may sleep is for
 * programs that may.
 */
bool features_helper(enum bpf_func_id id, u32 iterator)
{
	const struct bpf_insn call[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = (s32)id },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct sys_prog ways[] = {
		{ .type = BPF_PROG_TYPE_KPROBE },
		{ .type = BPF_PROG_TYPE_KPROBE, .flags = BPF_F_SLEEPABLE },
		{ .type = BPF_PROG_TYPE_TRACING,
		  .attach_type = BPF_TRACE_ITER,
		  .btf_id = iterator },
	};

	for (u32 i = 0; i < ARRAY_SIZE(ways); i++) {
		int r;

		ways[i].insns = call;
		ways[i].n = ARRAY_SIZE(call);
		r = try_load(&ways[i]);
		if (r == 0 || r == -EACCES)
			return true;
	}
	return false;
}

static bool features_loop(void)
{
	return features_helper(BPF_FUNC_loop, 0);
}

static bool features_cookie(void)
{
	return features_helper(BPF_FUNC_get_attach_cookie, 0);
}

/* A clock of ours with that bit set. */
static bool features_inherit_thread(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
		                        .type = PERF_TYPE_SOFTWARE,
		                        .config = PERF_COUNT_SW_CPU_CLOCK,
		                        .disabled = 1,
		                        .inherit = 1,
		                        .inherit_thread = 1 };
	int event = attach_perf_open(&attr, 0, -1);

	if (event >= 0)
		close(event);
	return event != -EINVAL && event != -E2BIG;
}

static bool features_for_each(void)
{
	return features_helper(BPF_FUNC_for_each_map_elem, 0);
}

static bool features_func_ip(void)
{
	return features_helper(BPF_FUNC_get_func_ip, 0);
}

/* They came with bpf_loop(), and kprobes may not call them. */
static bool features_func_arg(void)
{
	return features_loop();
}

static bool features_percpu(void)
{
	return features_helper(BPF_FUNC_map_lookup_percpu_elem, 0);
}

static bool features_sleepable(void)
{
	return try_load(&(struct sys_prog){ .type = BPF_PROG_TYPE_KPROBE,
	                                    .flags = BPF_F_SLEEPABLE,
	                                    .insns = nothing,
	                                    .n = ARRAY_SIZE(nothing) }) == 0;
}

/* A word of the stack is exchanged. */
static bool features_atomics(void)
{
	static const struct bpf_insn exchange[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 10, .off = -8 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = 10,
		  .off = -8,
		  .imm = BPF_XCHG },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return try_load(&(struct sys_prog){ .type = BPF_PROG_TYPE_KPROBE,
	                                    .insns = exchange,
	                                    .n = ARRAY_SIZE(exchange) }) == 0;
}

bool features_sure(u32 version)
{
	return kernel_version() >= version;
}

void features_raise_memory(void)
{
	struct rlimit r = { RLIM_INFINITY, RLIM_INFINITY };

	if (!features_sure(KERNEL_VERSION(5, 11, 0)))
		setrlimit(RLIMIT_MEMLOCK, &r);
}

void features_probe(struct features *f, u32 wanted)
{
	static const struct {
		bool (*ask)(void);
		size_t at;
	} rows[] = {
#define F(id, name) { features_##name, offsetof(struct features, name) },
		FEATURES(F)
#undef F
	};
	/* Those need no setting of the kernel's: newer ones are not asked. */
	static const u32 since[FEATURE_ROWS] = {
		[FEATURE_ROW_ATOMICS] = KERNEL_VERSION(5, 12, 0),
		[FEATURE_ROW_COOKIE] = KERNEL_VERSION(5, 15, 0),
		[FEATURE_ROW_INHERIT_THREAD] = KERNEL_VERSION(5, 13, 0),
		[FEATURE_ROW_FOR_EACH] = KERNEL_VERSION(5, 13, 0),
		[FEATURE_ROW_FUNC_IP] = KERNEL_VERSION(5, 15, 0),
		[FEATURE_ROW_LOOP] = KERNEL_VERSION(5, 17, 0),
		[FEATURE_ROW_FUNC_ARG] = KERNEL_VERSION(5, 17, 0),
		[FEATURE_ROW_PERCPU] = KERNEL_VERSION(5, 19, 0),
		[FEATURE_ROW_SLEEPABLE] = KERNEL_VERSION(6, 0, 0),
	};

	features_raise_memory();
	for (u32 i = 0; i < FEATURE_ROWS; i++) {
		bool *has = (bool *)((char *)f + rows[i].at);

		if (1u << i & wanted & ~f->asked)
			*has = (since[i] && features_sure(since[i])) || rows[i].ask();
	}
	f->asked |= wanted;
}
