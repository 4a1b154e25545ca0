/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Formats by name: what -f and --json choose. */
#include "out/out.h"

#include <string.h>

#define ROW(format) { #format, &out_##format },

const struct out_ops *out_format(const char *name, bool json)
{
	static const struct {
		const char *name;
		const struct out_ops *ops;
	} formats[] = { OUT_FORMATS(ROW, ROW) };

	for (u32 i = 0; name && !json && i < ARRAY_SIZE(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return formats[i].ops;
	return json ? &out_json : formats[0].ops;
}
