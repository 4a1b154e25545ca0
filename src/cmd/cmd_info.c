/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the machine and its kernel offer, in groups. One list of rows feeds text and JSON.
 */
#include "cmd/cmd_info.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/caps.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "kern/offers.h"
#include "out/json.h"

struct info {
	struct buf out;
	bool json;
	const char *group; /* being written, NULL none yet */
};

/* The head of a row in its group. */
static void row(struct info *p, const char *group, const char *name)
{
	bool same = p->group && strcmp(p->group, group) == 0;

	if (!p->json) {
		if (!same)
			buf_printf(&p->out, "%s%s\n", p->group ? "\n" : "", group);
		buf_printf(&p->out, "  %s: ", name);
	} else {
		if (!same)
			buf_printf(&p->out, "%s\"%s\": {", p->group ? "}, " : "", group);
		buf_printf(&p->out, "%s\"%s\": ", same ? ", " : "", name);
	}
	p->group = group;
}

static void row_text(struct info *p, const char *group, const char *name, const char *value)
{
	row(p, group, name);
	if (p->json)
		json_string(&p->out, str_of(value));
	else
		buf_printf(&p->out, "%s\n", value);
}

static void row_number(struct info *p, const char *group, const char *name, u64 value)
{
	row(p, group, name);
	json_unsigned(&p->out, value);
	if (!p->json)
		buf_putc(&p->out, '\n');
}

static void row_flag(struct info *p, const char *group, const char *name, bool value)
{
	row(p, group, name);
	if (p->json)
		buf_puts(&p->out, value ? "true" : "false");
	else
		buf_printf(&p->out, "%s\n", value ? "yes" : "no");
}

static void row_unknown(struct info *p, const char *group, const char *name)
{
	row(p, group, name);
	buf_puts(&p->out, p->json ? "null" : "unknown\n");
}

static void row_offer(void *ctx, const char *group, const char *name, enum offer offer)
{
	if (offer == OFFER_UNKNOWN)
		row_unknown(ctx, group, name);
	else
		row_flag(ctx, group, name, offer == OFFER_YES);
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

int info_print(struct world *w, const struct out_ops *out)
{
	struct info p = { .json = out->objects };

	if (p.json)
		buf_puts(&p.out, "{\"type\": \"info\", \"data\": {");
	row_text(&p, "memtap", "version", MEMTAP_VERSION);
	kernel_rows(&p, w);
	offers_each(row_offer, &p);
	if (p.json)
		buf_puts(&p.out, "}}}\n");
	say_output(&p.out);
	buf_free(&p.out);
	return 0;
}
