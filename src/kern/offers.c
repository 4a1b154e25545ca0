/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asks the kernel for one thing after the other: helpers, kinds of maps and programs, ways to
 * attach. A row each; libbpf knows how to ask for the first three, features.c for the last. Not
 * for decisions of the compiler or loader, which ask for what they need (features_probe).
 */
#include "kern/offers.h"

#include <bpf/libbpf.h>

#include "base/caps.h"
#include "bpf/uapi.h"
#include "kern/live.h"

static const struct {
	const char *name;
	enum bpf_func_id id;
} helpers[] = {
	{ "probe_read_kernel", BPF_FUNC_probe_read_kernel },
	{ "probe_read_user_str", BPF_FUNC_probe_read_user_str },
	{ "get_stack", BPF_FUNC_get_stack },
	{ "ringbuf_output", BPF_FUNC_ringbuf_output },
	{ "get_current_cgroup_id", BPF_FUNC_get_current_cgroup_id },
	{ "ktime_get_boot_ns", BPF_FUNC_ktime_get_boot_ns },
	{ "ktime_get_tai_ns", BPF_FUNC_ktime_get_tai_ns },
	{ "get_ns_current_pid_tgid", BPF_FUNC_get_ns_current_pid_tgid },
	{ "copy_from_user", BPF_FUNC_copy_from_user },
	{ "get_func_ip", BPF_FUNC_get_func_ip },
	{ "get_attach_cookie", BPF_FUNC_get_attach_cookie },
	{ "for_each_map_elem", BPF_FUNC_for_each_map_elem },
	{ "map_lookup_percpu_elem", BPF_FUNC_map_lookup_percpu_elem },
	{ "loop", BPF_FUNC_loop },
	{ "send_signal", BPF_FUNC_send_signal },
	{ "override_return", BPF_FUNC_override_return },
	{ "d_path", BPF_FUNC_d_path },
};

static const struct {
	const char *name;
	enum bpf_map_type type;
} maps[] = {
	{ "hash", BPF_MAP_TYPE_HASH },
	{ "array", BPF_MAP_TYPE_ARRAY },
	{ "percpu_hash", BPF_MAP_TYPE_PERCPU_HASH },
	{ "percpu_array", BPF_MAP_TYPE_PERCPU_ARRAY },
	{ "lru_hash", BPF_MAP_TYPE_LRU_HASH },
	{ "lru_percpu_hash", BPF_MAP_TYPE_LRU_PERCPU_HASH },
	{ "ringbuf", BPF_MAP_TYPE_RINGBUF },
};

static const struct {
	const char *name;
	enum bpf_prog_type type;
} programs[] = {
	{ "kprobe", BPF_PROG_TYPE_KPROBE },
	{ "tracepoint", BPF_PROG_TYPE_TRACEPOINT },
	{ "raw_tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT },
	{ "perf_event", BPF_PROG_TYPE_PERF_EVENT },
	{ "tracing", BPF_PROG_TYPE_TRACING },
};

/* A helper is there when programs of one of the kinds that may have it can call it. */
static bool has_helper(enum bpf_func_id id)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, id, NULL) == 1 ||
	       libbpf_probe_bpf_helper(BPF_PROG_TYPE_TRACING, id, NULL) == 1;
}

/* The kernel answers to those who may load programs. */
static enum offer answer(bool there)
{
	return caps_missing(CAPS_TRACING) ? OFFER_UNKNOWN : there ? OFFER_YES : OFFER_NO;
}

void offers_each(void (*cb)(void *ctx, const char *group, const char *name, enum offer offer),
                 void *ctx)
{
	struct features f = { 0 };

	libbpf_set_print(NULL);
	features_probe(&f, FEATURES_ALL);
	cb(ctx, "features", "btf", f.btf ? OFFER_YES : OFFER_NO);
	cb(ctx, "features", "kprobe", f.kprobe ? OFFER_YES : OFFER_NO);
	cb(ctx, "features", "kprobe_multi", answer(f.kprobe_multi));
	cb(ctx, "features", "kprobe_session", answer(f.kprobe_session));
	cb(ctx, "features", "fentry", answer(f.fentry));
	cb(ctx, "features", "uprobe_multi", answer(f.uprobe_multi));
	cb(ctx, "features", "rawtp_cookie", answer(f.rawtp_cookie));
	cb(ctx, "features", "uprobe_nop5", f.uprobe_nop5 ? OFFER_YES : OFFER_NO);
	for (u32 i = 0; i < ARRAY_SIZE(programs); i++)
		cb(ctx, "programs", programs[i].name,
		   answer(libbpf_probe_bpf_prog_type(programs[i].type, NULL) == 1));
	for (u32 i = 0; i < ARRAY_SIZE(maps); i++)
		cb(ctx, "maps", maps[i].name,
		   answer(libbpf_probe_bpf_map_type(maps[i].type, NULL) == 1));
	for (u32 i = 0; i < ARRAY_SIZE(helpers); i++)
		cb(ctx, "helpers", helpers[i].name, answer(has_helper(helpers[i].id)));
}
