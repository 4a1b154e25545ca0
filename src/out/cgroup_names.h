/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the path of a control group says of who runs in it: Docker, containerd, CRI-O, podman,
 * nerdctl, Kubernetes' pods, systemd's units; with systemd's slices and scopes or without, on v1
 * and v2, rootless, one inside of another (the innermost counts). Names of pods and Kubernetes'
 * namespaces are in no path: a pod is its UID there. Pure.
 */
#ifndef OUT_CGROUP_NAMES_H
#define OUT_CGROUP_NAMES_H

#include "base/str.h"

enum cgroup_name {
	CGROUP_CONTAINER, /* its id, 64 hexadecimal digits */
	CGROUP_POD,       /* Kubernetes' UID with dashes, podman's id */
	CGROUP_NAMESPACE, /* containerd's: "k8s.io", "default", "moby" */
	CGROUP_UNIT,      /* "nginx.service"; not of a container */
	CGROUP_NAMES
};

struct cgroup_names {
	struct str name[CGROUP_NAMES]; /* empty: not said. Of the path, but for uid */
	char uid[37];
};

/* "/system.slice/nginx.service", also after "unified:" or what else /proc has before the path. */
void cgroup_names_find(struct cgroup_names *n, struct str path);
/* "container", "pod", "namespace", "unit" */
const char *cgroup_names_label(enum cgroup_name i);
/* Of /proc/PID/cgroup, a line for each hierarchy: what the first one says that says something. */
void cgroup_names_of_lines(struct cgroup_names *n, struct str lines);

#endif
