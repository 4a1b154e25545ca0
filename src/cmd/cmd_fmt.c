/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Formatting a script. All of it is done by lang/parse/fmt.c. */
#include "cmd/cmd_fmt.h"

#include "cmd/say.h"
#include "lang/parse/fmt.h"

int cmd_fmt_print(struct job *j, bool warnings)
{
	struct buf b = { 0 };
	bool ok = fmt_script(&b, &j->script, &j->diags);

	say_diags(&j->diags, warnings);
	if (ok)
		say_output(&b);
	buf_free(&b);
	return ok ? 0 : 1;
}
