/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An ELF file as memtap sees it: symbols, segments, notes, sections by name.
 *
 * The one idea: libelf decodes the headers and sections over our own read-only mapping, and
 * everything taken from the file (names, offsets, sizes) is checked here when it is used. So the
 * names handed out point into the file and cost nothing, and a damaged file yields fewer symbols
 * instead of a crash. A file whose tables lie past its end is refused: it was cut short, and
 * "no such symbol" would be the wrong answer about it.
 *
 * It does not read DWARF, follow debug links or handle other byte orders and word sizes.
 */
#include "elf/elf.h"

#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/caps.h"
#include "base/file.h"
#include "elf/zip.h"

#define UNPACKED_MAX (256u << 20) /* bytes of a compressed section */
#define ZLIB_RATIO   1100u        /* no stream unpacks to more (zlib's manual: 1032) */

struct elf {
	struct arena arena;
	const char *path;
	struct file_map map; /* n is 0 when the memory is borrowed */
	Elf *elf;
	u64 base; /* where it starts in its file: above 0 in an archive */
	u16 type; /* ET_* */
	u64 entry;
	VEC(struct elf_segment) segments;
};

/* ---- opening -------------------------------------------------------------------------------- */

static void load_segments(struct elf *f)
{
	size_t n = 0;

	if (elf_getphdrnum(f->elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(f->elf, (int)i, &ph))
			return;
		if (ph.p_type == PT_LOAD && ph.p_filesz)
			vec_add(&f->arena, &f->segments,
			        ((struct elf_segment){ ph.p_vaddr, ph.p_offset, ph.p_filesz }));
	}
}

/* Says in the user's words what kind of file this is not. */
static bool check_kind(const struct elf *f, GElf_Ehdr *eh, struct err *e)
{
	const char *ident = elf_getident(f->elf, NULL);

	if (elf_kind(f->elf) != ELF_K_ELF || !ident)
		return err_set(e, "%s is not an ELF file", f->path);
	if (ident[EI_CLASS] != ELFCLASS64)
		return err_set(e, "%s is not a 64-bit ELF file", f->path);
	if (ident[EI_DATA] != ELFDATA2LSB)
		return err_set(e, "%s is not a little-endian ELF file", f->path);
	if (!gelf_getehdr(f->elf, eh))
		return err_set(e, "%s is a damaged ELF file: %s", f->path, elf_errmsg(-1));
	return true;
}

static bool within(u64 offset, u64 size, size_t n)
{
	return offset <= n && size <= n - offset;
}

/* True for sections that are needed to name symbols. */
static bool holds_symbols(u32 sh_type)
{
	return sh_type == SHT_SYMTAB || sh_type == SHT_DYNSYM || sh_type == SHT_STRTAB;
}

/* Refuses a file that ends before what its headers speak of. */
static bool check_length(const struct elf *f, const GElf_Ehdr *eh, size_t n, struct err *e)
{
	static const char format[] = "%s is cut short: its %s lie past its end";
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (!within(eh->e_phoff, (u64)eh->e_phnum * eh->e_phentsize, n))
		return err_set(e, format, f->path, "program headers");
	if (eh->e_shoff && !within(eh->e_shoff, (u64)MAX(eh->e_shnum, 1) * eh->e_shentsize, n))
		return err_set(e, format, f->path, "section headers");
	while ((scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, &sh) && holds_symbols(sh.sh_type) &&
		    !within(sh.sh_offset, sh.sh_size, n))
			return err_set(e, format, f->path, "symbols");
	return true;
}

static bool start(struct elf *f, const void *p, size_t n, struct err *e)
{
	GElf_Ehdr eh = { 0 };

	elf_version(EV_CURRENT);
	/* libelf does not write through it for native files. */
	f->elf = n ? elf_memory(base_plain(p), n) : NULL;
	if (!f->elf)
		return err_set(e, "%s is not an ELF file", f->path);
	if (!check_kind(f, &eh, e) || !check_length(f, &eh, n, e))
		return false;
	f->type = eh.e_type;
	f->entry = eh.e_entry;
	load_segments(f);
	return true;
}

static struct elf *elf_new(const char *path)
{
	struct elf *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->path = arena_strdup(&f->arena, path);
	return f;
}

struct elf *elf_open_memory(const void *p, size_t n, const char *path, struct err *e)
{
	struct elf *f = elf_new(path);

	if (start(f, p, n, e))
		return f;
	elf_close(f);
	return NULL;
}

const char *elf_in_archive(const char *path)
{
	const char *mark = strstr(path, ZIP_SEPARATOR);

	/* A directory's name may end in '!' too. */
	return mark && access(path, F_OK) != 0 ? mark : NULL;
}

static bool open_in_archive(struct elf *f, const char *mark, struct err *e)
{
	const char *archive = arena_strndup(&f->arena, f->path, (size_t)(mark - f->path));
	size_t off, size;

	if (!file_map(archive, &f->map, e))
		return false;
	if (!zip_find(f->map.p, f->map.n, str_of(mark + strlen(ZIP_SEPARATOR)), &off, &size, e))
		return err_wrap(e, "%s", archive);
	f->base = off;
	return start(f, f->map.p + off, size, e);
}

struct elf *elf_open(const char *path, struct err *e)
{
	struct elf *f = elf_new(path);
	const char *mark = elf_in_archive(f->path);

	if (mark ? open_in_archive(f, mark, e)
	         : file_map(path, &f->map, e) && start(f, f->map.p, f->map.n, e))
		return f;
	caps_file(e, path);
	elf_close(f);
	return NULL;
}

void elf_close(struct elf *f)
{
	if (!f)
		return;
	elf_end(f->elf);
	file_unmap(&f->map);
	arena_free(&f->arena);
	free(f);
}

const char *elf_path(const struct elf *f)
{
	return f->path;
}

u64 elf_entry(const struct elf *f)
{
	return f->entry;
}

u64 elf_base(const struct elf *f)
{
	return f->base;
}

bool elf_is_pie(const struct elf *f)
{
	return f->type == ET_DYN;
}

bool elf_is_program(struct elf *f)
{
	const u8 *p;
	size_t n;
	u64 vaddr;
	Elf64_Dyn d;
	bool program;

	if (f->type != ET_DYN)
		return f->type == ET_EXEC;
	program = elf_has_section(f, ".interp");
	if (!elf_section(f, ".dynamic", &p, &n, &vaddr))
		return program;
	for (; n >= sizeof(d); p += sizeof(d), n -= sizeof(d)) {
		memcpy(&d, p, sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_SONAME)
			return false;
		program |= d.d_tag == DT_FLAGS_1 && d.d_un.d_val & DF_1_PIE;
	}
	return program;
}

/* ---- addresses ------------------------------------------------------------------------------ */

bool elf_offset(struct elf *f, u64 vaddr, u64 *offset)
{
	for (u32 i = 0; i < f->segments.n; i++) {
		const struct elf_segment *s = &f->segments.v[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->size) {
			*offset = vaddr - s->vaddr + s->offset;
			return true;
		}
	}
	return false;
}

bool elf_vaddr(struct elf *f, u64 offset, u64 *vaddr)
{
	for (u32 i = 0; i < f->segments.n; i++) {
		const struct elf_segment *s = &f->segments.v[i];

		if (offset >= s->offset && offset - s->offset < s->size) {
			*vaddr = offset - s->offset + s->vaddr;
			return true;
		}
	}
	return false;
}

bool elf_segment(const struct elf *f, u32 i, struct elf_segment *s)
{
	if (i >= f->segments.n)
		return false;
	*s = f->segments.v[i];
	return true;
}

static bool is_code(const GElf_Phdr *ph)
{
	return ph->p_type == PT_LOAD && (ph->p_flags & PF_X) && ph->p_filesz;
}

bool elf_code(struct elf *f, u32 i, const u8 **p, size_t *n, u64 *vaddr)
{
	size_t headers = 0, size = 0;
	const char *file = elf_rawfile(f->elf, &size);
	GElf_Phdr ph;

	if (!file || elf_getphdrnum(f->elf, &headers) != 0)
		return false;
	for (size_t k = 0; k < headers && k < INT32_MAX; k++) {
		if (!gelf_getphdr(f->elf, (int)k, &ph))
			return false;
		if (!is_code(&ph) || ph.p_offset >= size || i--)
			continue;
		*p = (const u8 *)file + ph.p_offset;
		*n = MIN(ph.p_filesz, size - ph.p_offset);
		*vaddr = ph.p_vaddr;
		return true;
	}
	return false;
}

/* ---- symbols -------------------------------------------------------------------------------- */

/* A symbol table and its names, both checked to lie in the file. */
struct symtab {
	const u8 *syms;
	size_t n;
	const char *names;
	size_t names_n;
};

/* Bytes of a section that has some in the file. */
static bool section_bytes(Elf_Scn *scn, const GElf_Shdr *sh, const u8 **p, size_t *n)
{
	Elf_Data *d;

	if (!scn || sh->sh_type == SHT_NOBITS || (sh->sh_flags & SHF_COMPRESSED))
		return false;
	d = elf_getdata(scn, NULL);
	if (!d || !d->d_buf)
		return false;
	*p = d->d_buf;
	*n = d->d_size;
	return true;
}

static bool symtab_load(struct elf *f, Elf_Scn *scn, const GElf_Shdr *sh, struct symtab *t)
{
	Elf_Scn *link = elf_getscn(f->elf, sh->sh_link);
	const u8 *names;
	GElf_Shdr link_sh;
	size_t bytes;

	if (!link || !gelf_getshdr(link, &link_sh) || link_sh.sh_type != SHT_STRTAB)
		return false;
	if (!section_bytes(scn, sh, &t->syms, &bytes) ||
	    !section_bytes(link, &link_sh, &names, &t->names_n))
		return false;
	t->n = bytes / sizeof(Elf64_Sym);
	t->names = (const char *)names;
	/* Names are handed out as C strings, so the table has to end one. */
	return t->names_n && t->names[t->names_n - 1] == 0;
}

/* Bytes from an address to the end of its section. */
static u64 room_behind(struct elf *f, u32 section, u64 value)
{
	Elf_Scn *scn = section < SHN_LORESERVE ? elf_getscn(f->elf, section) : NULL;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || value < sh.sh_addr ||
	    value - sh.sh_addr > sh.sh_size)
		return 0;
	return sh.sh_size - (value - sh.sh_addr);
}

/* False for symbols that name no code or data of this file. */
static bool symbol_read(struct elf *f, const struct symtab *t, size_t i, struct elf_sym *s)
{
	Elf64_Sym raw;
	u32 kind;

	memcpy(&raw, t->syms + i * sizeof(raw), sizeof(raw));
	kind = ELF64_ST_TYPE(raw.st_info);
	if (raw.st_shndx == SHN_UNDEF || raw.st_shndx == SHN_ABS || raw.st_name >= t->names_n)
		return false;
	if (kind != STT_FUNC && kind != STT_GNU_IFUNC && kind != STT_OBJECT && kind != STT_NOTYPE)
		return false;
	s->name = t->names + raw.st_name;
	s->value = raw.st_value;
	s->size = raw.st_size;
	s->is_func = kind == STT_FUNC || kind == STT_GNU_IFUNC;
	s->room = raw.st_size ? 0 : room_behind(f, raw.st_shndx, raw.st_value);
	s->offset = 0;
	s->has_offset = elf_offset(f, raw.st_value, &s->offset);
	return s->name[0] != 0;
}

/* False when the callback asked to stop. */
static bool each_of_table(struct elf *f, const struct symtab *t,
                          bool (*cb)(void *ctx, const struct elf_sym *s), void *ctx)
{
	for (size_t i = 0; i < t->n; i++) {
		struct elf_sym s;

		if (symbol_read(f, t, i, &s) && !cb(ctx, &s))
			return false;
	}
	return true;
}

static bool each_of_kind(struct elf *f, u32 sh_type, bool (*cb)(void *ctx, const struct elf_sym *s),
                         void *ctx)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		struct symtab t;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != sh_type)
			continue;
		if (symtab_load(f, scn, &sh, &t) && !each_of_table(f, &t, cb, ctx))
			return false;
	}
	return true;
}

void elf_each(struct elf *f, bool (*cb)(void *ctx, const struct elf_sym *s), void *ctx)
{
	if (each_of_kind(f, SHT_SYMTAB, cb, ctx))
		each_of_kind(f, SHT_DYNSYM, cb, ctx);
}

/* How well a symbol answers to a name; the best one wins. */
enum match {
	MATCH_NONE,
	MATCH_DATA,
	MATCH_OLD_VERSION,     /* name@V */
	MATCH_DEFAULT_VERSION, /* name@@V */
	MATCH_EXACT,
};

struct finder {
	const char *name;
	size_t n;
	enum match best;
	struct elf_sym *out;
};

static enum match match_of(const struct finder *w, const struct elf_sym *s)
{
	const char *rest = s->name + w->n;

	if (strncmp(s->name, w->name, w->n) != 0 || (*rest && *rest != '@'))
		return MATCH_NONE;
	if (!s->is_func)
		return MATCH_DATA;
	if (!*rest)
		return MATCH_EXACT;
	return rest[1] == '@' ? MATCH_DEFAULT_VERSION : MATCH_OLD_VERSION;
}

static bool find_cb(void *ctx, const struct elf_sym *s)
{
	struct finder *w = ctx;
	enum match m = match_of(w, s);

	if (m > w->best) {
		w->best = m;
		*w->out = *s;
	}
	return w->best != MATCH_EXACT;
}

bool elf_find(struct elf *f, const char *name, struct elf_sym *out)
{
	struct finder w = { .name = name, .n = strlen(name), .out = out };

	if (w.n)
		elf_each(f, find_cb, &w);
	return w.best != MATCH_NONE;
}

/* ---- sections and notes --------------------------------------------------------------------- */

static Elf_Scn *section_named(struct elf *f, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(f->elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(f->elf, scn))) {
		const char *have;

		if (!gelf_getshdr(scn, sh))
			continue;
		have = elf_strptr(f->elf, names, sh->sh_name);
		if (have && strcmp(have, name) == 0)
			return scn;
	}
	return NULL;
}

/*
 * A section packed by zlib (gABI, chapter 4: a header of type, size and alignment, then the
 * stream). Not by elf_compress(), which writes into the section headers: those are our read-only
 * mapping.
 */
static bool section_unpacked(struct elf *f, Elf_Scn *scn, const GElf_Shdr *sh, const u8 **p,
                             size_t *n)
{
	GElf_Shdr raw = *sh;
	const u8 *packed;
	uLongf size;
	Elf64_Chdr head;
	size_t have;
	u8 *to;

	raw.sh_flags &= ~(u64)SHF_COMPRESSED;
	if (!section_bytes(scn, &raw, &packed, &have) || have < sizeof(head))
		return false;
	memcpy(&head, packed, sizeof(head));
	if (head.ch_type != ELFCOMPRESS_ZLIB || head.ch_size > UNPACKED_MAX ||
	    head.ch_size / ZLIB_RATIO > have)
		return false;
	size = head.ch_size;
	to = arena_alloc(&f->arena, size);
	if (uncompress(to, &size, packed + sizeof(head), have - sizeof(head)) != Z_OK)
		return false;
	*p = to;
	*n = size;
	return true;
}

bool elf_section(struct elf *f, const char *name, const u8 **p, size_t *n, u64 *vaddr)
{
	GElf_Shdr sh;
	Elf_Scn *scn = section_named(f, name, &sh);

	if (!scn)
		return false;
	*vaddr = sh.sh_addr;
	if (sh.sh_flags & SHF_COMPRESSED)
		return section_unpacked(f, scn, &sh, p, n);
	return section_bytes(scn, &sh, p, n);
}

bool elf_has_section(struct elf *f, const char *name)
{
	GElf_Shdr sh;

	return section_named(f, name, &sh) && sh.sh_type != SHT_NOBITS && sh.sh_size;
}

/* Notes are a header of three words, then name and content, each padded to 4 bytes (gABI). */
bool elf_note_next(const u8 *p, size_t n, size_t *pos, struct elf_note *note)
{
	u32 head[3];
	u64 desc, end;

	if (*pos > n || n - *pos < sizeof(head))
		return false;
	memcpy(head, p + *pos, sizeof(head));
	desc = *pos + sizeof(head) + ROUND_UP((u64)head[0], 4);
	end = desc + ROUND_UP((u64)head[1], 4);
	if (desc + head[1] > n)
		return false;
	note->name = (struct str){ (const char *)p + *pos + sizeof(head), head[0] };
	note->type = head[2];
	note->desc = p + desc;
	note->n = head[1];
	*pos = MIN(end, n);
	return true;
}

static bool build_id_in(const u8 *p, size_t n, char buf[64])
{
	struct elf_note note;
	size_t pos = 0;

	while (elf_note_next(p, n, &pos, &note)) {
		if (note.type != NT_GNU_BUILD_ID || !str_eq(note.name, STR("GNU\0")))
			continue;
		if (!note.n || note.n > 31)
			return false;
		for (u32 i = 0; i < note.n; i++)
			snprintf(buf + 2 * (size_t)i, 3, "%02x", note.desc[i]);
		return true;
	}
	return false;
}

bool elf_build_id(struct elf *f, char buf[64])
{
	size_t n = 0;

	if (elf_getphdrnum(f->elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr ph;
		Elf_Data *d;

		if (!gelf_getphdr(f->elf, (int)i, &ph))
			return false;
		if (ph.p_type != PT_NOTE || !ph.p_filesz || ph.p_offset > INT64_MAX)
			continue;
		d = elf_getdata_rawchunk(f->elf, (s64)ph.p_offset, ph.p_filesz, ELF_T_BYTE);
		if (d && d->d_buf && build_id_in(d->d_buf, d->d_size, buf))
			return true;
	}
	return false;
}
