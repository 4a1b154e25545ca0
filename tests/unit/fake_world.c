/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fake machine: tables below, BTF written on the spot.
 *
 * Types:  struct mm { unsigned long total_vm; int map_count; unsigned int locked : 1, mode : 3; }
 *         struct task_struct { int pid; char comm[16]; struct mm *mm; struct mm own;
 *                              struct { int depth; }; enum state state; int cpus[4];
 *                              struct task_struct *parent; const char *name; }
 *         enum state { TASK_RUNNING, TASK_ASLEEP = 2, TASK_LOST = -1 }
 * Functions: long vfs_read(struct task_struct *task, unsigned long count), void vfs_open(int)
 * Events of BTF: wakeup(struct task_struct *p, int success), sched_migrate_task(the same)
 * Module mine: struct mine_state { int level; struct task_struct *owner; },
 *         int mine_start(struct mine_state *state)
 * Iterators: task (struct bpf_iter__task { void *meta; struct task_struct *task; })
 */
#include "fake_world.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/glob.h"
#include "btf_build.h"

/* ---- BTF ------------------------------------------------------------------------------------ */

struct writer {
	struct buf types, strs;
};

static void word(struct writer *w, u32 v)
{
	buf_add(&w->types, &v, sizeof(v));
}

static u32 name(struct writer *w, const char *z)
{
	u32 at = (u32)w->strs.n;

	if (!*z)
		return 0;
	buf_add(&w->strs, z, strlen(z) + 1);
	return at;
}

static void type(struct writer *w, const char *z, u32 kind, u32 vlen, u32 size)
{
	word(w, name(w, z));
	word(w, kind << 24 | vlen);
	word(w, size);
}

static void item(struct writer *w, const char *z, u32 a, u32 b)
{
	word(w, name(w, z));
	word(w, a);
	word(w, b);
}

static void param(struct writer *w, const char *z, u32 id)
{
	word(w, name(w, z));
	word(w, id);
}

static void array(struct writer *w, u32 elem, u32 count)
{
	type(w, "", BTF_KIND_ARRAY, 0, 0);
	word(w, elem);
	word(w, 2);
	word(w, count);
}

#define BITFIELDS  (1u << 7) /* kind_flag, in the kind's byte */
#define INT_SIGNED (1u << 24)

static void integer(struct writer *w, const char *z, u32 size, u32 encoding)
{
	type(w, z, BTF_KIND_INT, 0, size);
	word(w, encoding | size * 8);
}

enum {
	T_VOID,
	T_LONG,
	T_UINT,
	T_INT,
	T_CHAR,
	T_ULONG,
	T_MM,
	T_MM_PTR,
	T_TASK,
	T_TASK_PTR,
	T_NAME,
	T_STATE,
	T_CPUS,
	T_ANON,
	T_CCHAR,
	T_STR,
	T_READ_PROTO,
	T_READ,
	T_OPEN_PROTO,
	T_OPEN,
	T_EVENT_PROTO,
	T_EVENT_PTR,
	T_EVENT,
	T_ITER_PROTO,
	T_ITER,
	T_VOID_PTR,
	T_U32,
	T_MIGRATE,
	T_MIGRATE_ITER,
	T_ITER_TASK_PROTO,
	T_ITER_TASK,
	T_ITER_CONTEXT,
};

static void write_structs(struct writer *w)
{
	type(w, "mm", BTF_KIND_STRUCT | BITFIELDS, 4, 16);
	item(w, "total_vm", T_ULONG, 0);
	item(w, "map_count", T_INT, 64);
	item(w, "locked", T_UINT, 1 << 24 | 96);
	item(w, "mode", T_UINT, 3 << 24 | 97);
	type(w, "", BTF_KIND_PTR, 0, T_MM);
	type(w, "task_struct", BTF_KIND_STRUCT, 9, 88);
	item(w, "pid", T_INT, 0);
	item(w, "comm", T_NAME, 32);
	item(w, "mm", T_MM_PTR, 24 * 8);
	item(w, "own", T_MM, 32 * 8);
	item(w, "", T_ANON, 48 * 8);
	item(w, "state", T_STATE, 52 * 8);
	item(w, "cpus", T_CPUS, 56 * 8);
	item(w, "parent", T_TASK_PTR, 72 * 8);
	item(w, "name", T_STR, 80 * 8);
	type(w, "", BTF_KIND_PTR, 0, T_TASK);
	array(w, T_CHAR, 16);
	type(w, "state", BTF_KIND_ENUM | BITFIELDS, 3, 4);
	param(w, "TASK_RUNNING", 0);
	param(w, "TASK_ASLEEP", 2);
	param(w, "TASK_LOST", (u32)-1);
	array(w, T_INT, 4);
	type(w, "", BTF_KIND_STRUCT, 1, 4);
	item(w, "depth", T_INT, 0);
	type(w, "", BTF_KIND_CONST, 0, T_CHAR);
	type(w, "", BTF_KIND_PTR, 0, T_CCHAR);
}

static void write_functions(struct writer *w)
{
	type(w, "", BTF_KIND_FUNC_PROTO, 2, T_LONG);
	param(w, "task", T_TASK_PTR);
	param(w, "count", T_ULONG);
	type(w, "vfs_read", BTF_KIND_FUNC, 0, T_READ_PROTO);
	type(w, "", BTF_KIND_FUNC_PROTO, 1, T_VOID);
	param(w, "flags", T_INT);
	type(w, "vfs_open", BTF_KIND_FUNC, 0, T_OPEN_PROTO);
	type(w, "", BTF_KIND_FUNC_PROTO, 3, T_VOID);
	param(w, "", T_VOID_PTR);
	param(w, "", T_TASK_PTR);
	param(w, "", T_INT);
	type(w, "", BTF_KIND_PTR, 0, T_EVENT_PROTO);
	type(w, "btf_trace_wakeup", BTF_KIND_TYPEDEF, 0, T_EVENT_PTR);
	type(w, "", BTF_KIND_FUNC_PROTO, 3, T_INT);
	param(w, "__data", T_VOID_PTR);
	param(w, "p", T_TASK_PTR);
	param(w, "success", T_INT);
	type(w, "__traceiter_wakeup", BTF_KIND_FUNC, 0, T_ITER_PROTO);
	type(w, "", BTF_KIND_PTR, 0, T_VOID);
	type(w, "u32", BTF_KIND_TYPEDEF, 0, T_UINT);
	type(w, "btf_trace_sched_migrate_task", BTF_KIND_TYPEDEF, 0, T_EVENT_PTR);
	type(w, "__traceiter_sched_migrate_task", BTF_KIND_FUNC, 0, T_ITER_PROTO);
	type(w, "", BTF_KIND_FUNC_PROTO, 2, T_INT);
	param(w, "meta", T_VOID_PTR);
	param(w, "task", T_TASK_PTR);
	type(w, "bpf_iter_task", BTF_KIND_FUNC, 0, T_ITER_TASK_PROTO);
	type(w, "bpf_iter__task", BTF_KIND_STRUCT, 2, 16);
	item(w, "meta", T_VOID_PTR, 0);
	item(w, "task", T_TASK_PTR, 64);
}

static struct btf *write_btf(struct arena *a)
{
	struct writer w = { 0 };
	struct buf file = { 0 };
	struct btf *b;
	struct btf_error e;

	buf_putc(&w.strs, 0);
	integer(&w, "long", 8, INT_SIGNED);
	integer(&w, "unsigned int", 4, 0);
	integer(&w, "int", 4, INT_SIGNED);
	integer(&w, "char", 1, INT_SIGNED);
	integer(&w, "unsigned long", 8, 0);
	write_structs(&w);
	write_functions(&w);
	{
		u32 header[] = { 0x1eb9f | 1 << 16, 24,           0, (u32)w.types.n,
			         (u32)w.types.n,    (u32)w.strs.n };

		buf_add(&file, header, sizeof(header));
	}
	buf_add(&file, w.types.p, w.types.n);
	buf_add(&file, w.strs.p, w.strs.n);
	b = btf_open_memory(arena_strndup(a, file.p, file.n), file.n, &e);
	buf_free(&w.types);
	buf_free(&w.strs);
	buf_free(&file);
	return b;
}

static struct btf *fake_btf(struct world *w, struct err *e)
{
	struct fake_world *f = (struct fake_world *)w;

	if (f->no_btf) {
		err_set(e, "this kernel has no type information (BTF): /sys/kernel/btf/vmlinux is "
		           "missing");
		return NULL;
	}
	return f->btf;
}

/* struct mine_state { int level; struct task_struct *owner; }, int mine_start(struct mine_state
 * *) */
static struct btf *write_module(struct arena *a, struct btf *base)
{
	struct btf_build w = { 0 };
	u32 first = btf_count(base), number = btf_find_c(base, "int");
	struct btf_file f;
	struct btf *b;
	const void *p;
	size_t n;

	btf_file(base, &f);
	w.strs_first = f.strings_len;
	btf_build_type(&w, "", BTF_KIND_PTR, 0, btf_find_c(base, "struct task_struct"));
	btf_build_type(&w, "mine_state", BTF_KIND_STRUCT, 2, 16);
	btf_build_three(&w, btf_build_name(&w, "level"), number, 0);
	btf_build_three(&w, btf_build_name(&w, "owner"), first, 64);
	btf_build_type(&w, "", BTF_KIND_PTR, 0, first + 1);
	btf_build_type(&w, "", BTF_KIND_FUNC_PROTO, 1, number);
	btf_build_two(&w, btf_build_name(&w, "state"), first + 2);
	btf_build_type(&w, "mine_start", BTF_KIND_FUNC, 0, first + 3);
	btf_build_type(&w, "btf_trace_mine_event", BTF_KIND_TYPEDEF, 0, first);
	p = btf_build_file(&w, &n);
	b = btf_open_memory_split(arena_strndup(a, p, n), n, base, NULL);
	btf_build_free(&w);
	return b;
}

static struct btf *fake_module(struct world *w, const char *name, struct err *e)
{
	struct fake_world *f = (struct fake_world *)w;

	if (strcmp(name, "mine") != 0) {
		err_set(e, "there are no types of the module %s", name);
		return NULL;
	}
	if (!f->module)
		f->module = write_module(&f->arena, f->btf);
	return f->module;
}

static void fake_modules(struct world *w, bool (*cb)(void *ctx, const char *name), void *ctx)
{
	(void)w;
	cb(ctx, "mine");
}

static bool fake_bpf_functions(struct world *w, bool (*cb)(void *ctx, const struct bpf_function *f),
                               void *ctx, struct err *e)
{
	struct btf *b = fake_btf(w, e);
	const struct bpf_function all[] = {
		{ 7, "cut_to_15_bytes", "vfs_read", true, b,
		  btf_find(b, BTF_KIND_FUNC, "vfs_read") },
		{ 7, "cut_to_15_bytes", "vfs_open", false, b,
		  btf_find(b, BTF_KIND_FUNC, "vfs_open") },
		{ 9, "other", "vfs_read", true, b, btf_find(b, BTF_KIND_FUNC, "vfs_read") },
		{ 11, "bare", "bare", true, NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!cb(ctx, &all[i]))
			break;
	return true;
}

/* ---- tracepoints ---------------------------------------------------------------------------- */

#define COMMON                                                                                     \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"            \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const struct {
	const char *group, *name, *format;
} events[] = {
	{ "sched", "sched_switch",
	  "name: sched_switch\nID: 300\n" COMMON
	  "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	  "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	  "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	  "\tfield:__data_loc char[] cgroup;\toffset:40;\tsize:4;\tsigned:0;\n"
	  "\tfield:struct task_struct * next;\toffset:48;\tsize:8;\tsigned:0;\n"
	  "\tfield:u8 mac[6];\toffset:56;\tsize:6;\tsigned:0;\n"
	  "\nprint fmt: \"\"\n" },
	{ "oom", "mark_victim",
	  "name: mark_victim\nID: 405\n" COMMON
	  "\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n" },
	{ "syscalls", "sys_enter_openat",
	  "name: sys_enter_openat\nID: 500\n" COMMON
	  "\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	  "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
	  "\tfield:const char *const * argv;\toffset:32;\tsize:8;\tsigned:0;\n"
	  "\nprint fmt: \"\"\n" },
	{ "vmscan", "mm_vmscan_lru_isolate",
	  "name: mm_vmscan_lru_isolate\nID: 401\n" COMMON
	  "\tfield:int nid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n" },
	{ "vmscan", "mm_vmscan_write_folio",
	  "name: mm_vmscan_write_folio\nID: 402\n" COMMON
	  "\tfield:unsigned long pfn;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n" },
};

static const struct tpformat *fake_tracepoint(struct world *w, const char *group, const char *event,
                                              struct err *e)
{
	struct fake_world *f = (struct fake_world *)w;

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		struct tpformat *format;

		if (strcmp(events[i].group, group) != 0 || strcmp(events[i].name, event) != 0)
			continue;
		format = arena_new(&f->arena, struct tpformat);
		return tpformat_parse(&f->arena, str_of(events[i].format), format, e) ? format
		                                                                      : NULL;
	}
	err_set(e, "no such tracepoint");
	return NULL;
}

static bool fake_tracepoints(struct world *w, struct str group, struct str event,
                             bool (*cb)(void *ctx, const char *group, const char *name), void *ctx,
                             struct err *e)
{
	(void)w;
	(void)e;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (glob_match(group, str_of(events[i].group)) &&
		    glob_match(event, str_of(events[i].name)) &&
		    !cb(ctx, events[i].group, events[i].name))
			break;
	return true;
}

/* ---- programs, functions, the rest ---------------------------------------------------------- */

static const char self_path[] = "/proc/self/exe";

static const char *fake_resolve(struct world *w, s32 pid, const char *file, struct err *e)
{
	(void)w;
	(void)pid;
	if (strcmp(file, "self") == 0 || strcmp(file, self_path) == 0)
		return self_path;
	err_set(e, "no program or library '%s'", file);
	return NULL;
}

static const char *fake_demangle(struct world *w, const char *symbol)
{
	(void)w;
	(void)symbol;
	return NULL;
}

static struct dwarf_file *fake_dwarf(struct world *w, const char *path, struct err *e)
{
	(void)w;
	err_set(e, "%s has no debug information", path);
	return NULL;
}

static struct elf *fake_elf(struct world *w, const char *path, struct err *e)
{
	struct fake_world *f = (struct fake_world *)w;

	if (!f->self)
		f->self = elf_open(path, e);
	return f->self;
}

static bool fake_process_files(struct world *w, s32 pid, bool (*cb)(void *ctx, const char *path),
                               void *ctx, struct err *e)
{
	(void)w;
	if (pid != 77)
		return err_set(e, "no process %d", pid);
	cb(ctx, self_path);
	return true;
}

static bool fake_command_files(struct world *w, const char *program,
                               bool (*cb)(void *ctx, const char *path), void *ctx, struct err *e)
{
	(void)w;
	(void)e;
	cb(ctx, program);
	return true;
}

static bool fake_files(struct world *w, const char *pattern,
                       bool (*cb)(void *ctx, const char *path), void *ctx, struct err *e)
{
	(void)w;
	(void)e;
	if (glob_match(str_of(pattern), str_of(self_path)))
		cb(ctx, self_path);
	return true;
}

static bool fake_functions(struct world *w, struct str glob,
                           bool (*cb)(void *ctx, const char *name, const char *module), void *ctx,
                           struct err *e)
{
	static const char *const names[][2] = {
		{ "vfs_open", "" },       { "vfs_read", "" },      { "vfs_write", "" },
		{ "zram_write", "zram" }, { "two_files", "" },     { "two_files", "" },
		{ "two_homes", "" },      { "two_homes", "zram" },
	};

	(void)w;
	(void)e;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (glob_match(glob, str_of(names[i][0])) && !cb(ctx, names[i][0], names[i][1]))
			break;
	return true;
}

static void fake_symbols(struct world *w, struct str glob,
                         bool (*cb)(void *ctx, const char *name, const char *module, u64 addr),
                         void *ctx)
{
	static const struct {
		const char *name, *module;
		u64 addr;
	} rows[] = {
		{ "vfs_open", "", 0xffffffff81001000 },
		{ "vfs_read", "", 0xffffffff81002000 },
		{ "vfs_read", "", 0xffffffff81002800 }, /* static functions of two files */
		{ "vfs_write", "", 0 },                 /* hidden */
		{ "zram_write", "zram", 0xffffffffc0001000 },
	};

	(void)w;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (glob_match(glob, str_of(rows[i].name)) &&
		    !cb(ctx, rows[i].name, rows[i].module, rows[i].addr))
			break;
}

static void fake_named(struct world *w, const char *symbol, kallsyms_place_cb *cb, void *ctx)
{
	static const struct {
		const char *name;
		struct kallsyms_place place;
	} rows[] = {
		{ "_text", { 0xffffffff81000000, "", "", true } },
		{ "vfs_open", { 0xffffffff81001000, "", "_text", true } },
		{ "jiffies", { 0xffffffff82000000, "", "vfs_open", false } },
		{ "two_files", { 0xffffffff81001100, "", "vfs_open", true } },
		{ "two_files", { 0xffffffff81002900, "", "vfs_read", true } },
		{ "two_homes", { 0xffffffff81003000, "", "vfs_write", true } },
		{ "two_homes", { 0xffffffff82000100, "", "jiffies", false } },
		{ "two_homes", { 0xffffffffc0001200, "zram", "zram_write", true } },
	};

	(void)w;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].name, symbol) == 0 && !cb(ctx, &rows[i].place))
			break;
}

static bool first_address(void *ctx, const struct kallsyms_place *p)
{
	*(u64 *)ctx = p->addr;
	return false;
}

static u64 fake_kaddr(struct world *w, const char *symbol)
{
	u64 addr = 0;

	fake_named(w, symbol, first_address, &addr);
	return addr;
}

static bool fake_cgroupid(struct world *w, const char *path, u64 *id, struct err *e)
{
	(void)w;
	*id = 42;
	return strcmp(path, "/sys/fs/cgroup/a") == 0 || err_set(e, "no cgroup '%s'", path);
}

static const char *fake_cgroup(struct world *w, const char *path, struct err *e)
{
	(void)w;
	if (strcmp(path, "/sys/fs/cgroup/a") == 0)
		return path;
	err_set(e, "no cgroup '%s'", path);
	e->code = ENOENT;
	return NULL;
}

static const struct features *fake_features(struct world *w, u32 wanted)
{
	(void)wanted;
	return &((struct fake_world *)w)->features;
}

static void fake_machine(struct world *w)
{
	w->n_cpus = 2;
}

static const struct world_ops fake_ops = {
	.btf = fake_btf,
	.module = fake_module,
	.modules = fake_modules,
	.tracepoint = fake_tracepoint,
	.tracepoints = fake_tracepoints,
	.elf = fake_elf,
	.dwarf = fake_dwarf,
	.demangle = fake_demangle,
	.resolve = fake_resolve,
	.process_files = fake_process_files,
	.command_files = fake_command_files,
	.files = fake_files,
	.functions = fake_functions,
	.bpf_functions = fake_bpf_functions,
	.symbols = fake_symbols,
	.named = fake_named,
	.kaddr = fake_kaddr,
	.cgroupid = fake_cgroupid,
	.cgroup = fake_cgroup,
	.features = fake_features,
	.machine = fake_machine,
};

void fake_world_init(struct fake_world *f)
{
	memset(f, 0, sizeof(*f));
	f->world.ops = &fake_ops;
	f->features = (struct features){
		.btf = true,
		.kprobe = true,
		.fentry = true,
		FEATURES_SINCE_6_0,
	};
	f->btf = write_btf(&f->arena);
}

void fake_world_free(struct fake_world *f)
{
	btf_unref(f->module);
	btf_unref(f->btf);
	elf_close(f->self);
	arena_free(&f->arena);
}
