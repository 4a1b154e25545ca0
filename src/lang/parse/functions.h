/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of the language: one row for each, from which every table about functions is made.
 * A new one is a row here, its rule in lang/infer/infer_call_*.c and its emitter in gen/.
 *
 *   F(id, name, fewest arguments, most, what it is, type rule, how it is emitted, usage, help)
 *
 * What it is: VALUE; STATEMENT, which has no value; UNSAFE_..., which needs --unsafe.
 * The rule is a function of infer.h. How it is emitted, gen/ alone looks at:
 *   AS_VALUE(f)           f leaves a number in r0                       (gen/gen_call.c)
 *   AS_STORED(f)          f writes the value to memory                  (gen/gen_call.c)
 *   AS_RECORD(action, f)  f fills a record that user space carries out  (gen/gen_record.c)
 *   AS_SENT(action, f, g) the same, and g makes its value
 *   AS_CONSTANT           its rule puts the answer in its place
 *
 * Aggregations are A(id, name, fewest arguments, most, usage, help); id is that of TYPE_..., too.
 */
#ifndef LANG_PARSE_FUNCTIONS_H
#define LANG_PARSE_FUNCTIONS_H

#define FUNCTIONS(F)                                                                               \
	/* output */                                                                               \
	F(PRINTF, "printf", 1, FORMAT_MAX, STATEMENT, infer_call_format,                           \
	  AS_RECORD(ACTION_PRINTF, printf_), "format, value...",                                   \
	  "prints values by a format, as C does")                                                  \
	F(SENT, "sent", 1, FORMAT_MAX, VALUE, infer_call_sent,                                     \
	  AS_SENT(ACTION_PRINTF, printf_, call_sent), "format, value...",                          \
	  "printf() that is true when there was room for the event")                               \
	F(PRINT, "print", 1, 3, STATEMENT, infer_call_print,                                       \
	  AS_RECORD(ACTION_PRINT_VALUE, print_), "@map[, top[, divide or template]]",              \
	  "prints a value, a map, or one entry of it")                                             \
	F(TIME, "time", 0, 1, STATEMENT, infer_call_time, AS_RECORD(ACTION_TIME, time_),           \
	  "[format]", "prints the time of day")                                                    \
	F(CAT, "cat", 1, FORMAT_MAX, STATEMENT, infer_call_format,                                 \
	  AS_RECORD(ACTION_CAT, formatted), "format, value...", "prints a file")                   \
	F(SYSTEM, "system", 1, FORMAT_MAX, UNSAFE_STATEMENT, infer_call_format,                    \
	  AS_RECORD(ACTION_SYSTEM, formatted), "format, value...", "runs a command of the shell")  \
	F(JOIN, "join", 1, 2, STATEMENT, infer_call_join, AS_RECORD(ACTION_JOIN, join_),           \
	  "char *list[][, separator]", "prints an array of strings, such as argv")                 \
	F(ERRORF, "errorf", 1, FORMAT_MAX, STATEMENT, infer_call_format,                           \
	  AS_RECORD(ACTION_ERRORF, formatted), "format, value...",                                 \
	  "prints an error with its place in the script")                                          \
	F(WARNF, "warnf", 1, FORMAT_MAX, STATEMENT, infer_call_format,                             \
	  AS_RECORD(ACTION_WARNF, formatted), "format, value...",                                  \
	  "prints a warning with its place in the script")                                         \
	F(HEADING, "heading", 1, FORMAT_MAX, STATEMENT, infer_call_format,                         \
	  AS_RECORD(ACTION_HEADING, formatted), "format, value...",                                \
	  "printf(), left out of JSON and with -q")                                                \
	F(EXIT, "exit", 0, 1, STATEMENT, infer_call_exit, AS_RECORD(ACTION_EXIT, exit_),           \
	  "[status]", "ends the script; END runs, maps are printed")                               \
	/* maps */                                                                                 \
	F(CLEAR, "clear", 1, 1, STATEMENT, infer_call_clear, AS_RECORD(ACTION_CLEAR, of_map),      \
	  "@map", "removes all entries of a map")                                                  \
	F(ZERO, "zero", 1, 1, STATEMENT, infer_call_clear, AS_RECORD(ACTION_ZERO, of_map), "@map", \
	  "sets all values of a map to 0")                                                         \
	F(DELETE, "delete", 1, 2, VALUE, infer_call_delete, AS_VALUE(call_delete),                 \
	  "@map[key] or @map, key", "removes an entry; true when it was there")                    \
	F(HAS_KEY, "has_key", 2, 2, VALUE, infer_call_has_key, AS_VALUE(call_has_key),             \
	  "@map, key", "true when the map has that entry")                                         \
	F(LEN, "len", 1, 1, VALUE, infer_call_len, AS_VALUE(call_len), "@map or stack",            \
	  "the number of its entries or frames")                                                   \
	/* text and memory */                                                                      \
	F(STR, "str", 1, 2, VALUE, infer_call_str, AS_STORED(store_str), "pointer[, bytes]",       \
	  "the string in memory, up to a NUL")                                                     \
	F(BUF, "buf", 1, 2, VALUE, infer_call_buf, AS_STORED(store_buf),                           \
	  "pointer or array[, bytes]", "bytes in memory")                                          \
	F(IOVEC, "iovec", 4, 4, VALUE, infer_call_iovec, AS_STORED(store_iovec),                   \
	  "pointer, count, bytes, each", "bytes of the pieces of a struct iovec[], joined")        \
	F(HASH, "hash", 1, 1, VALUE, infer_call_hash, AS_VALUE(gen_hash), "value",                 \
	  "a number of 64 bits made of a string or bytes")                                         \
	F(STRLEN, "strlen", 1, 1, VALUE, infer_call_strlen, AS_VALUE(call_strlen), "string",       \
	  "bytes before its end")                                                                  \
	F(STRNCMP, "strncmp", 3, 3, VALUE, infer_call_strncmp, AS_VALUE(call_strncmp), "a, b, n",  \
	  "0 when the first n bytes are the same")                                                 \
	F(STRCONTAINS, "strcontains", 2, 2, VALUE, infer_call_strcontains,                         \
	  AS_VALUE(call_strcontains), "string, part", "true when the part is in it")               \
	F(STRSTR, "strstr", 2, 2, VALUE, infer_call_strstr, AS_VALUE(call_strstr), "string, part", \
	  "where the part begins in it, from 0; -1 when it is not there")                          \
	F(FIRST_OF, "first_of", 3, 3, VALUE, infer_call_first_of, AS_VALUE(call_first_of),         \
	  "string, from, \"bytes\"",                                                               \
	  "where the first of these bytes is, from there on; the end when there is none")          \
	F(SUBSTR, "substr", 3, 3, VALUE, infer_call_substr, AS_STORED(gen_text_part),              \
	  "string, from, bytes", "a part of a string")                                             \
	F(STRCAP, "strcap", 1, 1, VALUE, infer_call_strcap, AS_CONSTANT, "string",                 \
	  "bytes that there is room for in its place")                                             \
	F(MEMCMP, "memcmp", 3, 3, VALUE, infer_call_memcmp, AS_VALUE(call_memcmp), "a, b, n",      \
	  "0 when n bytes of memory are the same")                                                 \
	F(STR_CONCAT, "str_concat", 2, 2, VALUE, infer_call_str_concat,                            \
	  AS_STORED(gen_text_concat), "a, b", "both strings as one")                               \
	F(DECIMAL, "decimal", 1, 1, VALUE, infer_call_decimal, AS_STORED(gen_text_decimal),        \
	  "number", "its digits as a string")                                                      \
	F(PTON, "pton", 1, 1, VALUE, infer_call_pton, AS_STORED(store_address), "\"address\"",     \
	  "bytes of an IPv4 or IPv6 address")                                                      \
	F(SIGNAL_NAME, "signal_name", 1, 1, VALUE, infer_call_signal_name, AS_VALUE(call_first),   \
	  "number", "SIGKILL for 9")                                                               \
	F(SYSCALL_NAME, "syscall_name", 1, 1, VALUE, infer_call_signal_name, AS_VALUE(call_first), \
	  "number", "the name of a system call: read for 0")                                       \
	F(ERRNO_NAME, "errno_name", 1, 1, VALUE, infer_call_errno_name, AS_VALUE(call_first),      \
	  "number", "ENOENT for 2 or -2")                                                          \
	F(FLAG_NAMES, "flag_names", 2, 2, VALUE, infer_call_flag_names, AS_VALUE(call_first),      \
	  "number, \"table\"", "the names of the bits that are set")                               \
	F(STRFTIME, "strftime", 2, 2, VALUE, infer_call_strftime, AS_VALUE(call_strftime),         \
	  "format, nsecs", "a time as text")                                                       \
	F(STRERROR, "strerror", 1, 1, VALUE, infer_call_strerror, AS_VALUE(call_first), "number",  \
	  "the text of an error number")                                                           \
	F(NTOP, "ntop", 1, 2, VALUE, infer_call_ntop, AS_STORED(store_inet), "[family, ]address",  \
	  "an IPv4 or IPv6 address as text")                                                       \
	F(MACADDR, "macaddr", 1, 1, VALUE, infer_call_macaddr, AS_VALUE(call_macaddr),             \
	  "array or pointer", "a MAC address as text")                                             \
	F(BSWAP, "bswap", 1, 1, VALUE, infer_call_bswap, AS_VALUE(call_bswap), "integer",          \
	  "the bytes in the other order")                                                          \
	F(KPTR, "kptr", 1, 1, VALUE, infer_call_kptr, AS_VALUE(call_first), "address",             \
	  "as an address of the kernel")                                                           \
	F(PACKET, "packet", 1, 1, VALUE, infer_call_packet, AS_VALUE(call_first), "offset",        \
	  "as a place in the packet of ingress and egress, from its IP header on")                 \
	F(UPTR, "uptr", 1, 1, VALUE, infer_call_uptr, AS_VALUE(call_first), "address",             \
	  "as an address of the program")                                                          \
	/* symbols, registers, the machine */                                                      \
	F(KSYM, "ksym", 1, 1, VALUE, infer_call_ksym, AS_VALUE(call_first), "address",             \
	  "the name of a kernel address")                                                          \
	F(USYM, "usym", 1, 1, VALUE, infer_call_usym, AS_STORED(store_usym), "address",            \
	  "the name of a program address")                                                         \
	F(KADDR, "kaddr", 1, 1, VALUE, infer_call_kaddr, AS_CONSTANT, "\"symbol\"",                \
	  "the address of a kernel symbol")                                                        \
	F(UADDR, "__uaddr", 1, 1, VALUE, infer_call_uaddr, AS_CONSTANT, "\"symbol\"",              \
	  "the address of a symbol of the probed program, where it is not moved")                  \
	F(UADDR_FROM, "__uaddr_from", 1, 1, VALUE, infer_call_uaddr_from, AS_CONSTANT,             \
	  "\"symbol\"", "what a place in memory has to be added to for the address of a symbol")   \
	F(REG, "reg", 1, 1, VALUE, infer_call_reg, AS_VALUE(call_reg), "\"name\"",                 \
	  "the value of a register")                                                               \
	F(CGROUPID, "cgroupid", 1, 1, VALUE, infer_call_cgroupid, AS_CONSTANT, "\"path\"",         \
	  "the id of a control group")                                                             \
	F(CGROUP_PATH, "cgroup_path", 1, 2, VALUE, infer_call_cgroup_path, AS_VALUE(call_first),   \
	  "id[, \"filter\"]", "the path of a control group")                                       \
	F(USTACK, "ustack", 0, 3, VALUE, infer_call_stack, AS_STORED(store_stack),                 \
	  "[mode][, frames[, how]]", "the stack of the program")                                   \
	F(KSTACK, "kstack", 0, 2, VALUE, infer_call_stack, AS_STORED(store_stack),                 \
	  "[mode][, frames]", "the stack of the kernel")                                           \
	F(STACK, "stack", 0, 3, VALUE, infer_call_stack, AS_STORED(store_stack),                   \
	  "[mode][, frames[, how]]", "the stack of the kernel, then that of the program")          \
	F(NSECS, "nsecs", 0, 1, VALUE, infer_call_nsecs, AS_VALUE(call_nsecs), "[clock]",          \
	  "nanoseconds: boot, monotonic, tai, sw_tai")                                             \
	F(SIGNAL, "signal", 1, 1, UNSAFE_STATEMENT, infer_call_signal, AS_VALUE(call_signal),      \
	  "number or \"name\"", "sends a signal to the process")                                   \
	F(LOADAVG, "loadavg", 0, 0, VALUE, infer_call_loadavg, AS_VALUE(call_loadavg), "",         \
	  "the load averages of 1, 5 and 15 minutes")                                              \
	F(UNWATCH, "unwatch", 1, 1, STATEMENT, infer_call_unwatch,                                 \
	  AS_RECORD(ACTION_UNWATCH, values_), "address", "removes a watchpoint")                   \
	F(FOLLOW, "follow", 1, 1, STATEMENT, infer_call_follow, AS_RECORD(ACTION_FOLLOW, follow_), \
	  "pid", "looks at one more process, where a script looks at one")                         \
	F(SIGNAL_THREAD, "signal_thread", 1, 1, UNSAFE_STATEMENT, infer_call_signal,               \
	  AS_VALUE(call_signal), "number or \"name\"", "sends a signal to the thread")             \
	F(OVERRIDE, "override", 1, 1, UNSAFE_STATEMENT, infer_call_override,                       \
	  AS_VALUE(call_override), "value", "makes the probed kernel function return it at once")  \
	F(WRITE_USER, "write_user", 3, 3, UNSAFE_VALUE, infer_call_write_user,                     \
	  AS_VALUE(call_write_user), "pointer, pointer, bytes",                                    \
	  "writes to the memory of the program; 0 when it could")                                  \
	F(DEBUGF, "debugf", 1, 4, STATEMENT, infer_call_debugf, AS_VALUE(call_debugf),             \
	  "format, value...", "writes to the trace of the kernel")                                 \
	/* answered while compiling */                                                             \
	F(GETOPT, "getopt", 1, 3, VALUE, infer_call_getopt, AS_CONSTANT,                           \
	  "\"name|letter\"[, default[, \"help\"]]", "the value of an option of the script")        \
	F(FAIL, "fail", 1, FORMAT_MAX, STATEMENT, infer_call_fail, AS_CONSTANT,                    \
	  "format, value...", "ends compiling with an error")                                      \
	F(METRIC, "metric", 2, 12, STATEMENT, infer_call_metric, AS_CONSTANT,                      \
	  "@map, \"name\"[, \"help\"[, \"unit\"[, \"label\"...]]]",                                \
	  "what a map is as a metric of memtap serve")                                             \
	F(IS_STR, "is_str", 1, 1, VALUE, infer_call_is_kind, AS_CONSTANT, "value",                 \
	  "true for a string")                                                                     \
	F(IS_PTR, "is_ptr", 1, 1, VALUE, infer_call_is_kind, AS_CONSTANT, "value",                 \
	  "true for a pointer")                                                                    \
	F(IS_ARRAY, "is_array", 1, 1, VALUE, infer_call_is_kind, AS_CONSTANT, "value",             \
	  "true for an array")                                                                     \
	F(IS_INTEGER, "is_integer", 1, 1, VALUE, infer_call_is_kind, AS_CONSTANT, "value",         \
	  "true for an integer")                                                                   \
	F(IS_UNSIGNED_INTEGER, "is_unsigned_integer", 1, 1, VALUE, infer_call_is_kind,             \
	  AS_CONSTANT, "value", "true for an integer without a sign")                              \
	F(IS_LITERAL, "is_literal", 1, 1, VALUE, infer_call_is_literal, AS_CONSTANT, "value",      \
	  "true for a constant as it is written")                                                  \
	F(IS_SCALAR, "is_scalar", 1, 1, VALUE, infer_call_is_scalar, AS_CONSTANT, "@map",          \
	  "true for a map without keys")                                                           \
	F(KFUNC_EXIST, "kfunc_exist", 1, 1, VALUE, infer_call_kfunc, AS_CONSTANT, "\"name\"",      \
	  "true when the kernel has that function")                                                \
	F(HAS_PROBE, "has_probe", 1, 1, VALUE, infer_call_has_probe, AS_CONSTANT, "\"probe\"",     \
	  "true when there is something to attach that probe to")                                  \
	F(HAS_KADDR, "has_kaddr", 1, 1, VALUE, infer_call_has_kaddr, AS_CONSTANT, "\"symbol\"",    \
	  "true when kaddr() knows that symbol of the kernel")                                     \
	F(KFUNC_ALLOWED, "kfunc_allowed", 1, 1, VALUE, infer_call_kfunc, AS_CONSTANT, "\"name\"",  \
	  "true when this probe may call that function of the kernel")

#define AGGREGATIONS(A)                                                                            \
	A(COUNT, "count", 0, 0, "", "how often")                                                   \
	A(SUM, "sum", 1, 1, "number", "the sum")                                                   \
	A(MIN, "min", 1, 1, "number", "the smallest")                                              \
	A(MAX, "max", 1, 1, "number", "the largest")                                               \
	A(AVG, "avg", 1, 1, "number", "the average")                                               \
	A(STATS, "stats", 1, 1, "number", "how often, the average and the sum")                    \
	A(HIST, "hist", 1, 2, "number[, bits]", "a histogram by powers of two")                    \
	A(LHIST, "lhist", 4, 4, "number, from, to, step", "a histogram by equal steps")            \
	A(TSERIES, "tseries", 3, 4, "number, interval, how many[, kind]",                          \
	  "a value for each interval")

#endif
