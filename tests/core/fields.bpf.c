/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Members of the kernel: plain, nested, anonymous, in arrays, bit-fields, through flavours. */
#include "core.h"

struct list_head {
	struct list_head *next, *prev;
} CORE;

struct mm_struct;

struct task_struct {
	int pid, tgid;
	char comm[16];
	struct task_struct *parent, *group_leader;
	struct mm_struct *mm;
	struct list_head tasks;
	unsigned int policy;
	u64 start_time;
	unsigned sched_reset_on_fork : 1;
	unsigned in_execve : 1;
	unsigned no_such_bit : 1;
	long no_such_member;
} CORE;

PROGRAM(plain, struct task_struct, t)
{
	return ALL(t->pid) + ALL(t->tgid) + PLACE(t->parent) + PLACE(t->mm) + ALL(t->start_time) +
	       PLACE(t->comm) + PLACE(t->tasks) + ALL(t->policy);
}

PROGRAM(loads, struct task_struct, t)
{
	return t->pid + t->tgid + (u64)t->mm + t->tasks.prev->prev - t->tasks.next +
	       t->parent->group_leader->pid + t->comm[2] + t->start_time;
}

PROGRAM(elements, struct task_struct, t)
{
	return PLACE(t->comm[0]) + PLACE(t->comm[7]) + PLACE(t[0].pid) + PLACE(t[1].tasks.prev) +
	       OFFSET(t[2]) + EXISTS(t[1]);
}

PROGRAM(bits, struct task_struct, t)
{
	return ALL(t->sched_reset_on_fork) + ALL(t->in_execve);
}

PROGRAM(missing, struct task_struct, t)
{
	u64 sum = 0;

	if (EXISTS(t->no_such_member))
		sum += PLACE(t->no_such_member) + t->no_such_member;
	if (EXISTS(t->no_such_bit))
		sum += ALL(t->no_such_bit);
	return sum;
}

/* Renamed in 5.14, and of another type. */
struct task_struct___old {
	long state;
	int pid;
} CORE;

struct task_struct___new {
	unsigned int __state;
	char pid; /* still an integer */
} CORE;

PROGRAM(flavours, struct task_struct___old, t)
{
	struct task_struct___new *n = (void *)t;

	return EXISTS(t->state) ? OFFSET(t->state) : ALL(n->__state) + ALL(n->pid) + ALL(t->pid);
}

/* Another type than the kernel has. */
struct task_struct___wrong {
	struct list_head pid;
	int tasks;
	int comm;
} CORE;

PROGRAM(wrong, struct task_struct___wrong, t)
{
	return EXISTS(t->pid) + EXISTS(t->tasks) + EXISTS(t->comm) + OFFSET(t->tasks);
}

struct address_space;

/* Members that the kernel keeps in anonymous structs and unions. */
struct page {
	unsigned long flags;
	struct address_space *mapping;
	unsigned long private;
	union {
		struct {
			unsigned int page_type;
		};
	};
} CORE;

PROGRAM(anonymous, struct page, p)
{
	return ALL(p->flags) + PLACE(p->mapping) + ALL(p->private) + ALL(p->page_type);
}

struct uid_gid_extent {
	u32 first, lower_first, count;
} CORE;

struct uid_gid_map {
	u32 nr_extents;
	struct uid_gid_extent extent[5];
} CORE;

struct user_namespace {
	struct uid_gid_map uid_map, gid_map;
	int level;
} CORE;

PROGRAM(nested, struct user_namespace, n)
{
	return PLACE(n->gid_map) + ALL(n->gid_map.nr_extents) + ALL(n->gid_map.extent[2].count) +
	       PLACE(n->uid_map.extent[4]) + ALL(n->level) + n->gid_map.extent[1].lower_first;
}

struct no_such_struct {
	int a;
} CORE;

PROGRAM(no_type, struct no_such_struct, n)
{
	return EXISTS(n->a) ? ALL(n->a) + n->a : 1;
}

struct sk_buff {
	u8 pkt_type : 3;
	u8 cloned : 1;
	u8 nohdr : 1;
	u8 ip_summed : 2;
	u16 protocol;
	unsigned char *data;
	u32 len;
} CORE;

PROGRAM(packed, struct sk_buff, s)
{
	return ALL(s->pkt_type) + ALL(s->cloned) + ALL(s->nohdr) + ALL(s->ip_summed) +
	       ALL(s->protocol) + PLACE(s->data) + ALL(s->len) + s->protocol + s->len;
}
