/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ingress:CGROUP, egress:CGROUP: packets of the sockets that processes of a control group made.
 *
 * The one idea: what the kernel hands to such a program, struct __sk_buff of linux/bpf.h, has
 * fields at fixed places as the record of a tracepoint has, so `args` is described as if it were
 * one. Bytes of the packet itself are read by packet().
 */
#include "lang/probe/targets.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>

#define FIELD(field)                                                                               \
	{                                                                                          \
		.name = #field, .type = "u32", .off = offsetof(struct __sk_buff, field), .size = 4 \
	}

static const struct tpfield fields[] = {
	FIELD(len),    FIELD(mark),      FIELD(protocol),   FIELD(priority),   FIELD(ifindex),
	FIELD(family), FIELD(local_ip4), FIELD(remote_ip4), FIELD(local_port), FIELD(remote_port),
};

static const struct tpformat *make_format(struct arena *a)
{
	struct tpformat *f = arena_new(a, struct tpformat);

	f->name = "packet";
	f->fields = arena_array(a, struct tpfield, ARRAY_SIZE(fields));
	f->n_fields = ARRAY_SIZE(fields);
	memcpy(f->fields, fields, sizeof(fields));
	return f;
}

void targets_packets(struct targets *t)
{
	struct usite site = { 0 };
	struct variant *v;
	struct err e = { 0 };

	site.path = t->world->ops->cgroup(t->world, t->parts[0], &e);
	if (!site.path) {
		targets_no_file(t, &e);
		return;
	}
	v = targets_shared(t);
	v->format = make_format(t->arena);
	targets_add(t, v, site, t->parts[0]);
}
