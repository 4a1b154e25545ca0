/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Probes that are perf events: tracepoints, software and hardware counters, timers, watched memory.
 * The program is linked to the event with a cookie (Linux 5.15), or set for it. A tracepoint's
 * event may live on any one CPU, the program runs on all; a counter or timer must be opened on each
 * CPU, or, for one process, on each of its threads, with threads to come inherited.
 */
#include "kern/kern.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int attach_perf_open(struct perf_event_attr *attr, s32 pid, s32 cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* Says in *e why perf_event_open failed with errno `code`; returns false. */
static bool perf_error(int code, const char *what, struct err *e)
{
	switch (code) {
	case EPERM:
	case EACCES:
		return sys_refused_event(e, code,
		                         "the kernel does not let this user open perf events");
	case ENOENT:
	case EOPNOTSUPP:
		err_set(e, "this machine does not have the event %s", what);
		return err_hint(e, "hardware counters are usually missing in virtual machines; a "
		                   "software event may do");
	case ESRCH:
		return err_set(e, "the process is gone");
	case EMFILE:
		return err_set(e,
		               "too many probes: the limit of open files (ulimit -n) is reached");
	default:
		return err_sys(e, code, "%s", what);
	}
}

/* Before 5.15 the event holds the program, which runs until all of the event is gone. */
static int set_program(int event, int prog)
{
	return ioctl(event, PERF_EVENT_IOC_SET_BPF, prog) < 0 ? -errno : event;
}

bool attach_perf_link(struct attach *a, u32 site, int event, bool slow, struct err *e)
{
	int prog = kern_prog_fd(a->l, a->prog_index, site);
	bool links = a->l->features.cookie;
	int link = links ? sys_link_perf_event(prog, event, a->prog->sites[site].cookie)
	                 : set_program(event, prog);

	if (link >= 0)
		attach_keep(a, link, links && slow ? event : -1);
	if (link < 0 || (links && !slow))
		close(event);
	if (link >= 0)
		return true;
	if (link == -E2BIG)
		return err_set(e, "this event already has the 64 programs the kernel allows");
	if (link == -EMFILE)
		return perf_error(EMFILE, NULL, e);
	return err_sys(e, -link, "the kernel does not link the program to the event");
}

/* ---- tracepoints ---- */

static u32 first_cpu(struct live *l)
{
	if (!l->online)
		l->online = sys_online_cpus(&l->arena, &l->n_online);
	return l->n_online ? l->online[0] : 0;
}

static bool tracepoint_site(struct attach *a, u32 site, struct err *e)
{
	const struct usite *s = &a->prog->sites[site];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = s->tracepoint_id,
	};
	int event = attach_perf_open(&attr, -1, (s32)first_cpu(a->l));

	if (event < 0)
		return perf_error(-event, s->event, e);
	return attach_perf_link(a, site, event, true, e);
}

bool attach_tracepoint(struct attach *a, struct err *e)
{
	a->done.how = "tracepoint perf event";
	return attach_each(a, tracepoint_site, e);
}

/* ---- counters and timers ---- */

/* Opens one event of a site and links it. */
static bool open_one(struct attach *a, u32 site, struct perf_event_attr *attr, s32 pid, s32 cpu,
                     struct err *e)
{
	int event = attach_perf_open(attr, pid, cpu);

	if (event < 0)
		return perf_error(-event, a->prog->sites[site].name, e);
	return attach_perf_link(a, site, event, false, e);
}

static bool open_cpus(struct attach *a, u32 site, struct perf_event_attr *attr, struct err *e)
{
	first_cpu(a->l);
	if (!a->l->n_online)
		return err_set(e, "which processors are online is not known: "
		                  "/sys/devices/system/cpu/online can not be read");
	for (u32 i = 0; i < a->l->n_online; i++)
		if (!open_one(a, site, attr, -1, (s32)a->l->online[i], e))
			return false;
	return true;
}

/* inherit_thread (Linux 5.13): threads started later count too, forked processes do not. Before
 * they do, and the program looks who is running. */
static bool open_threads(struct attach *a, u32 site, struct perf_event_attr *attr, s32 pid,
                         struct err *e)
{
	char path[64];
	struct dirent *d;
	bool ok = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return err_set(e, "there is no process %d", pid);
	attr->inherit = 1;
	attr->inherit_thread = a->l->features.inherit_thread;
	while (ok && (d = readdir(dir))) {
		s32 tid = atoi(d->d_name);
		int event;

		if (tid <= 0)
			continue;
		event = attach_perf_open(attr, tid, -1);
		if (event == -ESRCH)
			continue; /* the thread ended meanwhile */
		ok = event >= 0 ? attach_perf_link(a, site, event, false, e)
		                : perf_error(-event, a->prog->sites[site].name, e);
	}
	closedir(dir);
	return ok;
}

static bool open_everywhere(struct attach *a, u32 site, struct perf_event_attr *attr, struct err *e)
{
	s32 pid = a->prog->sites[site].pid;

	return pid > 0 ? open_threads(a, site, attr, pid, e) : open_cpus(a, site, attr, e);
}

static bool counter_site(struct attach *a, u32 site, struct err *e)
{
	const struct usite *s = &a->prog->sites[site];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = a->prog->kind == ATTACH_HARDWARE ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = s->perf_config,
		.sample_period = s->period ? s->period : 1,
	};

	return open_everywhere(a, site, &attr, e);
}

bool attach_counter(struct attach *a, struct err *e)
{
	a->done.how = "counter perf event";
	return attach_each(a, counter_site, e);
}

static struct perf_event_attr timer(const struct usite *s)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = s->period,
	};
}

/* A timer of the machine, not of a process: it ticks while the process sleeps too. */
static bool interval_site(struct attach *a, u32 site, struct err *e)
{
	struct perf_event_attr attr = timer(&a->prog->sites[site]);

	return open_one(a, site, &attr, -1, (s32)first_cpu(a->l), e);
}

bool attach_interval(struct attach *a, struct err *e)
{
	a->done.how = "timer perf event";
	return attach_each(a, interval_site, e);
}

static bool profile_site(struct attach *a, u32 site, struct err *e)
{
	struct perf_event_attr attr = timer(&a->prog->sites[site]);

	return open_everywhere(a, site, &attr, e);
}

bool attach_profile(struct attach *a, struct err *e)
{
	a->done.how = "timer perf event";
	return attach_each(a, profile_site, e);
}

/* ---- watchpoints ---- */

static bool watch_site(struct attach *a, u32 site, struct err *e)
{
	const struct usite *s = &a->prog->sites[site];
	u32 first = a->l->handles.n;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = s->perf_config,
		.bp_addr = s->offset,
		.bp_len = s->period,
		.sample_period = 1,
	};
	bool ok = open_everywhere(a, site, &attr, e);

	for (u32 i = first; i < a->l->handles.n; i++)
		a->l->handles.v[i].watch = s->offset;
	if (!ok && e->code == ENOSPC) {
		err_set(e, "all watchpoints of the processor are taken");
		err_hint(e, "there are four, each for one address of up to 8 bytes");
	}
	return ok;
}

/* Writes to memory that this thread watches, and asks whether the kernel has seen it: some virtual
 * machines take the debug registers and never trap. True also where this can not be tried. */
static bool watchpoints_fire(void)
{
	volatile u64 watched = 0;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&watched,
		.bp_len = sizeof(watched),
		.sample_period = 1,
		.exclude_kernel = 1,
	};
	int event = attach_perf_open(&attr, 0, -1);
	u64 times = 0;
	bool asked;

	if (event < 0)
		return true;
	watched++;
	asked = read(event, &times, sizeof(times)) == sizeof(times);
	close(event);
	return times || !asked;
}

bool attach_watchpoint(struct attach *a, struct err *e)
{
	a->done.how = "hardware breakpoint";
	if (watchpoints_fire())
		return attach_each(a, watch_site, e);
	err_set(e,
	        "watchpoints never fire on this machine: its processor's debug registers have no "
	        "effect");
	return err_hint(e, "some virtual machines are like that; on the machine itself, or with "
	                   "another hypervisor, the same script works");
}

/* The handles stay in the list, as numbers that name no descriptor. */
void live_unwatch(struct live *l, u64 address)
{
	for (u32 i = 0; i < l->handles.n; i++) {
		struct handle *h = &l->handles.v[i];

		if (!h->watch || h->watch != address)
			continue;
		close(h->link);
		h->link = -1;
		h->watch = 0;
	}
}
