/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The variables that every script has: one row for each, from which every table about them is made.
 *
 *   V(id, name, type, how it is read, help)
 *
 * The type is FIXED(one of unit/type.h), or RULE(f): it depends on the probe or on options, and f
 * of lang/infer/infer_name.c says what it is, or puts something else in its place. How it is read,
 * gen/ alone looks at:
 *   AS_HELPER(h)     what that helper of the kernel returns
 *   AS_VALUE(f)      f leaves a number in r0           (gen/gen_ctx.c)
 *   AS_STORED(f)     f writes the value to memory      (gen/gen_ctx.c)
 *   AS_EITHER(f, g)  f the one, g the other
 *   AS_NONE          not at all: its rule has replaced it, or only its fields are
 */
#ifndef LANG_PARSE_VARIABLES_H
#define LANG_PARSE_VARIABLES_H

#define VARIABLES(V)                                                                              \
	V(PID, "pid", FIXED(type_u32), AS_VALUE(read_pid), "the process (thread group)")          \
	V(TID, "tid", FIXED(type_u32), AS_VALUE(read_tid), "the thread")                          \
	V(UID, "uid", FIXED(type_u64), AS_VALUE(read_uid), "the user")                            \
	V(GID, "gid", FIXED(type_u64), AS_VALUE(read_gid), "the group")                           \
	V(USERNAME, "username", RULE(rule_username), AS_VALUE(read_uid), "the name of the user")  \
	V(NSECS, "nsecs", FIXED(type_u64), AS_HELPER(ktime_get_boot_ns),                          \
	  "nanoseconds since the start of the machine")                                           \
	V(ELAPSED, "elapsed", FIXED(type_u64), AS_VALUE(read_elapsed),                            \
	  "nanoseconds since the start of the script")                                            \
	V(CPU, "cpu", FIXED(type_u32), AS_HELPER(get_smp_processor_id), "the processor")          \
	V(NCPUS, "ncpus", FIXED(type_u32), AS_VALUE(read_ncpus), "how many processors there are") \
	V(NUMAID, "numaid", FIXED(type_u32), AS_HELPER(get_numa_node_id), "the NUMA node")        \
	V(COMM, "comm", RULE(rule_comm), AS_STORED(store_comm), "the name of the thread")         \
	V(CURTASK, "curtask", RULE(rule_curtask), AS_HELPER(get_current_task),                    \
	  "struct task_struct of the thread")                                                     \
	V(CGROUP, "cgroup", FIXED(type_u64), AS_HELPER(get_current_cgroup_id),                    \
	  "the id of the control group")                                                          \
	V(RAND, "rand", FIXED(type_u32), AS_HELPER(get_prandom_u32),                              \
	  "a random number of 32 bits")                                                           \
	V(CTX, "ctx", RULE(rule_ctx), AS_VALUE(read_ctx), "what the kernel hands to the program") \
	V(ARGS, "args", RULE(rule_args), AS_NONE,                                                 \
	  "arguments by name, of tracepoints, functions with types and USDT")                     \
	V(ARG, "arg0", RULE(rule_arg), AS_VALUE(read_arg), "arguments by number, arg0 to arg255") \
	V(RETVAL, "retval", RULE(rule_retval), AS_VALUE(read_retval),                             \
	  "what the function returned")                                                           \
	V(FUNC, "func", RULE(rule_func), AS_EITHER(read_func, store_func),                        \
	  "the function that was called")                                                         \
	V(PROBE, "probe", RULE(rule_probe), AS_VALUE(read_probe), "the probe as it is written")   \
	V(PROBETYPE, "probetype", RULE(rule_probetype), AS_NONE,                                  \
	  "the kind of probe, while compiling")                                                   \
	V(USTACK, "ustack", RULE(rule_ustack), AS_STORED(store_stack),                            \
	  "the stack of the program")                                                             \
	V(KSTACK, "kstack", RULE(rule_kstack), AS_STORED(store_stack), "the stack of the kernel") \
	V(STACK, "stack", RULE(rule_stack), AS_STORED(store_stack), "both, the kernel first")     \
	V(CPID, "cpid", FIXED(type_u32), AS_VALUE(read_cpid), "the process of -c")                \
	V(PPID, "ppid", RULE(rule_ppid), AS_NONE, "the parent of the process")                    \
	V(JIFFIES, "jiffies", FIXED(type_u64), AS_HELPER(jiffies64), "ticks of the kernel")       \
	V(PCOMM, "pcomm", RULE(rule_pcomm), AS_NONE, "the name of the parent")                    \
	V(HAS_CPID, "has_cpid", RULE(rule_has_cpid), AS_NONE, "true with -c")                     \
	V(HAS_TARGET, "has_target", RULE(rule_has_target), AS_NONE, "true with -p or -c")         \
	V(TARGET, "target", RULE(rule_target), AS_VALUE(read_cpid), "the process of -p or -c")    \
	V(LEADER_TID, "leader_tid", RULE(rule_leader_tid), AS_NONE,                               \
	  "the first thread of the process")                                                      \
	V(LEADER_COMM, "leader_comm", RULE(rule_leader_comm), AS_NONE,                            \
	  "the name of the first thread")                                                         \
	V(USERMODE, "usermode", RULE(rule_usermode), AS_VALUE(read_usermode),                     \
	  "true when the event came while the program itself ran")

#endif
