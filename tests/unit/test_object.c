/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ELF objects as libbpf reads them: programs, their kinds and instructions, maps, data and
 * functions called back. libbpf checks sections, types and relocations when it opens a file.
 *
 * Needs the machine itself: bpf().
 */
#include "unit/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <gelf.h>

#include "interp/lab.h"
#include "kern/live.h"
#include "unit/object_lines.h"
#include "unit/object_names.h"

static u32 n_warnings;

static int count_warning(enum libbpf_print_level level, const char *format, va_list args)
{
	n_warnings += level == LIBBPF_WARN;
	return level == LIBBPF_WARN ? vprintf(format, args) : 0;
}

struct opened {
	struct lab lab;
	struct buf file;
	struct bpf_object *object;
};

static void open_script(struct opened *o, const char *script)
{
	struct err e = { 0 };

	memset(o, 0, sizeof(*o));
	lab_init(&o->lab);
	if (!lab_compile(&o->lab, script))
		fail_msg("%s", buf_text(&o->lab.problem));
	if (!object_write(&o->file, o->lab.u, &e))
		fail_msg("%s", e.text);
	o->object = bpf_object__open_mem(o->file.p, o->file.n, NULL);
	assert_non_null(o->object);
	assert_int_equal(n_warnings, 0);
}

static void close_script(struct opened *o)
{
	bpf_object__close(o->object);
	buf_free(&o->file);
	lab_free(&o->lab);
}

/* What a reference says is in its relocation. */
static bool same_insns(const struct uprog *p, const struct bpf_program *theirs)
{
	const struct bpf_insn *insns = bpf_program__insns(theirs);
	u32 n = p->n_funcs ? p->funcs[0] : p->n_insns;

	if (bpf_program__insn_cnt(theirs) != n)
		return false;
	for (u32 i = 0; i < n; i++) {
		if (p->insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && p->insns[i].src_reg) {
			if (insns[i].code != p->insns[i].code ||
			    insns[i].dst_reg != p->insns[i].dst_reg || insns[i].src_reg)
				return false;
			i++;
		} else if (memcmp(&insns[i], &p->insns[i], sizeof(*insns)) != 0) {
			return false;
		}
	}
	return true;
}

/* Programs come in the order of sections; their number says the order of the unit. */
static const struct bpf_program *find_program(struct opened *o, const char *name)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(o->object, name);

	if (!p)
		fail_msg("no program %s", name);
	return p;
}

static void wants_section(struct opened *o, const char *program, const char *section,
                          enum bpf_prog_type type)
{
	const struct bpf_program *p = find_program(o, program);

	assert_string_equal(bpf_program__section_name(p), section);
	assert_int_equal(bpf_program__type(p), type);
}

static void wants_map(struct opened *o, const char *name, u32 umap)
{
	const struct umap *m = &o->lab.u->maps.v[umap];
	const struct bpf_map *map = bpf_object__find_map_by_name(o->object, name);

	assert_non_null(map);
	assert_int_equal(bpf_map__type(map), m->bpf_type);
	assert_int_equal(bpf_map__key_size(map), m->key_size);
	assert_int_equal(bpf_map__value_size(map), m->value_size);
	assert_int_equal(bpf_map__max_entries(map), m->max_entries);
}

static void programs_and_maps(void **state)
{
	struct opened o;

	(void)state;
	open_script(&o, "BEGIN { @n = 5; @s = \"text\"; @c[pid, comm] = count(); "
	                "printf(\"%d\\n\", @n); } "
	                "interval:s:1 { @h = hist(nsecs); @n += 1; } END { clear(@c); }");
	assert_int_equal(o.lab.u->progs.n, 3);
	assert_true(same_insns(&o.lab.u->progs.v[0], find_program(&o, "BEGIN_1")));
	assert_true(same_insns(&o.lab.u->progs.v[1], find_program(&o, "interval_s_1_2")));
	assert_true(same_insns(&o.lab.u->progs.v[2], find_program(&o, "END_3")));
	wants_section(&o, "BEGIN_1", "raw_tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT);
	wants_section(&o, "interval_s_1_2", "perf_event", BPF_PROG_TYPE_PERF_EVENT);
	for (u32 i = 0; i < o.lab.u->maps.n; i++) {
		const char *name = o.lab.u->maps.v[i].name;

		if (strcmp(name, "@c") == 0)
			wants_map(&o, "AT_c", i);
		else if (strcmp(name, "@h") == 0)
			wants_map(&o, "AT_h", i);
		else if (strcmp(name, "@n") == 0)
			wants_map(&o, ".data.AT_n", i);
		else if (strcmp(name, "@s") == 0)
			wants_map(&o, ".data.AT_s", i);
		else if (o.lab.u->maps.v[i].role == UMAP_DATA)
			wants_map(&o, ".data.data", i);
		else if (o.lab.u->maps.v[i].role == UMAP_RING)
			wants_map(&o, "ring", i);
	}
	assert_string_equal(bpf_object__btf(o.object) ? "types" : "none", "types");
	close_script(&o);
}

static void functions_called_back(void **state)
{
	struct opened o;

	(void)state;
	open_script(&o, "BEGIN { @a[1] = 2; for ($kv : @a) { @sum += $kv.1; for ($k : @b) { "
	                "@sum += 1; } } @b[1] = 1; }");
	assert_int_equal(o.lab.u->progs.v[0].n_funcs, 2);
	assert_true(same_insns(&o.lab.u->progs.v[0], find_program(&o, "BEGIN_1")));
	close_script(&o);
}

static void kinds(void **state)
{
	struct opened o;

	(void)state;
	open_script(&o, "kprobe:vfs_read { @ = count(); } kretprobe:vfs_read { @ = count(); } "
	                "uprobe:/proc/self/exe:main { @ = count(); } "
	                "tracepoint:sched:sched_switch { @ = count(); } "
	                "software:page-faults:1 { @ = count(); }");
	wants_section(&o, "kprobe_vfs_read_1", "kprobe/vfs_read", BPF_PROG_TYPE_KPROBE);
	wants_section(&o, "kretprobe_vfs_read_2", "kretprobe/vfs_read", BPF_PROG_TYPE_KPROBE);
	wants_section(&o, "uprobe__proc_self_exe_main_3", "uprobe//proc/self/exe:main",
	              BPF_PROG_TYPE_KPROBE);
	wants_section(&o, "tracepoint_sched_sched_switch_4", "tracepoint/sched/sched_switch",
	              BPF_PROG_TYPE_TRACEPOINT);
	wants_section(&o, "software_page_faults_1_5", "perf_event", BPF_PROG_TYPE_PERF_EVENT);
	close_script(&o);
}

static void names_of_sections(void **state)
{
	static const struct {
		enum attach_kind kind;
		bool may_sleep;
		struct usite site;
		const char *want;
	} rows[] = {
		{ ATTACH_KPROBE,
		  false,
		  { .event = "vfs_read", .offset = 8 },
		  "kprobe/vfs_read+0x8" },
		{ ATTACH_KPROBE, false, { .offset = 0xff00 }, "kprobe/0xff00" },
		{ ATTACH_KPROBE, false, { .event = "ext4:ext4_put" }, "kprobe/ext4_put" },
		{ ATTACH_FENTRY, true, { .event = "vfs_read" }, "fentry.s/vfs_read" },
		{ ATTACH_FEXIT, false, { .event = "vfs_read" }, "fexit/vfs_read" },
		{ ATTACH_ITER, false, { .event = "task" }, "iter/task" },
		{ ATTACH_TPBTF, false, { .event = "wakeup" }, "raw_tracepoint/wakeup" },
		{ ATTACH_USDT,
		  true,
		  { .name = "usdt:/a:p:n", .path = "/a", .offset = 0x12 },
		  "uprobe.s//a:0x12" },
		{ ATTACH_UPROBE,
		  false,
		  { .name = "uprobe:/a:f", .path = "/a", .moved = 4 },
		  "uprobe//a:f+0x4" },
		{ ATTACH_UPROBE,
		  false,
		  { .name = "uprobe:/a:a.c@12", .path = "/a", .offset = 64 },
		  "uprobe//a:0x40" },
		{ ATTACH_URETPROBE,
		  false,
		  { .name = "uretprobe:b:f", .path = "/root/b" },
		  "uretprobe//root/b:f" },
	};
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct uprog p = { .kind = rows[i].kind, .may_sleep = rows[i].may_sleep };

		assert_string_equal(object_names_section(&a, &p, &rows[i].site), rows[i].want);
	}
	arena_free(&a);
}

/* A program with several sites is there once for each, and each knows its own name. */
static void copies_know_their_probe(void **state)
{
	struct opened o;
	struct bpf_program *p;
	u32 n = 0;

	(void)state;
	open_script(&o, "kprobe:vfs_* { @[probe] = count(); }");
	assert_int_equal(o.lab.u->progs.n, 1);
	bpf_object__for_each_program(p, o.object)
	{
		const struct bpf_insn *insns = bpf_program__insns(p);
		bool known = false;

		for (u32 i = 0; i < bpf_program__insn_cnt(p); i++) {
			assert_false(insns[i].code == (BPF_JMP | BPF_CALL) &&
			             insns[i].imm == BPF_FUNC_get_attach_cookie);
			known |= insns[i].code == (BPF_ALU64 | BPF_MOV | BPF_K) &&
			         insns[i].dst_reg == BPF_REG_0 &&
			         insns[i].imm == (s32)o.lab.u->progs.v[0].sites[n].cookie;
		}
		assert_true(known);
		n++;
	}
	assert_int_equal(n, o.lab.u->progs.v[0].n_sites);
	assert_true(n > 1);
	close_script(&o);
}

static void wants_int(const struct btf *btf, const char *name, u32 size, u32 encoding)
{
	s32 id = btf__find_by_name_kind(btf, name, BTF_KIND_INT);
	const struct btf_type *t = btf__type_by_id(btf, (u32)MAX(id, 0));

	assert_true(id > 0);
	assert_int_equal(t->size, size);
	assert_int_equal(btf_int_bits(t), size * 8);
	assert_int_equal(btf_int_encoding(t), encoding);
}

static void types(void **state)
{
	struct opened o;

	(void)state;
	open_script(&o, "BEGIN { @n = 5; }");
	wants_int(bpf_object__btf(o.object), "int", 4, BTF_INT_SIGNED);
	wants_int(bpf_object__btf(o.object), "char", 1, BTF_INT_CHAR);
	wants_int(bpf_object__btf(o.object), "unsigned long", 8, 0);
	close_script(&o);
}

static void wants_elf(Elf *e, const char *name, u32 type, u64 flags, u64 align)
{
	Elf_Scn *s = NULL;
	GElf_Shdr h = { 0 };
	size_t names;

	assert_int_equal(elf_getshdrstrndx(e, &names), 0);
	while ((s = elf_nextscn(e, s)) && gelf_getshdr(s, &h))
		if (strcmp(elf_strptr(e, names, h.sh_name), name) == 0)
			break;
	if (!s)
		fail_msg("no section %s", name);
	assert_int_equal(h.sh_type, type);
	assert_int_equal(h.sh_flags, flags);
	assert_int_equal(h.sh_addralign, align);
	assert_int_equal(h.sh_offset % align, 0);
}

static void sections(void **state)
{
	struct opened o;
	Elf *e;

	(void)state;
	open_script(&o, "BEGIN { @n = 5; @s[1] = count(); }");
	elf_version(EV_CURRENT);
	e = elf_memory(o.file.p, o.file.n);
	assert_non_null(e);
	wants_elf(e, "license", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 1);
	wants_elf(e, "raw_tracepoint", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 8);
	wants_elf(e, ".maps", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8);
	wants_elf(e, ".data.AT_n", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8);
	wants_elf(e, ".BTF", SHT_PROGBITS, 0, 4);
	wants_elf(e, ".BTF.ext", SHT_PROGBITS, 0, 4);
	wants_elf(e, ".relraw_tracepoint", SHT_REL, SHF_INFO_LINK, 8);
	wants_elf(e, ".symtab", SHT_SYMTAB, 0, 8);
	wants_elf(e, ".strtab", SHT_STRTAB, 0, 1);
	elf_end(e);
	close_script(&o);
}

/* What tools show beside instructions: file, line, column, and the line's text. */
static void lines(void **state)
{
	static const struct {
		u32 off, line, column;
		const char *file, *text;
	} rows[] = {
		{ 0, 1, 1, "s.bt", "BEGIN" },  { 5, 1, 6, "s.bt", "BEGIN" },
		{ 6, 2, 1, "s.bt", "" },       { 7, 3, 1, "s.bt", "{ @n }" },
		{ 9, 3, 3, "s.bt", "{ @n }" }, { 14, 1, 1, "lib.bt", "END" },
		{ 9, 3, 3, "s.bt", "{ @n }" }, /* known by then */
	};
	struct usource import = { .off = 14, .name = "lib.bt" };
	struct unit *u = unit_new();
	struct object_types t;
	struct object_lines l;

	(void)state;
	unit_set_source(u, "s.bt", "BEGIN\n\n{ @n }\nEND");
	vec_add(&u->arena, &u->imports, import);
	object_types_init(&t);
	object_lines_init(&l, &u->arena, u, &t);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bpf_line_info info = object_lines_at(&l, rows[i].off);

		assert_int_equal(info.line_col, rows[i].line << 10 | rows[i].column);
		assert_string_equal(t.strings.p + info.file_name_off, rows[i].file);
		assert_string_equal(t.strings.p + info.line_off, rows[i].text);
	}
	object_types_free(&t);
	unit_free(u);
}

static u64 first_word(struct opened *o, const char *map)
{
	u64 value = 0;
	u32 key = 0;

	assert_int_equal(
		bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(o->object, map), &key, &value),
		0);
	return value;
}

/* Record 0 is the printf, its argument is after the number. */
static int take_record(void *ctx, void *data, size_t size)
{
	const u64 *words = data;
	u32 *sum = ctx;

	*sum += size == 16 && words[0] == 0 ? (u32)words[1] : 1000;
	return 0;
}

static void runs_in_the_kernel(void **state)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct features f = { 0 };
	struct ring_buffer *ring;
	struct opened o;
	u32 sum = 0;

	(void)state;
	if (geteuid() != 0) {
		print_message("SKIP: needs root\n");
		skip();
	}
	/* Before Linux 5.13 programs do not go through maps. */
	features_probe(&f, FEATURE_FOR_EACH);
	open_script(&o, f.for_each ? "BEGIN { @n = 5; @a[1] = 10; @a[2] = 20; "
	                             "for ($kv : @a) { @sum += $kv.1; } printf(\"%d\", @n + 2); }"
	                           : "BEGIN { @n = 5; @sum = 30; printf(\"%d\", @n + 2); }");
	assert_int_equal(bpf_object__load(o.object), 0);
	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(find_program(&o, "BEGIN_1")), &run),
	                 0);
	assert_int_equal(first_word(&o, ".data.AT_n"), 5);
	assert_int_equal(first_word(&o, ".data.AT_sum"), 30);
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(o.object, "ring"), take_record,
	                        &sum, NULL);
	assert_non_null(ring);
	assert_int_equal(ring_buffer__consume(ring), 1);
	assert_int_equal(sum, 7);
	ring_buffer__free(ring);
	close_script(&o);
}

static void refuses_unwind_tables(void **state)
{
	struct unit *u = unit_new();
	struct umap m = { .name = "unwind", .role = UMAP_CHUNKS };
	struct buf b = { 0 };
	struct err e = { 0 };

	(void)state;
	vec_add(&u->arena, &u->maps, m);
	assert_false(object_write(&b, u, &e));
	assert_non_null(strstr(e.text, "unwind tables"));
	assert_int_equal(b.n, 0);
	unit_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_and_maps),
		cmocka_unit_test(functions_called_back),
		cmocka_unit_test(kinds),
		cmocka_unit_test(names_of_sections),
		cmocka_unit_test(copies_know_their_probe),
		cmocka_unit_test(types),
		cmocka_unit_test(lines),
		cmocka_unit_test(sections),
		cmocka_unit_test(refuses_unwind_tables),
		cmocka_unit_test(runs_in_the_kernel),
	};

	libbpf_set_print(count_warning);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
