/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A unit as an ELF object of BPF (Documentation/bpf/llvm_reloc.rst; the sections are those that
 * libbpf reads). First every function gets its place, then maps theirs, then instructions are
 * copied: what they say about maps and callbacks by number becomes relocations.
 *
 * Maps are in .maps but for those whose value a program addresses directly: libbpf makes a map of
 * each section .data.NAME, and a reference to its bytes is the address of one.
 *
 * A copy for one site knows which probe it is, so it does not ask the kernel for its cookie.
 */
#include "unit/object.h"

#include <assert.h>
#include <elf.h>
#include <linux/btf.h>
#include <string.h>

#include "unit/object_lines.h"
#include "unit/object_names.h"
#include "unit/object_types.h"

#define INSN sizeof(struct bpf_insn)

struct section {
	const char *name;
	u32 type, flags, link, info, align, entry;
	struct buf bytes;
	struct buf relocs; /* Elf64_Rel */
};

/* One function of a program, at one site. */
struct function {
	const char *name;
	u32 section, off; /* bytes */
	const struct uprog *prog;
	const struct usite *site;
	u32 from, to; /* instructions of prog */
	u32 type;
	bool callback;
};

/* Where a map is. */
struct place {
	const char *name;
	u32 section, off, size, symbol;
	bool by_value;
};

struct object {
	struct arena arena;
	const struct unit *unit;
	struct object_types types;
	struct object_lines lines;
	VEC(struct section) sections; /* the first is none */
	VEC(struct function) functions;
	struct place *maps;
	struct buf symbols, strings;
	u32 n_symbols, n_local, text, text_symbol;
};

static u32 add_section(struct object *o, const char *name, u32 type, u32 flags, u32 align)
{
	struct section s = { .name = name, .type = type, .flags = flags, .align = align };

	vec_add(&o->arena, &o->sections, s);
	return o->sections.n - 1;
}

/* Those of programs are found by name: functions at one place share theirs. */
static u32 find_section(struct object *o, const char *name)
{
	for (u32 i = o->sections.n; i-- > 1;)
		if (strcmp(o->sections.v[i].name, name) == 0)
			return i;
	return add_section(o, name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, INSN);
}

/* ---- functions ---------------------------------------------------------------------------- */

static void add_function(struct object *o, struct function f)
{
	struct section *s = &o->sections.v[f.section];

	f.off = (u32)s->bytes.n;
	f.type = object_types_func(&o->types, f.name);
	buf_add(&s->bytes, f.prog->insns + f.from, (f.to - f.from) * INSN);
	vec_add(&o->arena, &o->functions, f);
}

/* The program first, its callbacks after it, as references to them expect. */
static void add_site(struct object *o, const struct uprog *p, const struct usite *s)
{
	struct function f = { .prog = p, .site = s };

	for (u32 i = 0; i <= p->n_funcs; i++) {
		f.callback = i > 0;
		f.from = i ? p->funcs[i - 1] : 0;
		f.to = i < p->n_funcs ? p->funcs[i] : p->n_insns;
		f.section = i ? o->text : find_section(o, object_names_section(&o->arena, p, s));
		f.name = object_names_func(&o->arena, i ? "callback" : s->name, o->functions.n + 1);
		add_function(o, f);
	}
}

static bool check_site(const struct object *o, const struct uprog *p, const struct usite *s,
                       struct err *e)
{
	if (s->bpf_prog)
		err_set(e, "an ELF file can not say of which BPF program %s is", s->name);
	else if (o->sections.n > SHN_LORESERVE / 2 - 16) /* each may need one for relocations */
		err_set(e, "these are too many probes for one ELF file");
	else
		return true;
	return err_at(e, p->loc.off, p->loc.len);
}

static bool add_functions(struct object *o, struct err *e)
{
	for (u32 i = 0; i < o->unit->progs.n; i++) {
		const struct uprog *p = &o->unit->progs.v[i];

		if (p->n_funcs && !o->text)
			o->text = add_section(o, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
			                      INSN);
		for (u32 j = 0; j < p->n_sites; j++) {
			if (!check_site(o, p, &p->sites[j], e))
				return false;
			add_site(o, p, &p->sites[j]);
		}
	}
	return true;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static bool is_reference(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool is_map_reference(const struct bpf_insn *insn)
{
	return insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE;
}

/* How programs refer to maps. */
static bool look_at_references(struct object *o, struct err *e)
{
	bool *by_fd = arena_array(&o->arena, bool, o->unit->maps.n + 1);

	for (u32 i = 0; i < o->unit->progs.n; i++) {
		const struct uprog *p = &o->unit->progs.v[i];

		for (u32 k = 0; k + 1 < p->n_insns; k++) {
			const struct bpf_insn *insn = &p->insns[k];

			if (!is_reference(insn))
				continue;
			assert(!is_map_reference(insn) || (u32)insn->imm < o->unit->maps.n);
			if (insn->src_reg == BPF_PSEUDO_MAP_FD)
				by_fd[insn->imm] = true;
			else if (insn->src_reg == BPF_PSEUDO_MAP_VALUE)
				o->maps[insn->imm].by_value = true;
			k++; /* the second half */
		}
	}
	for (u32 i = 0; i < o->unit->maps.n; i++)
		if (by_fd[i] && o->maps[i].by_value)
			return err_set(e, "an ELF file has no words for how map %s is used",
			               o->unit->maps.v[i].name);
	return true;
}

static bool check_map(const struct umap *m, struct err *e)
{
	if (m->role != UMAP_CHUNKS && m->role != UMAP_SHELVES)
		return true;
	err_set(e, "user stacks walked by unwind tables need memtap beside them");
	return err_hint(e, "ustack(fp) walks them by frame pointers");
}

static void add_data(struct object *o, struct place *p, const struct umap *m)
{
	const char *name = arena_printf(&o->arena, ".data.%s", p->name);
	struct object_var var = object_types_data(&o->types, p->name, m->value_size);

	p->section = add_section(o, name, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8);
	p->size = var.size;
	buf_fill(&o->sections.v[p->section].bytes, 0, p->size);
	object_types_section(&o->types, name, var.size, &var, 1);
}

static bool add_maps(struct object *o, struct err *e)
{
	u32 n = 0, section = 0;
	struct object_var *vars = arena_array(&o->arena, struct object_var, o->unit->maps.n + 1);
	struct buf *bytes;

	for (u32 i = 0; i < o->unit->maps.n; i++) {
		const struct umap *m = &o->unit->maps.v[i];
		struct place *p = &o->maps[i];

		if (!check_map(m, e))
			return false;
		p->name = object_names_map(&o->arena, m);
		if (p->by_value) {
			add_data(o, p, m);
			continue;
		}
		if (!section)
			section = add_section(o, ".maps", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8);
		bytes = &o->sections.v[section].bytes;
		p->section = section;
		p->off = (u32)bytes->n;
		vars[n] = object_types_map(&o->types, p->name, m, p->off);
		p->size = vars[n].size;
		buf_fill(bytes, 0, p->size);
		n++;
	}
	if (n)
		object_types_section(&o->types, ".maps", (u32)o->sections.v[section].bytes.n, vars,
		                     n);
	return true;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static u32 add_string(struct object *o, const char *name)
{
	u32 off = (u32)o->strings.n;

	buf_add(&o->strings, name, strlen(name) + 1);
	return off;
}

static u32 add_symbol(struct object *o, const char *name, u8 info, u32 section, u32 off, u64 size)
{
	Elf64_Sym s = { .st_name = name ? add_string(o, name) : 0,
		        .st_info = info,
		        .st_shndx = (u16)section,
		        .st_value = off,
		        .st_size = size };

	buf_add(&o->symbols, &s, sizeof(s));
	return o->n_symbols++;
}

static void add_function_symbols(struct object *o, bool callbacks)
{
	u8 info = ELF64_ST_INFO(callbacks ? STB_LOCAL : STB_GLOBAL, STT_FUNC);

	for (u32 i = 0; i < o->functions.n; i++) {
		const struct function *f = &o->functions.v[i];

		if (f->callback == callbacks)
			add_symbol(o, f->name, info, f->section, f->off,
			           (u64)(f->to - f->from) * INSN);
	}
}

/* Local ones have to be first. */
static void add_symbols(struct object *o, u32 license)
{
	const u8 section = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
	const u8 object = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);

	add_symbol(o, NULL, 0, 0, 0, 0);
	if (o->text)
		o->text_symbol = add_symbol(o, NULL, section, o->text, 0, 0);
	for (u32 i = 0; i < o->unit->maps.n; i++)
		if (o->maps[i].by_value)
			o->maps[i].symbol = add_symbol(o, NULL, section, o->maps[i].section, 0, 0);
	add_function_symbols(o, true);
	o->n_local = o->n_symbols;
	add_function_symbols(o, false);
	add_symbol(o, "_license", object, license, 0, o->sections.v[license].bytes.n);
	for (u32 i = 0; i < o->unit->maps.n; i++) {
		const struct place *p = &o->maps[i];
		u32 symbol = add_symbol(o, p->name, object, p->section, p->off, p->size);

		if (!p->by_value)
			o->maps[i].symbol = symbol;
	}
}

/* ---- relocations ----------------------------------------------------------------------------- */

static void add_relocation(struct section *s, size_t off, u32 symbol)
{
	/* R_BPF_64_64: both halves of a 64-bit constant. */
	Elf64_Rel r = { .r_offset = off, .r_info = ELF64_R_INFO(symbol, 1) };

	buf_add(&s->relocs, &r, sizeof(r));
}

/* Byte of .text where the callback is that begins at instruction `at` of the same program. The
 * functions of a site follow one another. */
static bool find_callback(const struct object *o, u32 function, u32 at, s32 *off)
{
	const struct function *f = &o->functions.v[function];

	while (f->callback)
		f--;
	for (f++; f < o->functions.v + o->functions.n && f->callback; f++) {
		if (f->from != at)
			continue;
		*off = (s32)f->off;
		return true;
	}
	return false;
}

/* Instruction `i` of the function is the first half of a constant. */
static bool relocate(struct object *o, u32 function, u32 i, struct err *e)
{
	const struct function *f = &o->functions.v[function];
	struct section *s = &o->sections.v[f->section];
	size_t at = f->off + i * INSN;
	struct bpf_insn *insn = (struct bpf_insn *)(void *)(s->bytes.p + at);
	u32 symbol;

	if (insn->src_reg == 0)
		return true;
	if (insn->src_reg == BPF_PSEUDO_FUNC) {
		symbol = o->text_symbol;
		if (!find_callback(o, function, f->from + i + 1 + (u32)insn->imm, &insn->imm))
			return err_set(e, "%s calls what is no function", f->prog->name);
	} else if (insn->src_reg == BPF_PSEUDO_MAP_VALUE) {
		symbol = o->maps[insn->imm].symbol;
		insn[0].imm = insn[1].imm;
		insn[1].imm = 0;
	} else {
		symbol = o->maps[insn->imm].symbol;
		insn->imm = 0;
	}
	insn->src_reg = 0;
	add_relocation(s, at, symbol);
	return true;
}

static bool relocate_function(struct object *o, u32 function, struct err *e)
{
	const struct function *f = &o->functions.v[function];
	char *bytes = o->sections.v[f->section].bytes.p + f->off;
	struct bpf_insn *insns = (struct bpf_insn *)(void *)bytes;

	for (u32 i = 0; i < f->to - f->from; i++) {
		if (is_reference(&insns[i])) {
			if (!relocate(o, function, i, e))
				return false;
			i++;
		} else if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg &&
		           insns[i].imm == BPF_FUNC_get_attach_cookie) {
			insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K,
				                      .dst_reg = BPF_REG_0,
				                      .imm = (s32)f->site->cookie };
		}
	}
	return true;
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool has_functions(const struct object *o, u32 section)
{
	for (u32 i = 0; i < o->functions.n; i++)
		if (o->functions.v[i].section == section)
			return true;
	return false;
}

static void add_func_info(struct object *o, struct buf *b, const struct function *f)
{
	struct bpf_func_info info = { f->off, f->type };

	(void)o;
	buf_add(b, &info, sizeof(info));
}

/* One a line, as long as the program stays in it. */
static void add_line_info(struct object *o, struct buf *b, const struct function *f)
{
	struct bpf_line_info last = { 0 };

	for (u32 i = f->from; i < f->to; i++) {
		struct bpf_line_info info = object_lines_at(&o->lines, f->prog->locs[i]);

		info.insn_off = f->off + (i - f->from) * (u32)INSN;
		if (i == f->from || info.line_off != last.line_off)
			buf_add(b, &info, sizeof(info));
		last = info;
		i += is_reference(&f->prog->insns[i]);
	}
}

/* A part of .BTF.ext: records about functions, section by section. */
static u32 add_info(struct object *o, struct buf *b, u32 record,
                    void (*add)(struct object *o, struct buf *b, const struct function *f))
{
	size_t start = b->n;

	buf_add(b, &record, sizeof(record));
	for (u32 s = 1; s < o->sections.n; s++) {
		u32 head[2] = { 0 };
		size_t at = b->n;

		if (!has_functions(o, s))
			continue;
		head[0] = object_types_string(&o->types, o->sections.v[s].name);
		buf_add(b, head, sizeof(head));
		for (u32 i = 0; i < o->functions.n; i++)
			if (o->functions.v[i].section == s)
				add(o, b, &o->functions.v[i]);
		head[1] = (u32)(b->n - at - sizeof(head)) / record;
		memcpy(b->p + at, head, sizeof(head));
	}
	return (u32)(b->n - start);
}

static void add_types(struct object *o)
{
	/* struct btf_ext_header of libbpf, without its newest part. */
	struct {
		u16 magic;
		u8 version, flags;
		u32 size, func_off, func_n, line_off, line_n;
	} head = { .magic = BTF_MAGIC, .version = BTF_VERSION, .size = sizeof(head) };
	struct buf info = { 0 };
	u32 at;

	if (o->functions.n) {
		head.func_n = add_info(o, &info, sizeof(struct bpf_func_info), add_func_info);
		head.line_n = add_info(o, &info, sizeof(struct bpf_line_info), add_line_info);
	}
	head.line_off = head.func_n;
	at = add_section(o, ".BTF.ext", SHT_PROGBITS, 0, 4);
	buf_add(&o->sections.v[at].bytes, &head, sizeof(head));
	buf_add(&o->sections.v[at].bytes, info.p, info.n);
	at = add_section(o, ".BTF", SHT_PROGBITS, 0, 4);
	object_types_write(&o->types, &o->sections.v[at].bytes);
	buf_free(&info);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The sections about sections; they have to be the last. */
static void add_tables(struct object *o)
{
	u32 n = o->sections.n, symbols = n, at;

	add_section(o, ".symtab", SHT_SYMTAB, 0, 8);
	o->sections.v[symbols].bytes = o->symbols;
	o->symbols = (struct buf){ 0 };
	o->sections.v[symbols].info = o->n_local;
	o->sections.v[symbols].entry = sizeof(Elf64_Sym);
	for (u32 i = 1; i < n; i++) {
		const char *name;

		if (!o->sections.v[i].relocs.n)
			continue;
		name = arena_printf(&o->arena, ".rel%s", o->sections.v[i].name);
		at = add_section(o, name, SHT_REL, SHF_INFO_LINK, 8);
		o->sections.v[at].bytes = o->sections.v[i].relocs;
		o->sections.v[i].relocs = (struct buf){ 0 };
		o->sections.v[at].link = symbols;
		o->sections.v[at].info = i;
		o->sections.v[at].entry = sizeof(Elf64_Rel);
	}
	at = add_section(o, ".strtab", SHT_STRTAB, 0, 1);
	o->sections.v[symbols].link = at;
}

static void write_sections(struct object *o, struct buf *b)
{
	Elf64_Shdr *heads = arena_array(&o->arena, Elf64_Shdr, o->sections.n);
	struct section *strings = &o->sections.v[o->sections.n - 1];
	size_t start = b->n;
	Elf64_Ehdr *h;

	for (u32 i = 1; i < o->sections.n; i++)
		heads[i].sh_name = add_string(o, o->sections.v[i].name);
	strings->bytes = o->strings;
	o->strings = (struct buf){ 0 };
	buf_fill(b, 0, sizeof(*h));
	for (u32 i = 1; i < o->sections.n; i++) {
		const struct section *s = &o->sections.v[i];

		buf_fill(b, 0, -(b->n - start) & 7);
		heads[i] = (Elf64_Shdr){ .sh_name = heads[i].sh_name,
			                 .sh_type = s->type,
			                 .sh_flags = s->flags,
			                 .sh_offset = b->n - start,
			                 .sh_size = s->bytes.n,
			                 .sh_link = s->link,
			                 .sh_info = s->info,
			                 .sh_addralign = s->align,
			                 .sh_entsize = s->entry };
		buf_add(b, s->bytes.p, s->bytes.n);
	}
	buf_fill(b, 0, -(b->n - start) & 7);
	h = (Elf64_Ehdr *)(void *)(b->p + start);
	*h = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
		                        EV_CURRENT },
		           .e_type = ET_REL,
		           .e_machine = EM_BPF,
		           .e_version = EV_CURRENT,
		           .e_shoff = b->n - start,
		           .e_ehsize = sizeof(*h),
		           .e_shentsize = sizeof(*heads),
		           .e_shnum = (u16)o->sections.n,
		           .e_shstrndx = (u16)(o->sections.n - 1) };
	buf_add(b, heads, o->sections.n * sizeof(*heads));
}

static bool fill_in(struct object *o, struct err *e)
{
	u32 license;

	add_section(o, "", SHT_NULL, 0, 0);
	license = add_section(o, "license", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 1);
	buf_add(&o->sections.v[license].bytes, "GPL", sizeof("GPL"));
	if (!look_at_references(o, e) || !add_maps(o, e) || !add_functions(o, e))
		return false;
	add_symbols(o, license);
	for (u32 i = 0; i < o->functions.n; i++)
		if (!relocate_function(o, i, e))
			return false;
	add_types(o);
	add_tables(o);
	return true;
}

bool object_write(struct buf *b, const struct unit *u, struct err *e)
{
	struct object o = { .unit = u };
	bool ok;

	o.maps = arena_array(&o.arena, struct place, u->maps.n + 1);
	object_types_init(&o.types);
	object_lines_init(&o.lines, &o.arena, u, &o.types);
	buf_putc(&o.strings, 0);
	ok = fill_in(&o, e);
	if (ok)
		write_sections(&o, b);
	for (u32 i = 0; i < o.sections.n; i++) {
		buf_free(&o.sections.v[i].bytes);
		buf_free(&o.sections.v[i].relocs);
	}
	buf_free(&o.symbols);
	buf_free(&o.strings);
	object_types_free(&o.types);
	arena_free(&o.arena);
	return ok;
}
