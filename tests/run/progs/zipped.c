/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs code out of an archive: "zipped ARCHIVE BASE" maps the page of zipped_work() from the copy
 * of this program that lies BASE bytes into the archive, as loaders on Android do, and calls that.
 */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((unsigned long)sysconf(_SC_PAGESIZE))

__attribute__((noinline, aligned(64))) long zipped_work(long n)
{
	return n * 3 + 1;
}

/* File offset of an address of this program. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *p)
{
	unsigned long *place = p;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		unsigned long start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && *place >= start && *place - start < ph->p_filesz) {
			*place = *place - start + ph->p_offset;
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long place = (unsigned long)zipped_work;
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	char *page;

	if (fd < 0 || !dl_iterate_phdr(find_offset, &place))
		return 1;
	place += strtoul(argv[2], NULL, 0);
	page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (long)(place & -PAGE));
	if (page == MAP_FAILED)
		return 1;
	printf("%ld\n", ((long (*)(long))(page + place % PAGE))(14));
	return 0;
}
