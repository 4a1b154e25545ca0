/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes each call for shared memory, with each flag, some of which the machine refuses: huge pages
 * of which there are none. Leaves nothing behind. Prints a line for each call: its name, what it
 * returned (-errno of a failure) and a number that tells it from others of that name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#define SIZE      (64 << 10)
#define HUGE_2MB  (21 << 26)
#define HUGE_1GB  (30 << 26)
#define NORESERVE 010000
#define EXEC      0100000

static long say(const char *call, long ret, unsigned long which)
{
	printf("%s %ld %lu\n", call, ret == -1 ? -(long)errno : ret, which);
	return ret;
}

static void get(int flags)
{
	long id = say("shmget", shmget(IPC_PRIVATE, SIZE, flags), (unsigned long)flags);

	if (id >= 0)
		shmctl((int)id, IPC_RMID, NULL);
}

static void attach(int id, int flags)
{
	void *p = shmat(id, NULL, flags);

	say("shmat", (long)p, (unsigned long)flags);
	if (p != (void *)-1)
		say("shmdt", shmdt(p), 0);
}

static void control(int id)
{
	struct shmid_ds ds;

	say("shmctl", shmctl(id, IPC_STAT, &ds), IPC_STAT);
	say("shmctl", shmctl(id, IPC_SET, &ds), IPC_SET);
	say("shmctl", shmctl(id, SHM_LOCK, NULL), SHM_LOCK);
	say("shmctl", shmctl(id, SHM_UNLOCK, NULL), SHM_UNLOCK);
	say("shmctl", shmctl(id, IPC_RMID, NULL), IPC_RMID);
	say("shmctl", shmctl(id, IPC_STAT, &ds), IPC_STAT);
}

static void posix(void)
{
	char name[64];
	long fd;

	snprintf(name, sizeof(name), "/memtap-test-%d", getpid());
	fd = say("shm_open", shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), 0);
	say("ftruncate", ftruncate((int)fd, SIZE), SIZE);
	say("shm_unlink", shm_unlink(name), 0);
	say("shm_unlink", shm_unlink(name), 1);
	fd = say("memfd_create", memfd_create("some memory", MFD_CLOEXEC | MFD_ALLOW_SEALING), 3);
	say("ftruncate", ftruncate((int)fd, SIZE * 2), SIZE * 2);
	say("memfd_create", memfd_create("huge", MFD_HUGETLB | HUGE_1GB), MFD_HUGETLB | HUGE_1GB);
}

int main(void)
{
	int id = (int)say("shmget", shmget(IPC_PRIVATE, SIZE, IPC_CREAT | IPC_EXCL | 0640),
	                  IPC_CREAT | IPC_EXCL | 0640);

	attach(id, 0);
	attach(id, SHM_RDONLY);
	attach(id, SHM_RND);
	attach(id, EXEC);
	attach(id, SHM_REMAP); /* EINVAL: it needs an address */
	control(id);
	get(IPC_CREAT | NORESERVE | 0600);
	get(IPC_CREAT | SHM_HUGETLB | 0600);
	get(IPC_CREAT | SHM_HUGETLB | HUGE_2MB | 0600);
	get(IPC_CREAT | SHM_HUGETLB | HUGE_1GB | 0600);
	say("shmdt", shmdt((void *)4096), 1); /* EINVAL: nothing is there */
	posix();
	return 0;
}
