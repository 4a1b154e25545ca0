/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An ELF file as memtap sees it: symbols, segments, notes, sections by name.
 *
 * The one idea: the headers are copied when a file is opened and checked once; all else is read
 * in place, over a mapping, and everything taken from it (names, offsets, sizes) is checked here
 * when it is used. So the names handed out point into the file and cost nothing, and a damaged
 * file, or one that changes meanwhile, yields fewer symbols instead of a crash. A file whose tables
 * lie past its end is refused: it was cut short, and "no such symbol" would be the wrong answer
 * about it.
 *
 * Whose file it is does not matter: work and memory are bounded by the bytes it really has
 * (base/file.h refuses holes) and by the limits below; a file beyond them is refused by name.
 *
 * It does not read DWARF, follow debug links or handle other byte orders and word sizes. Facts
 * about the format: elf(5), System V gABI chapters 4 and 5.
 */
#include "elf/elf.h"

#include <elf.h>
#include <errno.h>
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

#define DYNAMIC_MAX  8192u       /* entries of a dynamic section; each is looked for in all */
#define SEGMENTS_MAX 256u        /* each address is looked for in all of them */
#define SYMBOLS_MAX  (8u << 20)  /* of one table; a browser with all of its has 2 million */
#define LONGEST_NAME (32u << 10) /* bytes of a symbol's name; longer ones are left out */

/* Names may share their ends, or be the same: all of a table are as long as it this many times, and
 * so much more. */
#define NAMES_SHARED 16u
#define NAMES_MORE   (1u << 20)

/* Where the build id is looked for: so many segments of notes, and so many bytes of each. */
#define NOTE_SEGMENTS 16u
#define NOTE_BYTES    (64u << 10)

struct unpacked {
	u32 section;
	u8 *p;
	size_t n;
};

struct elf {
	struct arena arena;
	const char *path;
	struct file_map map; /* n is 0 when the memory is borrowed */
	const u8 *p;         /* the file, or its part of an archive */
	size_t n;
	u64 base; /* where it starts in its file: above 0 in an archive */
	u16 type; /* ET_* */
	u64 entry;
	const Elf64_Phdr *headers; /* copies, as the next */
	u32 n_headers;
	const Elf64_Shdr *sections;
	u32 n_sections;
	u32 section_names; /* number of the section that has them */
	bool lacks_names;  /* some are not read, which was counted */
	VEC(struct elf_segment) segments;
	VEC(struct unpacked) unpacked;
};

/* ---- opening -------------------------------------------------------------------------------- */

static bool within(u64 offset, u64 size, size_t n)
{
	return offset <= n && size <= n - offset;
}

static bool cut_short(const struct elf *f, const char *what, struct err *e)
{
	return err_set(e, "%s is cut short: its %s lie past its end", f->path, what);
}

static bool beyond(const struct elf *f, u64 limit, const char *what, struct err *e)
{
	return err_set(e, "%s has more than %llu %s, which is more than is read of one", f->path,
	               (unsigned long long)limit, what);
}

/* Says in the user's words what kind of file this is not. */
static bool read_header(struct elf *f, Elf64_Ehdr *eh, struct err *e)
{
	if (f->n < EI_NIDENT || memcmp(f->p, ELFMAG, SELFMAG) != 0) {
		err_set(e, "%s is not an ELF file", f->path);
		e->code = ENOEXEC;
		return false;
	}
	if (f->p[EI_CLASS] != ELFCLASS64)
		return err_set(e, "%s is not a 64-bit ELF file", f->path);
	if (f->p[EI_DATA] != ELFDATA2LSB)
		return err_set(e, "%s is not a little-endian ELF file", f->path);
	if (f->n < sizeof(*eh))
		return cut_short(f, "headers", e);
	memcpy(eh, f->p, sizeof(*eh));
	if ((eh->e_phnum && eh->e_phentsize != sizeof(Elf64_Phdr)) ||
	    (eh->e_shoff && eh->e_shentsize != sizeof(Elf64_Shdr)))
		return err_set(e, "%s is a damaged ELF file: its headers have another size",
		               f->path);
	f->type = eh->e_type;
	f->entry = eh->e_entry;
	return true;
}

static const void *copy(struct elf *f, u64 offset, size_t n)
{
	return memcpy(arena_alloc(&f->arena, n), f->p + offset, n);
}

static bool read_segments(struct elf *f, const Elf64_Ehdr *eh, struct err *e)
{
	size_t bytes = eh->e_phnum * sizeof(Elf64_Phdr);

	if (!within(eh->e_phoff, bytes, f->n))
		return cut_short(f, "program headers", e);
	if (eh->e_phnum > SEGMENTS_MAX)
		return beyond(f, SEGMENTS_MAX, "segments", e);
	f->n_headers = eh->e_phnum;
	f->headers = copy(f, eh->e_phoff, bytes);
	for (u32 i = 0; i < f->n_headers; i++) {
		const Elf64_Phdr *ph = &f->headers[i];

		if (ph->p_type == PT_LOAD && ph->p_filesz)
			vec_add(&f->arena, &f->segments,
			        ((struct elf_segment){ ph->p_vaddr, ph->p_offset, ph->p_filesz }));
	}
	return true;
}

/* True for sections that are needed to name symbols. */
static bool holds_symbols(u32 sh_type)
{
	return sh_type == SHT_SYMTAB || sh_type == SHT_DYNSYM || sh_type == SHT_STRTAB;
}

/* Where there are too many for the header's fields, they are in the first section's (gABI). */
static bool count_sections(struct elf *f, const Elf64_Ehdr *eh, u64 *n, struct err *e)
{
	Elf64_Shdr first;

	*n = eh->e_shnum;
	f->section_names = eh->e_shstrndx;
	if (!within(eh->e_shoff, sizeof(first), f->n))
		return cut_short(f, "section headers", e);
	memcpy(&first, f->p + eh->e_shoff, sizeof(first));
	if (!eh->e_shnum)
		*n = first.sh_size;
	if (eh->e_shstrndx == SHN_XINDEX)
		f->section_names = first.sh_link;
	if (*n > UINT16_MAX)
		return beyond(f, UINT16_MAX, "sections", e);
	return within(eh->e_shoff, *n * sizeof(first), f->n) || cut_short(f, "section headers", e);
}

static bool read_sections(struct elf *f, const Elf64_Ehdr *eh, struct err *e)
{
	u64 n;

	if (!eh->e_shoff)
		return true;
	if (!count_sections(f, eh, &n, e))
		return false;
	f->sections = copy(f, eh->e_shoff, n * sizeof(*f->sections));
	f->n_sections = (u32)n;
	for (u32 i = 0; i < f->n_sections; i++) {
		const Elf64_Shdr *sh = &f->sections[i];

		if (!holds_symbols(sh->sh_type))
			continue;
		if (!within(sh->sh_offset, sh->sh_size, f->n))
			return cut_short(f, "symbols", e);
		if (sh->sh_type != SHT_STRTAB && sh->sh_size / sizeof(Elf64_Sym) > SYMBOLS_MAX)
			return beyond(f, SYMBOLS_MAX, "symbols", e);
	}
	return true;
}

static bool start(struct elf *f, const void *p, size_t n, struct err *e)
{
	Elf64_Ehdr eh = { 0 };

	f->p = p;
	f->n = n;
	return read_header(f, &eh, e) && read_segments(f, &eh, e) && read_sections(f, &eh, e);
}

static struct elf *elf_new(const char *path)
{
	struct elf *f = calloc(1, sizeof(*f));

	if (!f)
		base_no_memory();
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

const char *elf_dynamic(struct elf *f, s64 tag, u32 i)
{
	const u8 *p, *names;
	size_t n, names_n;
	u64 vaddr;
	Elf64_Dyn d;

	if (!elf_section(f, ".dynamic", &p, &n, &vaddr) ||
	    !elf_section(f, ".dynstr", &names, &names_n, &vaddr))
		return NULL;
	n = MIN(n, DYNAMIC_MAX * sizeof(d));
	for (; n >= sizeof(d); p += sizeof(d), n -= sizeof(d)) {
		memcpy(&d, p, sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag != tag || i--)
			continue;
		if (d.d_un.d_val >= names_n ||
		    !memchr(names + d.d_un.d_val, 0, MIN(names_n - d.d_un.d_val, LONGEST_NAME)))
			break;
		return (const char *)names + d.d_un.d_val;
	}
	return NULL;
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

static bool is_code(const Elf64_Phdr *ph)
{
	return ph->p_type == PT_LOAD && (ph->p_flags & PF_X) && ph->p_filesz;
}

bool elf_code(struct elf *f, u32 i, const u8 **p, size_t *n, u64 *vaddr)
{
	for (u32 k = 0; k < f->n_headers; k++) {
		const Elf64_Phdr *ph = &f->headers[k];

		if (!is_code(ph) || ph->p_offset >= f->n || i--)
			continue;
		*p = f->p + ph->p_offset;
		*n = MIN(ph->p_filesz, f->n - ph->p_offset);
		*vaddr = ph->p_vaddr;
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
static bool section_bytes(const struct elf *f, const Elf64_Shdr *sh, const u8 **p, size_t *n)
{
	if (sh->sh_type == SHT_NULL || sh->sh_type == SHT_NOBITS || !sh->sh_size ||
	    !within(sh->sh_offset, sh->sh_size, f->n))
		return false;
	*p = f->p + sh->sh_offset;
	*n = sh->sh_size;
	return true;
}

static bool symtab_load(const struct elf *f, const Elf64_Shdr *sh, struct symtab *t)
{
	const Elf64_Shdr *link = sh->sh_link < f->n_sections ? &f->sections[sh->sh_link] : NULL;
	const u8 *names;
	size_t bytes;

	if (!link || link->sh_type != SHT_STRTAB ||
	    (sh->sh_flags | link->sh_flags) & SHF_COMPRESSED)
		return false;
	if (!section_bytes(f, sh, &t->syms, &bytes) || !section_bytes(f, link, &names, &t->names_n))
		return false;
	t->n = bytes / sizeof(Elf64_Sym);
	t->names = (const char *)names;
	/* Names are handed out as C strings, so the table has to end one. */
	return t->names[t->names_n - 1] == 0;
}

/* Bytes from an address to the end of its section. */
static u64 room_behind(const struct elf *f, u32 section, u64 value)
{
	const Elf64_Shdr *sh = section < f->n_sections ? &f->sections[section] : NULL;

	if (!sh || value < sh->sh_addr || value - sh->sh_addr > sh->sh_size)
		return 0;
	return sh->sh_size - (value - sh->sh_addr);
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

static void lacks_names(struct elf *f)
{
	if (!f->lacks_names)
		file_lack(FILE_NAMES);
	f->lacks_names = true;
}

/* False when the callback asked to stop. */
static bool each_of_table(struct elf *f, const struct symtab *t,
                          bool (*cb)(void *ctx, const struct elf_sym *s), void *ctx)
{
	u64 names = (u64)NAMES_SHARED * t->names_n + NAMES_MORE;

	for (size_t i = 0; i < t->n; i++) {
		struct elf_sym s;
		size_t length;

		if (!symbol_read(f, t, i, &s))
			continue;
		length = strnlen(s.name, LONGEST_NAME);
		if (length > names || length == LONGEST_NAME)
			lacks_names(f);
		if (length > names)
			break;
		names -= length;
		if (length < LONGEST_NAME && !cb(ctx, &s))
			return false;
	}
	return true;
}

/* A file has one table of a kind (gABI); what comes after it is not looked at. */
static bool each_of_kind(struct elf *f, u32 sh_type, bool (*cb)(void *ctx, const struct elf_sym *s),
                         void *ctx)
{
	for (u32 i = 0; i < f->n_sections; i++) {
		struct symtab t;

		if (f->sections[i].sh_type == sh_type)
			return !symtab_load(f, &f->sections[i], &t) ||
			       each_of_table(f, &t, cb, ctx);
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

static const Elf64_Shdr *section_named(const struct elf *f, const char *name)
{
	const u8 *names;
	size_t n, length = strlen(name) + 1;

	if (f->section_names >= f->n_sections ||
	    !section_bytes(f, &f->sections[f->section_names], &names, &n))
		return NULL;
	for (u32 i = 1; i < f->n_sections; i++) {
		u32 at = f->sections[i].sh_name;

		if (within(at, length, n) && memcmp(names + at, name, length) == 0)
			return &f->sections[i];
	}
	return NULL;
}

/*
 * A section packed by zlib (gABI, chapter 4: a header of type, size and alignment, then the
 * stream).
 */
static bool unpack(struct elf *f, const u8 *packed, size_t n, struct unpacked *to)
{
	Elf64_Chdr head;
	uLongf size;

	if (n < sizeof(head))
		return false;
	memcpy(&head, packed, sizeof(head));
	if (head.ch_type != ELFCOMPRESS_ZLIB || head.ch_size > UNPACKED_MAX ||
	    head.ch_size / ZLIB_RATIO > n)
		return false;
	size = head.ch_size;
	to->p = arena_alloc(&f->arena, size);
	if (uncompress(to->p, &size, packed + sizeof(head), n - sizeof(head)) != Z_OK)
		return false;
	to->n = size;
	return true;
}

/* Unpacked once; one that can not be has n 0. */
static bool section_unpacked(struct elf *f, const Elf64_Shdr *sh, const u8 **p, size_t *n)
{
	struct unpacked u = { .section = (u32)(sh - f->sections) };
	u32 i = 0;

	while (i < f->unpacked.n && f->unpacked.v[i].section != u.section)
		i++;
	if (i == f->unpacked.n) {
		if (section_bytes(f, sh, p, n))
			unpack(f, *p, *n, &u);
		vec_add(&f->arena, &f->unpacked, u);
	}
	*p = f->unpacked.v[i].p;
	*n = f->unpacked.v[i].n;
	return *n != 0;
}

bool elf_section(struct elf *f, const char *name, const u8 **p, size_t *n, u64 *vaddr)
{
	const Elf64_Shdr *sh = section_named(f, name);

	if (!sh)
		return false;
	*vaddr = sh->sh_addr;
	return sh->sh_flags & SHF_COMPRESSED ? section_unpacked(f, sh, p, n)
	                                     : section_bytes(f, sh, p, n);
}

bool elf_has_section(struct elf *f, const char *name)
{
	const Elf64_Shdr *sh = section_named(f, name);

	return sh && sh->sh_type != SHT_NOBITS && sh->sh_size;
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

bool elf_build_id_in(const u8 *p, size_t n, char buf[64])
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
	u32 looked_at = 0;

	for (u32 i = 0; i < f->n_headers && looked_at < NOTE_SEGMENTS; i++) {
		const Elf64_Phdr *ph = &f->headers[i];

		if (ph->p_type != PT_NOTE || !within(ph->p_offset, ph->p_filesz, f->n))
			continue;
		looked_at++;
		if (elf_build_id_in(f->p + ph->p_offset, MIN(ph->p_filesz, NOTE_BYTES), buf))
			return true;
	}
	return false;
}
