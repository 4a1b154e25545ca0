// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// A C++ program whose names need reading: app::Cache::insert(int, long), into which
// app::Cache::touch(int) is inlined, asks the kernel for its parent's pid. With an argument it goes
// on doing so until it is ended.
#include <sys/syscall.h>
#include <unistd.h>

namespace app {

struct Cache {
	long sum = 0;

	inline __attribute__((always_inline)) void touch(int key)
	{
#if defined(__x86_64__)
		long parent;

		asm volatile("syscall" : "=a"(parent) : "0"(SYS_getppid) : "rcx", "r11", "memory");
#else
		register long parent asm("x0");
		register long call asm("x8") = SYS_getppid;

		asm volatile("svc 0" : "=r"(parent) : "r"(call) : "memory");
#endif
		sum += parent + key;
	}

	__attribute__((noipa)) long insert(int key, long value)
	{
		asm volatile("" : : "r"(__builtin_frame_address(0))); // or it would have no frame
		sum += value;
		touch(key);
		return sum;
	}
};

} // namespace app

int main(int argc, char **)
{
	app::Cache cache;

	do {
		cache.insert(1, 2);
		if (argc > 1)
			usleep(1000);
	} while (argc > 1);
	return cache.sum == 0;
}
