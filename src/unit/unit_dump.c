/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A unit as text, for people and for golden files: the same unit gives the same bytes on every
 * machine. One line a thing, its parts indented; what is zero or absent is left out, so that
 * small units have small dumps. Prints everything the right side of the waist acts on.
 */
#include "unit/unit.h"

#include "bpf/dis.h"

static const char *const role_names[] = {
	[UMAP_USER] = "user",       [UMAP_DATA] = "data",       [UMAP_RING] = "ring",
	[UMAP_SCRATCH] = "scratch", [UMAP_STACKS] = "stacks",   [UMAP_ZERO] = "zero",
	[UMAP_CHUNKS] = "chunks",   [UMAP_SHELVES] = "shelves", [UMAP_PROCS] = "processes",
	[UMAP_SEEN] = "seen",       [UMAP_FAMILY] = "family",   [UMAP_FILES] = "files",
	[UMAP_TURNS] = "turns",     [UMAP_KEYS] = "keys",       [UMAP_FRESH] = "fresh",
	[UMAP_LANES] = "lanes",     [UMAP_PARTS] = "parts",
};

static const char *const action_names[] = {
	[ACTION_PRINTF] = "printf",
	[ACTION_PRINT_MAP] = "print map",
	[ACTION_PRINT_CELL] = "print cell",
	[ACTION_PRINT_VALUE] = "print value",
	[ACTION_CLEAR] = "clear",
	[ACTION_ZERO] = "zero",
	[ACTION_TIME] = "time",
	[ACTION_CAT] = "cat",
	[ACTION_SYSTEM] = "system",
	[ACTION_JOIN] = "join",
	[ACTION_EXIT] = "exit",
	[ACTION_ERRORF] = "errorf",
	[ACTION_WARNF] = "warnf",
	[ACTION_HEADING] = "heading",
	[ACTION_UNWATCH] = "unwatch",
	[ACTION_FOLLOW] = "follow",
	[ACTION_STACK] = "stack",
	[ACTION_DRAIN] = "drain",
	[ACTION_MEET] = "meet",
	[ACTION_PROCESS] = "process",
	[ACTION_SPILL] = "spill",
};

static const char *const error_names[] = {
	[UERROR_DIV_ZERO] = "division by zero",
	[UERROR_UPDATE] = "update",
	[UERROR_SPILL] = "spill",
	[UERROR_DELETE] = "delete",
	[UERROR_READ] = "read",
	[UERROR_LOOKUP] = "lookup",
	[UERROR_STACK] = "stack",
	[UERROR_BOUNDS] = "bounds",
	[UERROR_CUT] = "string cut",
	[UERROR_LOOP] = "loop limit",
};

/* Those that memtap makes; others print as numbers. */
static const char *map_type_name(u32 type)
{
	switch (type) {
	case BPF_MAP_TYPE_HASH:
		return "hash";
	case BPF_MAP_TYPE_ARRAY:
		return "array";
	case BPF_MAP_TYPE_PERCPU_HASH:
		return "percpu_hash";
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return "percpu_array";
	case BPF_MAP_TYPE_LRU_HASH:
		return "lru_hash";
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
		return "lru_percpu_hash";
	case BPF_MAP_TYPE_STACK_TRACE:
		return "stack_trace";
	case BPF_MAP_TYPE_RINGBUF:
		return "ringbuf";
	case BPF_MAP_TYPE_ARRAY_OF_MAPS:
		return "array_of_maps";
	default:
		return NULL;
	}
}

/* Quoted, with what is no plain ASCII as escapes. */
static void print_quoted(struct buf *b, const char *z)
{
	buf_putc(b, '"');
	for (; *z; z++) {
		u8 c = (u8)*z;

		if (c == '\n')
			buf_puts(b, "\\n");
		else if (c == '\t')
			buf_puts(b, "\\t");
		else if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c < 32 || c > 126)
			buf_printf(b, "\\x%02x", c);
		else
			buf_putc(b, (char)c);
	}
	buf_putc(b, '"');
}

static void print_loc(struct buf *b, const struct unit *u, struct loc loc)
{
	u32 line, column;

	unit_line(u, loc.off, &line, &column);
	buf_printf(b, " at %u:%u", line, column);
}

/* " key int64 (8 bytes)"; internal maps have sizes only. */
static void print_side(struct buf *b, const char *side, const struct type *t, u32 size)
{
	if (!size)
		return;
	buf_printf(b, ", %s ", side);
	if (t) {
		type_print(b, t);
		buf_putc(b, ' ');
	}
	buf_printf(b, "(%u bytes)", size);
}

static void print_map(struct buf *b, const struct unit *u, u32 i)
{
	const struct umap *m = &u->maps.v[i];
	const char *type = map_type_name(m->bpf_type);

	buf_printf(b, "map %u %s: %s, ", i, m->name, role_names[m->role]);
	if (type)
		buf_puts(b, type);
	else
		buf_printf(b, "type %u", m->bpf_type);
	print_side(b, "key", m->key, m->key_size);
	print_side(b, "value", m->value, m->value_size);
	buf_printf(b, ", %u entries", m->max_entries);
	if (m->per_cpu)
		buf_puts(b, ", per cpu");
	if (m->flags)
		buf_printf(b, ", flags 0x%x", m->flags);
	if (m->turn)
		buf_printf(b, ", two generations (words %u, %u)", m->turn, m->now);
	if (m->metric)
		buf_printf(b, ", metric %s in \"%s\"", m->metric->name, m->metric->unit);
	buf_putc(b, '\n');
}

static void print_record(struct buf *b, const struct unit *u, u32 i)
{
	const struct urecord *r = &u->records.v[i];

	buf_printf(b, "record %u %s: %u bytes", i, action_names[r->action], r->size);
	if (r->map >= 0)
		buf_printf(b, ", map %s", u->maps.v[r->map].name);
	if (r->top)
		buf_printf(b, ", top %u", r->top);
	if (r->div)
		buf_printf(b, ", div %u", r->div);
	if (r->takes)
		buf_puts(b, r->keeps_keys ? ", taken, keys stay" : ", taken");
	if (r->text) {
		buf_puts(b, ", ");
		print_quoted(b, r->text);
	}
	print_loc(b, u, r->loc);
	buf_putc(b, '\n');
	for (u32 k = 0; k < r->n_args; k++) {
		buf_printf(b, "  +%u ", r->args[k].off);
		type_print(b, r->args[k].type);
		if (r->args[k].name)
			buf_printf(b, " %s", r->args[k].name);
		buf_putc(b, '\n');
	}
}

static void print_error(struct buf *b, const struct unit *u, u32 i)
{
	const struct uerror *e = &u->errors.v[i];

	if (e->answer) /* one of a place is enough */
		return;
	buf_printf(b, "error %u %s", i, error_names[e->kind]);
	if (e->what)
		buf_printf(b, " (%s)", e->what);
	print_loc(b, u, e->loc);
	buf_putc(b, '\n');
}

static void print_hex(struct buf *b, const char *what, u64 value)
{
	if (value)
		buf_printf(b, " %s 0x%llx", what, (unsigned long long)value);
}

static void print_decimal(struct buf *b, const char *what, u64 value)
{
	if (value)
		buf_printf(b, " %s %llu", what, (unsigned long long)value);
}

static void print_site(struct buf *b, enum attach_kind kind, const struct usite *s)
{
	buf_printf(b, "  site %s", s->name);
	if (s->path)
		buf_printf(b, " file %s", s->path);
	print_hex(b, "offset", s->offset);
	print_decimal(b, "moved", s->moved);
	print_hex(b, "semaphore", s->ref_ctr);
	if (s->event)
		buf_printf(b, " event %s", s->event);
	print_decimal(b, "id", s->tracepoint_id);
	print_decimal(b, "btf", s->btf_id);
	if (s->module)
		buf_printf(b, " module %s", s->module);
	if (attach_kind_has(kind, KIND_COUNTER))
		buf_printf(b, " config %u", s->perf_config);
	print_decimal(b, "period", s->period);
	print_decimal(b, "pid", (u64)MAX(s->pid, 0));
	print_decimal(b, "cookie", s->cookie);
	buf_putc(b, '\n');
}

static void print_settings(struct buf *b, const struct unit *u)
{
	static const char *const modes[] = {
		[STACK_BPFTRACE] = "bpftrace",
		[STACK_PERF] = "perf",
		[STACK_RAW] = "raw",
		[STACK_BUILD_ID] = "build_id",
	};

	buf_printf(b, "unit %s: strings %u bytes, cut mark ", u->source_name, u->max_strlen);
	print_quoted(b, u->cut_mark);
	buf_printf(b, ", stacks %s, ring %u pages", modes[u->stack_mode], u->ring_pages);
	if (u->view)
		buf_printf(b, ", view %s", u->view);
	if (u->poll_ms)
		buf_printf(b, " looked at every %u ms", u->poll_ms);
	buf_printf(b, "%s%s%s%s\n", u->print_maps_on_exit ? "" : ", maps not printed at exit",
	           u->lenient_probes ? ", probes may be missing" : "",
	           u->mangled ? ", names not demangled" : "",
	           u->no_lines ? ", no source lines" : "");
}

void unit_print(struct buf *b, const struct unit *u)
{
	print_settings(b, u);
	for (u32 i = 0; i < u->maps.n; i++)
		print_map(b, u, i);
	for (u32 i = 0; i < u->records.n; i++)
		print_record(b, u, i);
	for (u32 i = 0; i < u->errors.n; i++)
		print_error(b, u, i);
	for (u32 i = 0; i < u->probe_names.n; i++)
		buf_printf(b, "probe %u %s\n", i, u->probe_names.v[i]);
	for (u32 i = 0; i < u->progs.n; i++) {
		buf_putc(b, '\n');
		unit_print_prog(b, u, &u->progs.v[i]);
	}
}

/* The source line around byte `off`, without its indent. */
static void print_source_line(struct buf *b, const struct unit *u, u32 line, u32 off)
{
	u32 from = off, to = off;

	while (from > 0 && u->source[from - 1] != '\n')
		from--;
	while (u->source[to] && u->source[to] != '\n')
		to++;
	while (from < to && (u->source[from] == ' ' || u->source[from] == '\t'))
		from++;
	buf_printf(b, "  ; %u: %.*s\n", line, (int)(to - from), u->source + from);
}

void unit_print_prog(struct buf *b, const struct unit *u, const struct uprog *p)
{
	u32 shown = 0;

	buf_printf(b, "program %s: %s, %u instructions, %u site%s\n", p->name,
	           attach_kind_name(p->kind), p->n_insns, p->n_sites, p->n_sites == 1 ? "" : "s");
	for (u32 i = 0; i < p->n_sites; i++)
		print_site(b, p->kind, &p->sites[i]);
	for (u32 i = 0; i < u->late.n; i++)
		if (&u->progs.v[u->late.v[i].prog] == p)
			buf_printf(b, "  later %s\n", u->late.v[i].text);
	for (u32 i = 0; i < p->n_insns;) {
		u32 line, column;

		unit_line(u, p->locs[i], &line, &column);
		if (line != shown)
			print_source_line(b, u, line, p->locs[i]);
		shown = line;
		buf_printf(b, "  %4u: ", i);
		i += dis_insn(b, &p->insns[i], p->n_insns - i);
		buf_putc(b, '\n');
	}
}
