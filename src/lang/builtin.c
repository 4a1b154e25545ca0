/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names the language knows, as two tables. What a name means is elsewhere: its type in
 * infer, its instructions in gen. The tables are short, so looking a name up is a scan.
 */
#include "lang/builtin.h"

#include "lang/parse/stdlib.h"

static const struct builtin builtins[] = {
	{ "pid", BUILTIN_PID },
	{ "tid", BUILTIN_TID },
	{ "uid", BUILTIN_UID },
	{ "gid", BUILTIN_GID },
	{ "username", BUILTIN_USERNAME },
	{ "nsecs", BUILTIN_NSECS },
	{ "elapsed", BUILTIN_ELAPSED },
	{ "cpu", BUILTIN_CPU },
	{ "ncpus", BUILTIN_NCPUS },
	{ "numaid", BUILTIN_NUMAID },
	{ "comm", BUILTIN_COMM },
	{ "curtask", BUILTIN_CURTASK },
	{ "cgroup", BUILTIN_CGROUP },
	{ "rand", BUILTIN_RAND },
	{ "ctx", BUILTIN_CTX },
	{ "args", BUILTIN_ARGS },
	{ "arg0", BUILTIN_ARG }, /* stands for arg0 to arg255 */
	{ "retval", BUILTIN_RETVAL },
	{ "func", BUILTIN_FUNC },
	{ "probe", BUILTIN_PROBE },
	{ "probetype", BUILTIN_PROBETYPE },
	{ "ustack", BUILTIN_USTACK },
	{ "kstack", BUILTIN_KSTACK },
	{ "stack", BUILTIN_STACK },
	{ "cpid", BUILTIN_CPID },
	{ "ppid", BUILTIN_PPID },
	{ "jiffies", BUILTIN_JIFFIES },
	{ "pcomm", BUILTIN_PCOMM },
	{ "has_cpid", BUILTIN_HAS_CPID },
	{ "has_target", BUILTIN_HAS_TARGET },
	{ "target", BUILTIN_TARGET },
	{ "leader_tid", BUILTIN_LEADER_TID },
	{ "leader_comm", BUILTIN_LEADER_COMM },
	{ "usermode", BUILTIN_USERMODE },
};

/* A format and up to 127 values. */
#define FORMAT_MAX                   128
#define ROW(text, what, least, most) .name = text, .id = what, .min_args = least, .max_args = most

static const struct func funcs[] = {
	/* output */
	{ ROW("printf", FUNC_PRINTF, 1, FORMAT_MAX), .no_value = true },
	{ ROW("print", FUNC_PRINT, 1, 3), .no_value = true },
	{ ROW("time", FUNC_TIME, 0, 1), .no_value = true },
	{ ROW("cat", FUNC_CAT, 1, FORMAT_MAX), .no_value = true },
	{ ROW("system", FUNC_SYSTEM, 1, FORMAT_MAX), .no_value = true, .unsafe = true },
	{ ROW("join", FUNC_JOIN, 1, 2), .no_value = true },
	{ ROW("errorf", FUNC_ERRORF, 1, FORMAT_MAX), .no_value = true },
	{ ROW("warnf", FUNC_WARNF, 1, FORMAT_MAX), .no_value = true },
	{ ROW("heading", FUNC_HEADING, 1, FORMAT_MAX), .no_value = true },
	{ ROW("exit", FUNC_EXIT, 0, 1), .no_value = true },
	/* maps */
	{ ROW("clear", FUNC_CLEAR, 1, 1), .no_value = true },
	{ ROW("zero", FUNC_ZERO, 1, 1), .no_value = true },
	{ ROW("delete", FUNC_DELETE, 1, 2) },
	{ ROW("has_key", FUNC_HAS_KEY, 2, 2) },
	{ ROW("len", FUNC_LEN, 1, 1) },
	/* text and memory */
	{ ROW("str", FUNC_STR, 1, 2) },
	{ ROW("buf", FUNC_BUF, 1, 2) },
	{ ROW("iovec", FUNC_IOVEC, 4, 4) },
	{ ROW("hash", FUNC_HASH, 1, 1) },
	{ ROW("strlen", FUNC_STRLEN, 1, 1) },
	{ ROW("strncmp", FUNC_STRNCMP, 3, 3) },
	{ ROW("strcontains", FUNC_STRCONTAINS, 2, 2) },
	{ ROW("strstr", FUNC_STRSTR, 2, 2) },
	{ ROW("strcap", FUNC_STRCAP, 1, 1) },
	{ ROW("memcmp", FUNC_MEMCMP, 3, 3) },
	{ ROW("str_concat", FUNC_STR_CONCAT, 2, 2) },
	{ ROW("pton", FUNC_PTON, 1, 1) },
	{ ROW("signal_name", FUNC_SIGNAL_NAME, 1, 1) },
	{ ROW("syscall_name", FUNC_SYSCALL_NAME, 1, 1) },
	{ ROW("errno_name", FUNC_ERRNO_NAME, 1, 1) },
	{ ROW("flag_names", FUNC_FLAG_NAMES, 2, 2) },
	{ ROW("strftime", FUNC_STRFTIME, 2, 2) },
	{ ROW("strerror", FUNC_STRERROR, 1, 1) },
	{ ROW("ntop", FUNC_NTOP, 1, 2) },
	{ ROW("macaddr", FUNC_MACADDR, 1, 1) },
	{ ROW("bswap", FUNC_BSWAP, 1, 1) },
	{ ROW("kptr", FUNC_KPTR, 1, 1) },
	{ ROW("uptr", FUNC_UPTR, 1, 1) },
	/* symbols, registers, the machine */
	{ ROW("ksym", FUNC_KSYM, 1, 1) },
	{ ROW("usym", FUNC_USYM, 1, 1) },
	{ ROW("kaddr", FUNC_KADDR, 1, 1) },
	{ ROW("__uaddr", FUNC_UADDR, 1, 1) },
	{ ROW("__uaddr_from", FUNC_UADDR_FROM, 1, 1) },
	{ ROW("reg", FUNC_REG, 1, 1) },
	{ ROW("cgroupid", FUNC_CGROUPID, 1, 1) },
	{ ROW("cgroup_path", FUNC_CGROUP_PATH, 1, 2) },
	{ ROW("ustack", FUNC_USTACK, 0, 3) },
	{ ROW("kstack", FUNC_KSTACK, 0, 2) },
	{ ROW("stack", FUNC_STACK, 0, 3) },
	{ ROW("nsecs", FUNC_NSECS, 0, 1) },
	{ ROW("signal", FUNC_SIGNAL, 1, 1), .no_value = true, .unsafe = true },
	{ ROW("loadavg", FUNC_LOADAVG, 0, 0) },
	{ ROW("unwatch", FUNC_UNWATCH, 1, 1), .no_value = true },
	{ ROW("follow", FUNC_FOLLOW, 1, 1), .no_value = true },
	{ ROW("signal_thread", FUNC_SIGNAL_THREAD, 1, 1), .no_value = true, .unsafe = true },
	{ ROW("override", FUNC_OVERRIDE, 1, 1), .no_value = true, .unsafe = true },
	{ ROW("write_user", FUNC_WRITE_USER, 3, 3), .unsafe = true },
	{ ROW("debugf", FUNC_DEBUGF, 1, 4), .no_value = true },
	/* answered while compiling */
	{ ROW("getopt", FUNC_GETOPT, 1, 3) },
	{ ROW("fail", FUNC_FAIL, 1, FORMAT_MAX), .no_value = true },
	{ ROW("is_str", FUNC_IS_STR, 1, 1) },
	{ ROW("is_ptr", FUNC_IS_PTR, 1, 1) },
	{ ROW("is_array", FUNC_IS_ARRAY, 1, 1) },
	{ ROW("is_integer", FUNC_IS_INTEGER, 1, 1) },
	{ ROW("is_unsigned_integer", FUNC_IS_UNSIGNED_INTEGER, 1, 1) },
	{ ROW("is_literal", FUNC_IS_LITERAL, 1, 1) },
	{ ROW("is_scalar", FUNC_IS_SCALAR, 1, 1) },
	{ ROW("kfunc_exist", FUNC_KFUNC_EXIST, 1, 1) },
	{ ROW("has_probe", FUNC_HAS_PROBE, 1, 1) },
	{ ROW("kfunc_allowed", FUNC_KFUNC_ALLOWED, 1, 1) },
	/* aggregations */
	{ ROW("count", FUNC_COUNT, 0, 0), .agg = true },
	{ ROW("sum", FUNC_SUM, 1, 1), .agg = true },
	{ ROW("min", FUNC_MIN, 1, 1), .agg = true },
	{ ROW("max", FUNC_MAX, 1, 1), .agg = true },
	{ ROW("avg", FUNC_AVG, 1, 1), .agg = true },
	{ ROW("stats", FUNC_STATS, 1, 1), .agg = true },
	{ ROW("hist", FUNC_HIST, 1, 2), .agg = true },
	{ ROW("lhist", FUNC_LHIST, 4, 4), .agg = true },
	{ ROW("tseries", FUNC_TSERIES, 3, 4), .agg = true },
};

/* "arg0" to "arg255", no leading zeros. */
static bool is_arg(struct str name)
{
	u32 n = 0;

	if (!str_starts(name, "arg") || name.n < 4 || name.n > 6)
		return false;
	if (name.p[3] == '0' && name.n > 4)
		return false;
	for (u32 i = 3; i < name.n; i++) {
		if (name.p[i] < '0' || name.p[i] > '9')
			return false;
		n = n * 10 + (u32)(name.p[i] - '0');
	}
	return n <= 255;
}

const struct builtin *builtin_find(struct str name)
{
	if (is_arg(name))
		name = STR("arg0");
	for (u32 i = 0; i < ARRAY_SIZE(builtins); i++)
		if (str_is_row(name, builtins[i].name))
			return &builtins[i];
	return NULL;
}

const struct func *func_find(struct str name)
{
	for (u32 i = 0; i < ARRAY_SIZE(funcs); i++)
		if (str_is_row(name, funcs[i].name))
			return &funcs[i];
	return NULL;
}

static bool is_listed(struct str name, const char *const *list)
{
	while (*list)
		if (str_is(name, *list++))
			return true;
	return false;
}

bool func_absent(struct str name)
{
	static const char *const names[] = { "skboutput", NULL };

	return is_listed(name, names);
}

void builtin_offer(struct near *n)
{
	for (u32 i = 0; i < ARRAY_SIZE(builtins); i++)
		near_offer(n, builtins[i].name);
}

void func_offer(struct near *n)
{
	for (u32 i = 0; i < ARRAY_SIZE(funcs); i++)
		near_offer(n, funcs[i].name);
	stdlib_offer(n);
}
