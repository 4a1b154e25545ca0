/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The variables that every script has: V(id, name, help). What type one has is in
 * lang/infer/infer_name.c, how it is read in gen/gen_ctx.c.
 */
#ifndef LANG_PARSE_VARIABLES_H
#define LANG_PARSE_VARIABLES_H

#define VARIABLES(V)                                                                              \
	V(PID, "pid", "the process (thread group)")                                               \
	V(TID, "tid", "the thread")                                                               \
	V(UID, "uid", "the user")                                                                 \
	V(GID, "gid", "the group")                                                                \
	V(USERNAME, "username", "the name of the user")                                           \
	V(NSECS, "nsecs", "nanoseconds since the start of the machine")                           \
	V(ELAPSED, "elapsed", "nanoseconds since the start of the script")                        \
	V(CPU, "cpu", "the processor")                                                            \
	V(NCPUS, "ncpus", "how many processors there are")                                        \
	V(NUMAID, "numaid", "the NUMA node")                                                      \
	V(COMM, "comm", "the name of the thread")                                                 \
	V(CURTASK, "curtask", "struct task_struct of the thread")                                 \
	V(CGROUP, "cgroup", "the id of the control group")                                        \
	V(RAND, "rand", "a random number of 32 bits")                                             \
	V(CTX, "ctx", "what the kernel hands to the program")                                     \
	V(ARGS, "args", "arguments by name, of tracepoints, functions with types and USDT")       \
	V(ARG, "arg0", "arg0 to arg255: arguments by number")                                     \
	V(RETVAL, "retval", "what the function returned")                                         \
	V(FUNC, "func", "the function that was called")                                           \
	V(PROBE, "probe", "the probe as it is written")                                           \
	V(PROBETYPE, "probetype", "the kind of probe, while compiling")                           \
	V(USTACK, "ustack", "the stack of the program")                                           \
	V(KSTACK, "kstack", "the stack of the kernel")                                            \
	V(STACK, "stack", "both, the kernel first")                                               \
	V(CPID, "cpid", "the process of -c")                                                      \
	V(PPID, "ppid", "the parent of the process")                                              \
	V(JIFFIES, "jiffies", "ticks of the kernel")                                              \
	V(PCOMM, "pcomm", "the name of the parent")                                               \
	V(HAS_CPID, "has_cpid", "true with -c")                                                   \
	V(HAS_TARGET, "has_target", "true with -p or -c")                                         \
	V(TARGET, "target", "the process of -p or -c")                                            \
	V(LEADER_TID, "leader_tid", "the first thread of the process")                            \
	V(LEADER_COMM, "leader_comm", "the name of the first thread")                             \
	V(USERMODE, "usermode", "true when the event came while the program itself ran")

#endif
