/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A text whose page comes late: look(1, "far") is called by one thread, and while who reads the
 * text waits for its page, look(2, "near") by another one on the same processor. Needs
 * userfaultfd(2).
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kept.h"

#define PAGE 4096

static char *page;

__attribute__((noinline, noclone)) void look(unsigned long number, const char *text)
{
	__asm__ volatile("" : : "r"(number), "r"(text) : KEPT, "memory");
}

static void *far(void *unused)
{
	look(1, page);
	return unused;
}

/* A descriptor that says who waits for the page; -1 when it can not be had. */
static int watch_page(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)page;
	range.range.len = PAGE;
	if (fd < 0 || page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) != 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &range) != 0)
		return -1;
	return fd;
}

int main(void)
{
	static char text[PAGE] = "far";
	struct uffdio_copy copy = { .src = (uintptr_t)text, .len = PAGE };
	cpu_set_t one;
	struct uffd_msg m;
	pthread_t thread;
	int fd = watch_page();

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (fd < 0 || sched_setaffinity(0, sizeof(one), &one) != 0 ||
	    pthread_create(&thread, NULL, far, NULL) != 0)
		return 1;
	if (read(fd, &m, sizeof(m)) != sizeof(m) || m.event != UFFD_EVENT_PAGEFAULT)
		return 1;
	for (int i = 0; i < 10; i++)
		look(2, "near");
	copy.dst = (uintptr_t)page;
	ioctl(fd, UFFDIO_COPY, &copy);
	pthread_join(thread, NULL);
	return 0;
}
