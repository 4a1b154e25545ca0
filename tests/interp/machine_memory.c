/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses to bytes. The upper bits of an address say which object it points into; the rest is
 * an offset that must fit the object.
 */
#include <assert.h>
#include <string.h>

#include "interp/machine.h"

static const u8 *within(const u8 *bytes, u64 size, u64 off, u64 n)
{
	return off <= size && n <= size - off ? bytes + off : NULL;
}

static const u8 *value_bytes(const struct interp *in, u64 addr, u64 n)
{
	u64 map = (addr - VALUE_BASE) / VALUE_STEP, off = (addr - VALUE_BASE) % VALUE_STEP;
	const struct map_state *m;
	u64 slot;

	if (map >= in->u->maps.n)
		return NULL;
	m = &in->maps[map];
	if (!m->values)
		return NULL;
	slot = off / m->stride;
	if (slot >= m->def->max_entries)
		return NULL;
	return within(map_value_at(m, (u32)slot), m->def->value_size, off % m->stride, n);
}

static const u8 *key_bytes(const struct interp *in, u64 addr, u64 n)
{
	u64 map = (addr - KEY_BASE) / KEY_STEP;
	const struct map_state *m = &in->maps[map];

	if (map >= in->u->maps.n || !m->keys)
		return NULL;
	return within(m->keys, (u64)m->def->max_entries * m->def->key_size,
	              (addr - KEY_BASE) % KEY_STEP, n);
}

static const u8 *ring_bytes(const struct interp *in, u64 addr, u64 n)
{
	u64 i = (addr - RING_BASE) / RING_STEP;

	if (i >= in->ring.n || in->ring.v[i].state != SLOT_RESERVED)
		return NULL;
	return within(in->ring.v[i].bytes, in->ring.v[i].size, (addr - RING_BASE) % RING_STEP, n);
}

static bool on_stack(const struct interp *in, u64 addr, u64 n)
{
	u64 low = in->regs[10] - STACK_BYTES; /* what is below belongs to nobody yet */

	return addr >= low && addr <= STACK_BASE + STACKS_BYTES &&
	       n <= STACK_BASE + STACKS_BYTES - addr;
}

/* The program's own memory, ctx included. */
static const u8 *own_bytes(const struct interp *in, u64 addr, u64 n)
{
	if (on_stack(in, addr, n))
		return in->stack + (addr - STACK_BASE);
	if (addr >= CTX_BASE && addr - CTX_BASE < VALUE_STEP)
		return within(in->ctx, in->ctx_size, addr - CTX_BASE, n);
	if (addr >= VALUE_BASE)
		return value_bytes(in, addr, n);
	if (addr >= KEY_BASE)
		return key_bytes(in, addr, n);
	if (addr >= RING_BASE)
		return ring_bytes(in, addr, n);
	return NULL;
}

const u8 *memory_read(struct interp *in, u64 addr, u64 n)
{
	const u8 *p = own_bytes(in, addr, n);

	if (!p)
		return machine_fail(in, "%llu bytes at 0x%llx can not be read",
		                    (unsigned long long)n, (unsigned long long)addr);
	for (u64 i = 0; on_stack(in, addr, n) && i < n; i++)
		if (!in->stack_written[addr - STACK_BASE + i])
			return machine_fail(in,
			                    "byte %lld of the stack is read before it is written",
			                    (long long)(addr + i - STACK_BASE - STACKS_BYTES));
	return p;
}

u8 *memory_write(struct interp *in, u64 addr, u64 n)
{
	const u8 *p = own_bytes(in, addr, n);

	if (!p || (p >= in->ctx && p < in->ctx + in->ctx_size))
		return machine_fail(in, "%llu bytes at 0x%llx can not be written",
		                    (unsigned long long)n, (unsigned long long)addr);
	if (on_stack(in, addr, n))
		memset(in->stack_written + (addr - STACK_BASE), true, n);
	return (u8 *)p;
}

const u8 *memory_peek(struct interp *in, u64 addr, u64 n)
{
	const u8 *p = own_bytes(in, addr, n);

	assert(in);
	for (u32 i = 0; !p && i < in->outside.n; i++) {
		const struct outside *o = &in->outside.v[i];

		if (addr >= o->addr)
			p = within(o->bytes, o->n, addr - o->addr, n);
	}
	return p;
}

static bool aligned(struct interp *in, u64 addr, u32 size)
{
	if (on_stack(in, addr, size) && addr % size) {
		machine_fail(in, "misaligned access to %u bytes of the stack", size);
		return false;
	}
	return true;
}

bool memory_load(struct interp *in, u64 addr, u32 size, u64 *value)
{
	const u8 *p = memory_read(in, addr, size);

	*value = 0;
	if (!p || !aligned(in, addr, size))
		return false;
	memcpy(value, p, size); /* little-endian, as all machines we run on */
	return true;
}

bool memory_store(struct interp *in, u64 addr, u32 size, u64 value)
{
	u8 *p = memory_write(in, addr, size);

	if (!p || !aligned(in, addr, size))
		return false;
	memcpy(p, &value, size);
	return true;
}
