/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Types and enumerators of the kernel. */
#include "core.h"

struct list_head {
	struct list_head *next, *prev;
};
struct hlist_node {
	struct hlist_node *next, **pprev;
};
struct task_struct {
	int pid;
};
struct task_struct___two {
	long tgid;
};
union sigval {
	int sival_int;
	void *sival_ptr;
};
struct sigval___wrong { /* a union there */
	int sival_int;
};
struct no_such_struct {
	int a;
};
typedef unsigned int gfp_t;
typedef int pid_t;
typedef struct {
	int counter;
} atomic_t;
typedef int no_such_typedef;
typedef void (*work_func_t)(void *work);
typedef void (*ctor_fn_t)(int, int);
typedef void *mempool_t; /* a struct there */
struct path {
	void *mnt, *dentry;
};
struct path___more {
	void *mnt, *dentry, *other;
};

enum pid_type { PIDTYPE_PID, PIDTYPE_TGID, PIDTYPE_NO_SUCH };
enum bpf_map_type { BPF_MAP_TYPE_HASH = 77, BPF_MAP_TYPE_RINGBUF___mine = 5 };
enum bpf_map_type___two { BPF_MAP_TYPE_ARRAY };
enum no_such_enum { NO_SUCH_VALUE };
enum zone_type { ZONE_NORMAL, ZONE_MOVABLE };

PROGRAM(types, void, ctx)
{
	return TYPE(struct list_head) + TYPE(struct task_struct) + TYPE(struct task_struct___two) +
	       TYPE(union sigval) + TYPE(struct sigval___wrong) + TYPE(struct no_such_struct) +
	       ID_LOCAL(struct task_struct) + ID_LOCAL(struct no_such_struct);
}

PROGRAM(typedefs, void, ctx)
{
	return TYPE(gfp_t) + TYPE(pid_t) + TYPE(atomic_t) + TYPE(no_such_typedef) +
	       TYPE_EXISTS(work_func_t) + TYPE_EXISTS(ctor_fn_t) + TYPE(mempool_t);
}

PROGRAM(enums, void, ctx)
{
	u64 sum = TYPE(enum pid_type) + TYPE(enum no_such_enum);

	sum += ENUM(enum pid_type, PIDTYPE_PID) + ENUM(enum pid_type, PIDTYPE_TGID);
	if (ENUM_EXISTS(enum pid_type, PIDTYPE_NO_SUCH))
		sum += ENUM_VALUE(enum pid_type, PIDTYPE_NO_SUCH);
	sum += ENUM(enum bpf_map_type, BPF_MAP_TYPE_HASH);
	sum += ENUM(enum bpf_map_type, BPF_MAP_TYPE_RINGBUF___mine);
	sum += ENUM(enum bpf_map_type___two, BPF_MAP_TYPE_ARRAY);
	sum += ENUM(enum no_such_enum, NO_SUCH_VALUE);
	sum += ENUM(enum zone_type, ZONE_NORMAL) + ENUM(enum zone_type, ZONE_MOVABLE);
	return sum;
}

/* The tests make "matches" of what this compiler can only write as "exists". */
PROGRAM(matches, void, ctx)
{
	return TYPE_EXISTS(struct list_head) + TYPE_EXISTS(struct hlist_node) +
	       TYPE_EXISTS(struct task_struct) + TYPE_EXISTS(struct task_struct___two) +
	       TYPE_EXISTS(union sigval) + TYPE_EXISTS(struct sigval___wrong) + TYPE_EXISTS(pid_t) +
	       TYPE_EXISTS(gfp_t) + TYPE_EXISTS(atomic_t) + TYPE_EXISTS(work_func_t) +
	       TYPE_EXISTS(struct path) + TYPE_EXISTS(struct path___more) +
	       TYPE_EXISTS(enum pid_type) + TYPE_EXISTS(enum zone_type) +
	       TYPE_EXISTS(enum bpf_map_type___two);
}
