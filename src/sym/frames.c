/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks in the three shapes of bpftrace's stack modes. The addresses of callers are return
 * addresses and are named as they are, as bpftrace does.
 */
#include "sym/frames.h"

#include <inttypes.h>

static void frame_name(struct buf *b, struct sym *s, s64 pid, u64 ip, const char **module)
{
	if (pid == FRAMES_KERNEL)
		sym_kernel(s, b, ip);
	else
		sym_user(s, b, (u32)pid, ip, module);
}

static void frame_print(struct buf *b, struct sym *s, enum frames_mode mode, s64 pid, u64 ip)
{
	const char *module = "";

	switch (mode) {
	case FRAMES_BPFTRACE:
		buf_fill(b, ' ', 8);
		frame_name(b, s, pid, ip, &module);
		break;
	case FRAMES_PERF:
		buf_printf(b, "\t%" PRIx64 " ", ip);
		frame_name(b, s, pid, ip, &module);
		if (pid != FRAMES_KERNEL)
			buf_printf(b, " (%s)", module[0] ? module : "[unknown]");
		break;
	case FRAMES_RAW:
		buf_printf(b, "%" PRIx64, ip);
		break;
	}
	buf_putc(b, '\n');
}

void frames_print(struct buf *b, struct sym *s, enum frames_mode mode, s64 pid, const u64 *ips,
                  u32 n)
{
	buf_putc(b, '\n');
	for (u32 i = 0; i < n && ips[i]; i++)
		frame_print(b, s, mode, pid, ips[i]);
}
