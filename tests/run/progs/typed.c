// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Functions whose arguments are of many types, for probes that name them through debug
 * information. Each is called once with values the cases know.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEEP __attribute__((noinline, noclone))

struct slice {
	const char *data;
	long len;
	long cap;
};
struct pair {
	int a;
	int b;
};
struct wide {
	long a;
	long b;
};
struct mixed {
	double d;
	long n;
};
struct tiny {
	char c;
	short s;
};
struct flags {
	unsigned ready : 1;
	unsigned mode : 3;
	int level : 5;
	unsigned : 0;
	unsigned id : 20;
};
struct inner {
	int x;
	union {
		int i;
		char c[4];
	};
};
struct node {
	struct node *next;
	const char *name;
	struct inner in;
	int list[3];
	struct {
		short u, v;
	};
};
struct large {
	long v[5];
};
struct __attribute__((packed)) tight {
	char c;
	int i;
};
union number {
	int i;
	char bytes[8];
};
struct row {
	short v[6];
};
struct grid {
	struct pair cells[3];
};
enum color { RED, GREEN = 5, BLUE };
typedef unsigned int count_type;
typedef struct {
	int w, h;
} size_type;

struct tail {
	int n;
	int data[];
};

static volatile long sink;

KEEP void scalars(signed char c, short s, int i, long l, bool b, unsigned char u)
{
	sink = c + s + i + l + b + u;
}

KEEP void many(int a, int b, int c, int d, int e, int f, int g, signed char h, long i)
{
	sink = a + b + c + d + e + f + g + h + i;
}

KEEP void floats(int a, double d, int b, float f, long c)
{
	sink = a + (long)d + b + (long)f + c;
}

KEEP void by_value(struct pair p, struct wide w, struct tiny t)
{
	sink = p.a + p.b + w.a + w.b + t.c + t.s;
}

KEEP void in_memory(int before, struct large big, struct slice s, int after)
{
	sink = before + big.v[0] + s.len + after;
}

KEEP void half_float(struct mixed m, int after)
{
	sink = (long)m.d + m.n + after;
}

KEEP void no_room(long a, long b, long c, long d, long e, struct wide w, long f)
{
	sink = a + b + c + d + e + w.a + w.b + f;
}

KEEP void packed(struct tight t, int after)
{
	sink = t.c + t.i + after;
}

KEEP void bits(struct flags f, const struct flags *p)
{
	sink = f.mode + p->mode;
}

KEEP void pointers(const struct node *n, const char *text, struct node **list, void *raw)
{
	sink = n->list[0] + text[0] + (list != NULL) + (raw != NULL);
}

KEEP void named(enum color c, count_type n, size_type s, union number u)
{
	sink = c + (long)n + s.w + u.i;
}

KEEP void row_by_value(struct row r, int after)
{
	sink = r.v[0] + after;
}

KEEP void grid_by_value(struct grid g)
{
	sink = g.cells[1].a;
}

KEEP void flexible(const struct tail *t)
{
	sink = t->data[0];
}

KEEP void unaligned(__int128 wide, int after)
{
	sink = (long)wide + after;
}

KEEP struct large returns_large(int seed)
{
	sink++;
	return (struct large){ { seed, seed + 1, seed + 2 } };
}

KEEP struct wide returns_wide(int seed)
{
	sink++;
	return (struct wide){ seed, -seed };
}

KEEP const struct node *returns_node(const struct node *n)
{
	sink++;
	return n->next;
}

KEEP enum color returns_color(void)
{
	sink++;
	return BLUE;
}

static KEEP int local_function(int value)
{
	sink++;
	return value * 2;
}

int main(void)
{
	static struct node second = { NULL, "second", { 7, { 8 } }, { 4, 5, 6 }, { 9, 10 } };
	static struct node first = {
		&second, "first", { 1, { 0x64636261 } }, { 1, 2, 3 }, { -1, -2 }
	};
	static struct {
		struct tail t;
		int more[3];
	} tail = { { 3 }, { 11, 12, 13 } };
	struct flags f = { 1, 5, -3, 99 };
	static struct node *volatile list[2] = { &second, &first };

	scalars(-1, -2, -3, -4, true, 200);
	many(1, 2, 3, 4, 5, 6, 7, -8, 9);
	floats(1, 2.5, 3, 4.5, 5);
	by_value((struct pair){ 1, -2 }, (struct wide){ 3, -4 }, (struct tiny){ 'x', -5 });
	in_memory(1, (struct large){ { 10, 20, 30, 40, 50 } }, (struct slice){ "sliced", 6, 8 }, 2);
	half_float((struct mixed){ 1.5, 42 }, 7);
	no_room(1, 2, 3, 4, 5, (struct wide){ 60, 70 }, 8);
	packed((struct tight){ 'p', 12345 }, 9);
	bits(f, &f);
	pointers(&first, "text", (struct node **)list, NULL);
	named(GREEN, 4000000000u, (size_type){ 3, 4 }, (union number){ .i = 77 });
	row_by_value((struct row){ { 1, 22, -3, 44, -5, 66 } }, 7);
	grid_by_value((struct grid){ { { 11, 12 }, { 21, 22 }, { 31, 32 } } });
	flexible(&tail.t);
	unaligned(5, 6);
	returns_large(100);
	returns_wide(5);
	returns_node(&first);
	returns_color();
	sink += local_function(21);
	return 0;
}
