// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// C++ functions for probes by their names there: namespaces, overloads, methods, templates,
// classes with bases, references. No header and no library of C++ is needed.

#define KEEP __attribute__((noinline, used))

static volatile long sink;

namespace shapes
{

enum class Tint : unsigned char { Red = 1, Blue = 2 };

struct Base {
	int id;
	long weight;
};

class Box : public Base
{
public:
	Box(int i, int w, int h) : width(w), height(h), tint(Tint::Blue)
	{
		id = i;
		weight = 1000;
	}
	KEEP int area(int times) const { sink = sink + times; return width * height * times + (int)tint; }
	KEEP static int make(int n) { sink = sink + n; return n; }

private:
	int width, height;
	Tint tint;
};

// A copy constructor of its own: passed by the address of a copy.
struct Owner {
	int value;
	Owner(int v) : value(v) {}
	Owner(const Owner &o) : value(o.value + 1) {}
};

KEEP int scale(int n)
{
	sink = sink + n;
	return n * 2;
}

KEEP int scale(const Box &b, long by)
{
	sink = sink + by;
	return b.id;
}

KEEP int consume(Owner o, int after)
{
	sink = sink + o.value;
	return after;
}

template <typename T> KEEP T twice(T v)
{
	sink = sink + (long)v;
	return v + v;
}

} // namespace shapes

int main()
{
	shapes::Box b(7, 3, 4);
	shapes::Owner o(50);

	sink = sink + b.area(2) + shapes::Box::make(9) + shapes::scale(5) + shapes::scale(b, 11);
	sink = sink + shapes::consume(o, 12) + shapes::twice(13) + shapes::twice(14L);
	return 0;
}
