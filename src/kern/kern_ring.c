/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reader of the ring buffer (kernel: Documentation/bpf/ringbuf.rst, kernel/bpf/ringbuf.c).
 *
 *      page 0      how far we have read; ours to write
 *      page 1      how far programs have reserved
 *      data        2^n bytes, twice in a row, so that a record is never in two pieces
 *
 * Both positions only grow; modulo the size they are places in the data. A record is 8 bytes of
 * head and its bytes, rounded up to 8. The head is busy from when the place is reserved until the
 * record is complete, so what follows waits for it.
 */
#include "kern/kern.h"

#include <errno.h>
#include <sys/mman.h>

#include "arch/arch.h"

struct head {
	u32 size; /* with BPF_RINGBUF_BUSY_BIT, BPF_RINGBUF_DISCARD_BIT */
	u32 page;
};

#define SHORT (32 * 1024)

/* Maps `size` bytes of the data, which takes the place of a shorter mapping. */
static bool map_data(struct live *l, size_t size)
{
	struct ring *r = &l->ring;
	size_t page = arch_page();
	void *p = mmap(NULL, page + size, PROT_READ, MAP_SHARED, l->maps[l->ring_map], (off_t)page);

	if (p == MAP_FAILED)
		return false;
	if (r->reserved)
		munmap((void *)(uintptr_t)r->reserved, page + r->mapped);
	r->reserved = p;
	r->data = (const u8 *)p + page;
	r->mapped = size;
	return true;
}

bool kern_ring_open(struct live *l, struct err *e)
{
	struct ring *r = &l->ring;
	size_t page = arch_page();
	void *p;

	if (l->ring_map < 0)
		return true;
	r->size = l->unit->maps.v[l->ring_map].max_entries;
	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, l->maps[l->ring_map], 0);
	if (p == MAP_FAILED)
		return err_sys(e, errno, "can not map the ring buffer");
	r->read = p;
	return map_data(l, MIN((size_t)SHORT, 2 * r->size)) ||
	       err_sys(e, errno, "can not map the ring buffer");
}

void kern_ring_close(struct live *l)
{
	struct ring *r = &l->ring;
	size_t page = arch_page();

	if (r->reserved)
		munmap((void *)(uintptr_t)r->reserved, page + r->mapped);
	if (r->read)
		munmap(r->read, page);
	*r = (struct ring){ 0 };
}

/* Reads to where programs have reserved; false: cb wants no more, or a record is incomplete. */
static bool read_reserved(struct ring *r, u64 *at, u64 end, live_record_fn *cb, void *ctx)
{
	while (*at < end) {
		const struct head *h = (const void *)(r->data + (*at & (r->size - 1)));
		/* Acquire: the record's bytes were written before busy was taken away. */
		u32 size = __atomic_load_n(&h->size, __ATOMIC_ACQUIRE);
		u32 length = size & ~(u32)(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		bool more = true;

		if (size & BPF_RINGBUF_BUSY_BIT)
			return false;
		if (!(size & BPF_RINGBUF_DISCARD_BIT))
			more = cb(ctx, h + 1, length);
		*at += ROUND_UP(sizeof(*h) + length, 8u);
		/* Release: from now on programs may write over what was read. */
		__atomic_store_n(r->read, *at, __ATOMIC_RELEASE);
		if (!more)
			return false;
	}
	return true;
}

static void read_ring(struct live *l, live_record_fn *cb, void *ctx)
{
	struct ring *r = &l->ring;
	u64 at, end;

	if (!r->data)
		return;
	at = __atomic_load_n(r->read, __ATOMIC_RELAXED); /* nobody else writes it */
	do {
		end = __atomic_load_n(r->reserved, __ATOMIC_ACQUIRE);
		/* Where there is no memory for that now, they stay in the ring. */
		if (end > r->mapped && r->mapped < 2 * r->size && !map_data(l, 2 * r->size))
			return;
	} while (at < end && read_reserved(r, &at, end, cb, ctx));
}

void live_ring_read(struct live *l, live_record_fn *cb, void *ctx)
{
	read_ring(l, cb, ctx);
	kern_lanes_read(l, cb, ctx);
}

struct live_ring live_ring_at(const struct live *l)
{
	const struct ring *r = &l->ring;
	struct live_ring at = { 0 };

	if (r->data) {
		at.read = __atomic_load_n(r->read, __ATOMIC_RELAXED);
		at.reserved = __atomic_load_n(r->reserved, __ATOMIC_RELAXED);
		at.waiting = at.reserved - at.read;
		at.size = r->size;
	}
	kern_lanes_at(l, &at);
	return at;
}
