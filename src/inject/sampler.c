/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What runs in other processes (sampler.h): nothing is called from here, no memory is taken, there
 * are no thread's data and no registers but general ones, and it may stop to matter at any
 * instruction: memtap that is killed leaves code that does the same for nobody.
 *
 * Functions of an allocator jump to a few instructions of their own (arch/stub.h), which count
 * bytes down. When a counter is used up, or a byte of the filter says that a block may have been
 * sampled, these go to the machine's thunks (in arch/), with the counter, where the function goes
 * on, and everything else as at its entry; and those come here. Memory that is sampled is known by
 * its address: allocators see nothing of it.
 *
 * The gaps between samples are exponential, so that each byte is as likely as every other to be
 * the one, whatever came before it: a call that came from inside of another (calloc that calls
 * malloc) can be passed over without a trace.
 */
#include <stdbool.h>

#include "inject/sampler_draw.h"

#define TRIES 16u /* places in the table for a block */
#define NONE  UINT64_MAX

#define ANONYMOUS 0x20u /* MAP_ANONYMOUS */

/* Changed before it is put in; the compiler is not to believe in these zeros. */
__attribute__((used, section(".params")))
const volatile struct sampler_params sampler_params = { 0 };

_Static_assert(offsetof(struct sampler_data, inside) == 16, "the thunks know");

/* As the thunks lay it out, who have more behind it. */
struct frame {
	u64 args[4];
	u64 next, result;
	u64 old;       /* bytes of the block that realloc() is given, NONE: it was not sampled; of a
	                * mapping 0: something of it was */
	u64 sampled;   /* the new one is to be */
	u64 longer;    /* with gaps so often doubled */
	u64 others[2]; /* arguments 4 and 5 */
};

/* sys/sdt.h's notes, of numbers of 8 bytes without a sign. */
#define NOTE(name, args)                                                                           \
	"990: nop\n"                                                                               \
	".pushsection .note.stapsdt,\"\",\"note\"\n"                                               \
	".balign 4\n"                                                                              \
	".4byte 992f-991f, 994f-993f, 3\n"                                                         \
	"991: .asciz \"stapsdt\"\n"                                                                \
	"992: .balign 4\n"                                                                         \
	"993: .8byte 990b, _.stapsdt.base, 0\n"                                                    \
	".asciz \"otel_memory\"\n"                                                                 \
	".asciz \"" name "\"\n"                                                                    \
	".asciz \"" args "\"\n"                                                                    \
	"994: .balign 4\n"                                                                         \
	".popsection\n"

__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
        ".hidden _.stapsdt.base\n"
        "_.stapsdt.base: .space 1\n"
        ".size _.stapsdt.base, 1\n"
        ".popsection\n");

static INLINE void fire_alloc(u64 block, u64 size, u64 weight)
{
	__asm__ volatile(NOTE("alloc", "8@%0 8@%1 8@%2") : : "r"(block), "r"(size), "r"(weight));
}

static INLINE void fire_free(u64 block)
{
	__asm__ volatile(NOTE("free", "8@%0") : : "r"(block));
}

static INLINE struct sampler_data *data(void)
{
	return (struct sampler_data *)sampler_params.data;
}

/* ---- blocks --------------------------------------------------------------------------------- */

static INLINE u8 *filter_of(struct sampler_data *d, u64 block)
{
	return &d->filter[(block >> sampler_params.near) % SAMPLER_FILTER];
}

static INLINE struct sampler_entry *place(struct sampler_data *d, u64 block, u32 i)
{
	return &d->table[((block / 8 * 0x9e3779b97f4a7c15u >> 40) + i) % SAMPLER_TABLE];
}

/* `what`: its size and how it was sampled. False when there is no room. */
static INLINE bool put(struct sampler_data *d, u64 block, u64 what)
{
	u8 *f = filter_of(d, block);

	for (u32 i = 0; i < TRIES && *f < 128; i++) {
		struct sampler_entry *e = place(d, block, i);
		u64 empty = 0;

		if (e->block || !__atomic_compare_exchange_n(&e->block, &empty, 1, false,
		                                             __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		e->size = what;
		__atomic_store_n(&e->block, block, __ATOMIC_RELEASE);
		__atomic_fetch_add(f, 1, __ATOMIC_RELEASE);
		return true;
	}
	__atomic_fetch_add(&d->full, 1, __ATOMIC_RELAXED);
	return false;
}

/* Takes it out; what it was, or NONE. */
static INLINE u64 take(struct sampler_data *d, u64 block)
{
	for (u32 i = 0; i < TRIES && block; i++) {
		struct sampler_entry *e = place(d, block, i);
		u64 size = e->size, was = block;

		if (e->block != block ||
		    !__atomic_compare_exchange_n(&e->block, &was, 0, false, __ATOMIC_ACQ_REL,
		                                 __ATOMIC_RELAXED))
			continue;
		__atomic_fetch_sub(filter_of(d, block), 1, __ATOMIC_RELEASE);
		return size;
	}
	return NONE;
}

static INLINE u64 bytes(u64 what)
{
	return what & (((u64)1 << SAMPLER_SIZE) - 1);
}

static INLINE u64 weight(u64 what)
{
	u64 longer = what >> SAMPLER_SIZE;

	return sampler_weight(&sampler_params, sampler_params.every << longer, bytes(what));
}

/* ---- mappings ------------------------------------------------------------------------------- */

/*
 * Parts of them come and go, so they are in a list, not in the table. Those who unmap are few, and
 * the kernel takes longer than to look through it.
 */
static INLINE void use_mapping(struct sampler_data *d, u64 n)
{
	u64 had = d->mapped;

	while (had < n)
		if (__atomic_compare_exchange_n(&d->mapped, &had, n, false, __ATOMIC_ACQ_REL,
		                                __ATOMIC_RELAXED)) {
			if (!had)
				__atomic_fetch_add(&d->filter[0], 1, __ATOMIC_RELEASE);
			break;
		}
}

static INLINE void put_mapping(struct sampler_data *d, u64 block, u64 size, u64 each)
{
	for (u32 i = 0; i < SAMPLER_MAPPINGS; i++) {
		struct sampler_mapping *m = &d->mappings[i];
		u64 empty = 0;

		if (m->block || !__atomic_compare_exchange_n(&m->block, &empty, 1, false,
		                                             __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		m->size = size;
		m->each = each;
		__atomic_store_n(&m->block, block, __ATOMIC_RELEASE);
		use_mapping(d, i + 1);
		fire_alloc(block, size, each * size >> 16);
		return;
	}
	__atomic_fetch_add(&d->full, 1, __ATOMIC_RELAXED);
}

/*
 * Takes [start, end) out; what is left of a mapping at its sides stands for as many bytes for each
 * of its own as before. Whether there was anything. `hides`: it waits for settle(), and an odd
 * address says so.
 */
static bool cut(struct sampler_data *d, u64 start, u64 end, bool hides)
{
	bool any = false;

	for (u64 i = 0; i < d->mapped; i++) {
		struct sampler_mapping *m = &d->mappings[i], was = *m;
		u64 block = was.block, after = block + was.size,
		    first = block > start ? block : start;

		if (!block || block % 2 || block >= end || after <= start ||
		    !__atomic_compare_exchange_n(&m->block, &block, 1, false, __ATOMIC_ACQ_REL,
		                                 __ATOMIC_RELAXED))
			continue;
		fire_free(block);
		if (block < start)
			put_mapping(d, block, start - block, was.each);
		if (after > end)
			put_mapping(d, end, after - end, was.each);
		m->size = (after < end ? after : end) - first;
		__atomic_store_n(&m->block, hides ? first + 1 : 0, __ATOMIC_RELEASE);
		any = true;
	}
	return any;
}

/* What is hidden there is as before, or gone. */
static INLINE void settle(struct sampler_data *d, u64 start, u64 end, bool stays)
{
	for (u64 i = 0; i < d->mapped; i++) {
		struct sampler_mapping *m = &d->mappings[i], was = *m;
		u64 block = was.block - 1;

		if (was.block < 2 || block % 2 || block < start || block >= end)
			continue;
		__atomic_store_n(&m->block, stays ? block : 0, __ATOMIC_RELEASE);
		if (stays)
			fire_alloc(block, was.size, was.each * was.size >> 16);
	}
}

/* As the kernel takes them for a range; false when it does not. */
static INLINE bool is_range(u64 at, u64 length, u64 *end)
{
	u64 rest = sampler_params.page - 1;

	*end = at + ((length + rest) & ~rest);
	return !(at & rest) && *end > at;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static INLINE bool is_in(const volatile struct sampler_inside *v, u32 n, u64 from)
{
	for (u32 i = 0; i < n; i++)
		if (from - v[i].start < v[i].end - v[i].start)
			return true;
	return false;
}

static INLINE bool maps(u32 kind)
{
	return kind == SAMPLER_MAP || kind == SAMPLER_REMAP;
}

/* No file, and no addresses that are only reserved. */
static INLINE bool is_memory(const struct frame *f)
{
	return (u32)f->args[2] && f->args[3] & ANONYMOUS;
}

/* What is counted elsewhere, or is no memory. */
static INLINE bool is_passed_over(const struct frame *f, u64 from, u32 kind)
{
	if (!maps(kind))
		return is_in(sampler_params.inside, SAMPLER_INSIDE, from);
	return is_in(sampler_params.around, SAMPLER_AROUND, from) ||
	       (kind == SAMPLER_MAP && !is_memory(f));
}

static INLINE u64 size_of(const struct frame *f, u32 kind)
{
	u64 size;

	if (kind == SAMPLER_PRODUCT)
		return __builtin_mul_overflow(f->args[0], f->args[1], &size) ? 0 : size;
	return f->args[sampler_size_argument((enum sampler_kind)kind)];
}

__attribute__((used)) u32 sampler_begin(struct sampler_cpu *c, struct frame *f, u64 from, u32 kind,
                                        u64 now);
__attribute__((used)) void sampler_end(struct frame *f, u64 result, u32 kind);
__attribute__((used)) void sampler_free(u64 block);
__attribute__((used)) void sampler_unmap(u64 block, u64 length);

static INLINE void begin_realloc(struct sampler_data *d, struct frame *f)
{
	f->old = take(d, f->args[0]);
	if (f->old != NONE)
		fire_free(f->args[0]);
}

static INLINE void begin_remap(struct sampler_data *d, struct frame *f)
{
	u64 end;

	if (is_range(f->args[0], f->args[1], &end) && cut(d, f->args[0], end, true))
		f->old = 0;
}

/* The function is to be called from here: its result is needed. */
u32 sampler_begin(struct sampler_cpu *c, struct frame *f, u64 from, u32 kind, u64 now)
{
	struct sampler_data *d = data();

	if (!d->on) {
		if (c)
			c->left = SAMPLER_NEVER;
		return 0;
	}
	f->sampled = c && size_of(f, kind) && !is_passed_over(f, from, kind) &&
	             !sampler_spares(&sampler_params, c, now, size_of(f, kind), &f->longer);
	if (c)
		c->left = sampler_gap(&sampler_params, c);
	/* Before others can be given the block. */
	f->old = NONE;
	if (kind == SAMPLER_REALLOC)
		begin_realloc(d, f);
	if (kind == SAMPLER_REMAP)
		begin_remap(d, f);
	return f->sampled || f->old != NONE;
}

static INLINE void end_mapping(struct sampler_data *d, const struct frame *f, u64 result, u32 kind)
{
	u64 size = size_of(f, kind), end;
	bool failed = result == UINT64_MAX; /* MAP_FAILED */

	if (f->old != NONE && is_range(f->args[0], f->args[1], &end))
		settle(d, f->args[0], end, failed);
	if (!f->sampled || failed || !size)
		return;
	cut(d, result, result + size, false); /* it went unseen */
	put_mapping(d, result, size, (weight(size | f->longer << SAMPLER_SIZE) << 16) / size);
}

void sampler_end(struct frame *f, u64 result, u32 kind)
{
	struct sampler_data *d = data();
	u64 block = result, what = size_of(f, kind) | f->longer << SAMPLER_SIZE;

	if (maps(kind)) {
		end_mapping(d, f, result, kind);
		return;
	}
	if (kind == SAMPLER_SIZE_3)
		block = (u32)result ? 0 : *(u64 *)f->args[0];
	if (!block && f->old != NONE && size_of(f, kind)) { /* as it was */
		block = f->args[0];
		what = f->old;
	} else if (!f->sampled) {
		return;
	}
	if (block && put(d, block, what))
		fire_alloc(block, bytes(what), weight(what));
}

void sampler_free(u64 block)
{
	if (take(data(), block) != NONE)
		fire_free(block);
}

void sampler_unmap(u64 block, u64 length)
{
	u64 end;

	if (is_range(block, length, &end))
		cut(data(), block, end, false);
}
