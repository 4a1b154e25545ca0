/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one idea: bpf_snprintf() knows "%pS". A program of a few instructions, run once for each
 * address, formats the address that lies in a map cell into that cell, and the cell is mapped
 * here. Naming the first address so takes a hundredth of the time that reading
 * /proc/kallsyms does, and no memory.
 *
 * The format must be in a frozen, read-only map (the kernel's check of ARG_PTR_TO_CONST_STR).
 */
#include "kern/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/uapi.h"
#include "kern/kern.h"

struct cell {
	u64 addr;
	char text[SYMBOLIZE_TEXT];
};

struct symbolize {
	int format, io, prog; /* descriptors */
	struct cell *cell;    /* of io */
};

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
/* Two instructions: reg = address of byte `at` of the only value of a map. */
#define VALUE(reg, fd, at)                                                                         \
	INSN(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_VALUE, 0, fd), INSN(0, 0, 0, 0, at)
#define CONSTANT(reg, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, reg, 0, 0, value)

static int load(const struct symbolize *s)
{
	const struct bpf_insn insns[] = {
		VALUE(BPF_REG_1, s->io, offsetof(struct cell, text)),
		CONSTANT(BPF_REG_2, SYMBOLIZE_TEXT),
		VALUE(BPF_REG_3, s->format, 0),
		VALUE(BPF_REG_4, s->io, offsetof(struct cell, addr)),
		CONSTANT(BPF_REG_5, sizeof(u64)),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_snprintf),
		CONSTANT(BPF_REG_0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return sys_prog_load(&(struct sys_prog){
		.type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = insns, .n = ARRAY_SIZE(insns) });
}

static int make_map(u32 value_size, u32 flags)
{
	struct umap m = { .bpf_type = BPF_MAP_TYPE_ARRAY,
		          .key_size = 4,
		          .value_size = value_size,
		          .max_entries = 1,
		          .flags = flags };

	return sys_map_create(&m, "memtap_ksym", -1);
}

static bool make(struct symbolize *s)
{
	static const char format[4] = "%pS";
	u32 key = 0;
	void *p;

	s->format = make_map(sizeof(format), BPF_F_RDONLY_PROG);
	s->io = make_map(sizeof(struct cell), BPF_F_MMAPABLE);
	if (s->format < 0 || s->io < 0 || sys_map_update(s->format, &key, format, 0) < 0 ||
	    sys_map_freeze(s->format) < 0)
		return false;
	p = mmap(NULL, sizeof(struct cell), PROT_READ | PROT_WRITE, MAP_SHARED, s->io, 0);
	if (p == MAP_FAILED)
		return false;
	s->cell = p;
	s->prog = load(s);
	return s->prog >= 0;
}

struct symbolize *symbolize_open(struct err *e)
{
	struct symbolize *s = calloc(1, sizeof(*s));

	if (!s)
		base_no_memory();
	*s = (struct symbolize){ .format = -1, .io = -1, .prog = -1 };
	if (make(s))
		return s;
	symbolize_close(s);
	err_set(e, "the kernel does not name single addresses");
	return NULL;
}

void symbolize_close(struct symbolize *s)
{
	if (!s)
		return;
	if (s->cell)
		munmap(s->cell, sizeof(*s->cell));
	if (s->prog >= 0)
		close(s->prog);
	if (s->io >= 0)
		close(s->io);
	if (s->format >= 0)
		close(s->format);
	free(s);
}

bool symbolize_name(struct symbolize *s, u64 addr, char text[SYMBOLIZE_TEXT])
{
	u32 ignored;

	s->cell->addr = addr;
	s->cell->text[0] = 0;
	if (sys_prog_run(s->prog, &ignored) < 0)
		return false;
	memcpy(text, s->cell->text, SYMBOLIZE_TEXT);
	text[SYMBOLIZE_TEXT - 1] = 0;
	return text[0] != 0;
}
