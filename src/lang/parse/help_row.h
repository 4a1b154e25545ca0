/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What `memtap help` says of a word in a line. */
#ifndef LANG_PARSE_HELP_ROW_H
#define LANG_PARSE_HELP_ROW_H

struct help_row {
	const char *name;
	const char *usage; /* arguments, how it is written, or the usual value */
	const char *help;  /* NULL: scripts do not name it */
};

#endif
