/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rax, r10 and r11 hold nothing at the entry of a C function, nor do the flags.
 *
 * Between reading the CPU's number and counting, the thread may move to another CPU: then two count
 * on one counter at a time, and one of them may be lost.
 */
#include "arch/stub.h"

#if defined(__x86_64__)

#include <string.h>

#define ALIGNED     16u
#define CPU_SEGMENT 0x7bu /* __CPUNODE_SEG: its limit is the CPU's number, with the node's above */

struct code {
	u8 *out;
	u32 n, room;
	u64 at;
};

static void put(struct code *c, const char *bytes, u32 n)
{
	if (c->n + n <= c->room)
		memcpy(c->out + c->n, bytes, n);
	c->n += n;
}

#define PUT(c, bytes) put(c, bytes, sizeof(bytes) - 1)

static void put_word(struct code *c, u32 v)
{
	put(c, (const char *)&v, sizeof(v));
}

/* The distance to an address, from after these four bytes. */
static bool put_distance(struct code *c, u64 to)
{
	s64 d = (s64)(to - (c->at + c->n + 4));

	put_word(c, (u32)d);
	return d == (s32)d;
}

/* A short jump that is filled in later; where its distance is. */
static u32 put_jump(struct code *c, u8 op)
{
	put(c, (const char[]){ (char)op, 0 }, 2);
	return c->n - 1;
}

static void land(struct code *c, u32 jump)
{
	if (jump && c->n <= c->room)
		c->out[jump] = (u8)(c->n - jump - 1);
}

static u32 put_skip(struct code *c, enum stub_skip skip)
{
	switch (skip) {
	case STUB_SKIPS_NULL:
		PUT(c, "\x48\x85\xff"); /* test %rdi, %rdi */
		return put_jump(c, 0x74);
	case STUB_SKIPS_SMALL:
		put(c, (const char[]){ 0x48, (char)0x83, (char)0xff, STUB_SMALL }, 4);
		return put_jump(c, 0x76); /* cmp $16, %rdi; jbe */
	default:
		return 0;
	}
}

/* r11: this CPU's counter. */
static bool put_counter(struct code *c, const struct stub *s)
{
	if (s->has_cpu) {
		PUT(c, "\x64\x8b\x04\x25"); /* mov %fs:cpu, %eax */
		put_word(c, (u32)s->cpu);
	} else {
		PUT(c, "\xb8"); /* mov $CPU_SEGMENT, %eax; lsl %ax, %eax */
		put_word(c, CPU_SEGMENT);
		PUT(c, "\x0f\x03\xc0");
	}
	PUT(c, "\x25"); /* and $cpus - 1, %eax */
	put_word(c, s->cpus - 1);
	put(c, (const char[]){ (char)0xc1, (char)0xe0, (char)s->shift }, 3); /* shl */
	PUT(c, "\x4c\x8d\x1d"); /* lea counters(%rip), %r11; add %rax, %r11 */
	if (!put_distance(c, s->counters))
		return false;
	PUT(c, "\x49\x01\xc3");
	return true;
}

/* Carry: it is used up. */
static void put_count(struct code *c, const struct stub *s)
{
	static const char modrm[] = { 0x3b, 0x33, 0x13 }; /* sub %rdi, %rsi, %rdx, (%r11) */

	if (s->product)
		PUT(c, "\x4d\x29\x13"); /* sub %r10, (%r11) */
	else
		put(c, (const char[]){ 0x49, 0x29, modrm[s->size] }, 3);
}

/* Zero: no sampled block begins near there. */
static bool put_look(struct code *c, const struct stub *s)
{
	PUT(c, "\x48\x89\xf8"); /* mov %rdi, %rax; shr $near, %rax; and */
	put(c, (const char[]){ 0x48, (char)0xc1, (char)0xe8, (char)s->near, 0x25 }, 5);
	put_word(c, s->bytes - 1);
	PUT(c, "\x4c\x8d\x1d"); /* lea filter(%rip), %r11 */
	if (!put_distance(c, s->filter))
		return false;
	PUT(c, "\x41\x80\x3c\x03\x00"); /* cmpb $0, (%r11, %rax) */
	return true;
}

/* A short jump back. */
static void put_back(struct code *c, u8 op, u32 to)
{
	put(c, (const char[]){ (char)op, (char)(to - c->n - 2) }, 2);
}

/* The way to what is elsewhere; *distance: of the four bytes that say where the stub ends. */
static bool put_slow(struct code *c, const struct stub *s, u32 *distance)
{
	bool near;

	PUT(c, "\x48\x8d\x05"); /* lea end(%rip), %rax */
	*distance = c->n;
	put_word(c, 0);
	PUT(c, "\xe9"); /* jmp slow */
	near = put_distance(c, s->slow);
	while (c->n % ALIGNED)
		PUT(c, "\xcc");
	return near;
}

/* What is seldom comes before the entry, so that a call passes no jump that is taken. */
u32 stub_emit(const struct stub *s, u64 at, u8 *out, u32 room, u32 *entry)
{
	struct code c = { out, 0, room, at };
	u32 skip, over = 0, used, distance, end;
	bool near;

	if (s->looks)
		PUT(&c, "\x45\x31\xdb"); /* xor %r11d, %r11d */
	used = c.n;
	near = put_slow(&c, s, &distance);
	*entry = c.n;
	skip = put_skip(&c, s->skip);
	if (s->product) {
		PUT(&c, "\x49\x89\xfa\x4c\x0f\xaf\xd6"); /* mov %rdi, %r10; imul %rsi, %r10; jo */
		over = put_jump(&c, 0x70);
	}
	if (s->counts) {
		near = put_counter(&c, s) && near;
		put_count(&c, s);
		put_back(&c, 0x72, used); /* jc */
	}
	if (s->looks) {
		near = put_look(&c, s) && near;
		put_back(&c, 0x75, 0); /* jne */
	}
	land(&c, over);
	land(&c, skip);
	end = c.n - (distance + 4);
	if (!near || c.n > room)
		return 0;
	memcpy(out + distance, &end, sizeof(end));
	return c.n;
}

#endif
