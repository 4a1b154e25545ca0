/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A C++ program that allocates from everywhere: virtual functions, templates, lambdas, recursion,
 * a catch block, threads. Its containers take their memory from malloc(), so that it can be run with
 * another allocator.
 */
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

template <typename T> struct Plain {
	using value_type = T;
	Plain() = default;
	template <typename U> Plain(const Plain<U> &) {}
	T *allocate(size_t n)
	{
		return static_cast<T *>(malloc(n * sizeof(T)));
	}
	void deallocate(T *p, size_t)
	{
		free(p);
	}
	bool operator==(const Plain &) const
	{
		return true;
	}
	bool operator!=(const Plain &) const
	{
		return false;
	}
};

using Text = std::basic_string<char, std::char_traits<char>, Plain<char>>;
template <typename T> using List = std::vector<T, Plain<T>>;

struct Shape {
	virtual ~Shape() = default;
	virtual void name(List<Text> &out, int depth) const = 0;
};

struct Leaf : Shape {
	int n;
	explicit Leaf(int i) : n(i) {}
	void name(List<Text> &out, int depth) const override
	{
		if (depth > 6)
			throw std::runtime_error("deep");
		out.push_back(Text("leaf ") + Text(static_cast<size_t>(n % 60), 'x'));
	}
};

struct Group : Shape {
	std::vector<std::unique_ptr<Shape>> kids;
	void name(List<Text> &out, int depth) const override
	{
		for (const auto &k : kids) {
			try {
				k->name(out, depth + 1);
			} catch (const std::exception &e) {
				out.push_back(Text(e.what()) + Text(40, '!'));
			}
		}
	}
};

static std::unique_ptr<Shape> make(int depth)
{
	auto g = std::make_unique<Group>();

	if (!depth)
		return std::make_unique<Leaf>(depth * 7 + 30);
	for (int i = 0; i < 2; i++)
		g->kids.push_back(make(depth - 1));
	return g;
}

static size_t work(int rounds)
{
	std::map<Text, int, std::less<Text>, Plain<std::pair<const Text, int>>> seen;
	size_t n = 0;

	for (int i = 0; i < rounds; i++) {
		List<Text> names;

		make(4 + i % 4)->name(names, 0);
		std::sort(names.begin(), names.end(), [](const Text &a, const Text &b) {
			return a + Text(30, 'a') < b + Text(30, 'b');
		});
		std::for_each(names.begin(), names.end(), [&](const Text &t) { seen[t]++; });
		n += seen.size();
	}
	return n;
}

int main()
{
	std::vector<std::thread> threads;
	size_t n = work(3);

	for (int i = 0; i < 2; i++)
		threads.emplace_back([] { work(1); });
	for (auto &t : threads)
		t.join();
	return n ? 0 : 1;
}
