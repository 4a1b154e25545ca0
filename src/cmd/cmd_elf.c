/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * --emit-elf: the compiled script goes to a file, and nothing is loaded. The file appears whole or
 * not at all.
 */
#include "cmd/cmd_elf.h"

#include "base/file.h"
#include "cmd/say.h"
#include "unit/object.h"

/* Programs look for their process themselves (no uprobe_multi), and walk stacks by frame pointers
 * (request.alone): the tables of other ways are filled in by memtap while it runs. */
const struct features cmd_elf_kernel = {
	.asked = FEATURES_ALL,
	.btf = true,
	.kprobe = true,
	.kprobe_multi = true,
	.fentry = true,
	FEATURES_SINCE_6_0,
};

static bool write_file(const char *path, const struct buf *b, struct err *e)
{
	int code = file_save(path, b->p, b->n);

	return !code || err_sys(e, code, "can not write %s", path);
}

int cmd_elf_write(const struct job *j, const char *path)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	bool ok = object_write(&b, j->unit, &e) && write_file(path, &b, &e);

	if (!ok)
		say_failure(&j->source, &e);
	buf_free(&b);
	return ok ? 0 : 1;
}
