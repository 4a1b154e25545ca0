/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Capabilities by name. A refused call does not say which one it wanted; the caller knows, and here
 * it is compared with what there is.
 */
#include "base/caps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"

/* `wider` has the same effect. */
static const struct {
	u32 cap, wider;
	const char *name;
} known[] = {
	{ CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF" },
	{ CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON" },
	{ CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "CAP_DAC_READ_SEARCH" },
	{ CAP_SYS_PTRACE, CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ CAP_SYS_ADMIN, CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	{ CAP_NET_ADMIN, CAP_SYS_ADMIN, "CAP_NET_ADMIN" },
	{ CAP_SYS_RESOURCE, CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE" },
};

#define CAP_BITS 64

/* The effective ones, all when that is not known. */
static u64 effective(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data) < 0)
		return CAPS_ALL;
	return data[0].effective | (u64)data[1].effective << 32;
}

u64 caps_missing(u64 wanted)
{
	u64 have = effective(), missing = 0;

	for (u32 i = 0; i < ARRAY_SIZE(known); i++)
		if (wanted & CAPS(known[i].cap) &&
		    !(have & (CAPS(known[i].cap) | CAPS(known[i].wider))))
			missing |= CAPS(known[i].cap);
	return missing;
}

const char *caps_text(char *text, size_t n, u64 missing)
{
	const char *names[ARRAY_SIZE(known)];
	struct buf b = { 0 };
	u32 k = 0;

	for (u32 i = 0; i < ARRAY_SIZE(known); i++)
		if (missing & CAPS(known[i].cap))
			names[k++] = known[i].name;
	for (u32 i = 0; i < k; i++)
		buf_printf(&b, "%s%s", i == 0 ? "" : i + 1 < k ? ", " : " and ", names[i]);
	snprintf(text, n, "%s %s missing", buf_text(&b), k == 1 ? "is" : "are");
	buf_free(&b);
	return text;
}

/* Only those of the first user namespace count: its map covers all users. */
static bool in_user_namespace(void)
{
	unsigned inside = 0, outside = 0, n = ~0u;
	struct buf b = { 0 };
	struct err ignored;
	bool first = !file_read("/proc/self/uid_map", &b, 4096, &ignored) ||
	             (sscanf(buf_text(&b), "%u %u %u", &inside, &outside, &n) == 3 && !inside &&
	              !outside && n == ~0u);

	buf_free(&b);
	return !first;
}

static const char *how_to_get(void)
{
	if (in_user_namespace())
		return "this is a user namespace, as rootless containers are: only capabilities "
		       "outside of it count";
	if (geteuid() == 0)
		return "this root was started without: containers and services get more when they "
		       "are started";
	return "root has it; memtap(1) says under PRIVILEGES how a user gets it";
}

bool caps_refused(struct err *e, int code, u64 wanted, const char *what)
{
	u64 missing = caps_missing(wanted);
	char text[160];

	if (!missing)
		missing = caps_missing(CAPS_ADMIN);
	if (missing) {
		err_sys(e, code, "%s: %s", what, caps_text(text, sizeof(text), missing));
		return err_hint(e, "%s", how_to_get());
	}
	err_sys(e, code, "%s", what);
	if (in_user_namespace())
		return err_hint(e, "%s", how_to_get());
	return err_hint(e, "this kernel's policy (lockdown or a security module) refuses it even "
	                   "to root");
}

bool caps_file(struct err *e, const char *path)
{
	u64 missing = strncmp(path, "/proc/", 6) == 0 ? caps_missing(CAPS_PROCESSES) : 0;
	char text[160];

	if (!missing)
		missing = caps_missing(CAPS_FILES);
	if ((e->code != EACCES && e->code != EPERM) || !missing)
		return false;
	return err_hint(e, "%s: %s", caps_text(text, sizeof(text), missing), how_to_get());
}

/* Those that stand for others where these are not there are used as they. */
static u64 widened(u64 some)
{
	u64 lacking = ~effective();

	for (u32 i = 0; i < ARRAY_SIZE(known); i++)
		if (some & lacking & CAPS(known[i].cap))
			some |= CAPS(known[i].wider);
	return some;
}

void caps_use(u64 used)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	used = widened(used);
	if (syscall(SYS_capget, &head, data) < 0)
		return;
	for (u32 i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].effective &= (u32)(used >> (32 * i));
	syscall(SYS_capset, &head, data);
}

void caps_keep(u64 kept)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (kept == CAPS_ALL)
		return;
	kept = widened(kept);
	/* Refused where there is nothing to be gained: without CAP_SETPCAP. */
	for (unsigned long cap = 0; cap < CAP_BITS; cap++)
		if (!(kept & CAPS(cap)) && prctl(PR_CAPBSET_DROP, cap) < 0 && errno == EINVAL)
			break; /* the kernel has no more of them */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capget, &head, data) < 0)
		return;
	for (u32 i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		u32 some = (u32)(kept >> (32 * i));

		data[i].effective &= some;
		data[i].permitted &= some;
		data[i].inheritable &= some;
	}
	syscall(SYS_capset, &head, data);
}
