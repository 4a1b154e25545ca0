/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs: map numbers become descriptors, the attach kind becomes a program type, the kernel
 * checks. The first load asks for no log, because a log costs time and one that does not fit
 * fails a good program; only a refused program is loaded again for its log.
 * A kind whose sites each need their own program (BTF functions) is loaded once a site.
 */
#include "kern/kern.h"

#include <assert.h>
#include <errno.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/uapi.h"

#define LOG_BYTES (16u << 20)

/* What a program of a kind is to the kernel. */
struct prog_kind {
	enum bpf_prog_type type;
	enum bpf_attach_type attach_type;
};

static const struct prog_kind prog_kinds[] = {
#define K(id, name, section, place, program, type, ...)                                            \
	[ATTACH_##id] = { BPF_PROG_TYPE_##program, type },
	PROBE_KINDS(K)
#undef K
};

bool kern_prog_uprobe_multi(const struct live *l, const struct uprog *p)
{
	return l->features.uprobe_multi && (attach_kind_uses(p->kind) & FEATURE_UPROBE_MULTI);
}

/* The multi link takes whole functions of the core kernel only. */
bool kern_prog_kprobe_multi(const struct live *l, const struct uprog *p)
{
	if (!l->features.kprobe_multi || p->n_sites < 2 ||
	    !(attach_kind_uses(p->kind) & FEATURE_KPROBE_MULTI))
		return false;
	for (u32 i = 0; i < p->n_sites; i++)
		if (p->sites[i].offset || strchr(p->sites[i].event, ':'))
			return false;
	return true;
}

enum bpf_attach_type kern_prog_attach_type(const struct live *l, const struct uprog *p)
{
	if (kern_prog_uprobe_multi(l, p))
		return MT_BPF_TRACE_UPROBE_MULTI;
	if (kern_prog_kprobe_multi(l, p))
		return BPF_TRACE_KPROBE_MULTI;
	return prog_kinds[p->kind].attach_type;
}

/* A copy of the instructions with map numbers replaced by descriptors. */
struct bpf_insn *kern_prog_insns(const struct live *l, const struct uprog *p)
{
	struct bpf_insn *insns = malloc((p->n_insns + 1) * sizeof(*insns));

	if (!insns)
		base_no_memory();
	memcpy(insns, p->insns, p->n_insns * sizeof(*insns));
	for (u32 i = 0; i < p->n_insns; i++) {
		struct bpf_insn *insn = &insns[i];

		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE) {
			assert((u32)insn->imm < l->unit->maps.n);
			insn->imm = l->maps[insn->imm];
		}
		i++; /* the second half holds no opcode */
	}
	return insns;
}

bool kern_prog_calls(const struct uprog *p, s32 helper)
{
	for (u32 i = 0; i < p->n_insns; i++) {
		const struct bpf_insn *insn = &p->insns[i];

		if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg && insn->imm == helper)
			return true;
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
	return false;
}

/* The program asks for its site's number, which the kernel does not keep for it: then each site has
 * a program of its own with the number in it. */
static bool is_numbered(const struct live *l, const struct uprog *p)
{
	bool raw = attach_kind_uses(p->kind) & FEATURE_RAWTP_COOKIE;
	bool kept = raw ? l->features.rawtp_cookie : l->features.cookie;

	/* The sites of others that have one each: it costs nothing. */
	if (kept && !attach_kind_has(p->kind, KIND_PER_SITE))
		return false;
	return kern_prog_calls(p, BPF_FUNC_get_attach_cookie);
}

static void put_number(struct bpf_insn *insns, const struct uprog *p, u32 site)
{
	for (u32 i = 0; i < p->n_insns; i++) {
		if (p->insns[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
		else if (p->insns[i].code == (BPF_JMP | BPF_CALL) && !p->insns[i].src_reg &&
		         p->insns[i].imm == BPF_FUNC_get_attach_cookie)
			insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K,
				                      .dst_reg = BPF_REG_0,
				                      .imm = (s32)p->sites[site].cookie };
	}
}

struct load {
	struct live *live;
	const struct uprog *prog;
	struct bpf_insn *insns;
	u32 btf_id;
	/* Descriptor of what btf_id is of: a module's types or a program; -1 the kernel. */
	int owner;
};

/*
 * The kernel calls functions of a program only when the program has types for them. Ours need no
 * more than "a function that returns int", the same for each, and where the program calls them
 * itself "a global function of an int"; the format is that of Documentation/bpf/btf.rst.
 */
#define TYPES_BYTES (5 * sizeof(struct btf_type) + sizeof(u32) + sizeof(struct btf_param))

static int func_types(void)
{
	static const struct {
		struct btf_header head;
		struct btf_type number;
		u32 encoding;
		struct btf_type proto, func, called_proto;
		struct btf_param argument;
		struct btf_type called;
		char strings[16];
	} types = {
		.head = { .magic = BTF_MAGIC,
		          .version = 1,
		          .hdr_len = sizeof(struct btf_header),
		          .type_len = TYPES_BYTES,
		          .str_off = TYPES_BYTES,
		          .str_len = 16 },
		.number = { .name_off = 1, .info = BTF_KIND_INT << 24, .size = 4 },
		.encoding = BTF_INT_SIGNED << 24 | 32,
		.proto = { .info = BTF_KIND_FUNC_PROTO << 24, .type = 1 },
		.func = { .name_off = 5, .info = BTF_KIND_FUNC << 24, .type = 2 },
		.called_proto = { .info = BTF_KIND_FUNC_PROTO << 24 | 1, .type = 1 },
		.argument = { .name_off = 1, .type = 1 },
		.called = { .name_off = 5,
		            .info = BTF_KIND_FUNC << 24 | BTF_FUNC_GLOBAL,
		            .type = 4 },
		.strings = "\0int\0function",
	};

	return sys_btf_load(&types, sizeof(types));
}

#define FUNC_TYPE   3 /* id of `func` */
#define CALLED_TYPE 5 /* id of `called` */

/* By the program itself, and not by the kernel. */
static bool is_called(const struct uprog *p, u32 func)
{
	for (u32 i = 0; i < p->n_insns; i++) {
		const struct bpf_insn *insn = &p->insns[i];

		if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL &&
		    i + 1 + (u32)insn->imm == func)
			return true;
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
	return false;
}

static struct bpf_func_info *func_info(const struct uprog *p)
{
	struct bpf_func_info *info = calloc(p->n_funcs + 1, sizeof(*info));

	if (!info)
		base_no_memory();
	info[0].type_id = FUNC_TYPE;
	for (u32 i = 0; i < p->n_funcs; i++)
		info[i + 1] = (struct bpf_func_info){ p->funcs[i], is_called(p, p->funcs[i])
			                                                   ? CALLED_TYPE
			                                                   : FUNC_TYPE };
	return info;
}

enum wanted { NO_LOG, REASONS, WALK };

/* Into `log`, of LOG_BYTES, what is wanted. */
static int try_load(const struct load *ld, enum wanted what, char *log)
{
	const struct uprog *p = ld->prog;
	struct sys_prog s = { .type = prog_kinds[p->kind].type,
		              .attach_type = kern_prog_attach_type(ld->live, p),
		              .insns = ld->insns,
		              .n = p->n_insns,
		              .flags = p->may_sleep ? BPF_F_SLEEPABLE : 0,
		              .btf_id = ld->btf_id,
		              .owner = MAX(ld->owner, 0),
		              .log = what == NO_LOG ? NULL : log,
		              .log_size = LOG_BYTES,
		              .reasons = what == REASONS };
	struct bpf_func_info *info;
	int fd;

	if (!p->n_funcs)
		return sys_prog_load(&s);
	s.funcs = info = func_info(p);
	s.n_funcs = p->n_funcs + 1;
	s.types = func_types();
	fd = s.types < 0 ? s.types : sys_prog_load(&s);
	if (s.types >= 0)
		close(s.types);
	free(info);
	return fd;
}

/* Loads again for the log, which is also kept in `log`, and explains. The buffer is only touched as
 * far as it is written. Of a million instructions a log says nothing more than the reason, takes a
 * slow machine minutes, and is full before the reason comes. */
static void explain(const struct load *ld, int code, struct buf *log, struct err *e)
{
	char *text = calloc(1, LOG_BYTES);
	struct buf reasons = { 0 };
	int fd;

	if (!text)
		base_no_memory();
	fd = try_load(ld, REASONS, text);
	buf_puts(&reasons, text);
	if (fd < 0 && !verifier_walked_all(text))
		fd = try_load(ld, WALK, text);
	if (fd >= 0)
		close(fd);
	if (log)
		buf_puts(log, text);
	e->code = code;
	verifier_explain(ld->live->unit, ld->prog, fd == -ENOSPC ? buf_text(&reasons) : text, e);
	buf_free(&reasons);
	free(text);
}

static bool refused(const struct load *ld, int code, struct buf *log, struct err *e)
{
	if (code == EPERM || code == EACCES) {
		char what[200];

		snprintf(what, sizeof(what),
		         "the kernel does not let this user load a program for "
		         "%s",
		         ld->prog->name);
		/* EACCES is also the verifier's answer; then there is a log. */
		if (code == EPERM)
			return sys_refused(e, code, what);
	}
	explain(ld, code, log, e);
	return false;
}

/* Loads once more and keeps the log of that. */
static void log_accepted(const struct load *ld, struct buf *log)
{
	char *text = calloc(1, LOG_BYTES);
	int fd;

	if (!text)
		base_no_memory();
	fd = try_load(ld, WALK, text);
	if (fd >= 0)
		close(fd);
	buf_printf(log, "%s:\n%s", ld->prog->name, text);
	free(text);
}

/* Opens what the site's function is of. */
static bool open_owner(struct load *ld, const struct usite *s, struct err *e)
{
	ld->owner = -1;
	if (s->module)
		return kern_module_types(s->module, &ld->owner, e);
	if (!s->bpf_prog)
		return true;
	ld->owner = sys_prog_open(s->bpf_prog);
	if (ld->owner < 0)
		return err_sys(e, -ld->owner, "%s can not be traced: its program is gone", s->name);
	return true;
}

/* A program for one site, or for all of them; -1 and *e when the kernel refuses it. */
static int load_site(struct load *ld, u32 site, const struct live_options *o, struct err *e)
{
	const struct usite *s = &ld->prog->sites[site];
	bool own = attach_kind_has(ld->prog->kind, KIND_PER_SITE);
	int fd;

	ld->btf_id = own ? s->btf_id : 0;
	ld->owner = -1;
	if (own && !open_owner(ld, s, e))
		return -1;
	fd = try_load(ld, NO_LOG, NULL);
	if (fd < 0)
		refused(ld, -fd, o->log, e);
	else if (site == 0 && o->whole_log)
		log_accepted(ld, o->log);
	if (ld->owner >= 0)
		close(ld->owner);
	return MAX(fd, -1);
}

/* A function that can not be traced is found out when its program is loaded; of several that a
 * script names together it may be missing, and the reason is given where it would be attached. */
static bool may_miss(const struct live *l, const struct uprog *p, u32 site, const struct err *e)
{
	return attach_kind_has(p->kind, KIND_PER_SITE) && e->code != EPERM &&
	       (p->sites[site].optional || l->unit->lenient_probes);
}

bool kern_prog_load(struct live *l, u32 i, const struct live_options *o, struct err *e)
{
	const struct uprog *p = &l->unit->progs.v[i];
	struct loaded *loaded = &l->progs[i];
	bool numbered = is_numbered(l, p);
	u32 n = numbered || attach_kind_has(p->kind, KIND_PER_SITE) ? p->n_sites : 1;
	struct load ld = { .live = l, .prog = p };
	bool ok = true;

	if (kern_session_load(l, i))
		return true;
	ld.insns = kern_prog_insns(l, p);
	loaded->fds = arena_array(&l->arena, int, n);
	for (u32 j = 0; ok && j < n; j++) {
		int fd;

		if (numbered)
			put_number(ld.insns, p, j);
		fd = load_site(&ld, j, o, e);
		ok = fd >= 0 || may_miss(l, p, j, e);
		if (fd < 0 && ok) {
			loaded->refused = arena_strdup(&l->arena, e->text);
			*e = (struct err){ 0 };
		}
		if (ok)
			loaded->fds[loaded->n++] = fd;
	}
	free(ld.insns);
	return ok;
}

int kern_prog_fd(const struct live *l, u32 i, u32 site)
{
	const struct loaded *p = &l->progs[i];

	return p->n > 1 ? p->fds[site] : p->fds[0];
}
