/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Paths of control groups as Docker, containerd, CRI-O, podman, Kubernetes, systemd have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "out/cgroup_names.h"

#define A    "9d1f3a7be2c04c0f8a55d4d7ce1b26e0a1f4bb2c39e07f4c2e8d6a5b4c3d2e1f"
#define B    "00000000000000000000000000000000000000000000000000000000000000ff"
#define UID_ "2f5c0d1e_9b7a_4c1d_8e2f_0a1b2c3d4e5f"
#define UID  "2f5c0d1e-9b7a-4c1d-8e2f-0a1b2c3d4e5f"
#define FLAT "0123456789abcdef0123456789abcdef"
#define USER "/user.slice/user-1000.slice/user@1000.service/user.slice/"

/* A path, and its container, pod, namespace and unit; NULL none. */
static const char *const known[][1 + CGROUP_NAMES] = {
	/* Docker: systemd's driver, its own, rootless, in another container */
	{ "/system.slice/docker-" A ".scope", A },
	{ "/docker/" A, A },
	{ "unified:/docker/" A, A },
	{ USER "docker-" A ".scope", A },
	{ "/docker/" A "/docker/" B, B },
	{ "/system.slice/docker-" A ".scope/init.scope", A },
	{ "/actions_job/" A, A },
	/* Kubernetes: classes of service, drivers, a static pod, kind's nodes */
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-" A ".scope",
	  A, UID },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" A ".scope", A, UID },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" A ".scope/container", A, UID },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" A ".scope", NULL, UID },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" FLAT
	  ".slice/docker-" A ".scope",
	  A, FLAT },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice", NULL, UID },
	{ "/kubepods/burstable/pod" UID "/" A, A, UID },
	{ "/kubepods/pod" UID "/crio-" A, A, UID },
	{ "/docker/" A "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
	  "kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" B ".scope",
	  B, UID },
	{ "/docker/" A "/kubelet/kubepods/besteffort/pod" UID "/" B, B, UID },
	/* containerd, nerdctl */
	{ "/k8s.io/" A, A, NULL, "k8s.io" },
	{ "/default/" A, A, NULL, "default" },
	{ "/moby/" A, A, NULL, "moby" },
	{ "/system.slice/nerdctl-" A ".scope", A },
	/* podman: root's, rootless, a pod, without systemd */
	{ "/machine.slice/libpod-" A ".scope", A },
	{ "/machine.slice/libpod-" A ".scope/container", A },
	{ "/machine.slice/libpod-conmon-" A ".scope" },
	{ USER "libpod-" A ".scope/container", A },
	{ "/machine.slice/machine-libpod_pod_" A ".slice/libpod-" B ".scope", B, A },
	{ USER "user-libpod_pod_" A ".slice/libpod-" B ".scope/container", B, A },
	{ "/libpod_parent/libpod-" A, A },
	{ "/libpod_parent/" A "/libpod-" B, B, A },
	/* systemd */
	{ "/system.slice/nginx.service", NULL, NULL, NULL, "nginx.service" },
	{ "/system.slice/system-postgresql.slice/postgresql@15-main.service", NULL, NULL, NULL,
	  "postgresql@15-main.service" },
	{ "/user.slice/user-1000.slice/session-3.scope", NULL, NULL, NULL, "session-3.scope" },
	{ (USER "app.slice/app-org.gnome.Terminal.slice/vte-spawn-1.scope"), NULL, NULL, NULL,
	  "vte-spawn-1.scope" },
	{ "/system.slice/foo.service/sub/group", NULL, NULL, NULL, "foo.service" },
	{ "/system.slice/dev-hugepages.mount", NULL, NULL, NULL, "dev-hugepages.mount" },
	{ "/machine.slice/machine-web.scope", NULL, NULL, NULL, "machine-web.scope" },
	{ "/init.scope", NULL, NULL, NULL, "init.scope" },
	/* what is none of these */
	{ "" },
	{ "/" },
	{ "//" },
	{ "unified:812" },
	{ "/system.slice" },
	{ "/system.slice/.service" },
	{ "/system.slice/docker-" A "0.scope", NULL, NULL, NULL, "docker-" A "0.scope" },
	{ "/docker/" FLAT },
	{ "/docker/X" A },
	{ "/kubepods/pod2f5c0d1e+9b7a-4c1d-8e2f-0a1b2c3d4e5f" },
	{ "/kubepods/pod" },
	{ "-pod/-pod.slice/pod-pod" },
	{ A },
};

/* In memory of its own length, for the checks of bounds. */
static void find(struct cgroup_names *n, const char *path, size_t bytes)
{
	char *copy = malloc(bytes ? bytes : 1);

	assert_non_null(copy);
	memcpy(copy, path, bytes);
	cgroup_names_find(n, (struct str){ copy, (u32)bytes });
	for (u32 i = 0; i < CGROUP_NAMES; i++)
		assert_true(n->name[i].n <= bytes);
	free(copy);
}

static void test_paths(void **state)
{
	struct cgroup_names n;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(known); i++) {
		cgroup_names_find(&n, str_of(known[i][0]));
		for (u32 k = 0; k < CGROUP_NAMES; k++) {
			const char *wanted = known[i][1 + k] ? known[i][1 + k] : "";

			if (!str_is(n.name[k], wanted))
				fail_msg("%s: %s is '%.*s', not '%s'", known[i][0],
				         cgroup_names_label(k), STR_ARG(n.name[k]), wanted);
		}
	}
}

/* Each path cut at each letter, at both ends. */
static void test_bounds(void **state)
{
	struct cgroup_names n;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(known); i++)
		for (size_t k = 0; k <= strlen(known[i][0]); k++) {
			find(&n, known[i][0], k);
			find(&n, known[i][0] + k, strlen(known[i][0]) - k);
		}
}

static void test_lines(void **state)
{
	struct cgroup_names n;

	(void)state;
	cgroup_names_of_lines(&n, STR("9:name=systemd:/\n4:memory:/docker/" A "\n0::/\n"));
	assert_true(str_is(n.name[CGROUP_CONTAINER], A));
	cgroup_names_of_lines(&n, STR("0::/system.slice/memcached.service\n"));
	assert_true(str_is(n.name[CGROUP_UNIT], "memcached.service"));
	cgroup_names_of_lines(&n, STR("0::/\n"));
	assert_int_equal(n.name[CGROUP_UNIT].n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
