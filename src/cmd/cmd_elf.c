/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * --emit-elf: the compiled script goes to a file, and nothing is loaded. The file appears whole or
 * not at all.
 */
#include "cmd/cmd_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/say.h"
#include "unit/object.h"

/* Programs look for their process themselves (no uprobe_multi), and walk stacks by frame pointers
 * (no loop): the tables of other ways are filled in by memtap while it runs. */
const struct features cmd_elf_kernel = {
	.asked = FEATURES_ALL,
	.btf = true,
	.kprobe = true,
	.kprobe_multi = true,
	.fentry = true,
};

static bool write_file(struct arena *a, const char *path, const struct buf *b, struct err *e)
{
	const char *temporary = arena_printf(a, "%s.new", path);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int code = 0;

	if (fd < 0)
		return err_sys(e, errno, "can not write %s", path);
	if (!file_write_all(fd, b->p, b->n))
		code = errno;
	if (close(fd) < 0 && !code)
		code = errno;
	if (!code && rename(temporary, path) < 0)
		code = errno;
	if (!code)
		return true;
	unlink(temporary);
	return err_sys(e, code, "can not write %s", path);
}

int cmd_elf_write(const struct job *j, const char *path)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct err e = { 0 };
	bool ok = object_write(&b, j->unit, &e) && write_file(&a, path, &b, &e);

	if (!ok)
		say_failure(&j->source, &e);
	buf_free(&b);
	arena_free(&a);
	return ok ? 0 : 1;
}
