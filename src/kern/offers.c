/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asks the kernel for one thing after the other: helpers, kinds of maps and programs, ways to
 * attach. A row each; features.c knows how to ask. Not for decisions of the compiler or loader,
 * which ask for what they need (features_probe).
 */
#include "kern/offers.h"

#include <unistd.h>

#include "arch/arch.h"
#include "base/caps.h"
#include "bpf/uapi.h"
#include "kern/kern.h"

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

/* Elements of 8 bytes; of a ring, which has none, a page. */
static bool has_map(enum bpf_map_type type)
{
	bool is_ring = type == BPF_MAP_TYPE_RINGBUF;
	struct umap m = { .bpf_type = type,
		          .key_size = is_ring ? 0 : 4,
		          .value_size = is_ring ? 0 : 8,
		          .max_entries = is_ring ? arch_page() : 1 };
	int fd = sys_map_create(&m, "memtap", -1);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The kernel answers to those who may load programs. */
static enum offer answer(bool there)
{
	return caps_missing(CAPS_TRACING) ? OFFER_UNKNOWN : there ? OFFER_YES : OFFER_NO;
}

void offers_each(u32 iterator, offers_fn *cb, void *ctx)
{
	/* Files say whether these are there, to everybody. */
	const u32 open = FEATURE_BTF | FEATURE_KPROBE | FEATURE_UPROBE_NOP5;
	struct features f = { 0 };

	features_probe(&f, FEATURES_ALL);
#define F(id, name)                                                                                \
	cb(ctx, "features", #name,                                                                 \
	   !(FEATURE_##id & open) ? answer(f.name)                                                 \
	   : f.name               ? OFFER_YES                                                      \
	                          : OFFER_NO);
	FEATURES(F)
#undef F
	for (u32 i = 0; i < ARRAY_SIZE(programs); i++)
		cb(ctx, "programs", programs[i].name,
		   answer(features_program(programs[i].type, iterator)));
	for (u32 i = 0; i < ARRAY_SIZE(maps); i++)
		cb(ctx, "maps", maps[i].name, answer(has_map(maps[i].type)));
	for (u32 i = 0; i < ARRAY_SIZE(helpers); i++)
		cb(ctx, "helpers", helpers[i].name,
		   answer(features_helper(helpers[i].id, iterator)));
}
