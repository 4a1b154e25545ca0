/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The helpers, one small function each, in a table by number. They return what r0 becomes;
 * memory arguments are checked like the verifier's. What each does is from the kernel's
 * include/uapi/linux/bpf.h.
 */
#include <errno.h>
#include <string.h>

#include "bpf/helper.h"
#include "interp/check.h"
#include "interp/machine.h"

typedef u64 (*helper_fn)(struct interp *in, const u64 *a);

#define LOOP_MAX    (1u << 23) /* rounds of bpf_loop */
#define ERRNO(code) ((u64) - (s64)(code))

/* ---- maps ----------------------------------------------------------------------------------- */

static u64 lookup(struct interp *in, struct map_state *m, u64 key_addr)
{
	const u8 *key;
	s64 slot;

	if (!m)
		return 0;
	key = memory_read(in, key_addr, m->def->key_size);
	slot = key ? map_slot(m, key) : -1;
	return slot < 0 ? 0 : map_value_addr(in, m, (u32)slot);
}

static u64 lookup_generation(struct interp *in, const u64 *a)
{
	const u8 *key = memory_read(in, a[1], 4);

	return key && !*key ? a[0] - MAP_BASE + ONE_BASE : 0;
}

static u64 map_lookup_elem(struct interp *in, const u64 *a)
{
	if (map_is_pair(in, a[0]))
		return lookup_generation(in, a);
	return lookup(in, map_of(in, a[0]), a[1]);
}

static u64 map_lookup_percpu_elem(struct interp *in, const u64 *a)
{
	return a[2] == in->env.cpu ? lookup(in, map_of(in, a[0]), a[1]) : 0;
}

static u64 map_update_elem(struct interp *in, const u64 *a)
{
	struct map_state *m = map_of(in, a[0]);
	const u8 *key, *value;

	if (!m)
		return 0;
	key = memory_read(in, a[1], m->def->key_size);
	value = memory_read(in, a[2], m->def->value_size);
	if (in->env.refuse && m->def->role == UMAP_USER && m->def->key)
		return (u64)-in->env.refuse;
	return key && value ? (u64)map_update(m, key, value, a[3]) : 0;
}

static u64 map_delete_elem(struct interp *in, const u64 *a)
{
	struct map_state *m = map_of(in, a[0]);
	const u8 *key = m ? memory_read(in, a[1], m->def->key_size) : NULL;

	return key ? (u64)map_delete(m, key) : 0;
}

/* Elements that are inserted meanwhile may or may not be seen, as in the kernel. */
static u64 for_each_map_elem(struct interp *in, const u64 *a)
{
	struct map_state *m = map_of(in, a[0]);
	u64 calls = 0;

	for (u32 i = 0; m && i < m->def->max_entries && !in->failed; i++) {
		u64 args[4] = { a[0], KEY_BASE + (u64)(m - in->maps) * KEY_STEP, 0, a[2] };

		if (!m->used[i])
			continue;
		args[1] += (u64)i * m->def->key_size;
		args[2] = map_value_addr(in, m, i);
		calls++;
		if (machine_callback(in, a[1], args))
			break;
	}
	return calls;
}

static u64 loop(struct interp *in, const u64 *a)
{
	u64 i = 0;

	if (a[0] > LOOP_MAX)
		return ERRNO(E2BIG);
	while (i < a[0] && !in->failed) {
		u64 args[4] = { i++, a[2], 0, 0 };

		if (machine_callback(in, a[1], args))
			break;
	}
	return i;
}

/* ---- reading memory ------------------------------------------------------------------------- */

static u64 read_from(struct interp *in, const u64 *a, bool allowed)
{
	u8 *dst = memory_write(in, a[0], a[1]);
	const u8 *src = allowed ? memory_peek(in, a[2], a[1]) : NULL;

	if (!dst)
		return 0;
	if (!src) {
		memset(dst, 0, a[1]);
		return ERRNO(EFAULT);
	}
	memmove(dst, src, a[1]);
	return 0;
}

/* Copies up to and including the NUL; returns the bytes copied. What follows in dst stays. */
static u64 read_string_from(struct interp *in, const u64 *a, bool allowed)
{
	u8 *dst = memory_write(in, a[0], a[1]);

	if (!dst || !a[1])
		return 0;
	for (u64 i = 0; i < a[1]; i++) {
		const u8 *src = allowed ? memory_peek(in, a[2] + i, 1) : NULL;

		if (!src) {
			memset(dst, 0, a[1]);
			return ERRNO(EFAULT);
		}
		dst[i] = i + 1 < a[1] ? *src : 0;
		if (!dst[i])
			return i + 1;
	}
	return a[1];
}

static bool is_user(u64 addr)
{
	return addr < USER_LIMIT;
}

static u64 probe_read(struct interp *in, const u64 *a)
{
	return read_from(in, a, true);
}

static u64 probe_read_user(struct interp *in, const u64 *a)
{
	return read_from(in, a, is_user(a[2]));
}

static u64 probe_read_kernel(struct interp *in, const u64 *a)
{
	return read_from(in, a, !is_user(a[2]));
}

static u64 probe_read_str(struct interp *in, const u64 *a)
{
	return read_string_from(in, a, true);
}

static u64 probe_read_user_str(struct interp *in, const u64 *a)
{
	return read_string_from(in, a, is_user(a[2]));
}

static u64 probe_read_kernel_str(struct interp *in, const u64 *a)
{
	return read_string_from(in, a, !is_user(a[2]));
}

static u64 strncmp_(struct interp *in, const u64 *a)
{
	const u8 *s1 = memory_read(in, a[0], a[1]);

	for (u64 i = 0; s1 && i < a[1]; i++) {
		const u8 *s2 = memory_peek(in, a[2] + i, 1);

		if (!s2)
			return (u64)(uintptr_t)machine_fail(in, "the string has no end");
		if (s1[i] != *s2 || !s1[i])
			return (u64)((s64)s1[i] - *s2);
	}
	return 0;
}

/* ---- the machine ---------------------------------------------------------------------------- */

static u64 ktime(struct interp *in, const u64 *a)
{
	(void)a;
	in->env.boot_ns += in->env.tick_ns;
	return in->env.boot_ns;
}

static u64 jiffies64(struct interp *in, const u64 *a)
{
	(void)a;
	return in->env.jiffies;
}

static u64 get_prandom_u32(struct interp *in, const u64 *a)
{
	(void)a;
	in->env.random = in->env.random * 6364136223846793005ull + 1442695040888963407ull;
	return in->env.random >> 32;
}

static u64 get_smp_processor_id(struct interp *in, const u64 *a)
{
	(void)a;
	return in->env.cpu;
}

static u64 get_numa_node_id(struct interp *in, const u64 *a)
{
	(void)a;
	return in->env.node;
}

static u64 get_current_pid_tgid(struct interp *in, const u64 *a)
{
	(void)a;
	return in->env.pid_tgid;
}

/* struct bpf_pidns_info { u32 pid, tgid }; any name space is ours. */
static u64 get_ns_current_pid_tgid(struct interp *in, const u64 *a)
{
	u32 info[2] = { (u32)in->env.pid_tgid, (u32)(in->env.pid_tgid >> 32) };
	u8 *dst = memory_write(in, a[2], a[3]);

	if (!dst || a[3] != sizeof(info))
		return ERRNO(EINVAL);
	memcpy(dst, info, sizeof(info));
	return 0;
}

static u64 get_current_uid_gid(struct interp *in, const u64 *a)
{
	(void)a;
	return in->env.uid_gid;
}

static u64 get_current_comm(struct interp *in, const u64 *a)
{
	u8 *dst = memory_write(in, a[0], a[1]);

	if (!dst || !a[1])
		return ERRNO(EINVAL);
	memset(dst, 0, a[1]);
	memcpy(dst, in->env.comm, MIN(strnlen(in->env.comm, 15), a[1] - 1));
	return 0;
}

static u64 get_current_cgroup_id(struct interp *in, const u64 *a)
{
	(void)a;
	return in->env.cgroup;
}

static u64 get_current_task(struct interp *in, const u64 *a)
{
	(void)a;
	return in->env.task;
}

/* ---- the event ------------------------------------------------------------------------------ */

static u64 get_attach_cookie(struct interp *in, const u64 *a)
{
	(void)a;
	return in->env.cookie;
}

static u64 get_func_ip(struct interp *in, const u64 *a)
{
	(void)a;
	return in->env.func_ip;
}

static u64 store_word(struct interp *in, u64 addr, u64 value)
{
	u8 *dst = memory_write(in, addr, 8);

	if (dst)
		memcpy(dst, &value, 8);
	return 0;
}

static u64 get_func_arg(struct interp *in, const u64 *a)
{
	return a[1] < in->env.n_args ? store_word(in, a[2], in->env.args[a[1]]) : ERRNO(EINVAL);
}

static u64 get_func_ret(struct interp *in, const u64 *a)
{
	return store_word(in, a[1], in->env.ret);
}

static u64 get_func_arg_cnt(struct interp *in, const u64 *a)
{
	(void)a;
	return in->env.n_args;
}

static u64 get_stack(struct interp *in, const u64 *a)
{
	bool user = a[3] & BPF_F_USER_STACK;
	const u64 *frames = user ? in->env.user_frames : in->env.kernel_frames;
	u32 n = user ? in->env.n_user_frames : in->env.n_kernel_frames;
	u8 *dst = memory_write(in, a[1], a[2]);

	if (!dst)
		return 0;
	memset(dst, 0, a[2]);
	if (!frames || a[2] % 8)
		return ERRNO(frames ? EINVAL : EFAULT);
	n = (u32)MIN(n, a[2] / 8);
	memcpy(dst, frames, n * 8);
	return n * 8;
}

/* One value as the kernel's bpf_trace_printk() takes it: 32 bits but for %l, %ll and %p; of %s the
 * address. */
static void trace_value(struct interp *in, const char *directive, size_t n, u64 value)
{
	char end = directive[n - 1];
	const char *text;
	bool wide = end == 'p' || memchr(directive, 'l', n);

	if (end == 'd' || end == 'i')
		buf_printf(&in->trace, "%lld", wide ? (long long)value : (long long)(s32)value);
	else if (end == 'u')
		buf_printf(&in->trace, "%llu", (unsigned long long)(wide ? value : (u32)value));
	else if (end == 'x' || end == 'p')
		buf_printf(&in->trace, "%llx", (unsigned long long)(wide ? value : (u32)value));
	else if (end == 's' && (text = (const char *)memory_read(in, value, 1)))
		buf_puts(&in->trace, text);
	else
		machine_fail(in, "the kernel's trace has no directive %.*s", (int)n, directive);
}

static u64 trace_printk(struct interp *in, const u64 *a)
{
	const char *text = (const char *)memory_read(in, a[0], a[1]);
	u32 next = 2;

	if (!text || text[a[1] - 1] != '\0') {
		machine_fail(in, "the format does not end with a NUL");
		return 0;
	}
	while (*text) {
		size_t n = strcspn(text, "%");

		buf_add(&in->trace, text, n);
		text += n;
		if (!*text)
			break;
		if (text[1] == '%') {
			buf_putc(&in->trace, '%');
			text += 2;
			continue;
		}
		n = 1 + strspn(text + 1, "l0123456789") + 1;
		if (next >= 5 || !(in->written & 2u << next))
			machine_fail(in, "%.*s has no value", (int)n, text);
		else
			trace_value(in, text, n, a[next++]);
		text += n;
	}
	return a[1];
}

static u64 send_signal(struct interp *in, const u64 *a)
{
	(void)in;
	return a[0] < 64 ? 0 : ERRNO(EINVAL);
}

/* ---- ring buffer ---------------------------------------------------------------------------- */

/* Bytes a record takes in the ring: header and rounding as in the kernel. */
static u64 ring_cost(u64 size)
{
	return ROUND_UP(size + 8, 8ull);
}

static bool is_ring(struct interp *in, u64 handle)
{
	struct map_state *m = map_of(in, handle);

	if (m && m->def->bpf_type != BPF_MAP_TYPE_RINGBUF)
		machine_fail(in, "map %s is no ring buffer", m->def->name);
	return m && m->def->bpf_type == BPF_MAP_TYPE_RINGBUF;
}

static u64 ringbuf_reserve(struct interp *in, const u64 *a)
{
	struct ring_slot slot = { .size = (u32)a[1], .state = SLOT_RESERVED };
	u64 room = in->env.ring_bytes;

	if (!is_ring(in, a[0]) || a[1] >= RING_STEP)
		return 0;
	if (room && in->ring_used + ring_cost(a[1]) > room)
		return 0;
	in->ring_used += ring_cost(a[1]);
	slot.bytes = arena_alloc(&in->arena, a[1]);
	memset(slot.bytes, 0xa5, a[1]);
	vec_add(&in->arena, &in->ring, slot);
	return RING_BASE + (in->ring.n - 1) * RING_STEP;
}

static u64 ring_close(struct interp *in, u64 addr, u32 state)
{
	u64 i = (addr - RING_BASE) / RING_STEP;

	if (addr < RING_BASE || addr % RING_STEP || i >= in->ring.n ||
	    in->ring.v[i].state != SLOT_RESERVED)
		machine_fail(in, "0x%llx is no reserved record", (unsigned long long)addr);
	else
		in->ring.v[i].state = state;
	return 0;
}

static u64 ringbuf_submit(struct interp *in, const u64 *a)
{
	return ring_close(in, a[0], SLOT_SUBMITTED);
}

static u64 ringbuf_discard(struct interp *in, const u64 *a)
{
	return ring_close(in, a[0], SLOT_DISCARDED);
}

static u64 ringbuf_output(struct interp *in, const u64 *a)
{
	const u8 *bytes = memory_read(in, a[1], a[2]);
	u64 addr;

	if (!bytes)
		return 0;
	addr = ringbuf_reserve(in, (u64[]){ a[0], a[2] });
	if (!addr)
		return ERRNO(EAGAIN);
	memcpy(in->ring.v[in->ring.n - 1].bytes, bytes, a[2]);
	return ring_close(in, addr, SLOT_SUBMITTED);
}

static u64 ringbuf_query(struct interp *in, const u64 *a)
{
	return is_ring(in, a[0]) && a[1] == BPF_RB_AVAIL_DATA ? in->ring_used : 0;
}

/* ---- the table ------------------------------------------------------------------------------ */

static const helper_fn helpers[] = {
	[BPF_FUNC_map_lookup_elem] = map_lookup_elem,
	[BPF_FUNC_map_lookup_percpu_elem] = map_lookup_percpu_elem,
	[BPF_FUNC_map_update_elem] = map_update_elem,
	[BPF_FUNC_map_delete_elem] = map_delete_elem,
	[BPF_FUNC_for_each_map_elem] = for_each_map_elem,
	[BPF_FUNC_loop] = loop,
	[BPF_FUNC_probe_read] = probe_read,
	[BPF_FUNC_probe_read_user] = probe_read_user,
	[BPF_FUNC_probe_read_kernel] = probe_read_kernel,
	[BPF_FUNC_probe_read_str] = probe_read_str,
	[BPF_FUNC_probe_read_user_str] = probe_read_user_str,
	[BPF_FUNC_probe_read_kernel_str] = probe_read_kernel_str,
	[BPF_FUNC_strncmp] = strncmp_,
	[BPF_FUNC_ktime_get_ns] = ktime,
	[BPF_FUNC_ktime_get_boot_ns] = ktime,
	[BPF_FUNC_ktime_get_tai_ns] = ktime,
	[BPF_FUNC_jiffies64] = jiffies64,
	[BPF_FUNC_get_prandom_u32] = get_prandom_u32,
	[BPF_FUNC_get_smp_processor_id] = get_smp_processor_id,
	[BPF_FUNC_get_numa_node_id] = get_numa_node_id,
	[BPF_FUNC_get_current_pid_tgid] = get_current_pid_tgid,
	[BPF_FUNC_get_ns_current_pid_tgid] = get_ns_current_pid_tgid,
	[BPF_FUNC_get_current_uid_gid] = get_current_uid_gid,
	[BPF_FUNC_get_current_comm] = get_current_comm,
	[BPF_FUNC_get_current_cgroup_id] = get_current_cgroup_id,
	[BPF_FUNC_get_current_task] = get_current_task,
	[BPF_FUNC_get_current_task_btf] = get_current_task,
	[BPF_FUNC_get_attach_cookie] = get_attach_cookie,
	[BPF_FUNC_get_func_ip] = get_func_ip,
	[BPF_FUNC_get_func_arg] = get_func_arg,
	[BPF_FUNC_get_func_ret] = get_func_ret,
	[BPF_FUNC_get_func_arg_cnt] = get_func_arg_cnt,
	[BPF_FUNC_get_stack] = get_stack,
	[BPF_FUNC_trace_printk] = trace_printk,
	[BPF_FUNC_send_signal] = send_signal,
	[BPF_FUNC_send_signal_thread] = send_signal,
	[BPF_FUNC_ringbuf_reserve] = ringbuf_reserve,
	[BPF_FUNC_ringbuf_submit] = ringbuf_submit,
	[BPF_FUNC_ringbuf_discard] = ringbuf_discard,
	[BPF_FUNC_ringbuf_output] = ringbuf_output,
	[BPF_FUNC_ringbuf_query] = ringbuf_query,
};

void helper_call(struct interp *in, u32 id)
{
	const struct helper *shape = helper_get(id);
	u64 args[5];

	if (id >= ARRAY_SIZE(helpers) || !helpers[id]) {
		machine_fail(in, "helper %u is not known to the interpreter", id);
		return;
	}
	for (u32 i = 0; i < MIN(shape->n_args, 5); i++)
		if (!(in->written & 2u << i))
			machine_fail(in, "argument r%u is not set", i + 1);
	memcpy(args, in->regs + 1, sizeof(args));
	in->regs[0] = in->failed ? 0 : helpers[id](in, args);
	in->written &= (u16)~0x3f;
	if (!check_gives_nothing(id))
		in->written |= 1;
}
