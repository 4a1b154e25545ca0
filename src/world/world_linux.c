/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the compiler may ask of the machine, answered by the machine.
 *
 * The one idea: every answer is made when it is first asked for and then kept, so a script that
 * needs no types opens no BTF, and one that asks twice reads once. A missing or unreadable source
 * is reported in one sentence that says what it is and what can be done.
 *
 * It does not attach, load or print anything.
 */
#include "world/world_linux.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/caps.h"
#include "base/file.h"
#include "base/glob.h"
#include "base/hmap.h"
#include "base/kernel.h"
#include "kern/live.h"
#include "world/bpf_list.h"
#include "world/cgroup.h"
#include "world/program_libs.h"
#include "world/process.h"
#include "world/resolve.h"
#include "world/tracefs.h"
#include "sym/debugfile.h"
#include "sym/demangle.h"

#define FUNCTIONS_MAX (64u << 20) /* bytes of available_filter_functions */
#define INIT_PID_NS   0xEFFFFFFCu /* PROC_PID_INIT_INO: inode of the first pid namespace */

struct world_linux {
	struct world w; /* first: struct world * is cast to this */
	struct world_linux_options o;
	struct arena arena;
	struct resolver resolver;
	struct tracefs tracefs;
	struct btf *btf;
	struct hmap modules; /* name -> struct btf * */
	VEC(struct btf *) module_list;
	struct kallsyms *kallsyms;
	struct bpf_list *bpf_list;
	struct hmap formats; /* "group/name" -> struct tpformat * */
	struct hmap elfs;    /* path -> struct elf * */
	struct hmap paths;   /* name -> resolved path */
	struct hmap dwarfs;  /* path -> struct debug * */
	VEC(struct dwarf_file *) dwarf_list;
	VEC(struct elf *) elf_list;
	struct features features;
	struct buf functions; /* available_filter_functions as read */
	bool has_functions;
};

static struct world_linux *linux_of(struct world *w)
{
	return (struct world_linux *)w;
}

/* ---- types and symbols ---------------------------------------------------------------------- */

static struct btf *world_btf(struct world *w, struct err *e)
{
	struct world_linux *l = linux_of(w);
	const char *path = l->o.btf ? l->o.btf : "/sys/kernel/btf/vmlinux";
	struct btf_error trouble;

	if (l->btf)
		return l->btf;
	l->btf = btf_open(path, &trouble);
	if (!l->btf)
		btf_to_err(&trouble, e);
	if (!l->btf && e->code == ENOENT) {
		err_set(e, "this kernel has no type information (BTF): %s is missing", path);
		e->code = ENOENT;
		err_hint(e, "kernels built with CONFIG_DEBUG_INFO_BTF=y have it; MEMTAP_BTF names "
		            "another file");
	} else if (!l->btf) {
		err_wrap(e, "the kernel's type information can not be used");
	}
	return l->btf;
}

static const char *modules_dir(const struct world_linux *l)
{
	return l->o.modules ? l->o.modules : l->o.btf ? NULL : "/sys/kernel/btf";
}

static struct btf *world_module(struct world *w, const char *name, struct err *e)
{
	struct world_linux *l = linux_of(w);
	const char *dir = modules_dir(l);
	struct btf *base = world_btf(w, e), *b;
	struct btf_error trouble;
	void **known = hmap_find(&l->modules, name, strlen(name));

	if (!base || known)
		return base ? *known : NULL;
	if (!dir || strchr(name, '/') || name[0] == '.') {
		err_set(e, "there are no types of the module %s", name);
		return NULL;
	}
	b = btf_open_split(arena_printf(&l->arena, "%s/%s", dir, name), base, &trouble);
	if (!b) {
		btf_to_err(&trouble, e);
		err_wrap(e, "there are no types of the module %s: is it loaded?", name);
		return NULL;
	}
	vec_add(&l->arena, &l->module_list, b);
	hmap_put(&l->modules, arena_strdup(&l->arena, name), strlen(name), b);
	return b;
}

static int is_module(const struct dirent *d)
{
	return d->d_name[0] != '.' && strcmp(d->d_name, "vmlinux") != 0;
}

static void world_modules(struct world *w, bool (*cb)(void *ctx, const char *name), void *ctx)
{
	const char *dir = modules_dir(linux_of(w));
	struct dirent **names;
	int n = dir ? scandir(dir, &names, is_module, alphasort) : 0;
	bool more = true;

	for (int i = 0; i < n; i++) {
		more = more && cb(ctx, names[i]->d_name);
		free(names[i]);
	}
	if (dir && n >= 0)
		free(names);
}

static struct kallsyms *symbols(struct world_linux *l, struct err *e)
{
	if (!l->kallsyms)
		l->kallsyms = kallsyms_open(l->o.kallsyms ? l->o.kallsyms : "/proc/kallsyms", e);
	return l->kallsyms;
}

static void world_symbols(struct world *w, struct str glob, kallsyms_cb *cb, void *ctx)
{
	struct err ignored;
	struct kallsyms *k = symbols(linux_of(w), &ignored);

	if (k)
		kallsyms_each(k, glob, cb, ctx);
}

static void world_named(struct world *w, const char *symbol, kallsyms_place_cb *cb, void *ctx)
{
	struct err ignored;
	struct kallsyms *k = symbols(linux_of(w), &ignored);

	if (k)
		kallsyms_named(k, symbol, cb, ctx);
}

static u64 world_kaddr(struct world *w, const char *symbol)
{
	struct err ignored;
	struct kallsyms *k = symbols(linux_of(w), &ignored);

	return k ? kallsyms_addr(k, symbol) : 0;
}

/* ---- tracepoints ---------------------------------------------------------------------------- */

static bool need_tracefs(struct world_linux *l, struct err *e)
{
	return l->tracefs.dir[0] || tracefs_open(&l->tracefs, l->o.tracefs, e);
}

static bool no_event(struct err *e, const char *group, const char *name)
{
	err_set(e, "there is no tracepoint %s:%s", group, name);
	e->code = ENOENT;
	return false;
}

/* A name that is one path component, so that a script can not leave the event directory. */
static bool is_component(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

/* Programs get the numbers that a system call was made with; what they point at, which follows in
 * the record since Linux 7.0, they do not. */
static void drop_texts(struct tpformat *f)
{
	u32 n = 0;

	for (u32 i = 0; i < f->n_fields; i++)
		if (!f->fields[i].data_loc)
			f->fields[n++] = f->fields[i];
	f->n_fields = n;
}

static bool read_format(struct world_linux *l, const char *key, struct tpformat *f, struct err *e)
{
	struct buf b = { 0 };
	bool ok = tracefs_format(&l->tracefs, key, &b, e);

	if (!ok && (e->code == EACCES || e->code == EPERM))
		caps_file(e, "");
	ok = ok && (tpformat_parse(&l->arena, (struct str){ buf_text(&b), (u32)b.n }, f, e) ||
	            err_wrap(e, "%s/events/%s/format", l->tracefs.dir, key));
	buf_free(&b);
	if (ok && strncmp(key, "syscalls/", 9) == 0)
		drop_texts(f);
	return ok;
}

static const struct tpformat *world_tracepoint(struct world *w, const char *group, const char *name,
                                               struct err *e)
{
	struct world_linux *l = linux_of(w);
	const char *key = arena_join(&l->arena, group, '/', name);
	void **known = hmap_find(&l->formats, key, strlen(key));
	struct tpformat *f;

	if (known)
		return *known;
	if (!need_tracefs(l, e))
		return NULL;
	if (!is_component(group) || !is_component(name)) {
		no_event(e, group, name);
		return NULL;
	}
	f = arena_new(&l->arena, struct tpformat);
	if (!read_format(l, key, f, e)) {
		if (e->code == ENOENT)
			no_event(e, group, name);
		return NULL;
	}
	hmap_put(&l->formats, key, strlen(key), f);
	return f;
}

/* The format of an event that is named will be needed: whether it can be read answers whether the
 * event is there, for less than a look at its directories. */
static bool one_tracepoint(struct world *w, struct str group, struct str name,
                           bool (*cb)(void *ctx, const char *group, const char *name), void *ctx,
                           struct err *e)
{
	struct arena *a = &linux_of(w)->arena;
	const char *group_text = arena_strndup(a, group.p, group.n);
	const char *name_text = arena_strndup(a, name.p, name.n);

	/* The tracer's own record types are not events. */
	if (str_is(group, "ftrace"))
		return true;
	if (!world_tracepoint(w, group_text, name_text, e)) {
		if (e->code != ENOENT)
			return false;
		*e = (struct err){ 0 };
		return true;
	}
	cb(ctx, group_text, name_text);
	return true;
}

static bool world_tracepoints(struct world *w, struct str group, struct str name,
                              bool (*cb)(void *ctx, const char *group, const char *name), void *ctx,
                              struct err *e)
{
	struct world_linux *l = linux_of(w);
	const char **groups, **names, *dir;
	u32 n_groups, n_names;

	if (!need_tracefs(l, e))
		return false;
	if (!glob_is(group) && !glob_is(name))
		return one_tracepoint(w, group, name, cb, ctx, e);
	dir = arena_printf(&l->arena, "%s/events", l->tracefs.dir);
	if (!tracefs_list(&l->arena, dir, group, &groups, &n_groups, e))
		return false;
	for (u32 g = 0; g < n_groups; g++) {
		if (strcmp(groups[g], "ftrace") == 0)
			continue;
		if (!tracefs_list(&l->arena, arena_printf(&l->arena, "%s/%s", dir, groups[g]), name,
		                  &names, &n_names, e))
			return false;
		for (u32 i = 0; i < n_names; i++)
			if (!cb(ctx, groups[g], names[i]))
				return true;
	}
	return true;
}

/* ---- programs and processes ----------------------------------------------------------------- */

static struct elf *world_elf(struct world *w, const char *path, struct err *e)
{
	struct world_linux *l = linux_of(w);
	void **known = hmap_find(&l->elfs, path, strlen(path));
	struct elf *f;

	if (known)
		return *known;
	f = elf_open(path, e);
	if (!f)
		return NULL;
	hmap_put(&l->elfs, elf_path(f), strlen(path), f);
	vec_add(&l->arena, &l->elf_list, f);
	return f;
}

/* Debug information of one file, or why there is none. */
struct debug {
	struct dwarf_file *file;
	struct err e;
};

/* "/proc/12/root" of a path that goes through a process's root, else "". */
static const char *root_of(struct arena *a, const char *path)
{
	int n = 0;

	if (sscanf(path, "/proc/%*d/root%n", &n) == 0 && n && path[n] == '/')
		return arena_strndup(a, path, (size_t)n);
	return "";
}

static void debug_open(struct world_linux *l, struct debug *d, const char *path)
{
	struct elf *f = world_elf(&l->w, path, &d->e);
	const char *root = root_of(&l->arena, path);
	struct debugfile_place where = { .root = root, .name = path + strlen(root) };
	struct buf apart = { 0 };

	if (!f)
		return;
	if (dwarf_file_in(f)) {
		d->file = dwarf_file_open(path, &d->e);
	} else if (debugfile_find(f, &where, &apart)) {
		d->file = dwarf_file_open(buf_text(&apart), &d->e);
	} else {
		err_set(&d->e, "%s has no debug information", path);
		err_hint(&d->e, "build it with -g, or install its package of debug symbols");
	}
	buf_free(&apart);
	if (d->file)
		vec_add(&l->arena, &l->dwarf_list, d->file);
}

static struct dwarf_file *world_dwarf(struct world *w, const char *path, struct err *e)
{
	struct world_linux *l = linux_of(w);
	void **known = hmap_find(&l->dwarfs, path, strlen(path));
	struct debug *d = known ? *known : NULL;

	if (!d) {
		d = arena_new(&l->arena, struct debug);
		debug_open(l, d, path);
		hmap_put(&l->dwarfs, arena_strdup(&l->arena, path), strlen(path), d);
	}
	if (!d->file)
		*e = d->e;
	return d->file;
}

static const char *world_demangle(struct world *w, const char *symbol)
{
	char *name = demangle(symbol);
	const char *kept = name ? arena_strdup(&linux_of(w)->arena, name) : NULL;

	free(name);
	return kept;
}

static const char *world_resolve(struct world *w, s32 pid, const char *name, struct err *e)
{
	struct world_linux *l = linux_of(w);
	const char *key = arena_printf(&l->arena, "%d:%s", pid, name);
	void **known = hmap_find(&l->paths, key, strlen(key));
	const char *member = elf_in_archive(name), *file = name, *path;
	char *kept;

	if (known)
		return *known;
	if (member)
		file = arena_strndup(&l->arena, name, (size_t)(member - name));
	path = process_resolve(&l->resolver, pid, file, e);
	if (!path)
		return NULL;
	kept = arena_printf(&l->arena, "%s%s", path, member ? member : "");
	hmap_put(&l->paths, key, strlen(key), kept);
	return kept;
}

static bool world_files(struct world *w, const char *pattern,
                        bool (*cb)(void *ctx, const char *path), void *ctx, struct err *e)
{
	return process_glob(&linux_of(w)->resolver, pattern, cb, ctx, e);
}

static bool world_command_files(struct world *w, const char *program,
                                bool (*cb)(void *ctx, const char *path), void *ctx, struct err *e)
{
	struct elf *elf = w->ops->elf(w, program, e);

	return elf && program_libs_each(&linux_of(w)->resolver, elf, cb, ctx, e);
}

static bool world_process_files(struct world *w, s32 pid, bool (*cb)(void *ctx, const char *path),
                                void *ctx, struct err *e)
{
	struct arena *a = &linux_of(w)->arena;

	return pid ? process_files(a, pid, cb, ctx, e) : process_files_all(a, cb, ctx, e);
}

/* ---- kernel functions ----------------------------------------------------------------------- */

typedef bool function_cb(void *ctx, const char *name, const char *module);

/* Lines "name" and "name [module]" of available_filter_functions. */
static void each_filter_line(struct world_linux *l, struct str glob, function_cb *cb, void *ctx)
{
	struct str rest = { buf_text(&l->functions), (u32)l->functions.n };

	while (rest.p && rest.n) {
		struct str line = str_cut(rest, '\n', &rest), module;
		struct str name = str_cut(line, ' ', &module), tail;

		/* Places the kernel has patched out are listed under a name of their own. */
		if (!name.n || str_starts(name, "__ftrace_invalid_address") ||
		    !glob_match(glob, name))
			continue;
		if (module.n && module.p[0] == '[')
			module = str_cut((struct str){ module.p + 1, module.n - 1 }, ']', &tail);
		if (!cb(ctx, arena_strndup(&l->arena, name.p, name.n),
		        module.n ? arena_strndup(&l->arena, module.p, module.n) : ""))
			return;
	}
}

/* The list is 2 MB that the kernel writes anew for each reader: it is kept. */
static bool need_functions(struct world_linux *l, struct err *e)
{
	const char *path = l->o.functions;

	if (l->has_functions)
		return true;
	if (!path) {
		if (!need_tracefs(l, e))
			return false;
		path = arena_printf(&l->arena, "%s/available_filter_functions", l->tracefs.dir);
	}
	buf_reset(&l->functions);
	l->has_functions = file_read(path, &l->functions, FUNCTIONS_MAX, e);
	return l->has_functions;
}

static bool filter_functions(struct world_linux *l, struct str glob, function_cb *cb, void *ctx,
                             struct err *e)
{
	if (!need_functions(l, e))
		return false;
	each_filter_line(l, glob, cb, ctx);
	return true;
}

struct btf_functions {
	function_cb *cb;
	void *ctx;
};

static bool on_btf_function(void *ctx, u32 id, const char *name)
{
	struct btf_functions *f = ctx;

	(void)id;
	return f->cb(f->ctx, name, "");
}

struct named {
	function_cb *cb;
	void *ctx;
};

static bool on_symbol(void *ctx, const char *name, const char *module, u64 addr)
{
	struct named *n = ctx;

	(void)addr;
	return n->cb(n->ctx, name, module);
}

/*
 * From the most exact list to the least: what the kernel's own tracer can patch, the functions
 * with types, the symbols. One plain name that BTF has needs no list at all.
 */
static bool world_functions(struct world *w, struct str glob, function_cb *cb, void *ctx,
                            struct err *e)
{
	struct world_linux *l = linux_of(w);
	struct btf_functions f = { cb, ctx };
	struct kallsyms *k;
	struct err ignored;
	struct btf *b;

	if (l->o.functions)
		return filter_functions(l, glob, cb, ctx, e);
	b = world_btf(w, &ignored);
	if (b && !glob_is(glob)) {
		const char *name = arena_strndup(&l->arena, glob.p, glob.n);

		if (btf_find(b, BTF_KIND_FUNC, name)) {
			cb(ctx, name, "");
			return true;
		}
	}
	if (filter_functions(l, glob, cb, ctx, &ignored))
		return true;
	if (b) {
		btf_each(b, BTF_KIND_FUNC, arena_strndup(&l->arena, glob.p, glob.n),
		         on_btf_function, &f);
		return true;
	}
	k = symbols(l, e);
	if (k)
		kallsyms_each(k, glob, on_symbol, &(struct named){ cb, ctx });
	return k != NULL;
}

static bool world_bpf_functions(struct world *w,
                                bool (*cb)(void *ctx, const struct bpf_function *f), void *ctx,
                                struct err *e)
{
	struct world_linux *l = linux_of(w);

	if (!l->bpf_list)
		l->bpf_list = bpf_list_new(e);
	if (l->bpf_list)
		bpf_list_each(l->bpf_list, cb, ctx);
	return l->bpf_list != NULL;
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* On 64-bit kernels the inode number of a cgroup's directory is its id (kernfs). */
static bool world_cgroupid(struct world *w, const char *path, u64 *id, struct err *e)
{
	(void)w;
	return cgroup_id(path, id, e);
}

static const char *world_cgroup(struct world *w, const char *path, struct err *e)
{
	return cgroup_dir(&linux_of(w)->arena, path, e);
}

static const struct features *world_features(struct world *w, u32 wanted)
{
	struct world_linux *l = linux_of(w);

	features_probe(&l->features, wanted);
	return &l->features;
}

const struct features *world_linux_features(const struct world *w)
{
	const struct world_linux *l = (const struct world_linux *)w;

	return &l->features;
}

/* 1 when the file can not be understood. */
static u32 count_cpus(const char *root)
{
	struct buf path = { 0 }, list = { 0 };
	struct err ignored;
	u32 n = 0, from, to;

	buf_puts(&path, root);
	buf_puts(&path, "/sys/devices/system/cpu/possible");
	if (file_read(buf_text(&path), &list, 65536, &ignored))
		for (const char *p = buf_text(&list); kernel_next_range(&p, &from, &to);)
			n += to < 65536 ? to - from + 1 : 0;
	buf_free(&path);
	buf_free(&list);
	return MAX(n, 1u);
}

static void world_machine(struct world *w)
{
	struct stat st;

	if (w->n_cpus)
		return;
	w->n_cpus = count_cpus(linux_of(w)->o.root);
	if (stat("/proc/self/ns/pid", &st) < 0)
		return;
	w->nested_pid_ns = st.st_ino != INIT_PID_NS;
	w->pid_ns_dev = st.st_dev;
	w->pid_ns_ino = st.st_ino;
}

static const struct world_ops ops = {
	.btf = world_btf,
	.module = world_module,
	.modules = world_modules,
	.tracepoint = world_tracepoint,
	.tracepoints = world_tracepoints,
	.elf = world_elf,
	.dwarf = world_dwarf,
	.demangle = world_demangle,
	.resolve = world_resolve,
	.files = world_files,
	.process_files = world_process_files,
	.command_files = world_command_files,
	.functions = world_functions,
	.bpf_functions = world_bpf_functions,
	.symbols = world_symbols,
	.named = world_named,
	.kaddr = world_kaddr,
	.cgroupid = world_cgroupid,
	.cgroup = world_cgroup,
	.features = world_features,
	.machine = world_machine,
};

struct world *world_linux_new(const struct world_linux_options *o)
{
	struct world_linux *l = calloc(1, sizeof(*l));
	const char *path;

	if (!l)
		base_no_memory();
	l->o = *o;
	if (!l->o.root)
		l->o.root = "";
	path = o->path ? o->path : getenv("PATH");
	l->resolver = (struct resolver){ .arena = &l->arena,
		                         .root = l->o.root,
		                         .path = path ? path : "/usr/local/bin:/usr/bin:/bin" };
	if (o->features)
		l->features = *o->features;
	l->w.ops = &ops;
	l->w.kernel_version = kernel_version();
	return &l->w;
}

void world_linux_free(struct world *w)
{
	struct world_linux *l;

	if (!w)
		return;
	l = linux_of(w);
	for (u32 i = 0; i < l->elf_list.n; i++)
		elf_close(l->elf_list.v[i]);
	for (u32 i = 0; i < l->dwarf_list.n; i++)
		dwarf_file_close(l->dwarf_list.v[i]);
	for (u32 i = 0; i < l->module_list.n; i++)
		btf_unref(l->module_list.v[i]);
	btf_unref(l->btf);
	bpf_list_free(l->bpf_list);
	kallsyms_close(l->kallsyms);
	tracefs_close(&l->tracefs);
	hmap_free(&l->formats);
	hmap_free(&l->modules);
	hmap_free(&l->elfs);
	hmap_free(&l->paths);
	hmap_free(&l->dwarfs);
	buf_free(&l->functions);
	arena_free(&l->arena);
	free(l);
}
