/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * x86-64's instructions, decoded with Zydis.
 *
 * The one idea: Zydis names every operand of an instruction, the hidden ones too, with what is done
 * to it; an instruction is harmless when all its operands are, so nothing has to be known about
 * single instructions but for the few that do more than their operands say.
 *
 * The library is big and seldom needed (only for probes on expensive instructions), Debian has it
 * as a shared object only, and so it is loaded when a decoder is opened.
 */
#include "arch/move.h"

#if defined(__x86_64__)

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"

/* The library goes by its major and minor version, with which its structs change. */
#define MAJOR ((unsigned)ZYDIS_VERSION_MAJOR(ZYDIS_VERSION))
#define MINOR ((unsigned)ZYDIS_VERSION_MINOR(ZYDIS_VERSION))

_Static_assert(MAJOR == 4, "written for Zydis 4");

struct insn_decoder {
	void *library;
	ZydisDecoder z;
	__typeof__(ZydisDecoderInit) *init;
	__typeof__(ZydisDecoderDecodeInstruction) *decode;
	__typeof__(ZydisDecoderDecodeOperands) *operands;
	__typeof__(ZydisRegisterGetLargestEnclosing) *whole;
};

struct insn_decoder *insn_decoder_open(struct err *e)
{
	struct insn_decoder *d = calloc(1, sizeof(*d));
	char name[32];

	if (!d)
		base_no_memory();
	snprintf(name, sizeof(name), "libZydis.so.%u.%u", MAJOR, MINOR);
	d->library = host_library(name);
	if (d->library) {
		d->init = host_symbol(d->library, "ZydisDecoderInit");
		d->decode = host_symbol(d->library, "ZydisDecoderDecodeInstruction");
		d->operands = host_symbol(d->library, "ZydisDecoderDecodeOperands");
		d->whole = host_symbol(d->library, "ZydisRegisterGetLargestEnclosing");
	}
	if (d->init && d->decode && d->operands && d->whole &&
	    ZYAN_SUCCESS(d->init(&d->z, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return d;
	err_set(e, "%s can not be loaded", name);
	insn_decoder_close(d);
	return NULL;
}

void insn_decoder_close(struct insn_decoder *d)
{
	if (!d)
		return;
	if (d->library)
		host_release(d->library);
	free(d);
}

/* ---- where control goes --------------------------------------------------------------------- */

static enum insn_flow flow_of(const ZydisDecodedInstruction *z)
{
	bool direct = z->raw.imm[0].is_relative;

	switch (z->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return direct ? INSN_BRANCH : INSN_OTHER;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? INSN_JUMP : INSN_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return direct ? INSN_CALL : INSN_OTHER;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSTEM:
		return INSN_OTHER;
	default:
		return INSN_NEXT;
	}
}

static bool decode(const struct insn_decoder *d, const u8 *p, size_t n, ZydisDecoderContext *c,
                   ZydisDecodedInstruction *z)
{
	return ZYAN_SUCCESS(d->decode(&d->z, c, p, n, z));
}

bool insn_read(const struct insn_decoder *d, const u8 *p, size_t n, u64 vaddr, struct insn *out)
{
	ZydisDecodedInstruction z;
	ZydisDecoderContext c;

	if (!decode(d, p, n, &c, &z))
		return false;
	out->length = z.length;
	out->flow = flow_of(&z);
	out->target = vaddr + z.length + z.raw.imm[0].value.u;
	return true;
}

/* ---- what it does --------------------------------------------------------------------------- */

/* Kinds of which every member does what its operands say and no more, but for those below. */
static bool is_calculation(const ZydisDecodedInstruction *z)
{
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_BINARY:
		return z->mnemonic != ZYDIS_MNEMONIC_DIV && z->mnemonic != ZYDIS_MNEMONIC_IDIV;
	case ZYDIS_CATEGORY_BITBYTE:
	case ZYDIS_CATEGORY_CMOV:
	case ZYDIS_CATEGORY_CONVERT:
	case ZYDIS_CATEGORY_DATAXFER:
	case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_ROTATE:
	case ZYDIS_CATEGORY_SHIFT:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_BROADCAST:
	case ZYDIS_CATEGORY_KMASK:
	case ZYDIS_CATEGORY_LOGICAL_FP:
		return !(z->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED);
	default:
		return z->mnemonic == ZYDIS_MNEMONIC_LEA || z->mnemonic == ZYDIS_MNEMONIC_ENDBR64;
	}
}

/* Registers that a caller passes nothing in and does not get back, and those of vectors, which
 * scripts do not read. */
static bool is_scratch(const struct insn_decoder *d, ZydisRegister r)
{
	if (r == ZYDIS_REGISTER_RFLAGS || r == ZYDIS_REGISTER_RIP)
		return true;
	r = d->whole(ZYDIS_MACHINE_MODE_LONG_64, r);
	return r == ZYDIS_REGISTER_RAX || r == ZYDIS_REGISTER_R10 || r == ZYDIS_REGISTER_R11 ||
	       (r >= ZYDIS_REGISTER_ZMM0 && r <= ZYDIS_REGISTER_ZMM31) ||
	       (r >= ZYDIS_REGISTER_K0 && r <= ZYDIS_REGISTER_K7);
}

/* Memory that is there whenever the instruction is: the file's own, the stack, the thread's. */
static bool is_present(const ZydisDecodedOperandMem *m)
{
	if (m->type == ZYDIS_MEMOP_TYPE_AGEN)
		return true;
	if (m->index != ZYDIS_REGISTER_NONE)
		return false;
	if (m->segment == ZYDIS_REGISTER_FS)
		return m->base == ZYDIS_REGISTER_NONE;
	return m->base == ZYDIS_REGISTER_RIP || m->base == ZYDIS_REGISTER_RSP;
}

static bool operand_harmless(const struct insn_decoder *d, const ZydisDecodedOperand *o)
{
	bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	switch (o->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		return !writes || is_scratch(d, o->reg.value);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return !writes && is_present(&o->mem);
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return true;
	default:
		return false;
	}
}

bool insn_is_harmless(const struct insn_decoder *d, const u8 *p, size_t n)
{
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	ZydisDecoderContext c;

	if (!decode(d, p, n, &c, &z) || !is_calculation(&z))
		return false;
	/* What a nop names is not touched. */
	if (z.meta.category == ZYDIS_CATEGORY_NOP || z.meta.category == ZYDIS_CATEGORY_WIDENOP)
		return true;
	if (!ZYAN_SUCCESS(d->operands(&d->z, &c, &z, o, z.operand_count)))
		return false;
	for (u32 i = 0; i < z.operand_count; i++)
		if (!operand_harmless(d, &o[i]))
			return false;
	return true;
}

/* ---- at another place ------------------------------------------------------------------------ */

static bool put_distance(u8 *at, u64 from, u64 to)
{
	s64 distance = (s64)(to - from);
	s32 v = (s32)distance;

	memcpy(at, &v, sizeof(v));
	return v == distance;
}

bool move_jump(u64 from, u64 to, u8 out[MOVE_JUMP])
{
	out[0] = 0xe9;
	return put_distance(out + 1, from + MOVE_JUMP, to);
}

/* A direct jump, in its longest form. */
static bool rewrite_jump(const ZydisDecodedInstruction *z, u64 target, u64 to, u8 *out,
                         struct move *m)
{
	bool near = z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;

	if (z->meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
		m->length = MOVE_JUMP;
		m->ends = true;
		return z->raw.prefix_count == 0 && move_jump(to, target, out);
	}
	/* Without those that count or test a register, which have a short form only. */
	if (z->raw.prefix_count || (near ? z->opcode >> 4 != 7 : z->opcode >> 4 != 8))
		return false;
	m->length = 6;
	out[0] = 0x0f;
	out[1] = (u8)(0x80 | (z->opcode & 15));
	return put_distance(out + 2, to + 6, target);
}

/* Where the memory is that an operand names by a distance from the instruction, 0 elsewhere. */
static u64 named_address(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, u64 at)
{
	if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP)
		return at + z->length + (u64)o->mem.disp.value;
	if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative)
		return at + z->length + o->imm.value.u;
	return 0;
}

static bool same_operand(const ZydisDecodedOperand *a, const ZydisDecodedOperand *b)
{
	if (a->type != b->type || a->actions != b->actions)
		return false;
	switch (a->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		return a->reg.value == b->reg.value;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return a->size == b->size && a->mem.segment == b->mem.segment &&
		       a->mem.base == b->mem.base && a->mem.index == b->mem.index &&
		       a->mem.scale == b->mem.scale &&
		       (a->mem.base == ZYDIS_REGISTER_RIP ||
		        a->mem.disp.value == b->mem.disp.value);
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return a->imm.is_relative ? b->imm.is_relative : a->imm.value.u == b->imm.value.u;
	default:
		return false;
	}
}

/* Both decoded: the same operation on the same things. */
static bool same_work(const struct insn_decoder *d, const u8 *p, size_t n, u64 from, const u8 *out,
                      size_t length, u64 to)
{
	ZydisDecodedOperand a[ZYDIS_MAX_OPERAND_COUNT], b[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction x, y;
	ZydisDecoderContext c, k;

	if (!decode(d, p, n, &c, &x) || !decode(d, out, length, &k, &y) || y.length != length ||
	    x.mnemonic != y.mnemonic || x.operand_count != y.operand_count ||
	    x.operand_width != y.operand_width || x.address_width != y.address_width ||
	    !ZYAN_SUCCESS(d->operands(&d->z, &c, &x, a, x.operand_count)) ||
	    !ZYAN_SUCCESS(d->operands(&d->z, &k, &y, b, y.operand_count)))
		return false;
	for (u32 i = 0; i < x.operand_count; i++)
		if (!same_operand(&a[i], &b[i]) ||
		    named_address(&x, &a[i], from) != named_address(&y, &b[i], to))
			return false;
	return true;
}

/* A copy, with the distance to what it names corrected. */
static bool copy_insn(const ZydisDecodedInstruction *z, const u8 *p, u64 from, u64 to, u8 *out,
                      struct move *m)
{
	u64 named = from + z->length + (u64)z->raw.disp.value;
	bool ok = true;

	memcpy(out, p, z->length);
	m->length = z->length;
	if (z->attributes & ZYDIS_ATTRIB_HAS_MODRM && z->raw.modrm.mod == 0 && z->raw.modrm.rm == 5)
		ok = z->raw.disp.size == 32 &&
		     put_distance(out + z->raw.disp.offset, to + z->length, named);
	return ok;
}

const char *move_insn(const struct insn_decoder *d, const u8 *p, size_t n, u64 from, u64 to,
                      u8 out[MOVE_LONGEST], struct move *m)
{
	ZydisDecodedInstruction z;
	ZydisDecoderContext c;
	enum insn_flow flow;
	bool ok;

	if (!decode(d, p, n, &c, &z))
		return "its first instructions can not be decoded";
	flow = flow_of(&z);
	*m = (struct move){ .taken = z.length };
	if (flow == INSN_JUMP || flow == INSN_BRANCH) {
		ok = rewrite_jump(&z, from + z.length + z.raw.imm[0].value.u, to, out, m);
	} else {
		m->ends = flow == INSN_INDIRECT || z.meta.category == ZYDIS_CATEGORY_RET;
		ok = (flow == INSN_NEXT || m->ends) &&
		     !(z.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) &&
		     copy_insn(&z, p, from, to, out, m);
	}
	return ok && same_work(d, p, z.length, from, out, m->length, to)
	               ? NULL
	               : "one of its first instructions can not be moved";
}

#endif
