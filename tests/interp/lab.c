/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps of a session without a kernel: compile, check, run, act on records, print maps.
 * Names of symbols and users are made up from their numbers, so that output does not
 * depend on the machine. cat, system and join are not acted on.
 */
#include "interp/lab.h"

#include <stdlib.h>
#include <string.h>

#include "agg/table.h"
#include "interp/check.h"
#include "gen/gen.h"
#include "out/out.h"
#include "world/world_linux.h"

#define ALL_BUT_LOOPS                                                                              \
	.asked = FEATURES_ALL, .btf = true, .kprobe = true, .kprobe_multi = true, .fentry = true,  \
	.uprobe_multi = true, .rawtp_cookie = true, .cookie = true, .atomics = true,               \
	.inherit_thread = true, .func_ip = true, .func_arg = true, .percpu = true,                 \
	.sleepable = true

/* Without, dumps stay short. */
static const struct features no_loop = { ALL_BUT_LOOPS, .for_each = true },
			     with_loop = { ALL_BUT_LOOPS, .for_each = true, .loop = true },
			     no_walk = { ALL_BUT_LOOPS };

static void init(struct lab *l, const struct features *features)
{
	const struct world_linux_options options = {
		.root = "tests/data/world",
		.path = "/usr/bin",
		.tracefs = "tests/data/world/tracing",
		.btf = "tests/data/world/none.btf",
		.kallsyms = "tests/data/world/kallsyms",
		.features = features,
	};

	*l = (struct lab){ .world = world_linux_new(&options) };
	l->world->kernel_version = 0x061200; /* 6.18, wherever the tests run */
	l->world->n_cpus = 1;
	l->world->nested_pid_ns = false;
}

void lab_init(struct lab *l)
{
	init(l, &no_loop);
}

void lab_init_loop(struct lab *l)
{
	init(l, &with_loop);
}

void lab_init_walk(struct lab *l)
{
	init(l, &no_walk);
}

static void discard(struct lab *l)
{
	for (u32 i = 0; l->held && i < l->u->maps.n; i++)
		held_free(&l->held[i]);
	above_free(&l->above);
	interp_free(l->in);
	unit_free(l->u);
	l->held = NULL;
	l->in = NULL;
	l->u = NULL;
	l->exited = false;
	buf_reset(&l->output);
	buf_reset(&l->problem);
}

void lab_free(struct lab *l)
{
	discard(l);
	world_linux_free(l->world);
	buf_free(&l->output);
	buf_free(&l->problem);
	arena_free(&l->arena);
}

/* ---- compiling ------------------------------------------------------------------------------ */

static bool self_check(struct lab *l)
{
	for (u32 i = 0; i < l->u->progs.n; i++) {
		const struct uprog *p = &l->u->progs.v[i];
		struct err e;
		u32 at;

		if (check_insns(p->insns, p->n_insns, l->u->maps.n, &at, &e))
			continue;
		buf_printf(&l->problem, "self-check of %s: %s", p->name, e.text);
		return false;
	}
	return true;
}

bool lab_compile(struct lab *l, const char *text)
{
	struct source source;
	struct diags diags = { .arena = &l->arena, .source = &source };
	struct script script = { .arena = &l->arena,
		                 .source = &source,
		                 .request = { .unsafe = true } };
	struct config config;
	struct err e;

	discard(l);
	l->u = unit_new();
	if (!source_set(&source, &l->arena, "stdin", str_of(text), &e)) {
		buf_puts(&l->problem, e.text);
		return false;
	}
	if (!parse_script(&script, &diags) || !config_read(&config, &script, &diags) ||
	    !targets_expand(&script, &config, l->world, &diags) ||
	    !infer_script(&script, &config, l->world, &diags) ||
	    !gen_script(l->u, &script, &config, l->world, &diags)) {
		diag_print(&l->problem, &diags, false);
		return false;
	}
	l->n_warnings = diags.list.n;
	if (!self_check(l))
		return false;
	l->in = interp_new(l->u);
	l->held = arena_array(&l->arena, struct held, l->u->maps.n);
	for (u32 i = 0; i < l->u->maps.n; i++)
		held_init(&l->held[i], &l->u->maps.v[i]);
	return true;
}

/* ---- names ---------------------------------------------------------------------------------- */

static void name_stack(void *ctx, struct buf *b, const struct type *type, const u64 *words)
{
	struct lab *l = ctx;
	s32 map = unit_map(l->u, UMAP_STACKS);
	const struct ustack_value *v = map < 0 ? NULL : interp_find(l->in, (u32)map, &words[0]);

	(void)type;
	for (u64 i = 0; v && i < v->n; i++)
		buf_printf(b, "\n        0x%llx", (unsigned long long)v->ip[i]);
	buf_putc(b, '\n');
}

static void name_ksym(void *ctx, struct buf *b, u64 addr)
{
	(void)ctx;
	buf_printf(b, "ksym_%llx", (unsigned long long)addr);
}

static void name_usym(void *ctx, struct buf *b, u64 addr, u32 pid)
{
	(void)ctx;
	buf_printf(b, "usym_%llx_of_%u", (unsigned long long)addr, pid);
}

static void name_user(void *ctx, struct buf *b, u64 uid)
{
	(void)ctx;
	buf_printf(b, "user_%llu", (unsigned long long)uid);
}

static void name_cgroup(void *ctx, struct buf *b, u64 id, const char *filter)
{
	(void)ctx;
	(void)filter;
	buf_printf(b, "cgroup_%llu", (unsigned long long)id);
}

static void name_loadavg(void *ctx, struct buf *b)
{
	(void)ctx;
	buf_puts(b, "loadavg");
}

static struct namer lab_namer(struct lab *l)
{
	return (struct namer){ .ctx = l,
		               .stack = name_stack,
		               .ksym = name_ksym,
		               .usym = name_usym,
		               .username = name_user,
		               .cgroup_path = name_cgroup,
		               .loadavg = name_loadavg };
}

/* ---- records and maps ----------------------------------------------------------------------- */

static bool hold_row(void *ctx, const void *key, const void *value)
{
	held_add(ctx, key, value, 1);
	return true;
}

static void print_map(struct lab *l, const struct out *o, const struct urecord *r, bool last)
{
	struct buf shown = { 0 };
	struct held all;
	struct table t;

	held_init(&all, &l->u->maps.v[r->map]);
	held_add_all(&all, &l->held[r->map]);
	interp_each(l->in, (u32)r->map, hold_row, &all);
	table_init(&t, &l->arena, l->u, &l->u->maps.v[r->map]);
	held_rows(&all, &t);
	held_free(&all);
	if (last && !t.map->key && !t.is_set)
		return;
	if (r->text) {
		table_sort_by_value(&t);
		o->ops->rows(&shown, o, &t, r->top, r->text);
	} else {
		table_sort(&t);
		o->ops->map(&shown, o, &t, r->top, r->div);
	}
	above_print(&l->above, (u32)r->map, &shown, &l->output);
	buf_free(&shown);
}

/* An aggregation: what is printed is read now. */
static void print_cell(struct lab *l, const struct out *o, const struct urecord *r, const void *key)
{
	static const u8 zeros[1 << 12];
	const void *cells = interp_find(l->in, (u32)r->map, key);
	struct table t;

	table_init(&t, &l->arena, l->u, &l->u->maps.v[r->map]);
	table_add(&t, key, cells ? cells : zeros, 1);
	o->ops->cell(&l->output, o, t.map->value, &t.rows.v[0].value);
}

static void act(struct lab *l, const struct out *o, struct interp_record rec)
{
	u64 index;
	const struct urecord *r;

	memcpy(&index, rec.bytes, 8);
	r = &l->u->records.v[index];
	switch (r->action) {
	case ACTION_PRINTF:
	case ACTION_ERRORF:
	case ACTION_WARNF:
		o->ops->printf_(&l->output, o, r, rec.bytes);
		break;
	case ACTION_HEADING:
		o->ops->printf_(r->map < 0 ? &l->output : above_add(&l->above, (u32)r->map), o, r,
		                rec.bytes);
		break;
	case ACTION_PRINT_MAP:
		print_map(l, o, r, false);
		if (r->takes) {
			interp_clear(l->in, (u32)r->map, r->keeps_keys);
			held_clear(&l->held[r->map], r->keeps_keys);
		}
		break;
	case ACTION_SPILL:
		held_spill(&l->held[r->map], (const void *)rec.bytes);
		break;
	case ACTION_PRINT_CELL:
		print_cell(l, o, r, rec.bytes + r->args[0].off);
		break;
	case ACTION_PRINT_VALUE:
		o->ops->value(&l->output, o, r->args[0].type, rec.bytes + r->args[0].off);
		break;
	case ACTION_JOIN:
		o->ops->join(&l->output, o, r, rec.bytes);
		break;
	case ACTION_CLEAR:
	case ACTION_ZERO:
		interp_clear(l->in, (u32)r->map, r->action == ACTION_ZERO);
		break;
	case ACTION_EXIT:
		l->exited = true;
		break;
	default:
		buf_printf(&l->output, "<action %d %s>\n", (int)r->action, r->text ? r->text : "");
	}
}

/* Every slot of scratch memory must have been given back. */
static bool scratch_is_free(struct lab *l)
{
	s32 map = unit_map(l->u, UMAP_SCRATCH);

	for (u32 slot = 0; map >= 0 && slot < UNIT_SCRATCH_SLOTS; slot++)
		if (*(const u64 *)interp_find(l->in, (u32)map, &slot)) {
			buf_puts(&l->problem, "scratch memory is still claimed after the run");
			return false;
		}
	return true;
}

struct list {
	struct lab *l;
	u32 map;
	u64 n;
};

static bool list_key(void *ctx, const void *key, const void *value)
{
	struct list *list = ctx;
	u32 at = (u32)++list->n;

	(void)value;
	interp_put(list->l->in, list->map, &at, key);
	return true;
}

/* As memtap does before it runs a program. */
static void list_keys(struct lab *l)
{
	for (u32 i = 0; i < l->u->maps.n; i++) {
		const struct umap *m = &l->u->maps.v[i];
		struct list list = { .l = l, .map = i };
		u64 zero = 0;
		void *first;

		if (m->role == UMAP_FRESH)
			interp_clear(l->in, i, false);
		if (m->role != UMAP_KEYS)
			continue;
		interp_each(l->in, m->of, list_key, &list);
		first = interp_find(l->in, i, &zero);
		memcpy(first, &list.n, sizeof(list.n));
	}
}

bool lab_fire(struct lab *l, enum attach_kind kind, const void *ctx, u32 ctx_size)
{
	struct namer namer = lab_namer(l);
	struct out o = { .unit = l->u, .namer = &namer, .ops = &out_text };

	for (u32 i = 0; i < l->u->progs.n; i++) {
		struct err e;

		if (l->u->progs.v[i].kind != kind)
			continue;
		list_keys(l);
		interp_env(l->in)->cookie = l->u->progs.v[i].sites[0].cookie;
		if (!interp_run(l->in, i, ctx, ctx_size, &e)) {
			buf_puts(&l->problem, e.text);
			return false;
		}
		if (!scratch_is_free(l))
			return false;
		for (u32 r = 0; r < interp_n_records(l->in) && !l->exited; r++)
			act(l, &o, interp_record(l->in, r));
		buf_puts(&l->output, interp_trace(l->in));
		interp_drain(l->in);
	}
	return true;
}

static int by_name(const void *a, const void *b, void *maps)
{
	const struct umap *m = maps;

	return strcmp(m[*(const u32 *)a].name, m[*(const u32 *)b].name);
}

void lab_print_maps(struct lab *l)
{
	struct namer namer = lab_namer(l);
	struct out o = { .unit = l->u, .namer = &namer, .ops = &out_text };
	VEC(u32) order = { 0 };

	for (u32 i = 0; i < l->u->maps.n; i++)
		if (l->u->maps.v[i].role == UMAP_USER)
			vec_add(&l->arena, &order, i);
	if (order.n)
		qsort_r(order.v, order.n, sizeof(u32), by_name, l->u->maps.v);
	for (u32 i = 0; i < order.n; i++)
		if (interp_count(l->in, order.v[i]))
			print_map(l, &o, &(struct urecord){ .map = (s32)order.v[i] }, true);
}

u64 lab_errors(struct lab *l, enum uerror_kind kind)
{
	u64 n = 0;

	for (u32 i = 0; i < l->u->errors.n; i++)
		if (l->u->errors.v[i].kind == kind)
			n += interp_data(l->in, UDATA_ERRORS + i);
	return n;
}

const char *lab_begin(struct lab *l, const char *text)
{
	if (!lab_compile(l, text) || !lab_fire(l, ATTACH_BEGIN, NULL, 0))
		return NULL;
	l->exited = false; /* exit() ends the run, END still happens */
	if (!lab_fire(l, ATTACH_END, NULL, 0))
		return NULL;
	lab_print_maps(l);
	return buf_text(&l->output);
}
