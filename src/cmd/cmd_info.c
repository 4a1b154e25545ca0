/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the machine and its kernel offer, in groups. One list of rows feeds text and JSON.
 */
#include "cmd/cmd_info.h"

#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/caps.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/version.h"
#include "kern/offers.h"

struct info {
	struct buf out;
	struct tree tree;  /* without functions: lines of text */
	const char *group; /* being written, NULL none yet */
};

/* The head of a row in its group. */
static void row(struct info *p, const char *group, const char *name)
{
	bool same = p->group && strcmp(p->group, group) == 0;

	if (!p->tree.ops) {
		if (!same)
			buf_printf(&p->out, "%s%s\n", p->group ? "\n" : "", group);
		buf_printf(&p->out, "  %s: ", name);
	} else if (!same) {
		if (p->group)
			tree_end(&p->tree);
		tree_object(&p->tree, group);
	}
	p->group = group;
}

static void row_text(struct info *p, const char *group, const char *name, const char *value)
{
	row(p, group, name);
	if (p->tree.ops)
		tree_text(&p->tree, &(struct column){ .name = name }, value);
	else
		buf_printf(&p->out, "%s\n", value);
}

static void row_number(struct info *p, const char *group, const char *name, u64 value)
{
	row(p, group, name);
	if (p->tree.ops)
		tree_whole(&p->tree, &(struct column){ .name = name, .type = COLUMN_GAUGE }, value);
	else
		buf_printf(&p->out, "%" PRIu64 "\n", value);
}

static void row_flag(struct info *p, const char *group, const char *name, bool value)
{
	row(p, group, name);
	if (p->tree.ops)
		tree_flag(&p->tree, &(struct column){ .name = name }, value);
	else
		buf_printf(&p->out, "%s\n", value ? "yes" : "no");
}

static void row_unknown(struct info *p, const char *group, const char *name)
{
	row(p, group, name);
	if (p->tree.ops)
		tree_unknown(&p->tree, &(struct column){ .name = name });
	else
		buf_puts(&p->out, "unknown\n");
}

static void row_offer(void *ctx, const char *group, const char *name, enum offer offer)
{
	if (offer == OFFER_UNKNOWN)
		row_unknown(ctx, group, name);
	else
		row_flag(ctx, group, name, offer == OFFER_YES);
}

static void row_feature(void *ctx, const char *name, bool there)
{
	row_flag(ctx, "memtap", name, there);
}

/* The names of what root has and this user lacks. */
static void row_missing(struct info *p)
{
	u64 missing = caps_missing(CAPS_TRACING | CAPS_FILES | CAPS_PROCESSES | CAPS_ADMIN);
	char text[160];

	row_text(p, "system", "rights",
	         missing ? caps_text(text, sizeof(text), missing) : "all that are needed");
}

static bool count_event(void *ctx, const char *group, const char *name)
{
	(void)group;
	(void)name;
	++*(u64 *)ctx;
	return true;
}

static bool count_function(void *ctx, const char *name, const char *module)
{
	return count_event(ctx, name, module);
}

static void kernel_rows(struct info *p, struct world *w)
{
	struct utsname u = { 0 };
	struct err e = { 0 };
	u64 n = 0;

	uname(&u);
	w->ops->machine(w);
	row_text(p, "system", "os", u.sysname);
	row_text(p, "system", "kernel", u.release);
	row_text(p, "system", "arch", u.machine);
	row_number(p, "system", "cpus", w->n_cpus);
	row_number(p, "system", "page_size", (u64)sysconf(_SC_PAGESIZE));
	row_flag(p, "system", "root", geteuid() == 0);
	row_missing(p);
	row_flag(p, "system", "nested_pid_namespace", w->nested_pid_ns);
	if (w->ops->tracepoints(w, STR("*"), STR("*"), count_event, &n, &e))
		row_number(p, "probes", "tracepoints", n);
	else
		row_unknown(p, "probes", "tracepoints");
	n = 0;
	if (w->ops->functions(w, STR("*"), count_function, &n, &e))
		row_number(p, "probes", "kernel_functions", n);
	else
		row_unknown(p, "probes", "kernel_functions");
}

int cmd_info_print(struct world *w, const struct out_ops *out)
{
	struct info p = { .tree = { .b = &p.out, .ops = out->tree } };
	struct tree *t = p.tree.ops ? &p.tree : NULL;
	struct err ignored;
	struct btf *b = w->ops->btf(w, &ignored);

	if (t) {
		tree_object(t, NULL);
		tree_text(t, &(struct column){ .name = "type" }, "info");
		tree_object(t, "data");
	}
	row_text(&p, "memtap", "version", MEMTAP_VERSION);
	row_text(&p, "memtap", "commit", version_commit());
	row_text(&p, "memtap", "form", version_form());
	version_features(row_feature, &p);
	kernel_rows(&p, w);
	offers_each(b ? btf_find(b, BTF_KIND_FUNC, "bpf_iter_task") : 0, row_offer, &p);
	for (u32 i = 0; t && i < 3; i++) /* the last group, data, all */
		tree_end(t);
	say_output(&p.out);
	buf_free(&p.out);
	return 0;
}
