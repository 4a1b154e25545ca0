/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a session may still do once its probes are attached; docs/security.md has the reasons. */
#ifndef RUN_RIGHTS_H
#define RUN_RIGHTS_H

#include "base/caps.h"
#include "run/session.h"

/* To use maps and programs, read what processes have mapped, and name addresses of the kernel. */
#define RIGHTS_READ                                                                                \
	(CAPS_TRACING | CAPS_FILES | CAPS_PROCESSES | CAPS(CAP_SYSLOG) |                           \
	 CAPS(CAP_CHECKPOINT_RESTORE))

/* CAPS(), for caps_keep(). */
u64 rights_kept(const struct unit *u, const struct session_options *o, bool has_child);

#endif
