/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * C++ that allocates by every form of new, and by its library, without a pause: says "ready", and
 * after a line on standard input whether all came out right: "wrong 0", and its exit status.
 */
#include <poll.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {

struct alignas(64) Wide {
	unsigned char bytes[512];
};

bool wrong;
volatile std::size_t too_many = ~std::size_t{0} >> 2;

template <class T> T *checked(T *p, std::size_t alignment)
{
	if (!p || reinterpret_cast<std::uintptr_t>(p) % alignment)
		wrong = true;
	return p;
}

void forms(int i)
{
	auto a = std::make_unique<int>(i);
	int *b = checked(new (std::nothrow) int[static_cast<std::size_t>(i % 200 + 1)], alignof(int));
	Wide *c = checked(new Wide, 64), *d = checked(new (std::nothrow) Wide[3], 64);

	b[0] = c->bytes[511] = d[2].bytes[511] = static_cast<unsigned char>(i);
	if (*a != i || b[0] != d[2].bytes[511])
		wrong = true;
	delete[] b;
	delete c;
	delete[] d;
#ifndef NEW_ABORTS /* mimalloc's, which is C */
	try { /* through what memtap put in, too */
		checked(static_cast<char *>(::operator new[](too_many)), 1);
		wrong = true;
	} catch (const std::bad_alloc &) {
	}
#endif
}

void library(int i)
{
	std::map<std::string, std::vector<int>> m;
	std::size_t all = 0;

	for (int k = 0; k < 40; k++)
		for (int n = 0; n <= k; n++)
			m["a key that is longer than what a string has room for " + std::to_string(k)]
			    .push_back(i);
	for (const auto &[key, v] : m)
		for (int x : v)
			all += x == i;
	if (all != 820)
		wrong = true;
}

} // namespace

int main()
{
	std::puts("ready");
	std::fflush(stdout);
	for (int i = 0; poll(std::make_unique<pollfd>(pollfd{0, POLLIN, 0}).get(), 1, 0) == 0; i++) {
		forms(i);
		library(i);
	}
	std::printf("wrong %d\n", wrong);
	return wrong;
}
