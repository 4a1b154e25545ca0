/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "core_oracle.h"

#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <memtap/btf.h>

#include "base/file.h"

static struct buf *log_to; /* libbpf's callback has no context */

static int on_print(enum libbpf_print_level level __attribute__((unused)), const char *fmt,
                    va_list ap)
{
	char line[2048];

	vsnprintf(line, sizeof(line), fmt, ap);
	if (log_to)
		buf_puts(log_to, line);
	return 0;
}

static struct oracle_relo *relo_add(struct oracle *o, const char *text)
{
	struct oracle_relo *r;

	o->v = realloc(o->v, (o->n + 1) * sizeof(*o->v));
	r = &o->v[o->n++];
	memset(r, 0, sizeof(*r));
	snprintf(r->text, sizeof(r->text), "%s", text);
	return r;
}

/* What follows "relo #N: " in a line. */
static void on_relo(struct oracle *o, const char *text)
{
	struct oracle_relo *r = o->n ? &o->v[o->n - 1] : NULL;
	const char *arrow = strstr(text, " -> "), *id = strchr(text, '[');

	if (*text == '<' && !strstr(text, "doesn't support")) {
		relo_add(o, text);
	} else if (!r || strncmp(text, "parsing", 7) == 0) {
		relo_add(o, text)->error = true;
	} else if (strncmp(text, "matching candidate", 18) == 0) {
		if (!r->matches++)
			r->type = id ? (u32)atoi(id + 1) : 0;
	} else if (strncmp(text, "patched", 7) == 0) {
		if (!strstr(text, "mem_sz") && arrow) {
			r->value = strtoull(arrow + 4, NULL, 10);
			r->patched = true;
		}
	} else if (strncmp(text, "substituting", 12) == 0) {
		r->poison = true;
	} else if (strstr(text, "accesses field incorrectly")) {
		r->bad_width = true;
	} else if (strncmp(text, "non-matching", 12) != 0 &&
	           strncmp(text, "no matching", 11) != 0) {
		r->error = true; /* ambiguity and the like */
	}
}

static void log_read(struct oracle *o, char *log)
{
	char *end;

	for (char *line = log; *line; line = end + 1) {
		char *at;

		end = strchr(line, '\n');
		if (!end)
			return;
		*end = 0;
		at = strstr(line, ": relo #");
		if (at && (at = strstr(at + 8, ": ")))
			on_relo(o, at + 2);
		*end = '\n';
	}
}

bool oracle_run(struct oracle *o, const void *object, size_t n, const char *btf_path)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "t", .btf_custom_path = btf_path);
	libbpf_print_fn_t before = libbpf_set_print(on_print);
	struct bpf_object *obj;
	struct buf log = { 0 };

	*o = (struct oracle){ 0 };
	log_to = &log;
	obj = bpf_object__open_mem(object, n, &opts);
	if (obj)
		o->loaded = bpf_object__load(obj) == 0;
	bpf_object__close(obj);
	log_to = NULL;
	libbpf_set_print(before);
	buf_putc(&log, '\n');
	o->log = log.p;
	log_read(o, o->log);
	return o->n > 0;
}

void oracle_free(struct oracle *o)
{
	free(o->v);
	free(o->log);
}

/* ---- objects --------------------------------------------------------------------------------- */

const char *oracle_path(char *path, size_t n, const char *name)
{
	char self[1024];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[MAX(len, 0)] = 0;
	/* .../tests/unit/test_x */
	for (u32 i = 0; i < 2 && strrchr(self, '/'); i++)
		*strrchr(self, '/') = 0;
	snprintf(path, n, "%s/core/%s", self, name);
	return path;
}

/* Relocations in the file's bytes, of sections that end in "matches". */
static void make_matches(struct buf *b)
{
	struct btf *btf = btf_open_memory(b->p, b->n, NULL);
	struct btf_relo_iter it;
	struct btf_ext x;

	if (!btf)
		return;
	if (btf_ext_of(btf, &x, NULL)) {
		btf_relo_iter_init(&it, &x);
		while (btf_relo_next(&it)) {
			const char *end = strstr(it.r.section, "matches");
			u32 kind = BTF_CORE_TYPE_MATCHES;
			u8 *record = (u8 *)(uintptr_t)x.relos + it._at - x.record;

			if (end && !end[7] && it.r.kind == BTF_CORE_TYPE_EXISTS)
				memcpy(record + 12, &kind, sizeof(kind));
		}
	}
	btf_unref(btf);
}

void oracle_object(struct buf *b, const char *name)
{
	char path[1100];
	struct err e;

	buf_reset(b);
	if (file_read(oracle_path(path, sizeof(path), name), b, 1 << 20, &e))
		make_matches(b);
}

void oracle_wide_target(char *path, size_t n)
{
	char from[1100];
	struct btf *b = btf__parse_elf(oracle_path(from, sizeof(from), "target.o"), NULL);
	const void *p;
	u32 len = 0;
	int fd;

	snprintf(path, n, "/tmp/test_btf.XXXXXX");
	fd = mkstemp(path);
	btf__add_enum64(b, "wide", 8, true);
	btf__add_enum64_value(b, "WIDE_A", 0x1122334455667788);
	btf__add_enum64_value(b, "WIDE_B___other", 5);
	btf__add_enum64_value(b, "WIDE_NEG", (u64)-7);
	p = btf__raw_data(b, &len);
	if (fd < 0 || write(fd, p, len) != (ssize_t)len)
		abort();
	close(fd);
	btf__free(b);
}

static void take_raw(struct buf *b, const struct btf *from)
{
	u32 n = 0;
	const void *p = btf__raw_data(from, &n);

	buf_reset(b);
	buf_add(b, p, n);
}

void oracle_split(struct buf *b)
{
	char from[1100];
	struct btf *base = btf__parse_elf(oracle_path(from, sizeof(from), "target.o"), NULL);
	struct btf *split = btf__new_empty_split(base);
	s32 u32_id = btf__find_by_name_kind(base, "u32", BTF_KIND_TYPEDEF);

	btf__add_struct(split, "split_only", 8);
	btf__add_field(split, "y", u32_id, 0, 0);
	btf__add_field(split, "x", u32_id, 32, 0);
	btf__add_struct(split, "twin", 64);
	btf__add_field(split, "a", u32_id, 96, 0);
	take_raw(b, split);
	btf__free(split);
	btf__free(base);
}

void oracle_wide_local(struct buf *b, u32 *enum_id, u32 access[2])
{
	struct btf *local = btf__new_empty();

	*enum_id = (u32)btf__add_enum64(local, "wide___mine", 8, false);
	btf__add_enum64_value(local, "WIDE_A", 1);
	btf__add_enum64_value(local, "WIDE_B", (u64)1 << 40);
	access[0] = (u32)btf__add_str(local, "0");
	access[1] = (u32)btf__add_str(local, "1");
	take_raw(b, local);
	btf__free(local);
}

const char *oracle_other_kernel(char *path, size_t n)
{
	const char *cache = getenv("MEMTAP_CACHE"), *home = getenv("HOME");
	glob_t g = { 0 };
	char pattern[512];

	if (cache)
		snprintf(pattern, sizeof(pattern), "%s/kernel/*amd64*/vmlinux", cache);
	else
		snprintf(pattern, sizeof(pattern), "%s/.cache/memtap/kernel/*amd64*/vmlinux",
		         home ? home : "");
	path[0] = 0;
	if (glob(pattern, 0, NULL, &g) == 0 && g.gl_pathc)
		snprintf(path, n, "%s", g.gl_pathv[g.gl_pathc - 1]);
	globfree(&g);
	return path[0] ? path : NULL;
}
