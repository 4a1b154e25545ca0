/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All that the compiler may ask of the machine: a table of functions. The real one is
 * world/world_linux.c; tests use one made of files. Answers are cached by the world and
 * live as long as it does. Nothing is opened before it is asked for.
 */
#ifndef LANG_PARSE_WORLD_H
#define LANG_PARSE_WORLD_H

#include "base/err.h"
#include "btf/btf.h"
#include "elf/dwarf_file.h"
#include "elf/elf.h"
#include "elf/usdt.h"
#include "read/kallsyms.h"
#include "read/tpformat.h"
#include "unit/features.h"

struct world;

/* A function of a loaded BPF program. */
struct bpf_function {
	u32 prog_id;
	const char *prog; /* the program's name in the kernel, at most 15 bytes */
	const char *name;
	bool is_main;    /* where the program starts */
	struct btf *btf; /* the program's types, NULL: it has none */
	u32 btf_id;
};

struct world_ops {
	/* Kernel BTF, or NULL and *e with a sentence saying what is missing. */
	struct btf *(*btf)(struct world *w, struct err *e);
	/* Types of one of the kernel's modules, continuing the kernel's; NULL and *e. */
	struct btf *(*module)(struct world *w, const char *name, struct err *e);
	/* Modules that have types, in sorted order, until cb returns false. None is opened. */
	void (*modules)(struct world *w, bool (*cb)(void *ctx, const char *name), void *ctx);
	/* Format of one tracepoint; NULL and *e. */
	const struct tpformat *(*tracepoint)(struct world *w, const char *group, const char *name,
	                                     struct err *e);
	/* All "group", "name" pairs whose parts match the globs, in sorted order. */
	bool (*tracepoints)(struct world *w, struct str group, struct str name,
	                    bool (*cb)(void *ctx, const char *group, const char *name), void *ctx,
	                    struct err *e);
	/* Opens (or finds again) an ELF file. */
	struct elf *(*elf)(struct world *w, const char *path, struct err *e);
	/* Debug information of the program or library at that path; NULL and *e. */
	struct dwarf_file *(*dwarf)(struct world *w, const char *path, struct err *e);
	/* The readable form of a mangled C++ or Rust symbol; NULL for other symbols. */
	const char *(*demangle)(struct world *w, const char *symbol);
	/* A program or library as a user names it: a path with '/', a name found in PATH, or
	 * "libc" / "libssl.so.3" as the loader would find it; in the root of process
	 * `pid`, unless that is 0. NULL and *e. */
	const char *(*resolve)(struct world *w, s32 pid, const char *name, struct err *e);
	/* Executable files mapped by a process, or by any process (pid 0), each once, as paths that
	 * can be opened from here (/proc/PID/root/...). */
	bool (*process_files)(struct world *w, s32 pid, bool (*cb)(void *ctx, const char *path),
	                      void *ctx, struct err *e);
	/* A program, and the libraries it will map when it starts. */
	bool (*command_files)(struct world *w, const char *program,
	                      bool (*cb)(void *ctx, const char *path), void *ctx, struct err *e);
	/* Regular files whose path matches a pattern of the shell, in sorted order. */
	bool (*files)(struct world *w, const char *pattern, bool (*cb)(void *ctx, const char *path),
	              void *ctx, struct err *e);
	/* Kernel functions that can be probed, by glob. */
	bool (*functions)(struct world *w, struct str glob,
	                  bool (*cb)(void *ctx, const char *name, const char *module), void *ctx,
	                  struct err *e);
	/* Functions of the BPF programs that are loaded, until cb returns false; a program without
	 * types by its name alone. */
	bool (*bpf_functions)(struct world *w, bool (*cb)(void *ctx, const struct bpf_function *f),
	                      void *ctx, struct err *e);
	/* Text symbols of the kernel and its modules by glob, with their addresses; none when they
	 * are hidden from this user. The names live as long as the world. */
	void (*symbols)(struct world *w, struct str glob,
	                bool (*cb)(void *ctx, const char *name, const char *module, u64 addr),
	                void *ctx);
	/* Every symbol of that name, data too. */
	void (*named)(struct world *w, const char *symbol, kallsyms_place_cb *cb, void *ctx);
	u64 (*kaddr)(struct world *w, const char *symbol); /* the first of them; 0: unknown */
	bool (*cgroupid)(struct world *w, const char *path, u64 *id, struct err *e);
	/* The directory of a control group of the unified hierarchy: a path, or, as
	 * "/proc/PID/cgroup", that of a process. NULL and *e. */
	const char *(*cgroup)(struct world *w, const char *path, struct err *e);
	/* With at least the `wanted` FEATURE_* asked for. */
	const struct features *(*features)(struct world *w, u32 wanted);
	/* Fills in n_cpus and the pid namespace, if n_cpus is 0: most scripts need none of it. */
	void (*machine)(struct world *w);
};

struct world {
	const struct world_ops *ops;
	u32 kernel_version; /* as LINUX_VERSION_CODE: 6.1.20 is 0x060114 */
	/* What follows is there once ops->machine() was called. */
	u32 n_cpus; /* possible CPUs */
	/* Our pid namespace when it is not the initial one (then ids must be translated). */
	bool nested_pid_ns;
	u64 pid_ns_dev, pid_ns_ino;
};

#endif
