/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program that is loaded and run: what it returns depends on offsets being right. */
#include "core.h"

static u64 (*get_current_task)(void) = (void *)35;
static long (*probe_read_kernel)(void *to, u32 n, const void *from) = (void *)113;

#define READ(to, from)                                                                             \
	probe_read_kernel(&(to), sizeof(to), __builtin_preserve_access_index(&(from)))

struct mm_struct {
	struct {
		u64 task_size;
	};
} CORE;

struct task_struct {
	int pid, tgid;
	struct task_struct *group_leader, *real_parent;
	struct mm_struct *mm;
	char comm[16];
	int no_such_member;
} CORE;

struct task_struct___old {
	long state;
} CORE;

enum pid_type { PIDTYPE_PID, PIDTYPE_TGID, PIDTYPE_PGID };

/* The process id, by two ways; 0 when they differ or something else is amiss. */
SEC("raw_tp/sys_enter") int own_pid(void *ctx)
{
	struct task_struct *t = (void *)get_current_task(), *leader = 0;
	struct task_struct___old *old = (void *)t;
	struct mm_struct *mm = 0;
	int tgid = 0, pid = 0;
	u64 task_size = 0;
	char first = 0;
	long state;

	READ(tgid, t->tgid);
	READ(leader, t->group_leader);
	READ(pid, leader->pid);
	READ(mm, t->mm);
	READ(task_size, mm->task_size);
	READ(first, t->comm[0]);
	if (EXISTS(t->no_such_member))
		READ(pid, t->no_such_member);
	if (EXISTS(old->state))
		READ(state, old->state);
	if (ENUM_VALUE(enum pid_type, PIDTYPE_PGID) != 2 || TYPE_SIZE(struct task_struct) < 1000)
		return 0;
	return tgid == pid && first == 't' && task_size >> 40 ? tgid : 0;
}

char terms[] SEC("license") = "GPL";
