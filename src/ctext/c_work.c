/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bound on the text of types. */
#include "ctext/c_work.h"

void c_work_add(struct c_work *w, const struct btf *btf)
{
	struct btf_file f;

	w->left += C_WORK_LEAST;
	for (; btf; btf = btf_base(btf)) {
		btf_file(btf, &f);
		w->left += f.types_len;
	}
}
