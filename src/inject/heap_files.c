/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "inject/heap_files.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* Through the mapping itself where the name means nothing here. */
static struct elf *open_mapped(pid_t pid, const struct procmap *m, struct err *e)
{
	char path[PATH_MAX + 64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, m->path);
	if (stat(path, &st) < 0 || st.st_ino != m->inode)
		snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid, m->start, m->end);
	return elf_open(path, e);
}

bool heap_each_file(struct arena *a, pid_t pid, heap_file_fn *fn, void *ctx, struct err *e)
{
	struct procmaps maps;
	u64 last = 0;

	if (!procmaps_read(a, pid, &maps, e))
		return false;
	for (u32 i = 0; i < maps.n; i++) {
		const struct procmap *m = &maps.v[i];
		struct err other;
		struct elf *f;

		if (!m->exec || m->path[0] != '/' || !m->inode || m->inode == last)
			continue;
		last = m->inode;
		f = open_mapped(pid, m, &other);
		if (f && !fn(ctx, f, m))
			return true;
	}
	return true;
}

bool heap_is_libc(struct elf *f)
{
	struct elf_sym s;

	return !elf_is_program(f) && elf_find(f, "__libc_start_main", &s);
}
