/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A script's text in the usual form: indented by blocks, one statement a line, comments kept.
 */
#ifndef LANG_PARSE_FMT_H
#define LANG_PARSE_FMT_H

#include "lang/parse/lang.h"

/*
 * Appends the formatted text. False, and errors in the diagnostics, when the script has syntax
 * errors, or when the result would not mean the same (then nothing is to be printed).
 * `s` is an empty script with arena and source set; it is parsed here.
 */
bool fmt_script(struct buf *b, struct script *s, struct diags *d);

#endif
