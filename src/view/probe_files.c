/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether probes in files will hit in a process that was started later. A program that was
 * installed anew has its old path, and no probes: files are compared by what stat says of them.
 */
#include "view/probe_files.h"

#include <string.h>

#include "read/procmaps.h"

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool has(const struct probe_files *p, const struct stat *s)
{
	for (u32 i = 0; i < p->n; i++)
		if (same_file(&p->files[i], s))
			return true;
	return false;
}

void probe_files_read(struct arena *a, const struct unit *u, struct probe_files *p)
{
	VEC(struct stat) files = { 0 };
	const char *last = "";

	for (u32 i = 0; i < u->progs.n; i++) {
		const struct uprog *prog = &u->progs.v[i];

		for (u32 k = 0; attach_kind_is_user(prog->kind) && k < prog->n_sites; k++) {
			struct stat s;

			if (strcmp(prog->sites[k].path, last) == 0)
				continue;
			last = prog->sites[k].path;
			*p = (struct probe_files){ files.v, files.n };
			if (stat(last, &s) == 0 && !has(p, &s))
				vec_add(a, &files, s);
		}
	}
	*p = (struct probe_files){ files.v, files.n };
}

bool probe_files_mapped(const struct probe_files *p, u32 pid)
{
	struct arena a = { 0 };
	struct procmaps maps = { 0 };
	struct err ignored = { 0 };
	bool found = !p->n;

	if (!found)
		procmaps_read(&a, (s32)pid, &maps, &ignored);
	for (u32 i = 0; i < maps.n && !found; i++) {
		struct stat s;

		if (maps.v[i].exec && maps.v[i].path[0] == '/')
			found = stat(arena_printf(&a, "/proc/%u/root%s", pid, maps.v[i].path),
			             &s) == 0 &&
			        has(p, &s);
	}
	arena_free(&a);
	return found;
}
