/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each part of the path, from the left, is compared with a table of forms: what comes before an id,
 * what the id looks like, what comes after. Later parts lie inside of earlier ones.
 */
#include "out/cgroup_names.h"

#include <ctype.h>
#include <string.h>

enum id {
	ID_HEX,  /* 64 hexadecimal digits */
	ID_UUID, /* with dashes, with underscores as slices have them, or without either */
	ID_TEXT, /* anything */
};

struct form {
	const char *before;
	bool inside; /* `before` may begin anywhere in the part */
	enum id id;
	const char *after;
	enum cgroup_name what; /* CGROUP_NAMES: none, what beside a container watches it */
};

/* The first that fits. */
static const struct form forms[] = {
	{ "crio-conmon-", false, ID_HEX, ".scope", CGROUP_NAMES },
	{ "libpod-conmon-", false, ID_HEX, ".scope", CGROUP_NAMES },
	{ "docker-", false, ID_HEX, ".scope", CGROUP_CONTAINER },
	{ "cri-containerd-", false, ID_HEX, ".scope", CGROUP_CONTAINER },
	{ "crio-", false, ID_HEX, ".scope", CGROUP_CONTAINER },
	{ "crio-", false, ID_HEX, "", CGROUP_CONTAINER },
	{ "libpod-", false, ID_HEX, ".scope", CGROUP_CONTAINER },
	{ "libpod-", false, ID_HEX, "", CGROUP_CONTAINER },
	{ "nerdctl-", false, ID_HEX, ".scope", CGROUP_CONTAINER },
	{ "libpod_pod_", true, ID_HEX, ".slice", CGROUP_POD },
	{ "-pod", true, ID_UUID, ".slice", CGROUP_POD },
	{ "pod", false, ID_UUID, "", CGROUP_POD },
	{ "", false, ID_TEXT, ".service", CGROUP_UNIT },
	{ "", false, ID_TEXT, ".scope", CGROUP_UNIT },
	{ "", false, ID_TEXT, ".socket", CGROUP_UNIT },
	{ "", false, ID_TEXT, ".mount", CGROUP_UNIT },
	{ "", false, ID_TEXT, ".swap", CGROUP_UNIT },
};

/* Of containerd: "/k8s.io/ID". Whose group is called otherwise may as well be Docker's. */
static const char *const namespaces[] = { "k8s.io", "default", "moby", "buildkit" };

/* Of podman's groups that systemd did not make, "/libpod_parent/POD/libpod-ID". */
#define PODMAN "libpod_parent"

static bool is_hex(struct str s)
{
	for (u32 i = 0; i < s.n; i++)
		if (!isdigit((u8)s.p[i]) && (s.p[i] < 'a' || s.p[i] > 'f'))
			return false;
	return true;
}

static bool is_id(struct str s)
{
	return s.n == 64 && is_hex(s);
}

static bool is_uuid(struct str s)
{
	static const u32 ends[] = { 8, 13, 18, 23, 36 };
	u32 from = 0;

	if (s.n == 32)
		return is_hex(s);
	if (s.n != 36)
		return false;
	for (u32 i = 0; i < ARRAY_SIZE(ends); i++) {
		if (!is_hex((struct str){ s.p + from, ends[i] - from }) ||
		    (ends[i] < s.n && s.p[ends[i]] != '-' && s.p[ends[i]] != '_'))
			return false;
		from = ends[i] + 1;
	}
	return true;
}

/* Where the id begins, when the part has the form's text before it; part.n + 1: nowhere. */
static u32 id_start(const struct form *f, struct str part)
{
	u32 n = (u32)strlen(f->before);

	for (u32 i = part.n; f->inside && i >= n; i--)
		if (memcmp(part.p + i - n, f->before, n) == 0)
			return i;
	return part.n >= n && memcmp(part.p, f->before, n) == 0 ? n : part.n + 1;
}

static bool fits(const struct form *f, struct str part, struct str *id)
{
	u32 from = id_start(f, part), end = (u32)strlen(f->after);

	if (from + end > part.n || memcmp(part.p + part.n - end, f->after, end) != 0)
		return false;
	*id = (struct str){ part.p + from, part.n - from - end };
	return f->id == ID_TEXT ? id->n : f->id == ID_HEX ? is_id(*id) : is_uuid(*id);
}

static void set_pod(struct cgroup_names *n, struct str id)
{
	if (id.n == 36) {
		for (u32 i = 0; i < id.n; i++)
			n->uid[i] = id.p[i] == '_' ? '-' : id.p[i];
		id.p = n->uid;
	}
	n->name[CGROUP_POD] = id;
}

/* A part that is an id and no more is a container, or podman's pod around one. */
static bool set_plain(struct cgroup_names *n, struct str before, struct str part)
{
	if (!is_id(part))
		return false;
	if (str_eq(before, STR(PODMAN))) {
		n->name[CGROUP_POD] = part;
		return true;
	}
	n->name[CGROUP_CONTAINER] = part;
	for (u32 i = 0; i < ARRAY_SIZE(namespaces); i++)
		if (str_eq(before, str_of(namespaces[i])))
			n->name[CGROUP_NAMESPACE] = before;
	return true;
}

static void set_form(struct cgroup_names *n, const struct form *f, struct str id, struct str part)
{
	if (f->what == CGROUP_POD)
		set_pod(n, id);
	else if (f->what != CGROUP_NAMES)
		n->name[f->what] = f->what == CGROUP_UNIT ? part : id;
}

static void see(struct cgroup_names *n, struct str before, struct str part)
{
	struct str id;

	if (set_plain(n, before, part))
		return;
	for (u32 i = 0; i < ARRAY_SIZE(forms); i++) {
		if (!fits(&forms[i], part, &id))
			continue;
		set_form(n, &forms[i], id, part);
		return;
	}
}

void cgroup_names_find(struct cgroup_names *n, struct str path)
{
	const char *slash = path.n ? memchr(path.p, '/', path.n) : NULL;
	struct str before = STR(""), part;

	*n = (struct cgroup_names){ 0 };
	while (slash) {
		path.n -= (u32)(slash + 1 - path.p);
		path.p = slash + 1;
		slash = path.n ? memchr(path.p, '/', path.n) : NULL;
		part = (struct str){ path.p, slash ? (u32)(slash - path.p) : path.n };
		see(n, before, part);
		before = part;
	}
	if (n->name[CGROUP_CONTAINER].n)
		n->name[CGROUP_UNIT].n = 0;
}

static bool says_nothing(const struct cgroup_names *n)
{
	u32 bytes = 0;

	for (u32 i = 0; i < CGROUP_NAMES; i++)
		bytes += n->name[i].n;
	return !bytes;
}

void cgroup_names_of_lines(struct cgroup_names *n, struct str lines)
{
	*n = (struct cgroup_names){ 0 };
	while (lines.n && says_nothing(n))
		cgroup_names_find(n, str_cut(lines, '\n', &lines));
}

const char *cgroup_names_label(enum cgroup_name i)
{
	static const char *const labels[] = { "container", "pod", "namespace", "unit" };

	return labels[i];
}
