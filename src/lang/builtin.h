/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names the language knows, as rows: adding a builtin variable or a function is a row
 * here, a type rule in infer and an emitter in gen.
 */
#ifndef LANG_BUILTIN_H
#define LANG_BUILTIN_H

#include "base/str.h"

enum builtin_id {
	BUILTIN_PID, BUILTIN_TID, BUILTIN_UID, BUILTIN_GID, BUILTIN_USERNAME,
	BUILTIN_NSECS, BUILTIN_ELAPSED, BUILTIN_CPU, BUILTIN_NCPUS, BUILTIN_NUMAID,
	BUILTIN_COMM, BUILTIN_CURTASK, BUILTIN_CGROUP, BUILTIN_RAND, BUILTIN_CTX,
	BUILTIN_ARGS, BUILTIN_ARG /* arg0..argN */, BUILTIN_RETVAL, BUILTIN_FUNC, BUILTIN_PROBE,
	BUILTIN_USTACK, BUILTIN_KSTACK, BUILTIN_STACK, BUILTIN_CPID, BUILTIN_JIFFIES, BUILTIN_PPID,
	BUILTIN_PROBETYPE, BUILTIN_TARGET, BUILTIN_HAS_TARGET, BUILTIN_PCOMM, BUILTIN_HAS_CPID,
	BUILTIN_LEADER_TID, BUILTIN_LEADER_COMM, BUILTIN_USERMODE,
};

struct builtin {
	const char *name;
	enum builtin_id id;
};

enum func_id {
	FUNC_PRINTF, FUNC_PRINT, FUNC_CLEAR, FUNC_ZERO, FUNC_DELETE, FUNC_HAS_KEY, FUNC_LEN,
	FUNC_EXIT, FUNC_TIME, FUNC_STRFTIME, FUNC_CAT, FUNC_SYSTEM, FUNC_JOIN, FUNC_ERRORF,
	FUNC_WARNF, FUNC_HEADING,
	FUNC_STR, FUNC_BUF, FUNC_IOVEC, FUNC_HASH, FUNC_STRLEN, FUNC_STRNCMP, FUNC_STRCONTAINS,
	FUNC_KSYM, FUNC_USYM, FUNC_KADDR, FUNC_UADDR, FUNC_UADDR_FROM, FUNC_REG, FUNC_KPTR, FUNC_UPTR,
		FUNC_CGROUPID, FUNC_CGROUP_PATH, FUNC_NTOP, FUNC_MACADDR, FUNC_BSWAP, FUNC_STRERROR,
	FUNC_USTACK, FUNC_KSTACK, FUNC_STACK, FUNC_NSECS, FUNC_SIGNAL,
	FUNC_SIGNAL_THREAD, FUNC_OVERRIDE, FUNC_WRITE_USER, FUNC_DEBUGF,
	FUNC_STRSTR, FUNC_STRCAP, FUNC_MEMCMP, FUNC_STR_CONCAT, FUNC_PTON, FUNC_SIGNAL_NAME,
	FUNC_SYSCALL_NAME, FUNC_ERRNO_NAME, FUNC_FLAG_NAMES, FUNC_LOADAVG,
	/* answered while compiling */
	FUNC_GETOPT, FUNC_FAIL, FUNC_IS_STR, FUNC_IS_PTR, FUNC_IS_ARRAY, FUNC_IS_INTEGER,
	FUNC_IS_UNSIGNED_INTEGER, FUNC_IS_LITERAL, FUNC_IS_SCALAR, FUNC_KFUNC_EXIST,
	FUNC_KFUNC_ALLOWED, FUNC_UNWATCH, FUNC_FOLLOW, FUNC_HAS_PROBE,
	/* aggregations */
	FUNC_COUNT, FUNC_SUM, FUNC_MIN, FUNC_MAX, FUNC_AVG, FUNC_STATS, FUNC_HIST, FUNC_LHIST,
	FUNC_TSERIES,
};

struct func {
	const char *name;
	enum func_id id;
	u8 min_args, max_args;
	bool agg;      /* only as @m = f(...) */
	bool no_value; /* a statement: can not be used in an expression */
	bool unsafe;   /* needs --unsafe */
};

/* NULL when unknown. "arg0".."arg255" all find BUILTIN_ARG. */
const struct builtin *builtin_find(struct str name);
const struct func *func_find(struct str name);
/* True for functions and variables of the language that are not here. */
bool func_absent(struct str name);
/* Offers every name to a nearest-name search. */
void builtin_offer(struct near *n);
void func_offer(struct near *n);

#endif
