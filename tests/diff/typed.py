# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Random scripts over every kind of value: records and tuples in each other, arrays, enums,
booleans, narrow integers, strings and what functions make of them, as variables, keys and values.

As in programs.py each piece is made together with what it does. A type is a tuple that begins
with its kind; a value is what Python has for it: int (by the type's sign), bool, str, tuple.
Expressions of integers stand for 64 bits whatever sign memtap gives them; what depends on the
sign is cast. What happens in a loop over a map does not depend on the order of its keys.
"""
import random

from diff.programs import DEPTH, INTS, State, Stop, divide, run_rounds, signed

S64, U64, BOOL, STR, ENUM = ("s64",), ("u64",), ("bool",), ("str",), ("enum",)
WORDS = ["", "a", "ab", "abc", "b", "memory", "cache line", "needle in hay", "x" * 70, "yz" * 160]
ENUMERATORS = {1: "RED", 5: "GREEN", 6: "BLUE", 1 << 30: "FAR"}
NARROW = [(8, False), (8, True), (16, False), (16, True), (32, False), (32, True)]

HEAD = """enum color { RED = 1, GREEN = 5, BLUE, FAR = 0x40000000 }
macro bump($v, by) { $v += by; $v }
macro twice($v, by) { bump($v, by) + bump($v, by) }
macro pick(c, a, b) { if (c) { a } else { b } }
macro put(@x, k, v) { @x[k] = v; @x[k] }
macro swap($a, $b) { let $c = $a; $a = $b; $b = $c; }
"""


def fit(v, bits, is_signed):
    v &= (1 << bits) - 1
    return v - (1 << bits) if is_signed and v >> (bits - 1) else v


def array(bits, is_signed, n):
    return ("array", bits, is_signed, n)


def tuple_of(types, names=None):
    return ("tuple", tuple(types), names and tuple(names))


def zero(t):
    if t[0] == "tuple":
        return tuple(zero(part) for part in t[1])
    if t[0] == "array":
        return (0,) * t[3]
    return {"bool": False, "str": ""}.get(t[0], 0)


def shown(t, v):
    """As %s prints it."""
    if t == BOOL:
        return "true" if v else "false"
    if t == ENUM:
        return ENUMERATORS.get(v, str(v))
    if t[0] == "array":
        return "[" + ",".join(str(x) for x in v) + "]"
    if t[0] == "tuple" and t[2]:
        return "{ " + ", ".join(f".{n} = {shown(p, x)}" for n, p, x in zip(t[2], t[1], v)) + " }"
    if t[0] == "tuple":
        return "(" + ", ".join(shown(p, x) for p, x in zip(t[1], v)) + ")"
    return str(v)


def to_array(t, v):
    return tuple(fit(v >> (i * t[1]), t[1], t[2]) for i in range(t[3]))


def of_array(t, v):
    return sum((x & ((1 << t[1]) - 1)) << (i * t[1]) for i, x in enumerate(v))


class Values(State):
    """What a script holds while it runs."""

    def __init__(self):
        super().__init__()
        self.maps = {}

    def map(self, name):
        return self.maps.setdefault(name, {})

    def udiv(self, a, b):
        if b == 0:
            self.errors += 1
            return 1
        return a // b

    def umod(self, a, b):
        if b == 0:
            self.errors += 1
            return 1
        return a % b


def tally(name, s, key, v):
    """@count[key] = count() and the like; a cell is (times, sum, least, largest)."""
    n, total, least, most = s.map(name).get(key, (0, 0, v, v))
    s.map(name)[key] = (n + 1, signed(total + v), min(least, v), max(most, v))


READ = {"@count": lambda c: c[0], "@sum": lambda c: c[1], "@min": lambda c: c[2],
        "@max": lambda c: c[3], "@avg": lambda c: divide(c[1], c[0])}


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.types = self.make_types()
        self.maps = {"@m": (S64, S64), "@t": (STR, S64), "@p": (self.types[0], S64),
                     "@v": (S64, self.types[1]), "@d": (S64, STR),
                     "@a": (self.types[2], self.types[2]),
                     "@r": (self.types[3], self.types[0])}
        self.leaves, self.count = [], 0
        self.ints, self.narrow = [], {}
        self.pure, self.banned = False, set()
        self.may_jump, self.loops = False, 0
        self.loops_left, self.branches_left = 2, 6

    def name(self, prefix):
        self.count += 1
        return "$%s%d" % (prefix, self.count)

    def pick(self, *options):
        return self.r.choice(options)

    def chance(self, p):
        return self.r.random() < p

    # ---- types ----------------------------------------------------------------------------------

    def type(self, depth):
        if depth == 0 or self.chance(0.5):
            return self.r.choice([S64, S64, U64, BOOL, STR, STR, ENUM])
        if self.chance(0.2):
            return self.array_type()
        parts = [self.type(depth - 1) for _ in range(self.r.randrange(1, 4))]
        return tuple_of(parts, "abcd"[:len(parts)] if self.chance(0.5) else None)

    def array_type(self):
        bits, n = self.pick((8, 4), (8, 8), (8, 2), (16, 4), (16, 2), (32, 2), (64, 1))
        return array(bits, self.chance(0.5), n)

    def make_types(self):
        """Two to four values of several types: what is in variables and maps."""
        parts = [tuple_of([self.type(2) for _ in range(self.r.randrange(2, 5))]) for _ in "ab"]
        record = tuple_of([self.type(2) for _ in "xyz"], "xyz")
        return parts + [self.array_type(), record]

    # ---- leaves: (type, text, fn) ---------------------------------------------------------------

    def parts(self, leaf):
        """A value and what it is made of."""
        t, text, fn = leaf
        found = [leaf]
        if t[0] == "tuple":
            for i, part in enumerate(t[1]):
                at = f".{t[2][i]}" if t[2] else self.pick(f".{i}", f"[{i}]")
                found += self.parts((part, text + at, lambda s, i=i: fn(s)[i]))
        return found

    def of_type(self, t):
        return [p for leaf in self.leaves for p in self.parts(leaf) if p[0] == t]

    def variable(self, t, prefix):
        v = self.name(prefix)
        self.leaves.append((t, v, lambda s: s.v[v]))
        return v

    # ---- integers -------------------------------------------------------------------------------

    def literal(self):
        v = self.r.choice(INTS)
        return self.pick(str(v), hex(v)), lambda s: v

    def leaf(self):
        kind = self.r.randrange(9)
        if kind < 2:
            return self.literal()
        if kind == 2 and "@n" not in self.banned:
            return "@n", lambda s: s.n
        if kind == 3 and "@m" not in self.banned:
            k, fk = self.literal()
            return f"@m[{k}]", lambda s: s.map("@m").get(fk(s), 0)
        if kind == 4:
            return self.aggregation()
        if kind == 5 and not self.pure:
            return self.stepped()
        found = self.of_type(self.pick(S64, S64, S64, U64, BOOL, ENUM))
        if not found:
            return self.literal()
        _, text, fn = self.r.choice(found)
        return text, lambda s: signed(int(fn(s)))

    def stepped(self):
        op = self.pick("++", "--")
        by = 1 if op == "++" else -1
        before = self.chance(0.5)
        v = self.r.choice(self.ints + list(self.narrow))
        width = self.narrow.get(v, (64, True))

        def run(s):
            old = s.v[v]
            s.v[v] = fit(old + by, *width)
            return s.v[v] if before else old
        return (f"({op}{v})" if before else f"({v}{op})"), run

    def aggregation(self):
        name = self.r.choice(list(READ))
        if name in self.banned:
            return self.literal()
        k = self.r.randrange(4)
        text = f"{name}[{k}]"
        if self.chance(0.3):
            text = f"(int64){text}"

        def run(s):
            cell = s.map(name).get(k)
            return READ[name](cell) if cell else 0
        return f"({text})", run

    def operator(self, depth):
        """Both sides cast to one sign: 64 bits of the language's rules."""
        a, fa = self.int(depth - 1)
        b, fb = self.int(depth - 1)
        op = self.pick("+", "-", "*", "&", "|", "^", "/", "%", "/", "%", ">>", "<<")
        if op in "+-*&|^":
            fn = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
                  "&": lambda x, y: x & y, "|": lambda x, y: x | y, "^": lambda x, y: x ^ y}[op]

            def plain(s):
                x = fa(s)
                return signed(fn(x, fb(s)))
            return f"({a} {op} {b})", plain
        bits = self.pick("int64", "uint64")
        narrow = (lambda v: v) if bits == "int64" else (lambda v: v & ((1 << 64) - 1))
        fn = {("/", "int64"): lambda s, x, y: s.div(x, y),
              ("%", "int64"): lambda s, x, y: s.mod(x, y),
              ("/", "uint64"): lambda s, x, y: s.udiv(x, y),
              ("%", "uint64"): lambda s, x, y: s.umod(x, y)}.get((op, bits))
        if op == ">>":
            fn = lambda s, x, y: x >> (y & 63)  # noqa: E731
        elif op == "<<":
            fn = lambda s, x, y: x << (y & 63)  # noqa: E731

        def run(s):
            x = narrow(fa(s))
            return signed(fn(s, x, narrow(fb(s))))
        return f"(({bits}){a} {op} ({bits}){b})", run

    def unary(self, depth):
        a, fa = self.int(depth - 1)
        op = self.pick("-", "~", "(int8)", "(uint8)", "(int16)", "(uint16)", "(int32)", "(uint32)")
        fn = {"-": lambda v: -v, "~": lambda v: ~v}.get(op)
        if not fn:
            minus, bits = op[1] == "i", int("".join(c for c in op if c.isdigit()))
            fn = lambda v: fit(v, bits, minus)  # noqa: E731
        return f"({op}{a})", lambda s: signed(fn(fa(s)))

    def choice(self, depth):
        c, fc = self.condition(depth - 1)
        a, fa = self.int(depth - 1)
        b, fb = self.int(depth - 1)
        text = self.pick(f"({c} ? {a} : {b})", f"(if ({c}) {{ {a} }} else {{ {b} }})",
                         f"pick({c}, {a}, {b})", "")
        if text:
            return text, lambda s: fa(s) if fc(s) else fb(s)

        def otherwise(s):
            x = fa(s)
            return x if x else fb(s)
        return f"({a} ?: {b})", otherwise

    def block(self, depth):
        a, fa = self.int(depth - 1)
        n = len(self.leaves)
        v = self.variable(S64, "l")
        b, fb = self.int(depth - 1)
        del self.leaves[n:]

        def run(s):
            s.v[v] = fa(s)
            return fb(s)
        return f"{{ let {v} = (int64){a}; {b} }}", run

    def macro(self, depth):
        v = self.r.choice(self.ints)
        e, fe = self.int(depth - 1)
        times = self.pick(1, 2)

        def run(s):
            total = 0
            for _ in range(times):
                by = fe(s)
                s.v[v] = signed(s.v[v] + by)
                total += s.v[v]
            return signed(total)
        if times == 2 or self.chance(0.7):
            return f"{'bump' if times == 1 else 'twice'}({v}, {e})", run
        k, fk = self.literal()

        def put(s):
            s.map("@m")[fk(s)] = x = fe(s)
            return x
        return f"put(@m, {k}, (int64){e})", put

    def of_text(self, depth):
        a, fa = self.text(1)
        b, fb = self.text(1)
        kind = self.r.randrange(4)
        if kind == 0:
            return f"strlen({a})", lambda s: len(fa(s))
        if kind == 1:
            def find(s):
                x = fa(s)
                return x.find(fb(s))
            return f"strstr({a}, {b})", find
        found = self.of_type(STR)
        if not found:
            return self.literal()
        _, text, fn = self.r.choice(found)
        if kind == 2:  # what is behind the end within the first is 0
            return f"{text}[0]", lambda s: ord((fn(s) + "\0")[0])
        i, fi = self.int(depth - 1)
        return f"{text}[{i} & 0]", lambda s: (ord((fn(s) + "\0")[0]), fi(s))[0]

    def of_arrays(self, depth):
        t = self.array_type() if self.chance(0.6) else self.types[2]
        a, fa = self.value(t, depth - 1)
        if self.chance(0.4):
            bits = t[1] * t[3]
            return f"((uint{bits}){a})", lambda s: signed(of_array(t, fa(s)))
        if self.chance(0.5):
            i = self.r.randrange(t[3])
            return f"{a}[{i}]", lambda s: signed(fa(s)[i])
        i, fi = self.int(depth - 1)

        def element(s):
            x = fa(s)
            return x[fi(s) & (t[3] - 1)]
        return f"{a}[{i} & {t[3] - 1}]", lambda s: signed(element(s))

    def int(self, depth):
        if depth <= 0:
            return self.leaf()
        kinds = [self.leaf, lambda: self.of_text(depth), lambda: self.of_arrays(depth)]
        kinds += [lambda: self.operator(depth)] * 4
        kinds += [lambda: self.unary(depth), lambda: self.choice(depth), lambda: self.block(depth)]
        if not self.pure:
            kinds += [lambda: self.macro(depth)]
        return self.r.choice(kinds)()

    # ---- truths ---------------------------------------------------------------------------------

    def comparison(self, depth):
        a, fa = self.int(depth - 1)
        b, fb = self.int(depth - 1)
        bits = self.pick("int64", "uint64")
        mask = (1 << 64) - 1
        op = self.pick("==", "!=", "<", "<=", ">", ">=")
        fn = {"==": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y,
              "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y}[op]

        def run(s):
            x, y = fa(s), fb(s)
            return fn(x, y) if bits == "int64" else fn(x & mask, y & mask)
        return f"(({bits}){a} {op} ({bits}){b})", run

    def same(self, depth):
        t = self.pick(STR, STR, BOOL, *self.types)
        a, fa = self.value(t, depth - 1)
        b, fb = self.value(t, depth - 1)
        op = self.pick("==", "!=")

        def run(s):
            x = fa(s)
            return (x == fb(s)) == (op == "==")
        return f"({a} {op} {b})", run

    def text_condition(self):
        a, fa = self.text(1)
        b, fb = self.text(1)
        n = self.r.randrange(1, 9)

        def cut(s):
            x, y = fa(s)[:n], fb(s)[:n]
            return x == y

        def contains(s):
            x = fa(s)
            return fb(s) in x
        return self.pick((f"strcontains({a}, {b})", contains),
                         (f"(strncmp({a}, {b}, {n}) == 0)", cut),
                         (f"(!strncmp({a}, {b}, {n}))", cut))

    def map_condition(self):
        k, fk = self.literal()
        name = self.pick("@m", "@d")
        if name in self.banned:
            return "true", lambda s: True
        if self.pure or self.chance(0.4):
            return f"has_key({name}, {k})", lambda s: fk(s) in s.map(name)
        if self.chance(0.5):
            return f"delete({name}, {k})", lambda s: s.map(name).pop(fk(s), None) is not None
        v = self.r.choice(self.ints)

        def find(s):
            x = s.map("@m").get(fk(s))
            if x is not None:
                s.v[v] = x
            return x is not None
        return f"find(@m, {k}, {v})", find

    def condition(self, depth):
        if depth <= 0:
            return self.pick(self.text_condition, self.map_condition, lambda: self.comparison(0))()
        kind = self.r.randrange(9)
        if kind < 3:
            return self.comparison(depth)
        if kind == 3:
            return self.same(depth)
        if kind == 4:
            return self.pick(self.text_condition, self.map_condition)()
        a, fa = self.condition(depth - 1)
        if kind == 5:
            return f"(!{a})", lambda s: not fa(s)
        if kind == 6:
            e, fe = self.int(depth - 1)
            return f"((bool){e})", lambda s: fe(s) != 0
        b, fb = self.condition(depth - 1)
        if kind == 7:
            return f"({a} && {b})", lambda s: fa(s) and fb(s)
        return f"({a} || {b})", lambda s: fa(s) or fb(s)

    # ---- other values ---------------------------------------------------------------------------

    def text(self, depth):
        w = self.r.choice(WORDS)
        if depth > 0 and self.chance(0.5):
            found = self.of_type(STR)
            if found:
                _, text, fn = self.r.choice(found)
                return text, fn
        if depth > 1 and self.chance(0.3):
            a, fa = self.text(1)
            b, fb = self.text(1)
            c, fc = self.condition(depth - 1)
            return f"({c} ? {a} : {b})", lambda s: fa(s) if fc(s) else fb(s)
        return f'"{w}"', lambda s: w

    def joined(self):
        """Its type is longer than its parts': nowhere else than where it is shown."""
        a, fa = self.text(1)
        b, fb = self.text(1)

        def run(s):
            x = fa(s)
            return x + fb(s)
        return f"str_concat({a}, {b})", run

    def made(self, t, depth):
        """A value of that type made of its parts."""
        if t[0] == "tuple":
            parts = [self.value(p, depth - 1) for p in t[1]]
            names = t[2] or [None] * len(parts)
            inside = ", ".join(f"{n} = {x[0]}" if n else x[0] for n, x in zip(names, parts))
            if len(parts) == 1:
                inside += "" if t[2] else ","
            return f"({inside})", lambda s: tuple(fn(s) for _, fn in parts)
        if t[0] == "array":
            e, fe = self.int(depth - 1)
            bits = t[1] * t[3]
            return f"(({'' if t[2] else 'u'}int{t[1]}[{t[3]}])(uint{bits}){e})", \
                lambda s: to_array(t, fe(s))
        if t == ENUM:
            if self.chance(0.5):
                v = self.r.choice(list(ENUMERATORS))
                return ENUMERATORS[v], lambda s: v
            e, fe = self.int(depth - 1)
            return f"((enum color){e})", lambda s: fe(s) & 0xffffffff
        if t == BOOL:
            return self.condition(depth - 1)
        if t == STR:
            return self.text(depth)
        e, fe = self.int(depth)
        if t == U64:
            return f"((uint64){e})", lambda s: fe(s) & ((1 << 64) - 1)
        return f"((int64){e})", fe

    def value(self, t, depth):
        kind = self.r.randrange(5)
        held = [m for m, (_, v) in self.maps.items() if v == t and m not in self.banned]
        found = self.of_type(t)
        if kind == 0 and found:
            _, text, fn = self.r.choice(found)
            return text, fn
        if kind == 1 and held and depth > 0:
            name = self.r.choice(held)
            k, fk = self.value(self.maps[name][0], 0)
            return f"{name}[{k}]", lambda s: s.map(name).get(fk(s), zero(t))
        if kind == 2 and depth > 1:
            c, fc = self.condition(depth - 1)
            a, fa = self.value(t, depth - 1)
            b, fb = self.value(t, depth - 1)
            text = self.pick(f"({c} ? {a} : {b})", f"(if ({c}) {{ {a} }} else {{ {b} }})")
            return text, lambda s: fa(s) if fc(s) else fb(s)
        return self.made(t, depth)

    # ---- statements: (text, fn) -----------------------------------------------------------------

    def assign(self):
        v = self.r.choice(self.ints + list(self.narrow))
        bits, minus = self.narrow.get(v, (64, True))
        e, fe = self.int(DEPTH)
        op = self.pick("", "", "+", "-", "*", "&", "|", "^", "/", "%", "<<", ">>")
        sign = "int64" if minus else "uint64"
        mask = (1 << 64) - 1
        fn = {"+": lambda s, x, y: x + y, "-": lambda s, x, y: x - y, "*": lambda s, x, y: x * y,
              "&": lambda s, x, y: x & y, "|": lambda s, x, y: x | y, "^": lambda s, x, y: x ^ y,
              "/": lambda s, x, y: s.div(x, y) if minus else s.udiv(x, y & mask),
              "%": lambda s, x, y: s.mod(x, y) if minus else s.umod(x, y & mask),
              "<<": lambda s, x, y: x << (y & 63), ">>": lambda s, x, y: x >> (y & 63),
              "": lambda s, x, y: y}[op]

        def run(s):
            y = fe(s)
            s.v[v] = fit(fn(s, s.v[v], y), bits, minus)
        return f"{v} {op}= ({sign}){e};", run

    def assign_any(self):
        t, text, _ = self.r.choice([leaf for leaf in self.leaves if leaf[0] not in (S64,)
                                    and leaf[1][0] == "$" and leaf[1][1] != "n"])
        e, fe = self.value(t, DEPTH)

        def run(s):
            s.v[text] = fe(s)
        return f"{text} = {e};", run

    def swap(self):
        a, b = self.r.sample(self.ints, 2)

        def run(s):
            s.v[a], s.v[b] = s.v[b], s.v[a]
        return f"swap({a}, {b});", run

    def step(self):
        text, fn = self.stepped()
        if self.chance(0.5):
            return text[1:-1] + ";", fn
        op, (k, fk) = self.pick("++", "--"), self.literal()
        by = 1 if op == "++" else -1

        def run(s):
            m = s.map("@m")
            m[fk(s)] = signed(m.get(fk(s), 0) + by)
        return f"@m[{k}]{op};", run

    def store(self):
        name = self.r.choice(list(self.maps))
        kt, vt = self.maps[name]
        e, fe = self.value(vt, 2)
        k, fk = self.value(kt, 1) if kt != S64 or self.chance(0.3) else self.literal()
        plus = vt == S64 and self.chance(0.4)

        def run(s):
            v, key = fe(s), fk(s)
            s.map(name)[key] = signed(s.map(name).get(key, 0) + v) if plus else v
        return f"{name}[{k}] {'+' if plus else ''}= {e};", run

    def tallies(self):
        name, k = self.r.choice(list(READ)), self.r.randrange(4)
        e, fe = self.int(2)
        if name == "@count":
            return f"@count[{k}] = count();", lambda s: tally(name, s, k, 0)
        # What is summed stays far from 64 bits.
        return f"{name}[{k}] = {name[1:]}((int32)({e}));", \
            lambda s: tally(name, s, k, fit(fe(s), 32, True))

    def delete(self):
        name = self.r.choice(list(self.maps))
        k, fk = self.value(self.maps[name][0], 1)

        def run(s):
            s.map(name).pop(fk(s), None)
        return self.pick(f"delete({name}[{k}]);", f"delete({name}, {k});"), run

    def show(self):
        shown_as = []
        for _ in range(self.r.randrange(1, 4)):
            t = self.pick(S64, S64, U64, STR, BOOL, ENUM, self.type(2), *self.types)
            if t[0] == "tuple" and t[2]:
                t = tuple_of([t, S64])  # a record alone is a row
            text, fn = self.value(t, DEPTH) if t != STR or self.chance(0.7) else self.joined()
            how = "%s"
            if t == S64:
                how = self.pick("%lld", "%d", "%s")
            shown_as.append((how, text, t, fn))

        def run(s):
            s.out.append("> " + "|".join(shown(t, fn(s)) for _, _, t, fn in shown_as))
        return 'printf("> ' + "|".join(x[0] for x in shown_as) + '\\n", ' + \
            ", ".join(x[1] for x in shown_as) + ");", run

    def if_(self, depth):
        self.branches_left -= 1
        c, fc = self.condition(2)
        a, fa = self.body(depth - 1)
        if self.chance(0.5):
            return f"if ({c}) {{ {a} }}", lambda s: fa(s) if fc(s) else None
        b, fb = self.body(depth - 1)
        if self.chance(0.3):
            d, fd = self.condition(1)
            e, fe = self.body(depth - 1)

            def three(s):
                if fc(s):
                    fa(s)
                elif fd(s):
                    fe(s)
                else:
                    fb(s)
            return f"if ({c}) {{ {a} }} else if ({d}) {{ {e} }} else {{ {b} }}", three
        return f"if ({c}) {{ {a} }} else {{ {b} }}", lambda s: (fa if fc(s) else fb)(s)

    def jump(self):
        word = self.pick("break", "continue", "return") if self.loops else "return"
        c, fc = self.condition(1)

        def run(s):
            if fc(s):
                raise Stop(word)
        return f"if ({c}) {{ {word}; }}", run

    # ---- loops ----------------------------------------------------------------------------------

    def loop(self, depth):
        self.loops += 1
        self.loops_left -= 1
        kind = self.pick("while", "unroll", "range", "range")
        n, outer = len(self.leaves), self.may_jump
        v, rounds = self.name("w"), self.r.randrange(1, 5)
        bound = [self.int(1), self.int(1)]
        self.may_jump = True
        if kind == "range":
            self.leaves.append((S64, v, lambda s: s.v[v]))
        text, fn = self.body(depth - 1)
        self.may_jump = outer
        del self.leaves[n:]
        self.loops -= 1

        def times(s):
            run_rounds(s, range(rounds), fn, lambda s, i: None)

        def between(s):
            a, b = bound[0][1](s) & 3, bound[1][1](s) & 7
            run_rounds(s, range(a, b), fn, lambda s, i: s.v.__setitem__(v, i))
        if kind == "unroll":
            return f"unroll({rounds}) {{ {text} }}", times
        if kind == "while":
            return f"{v} = 0; while ({v} < {rounds}) {{ {v}++; {text} }}", times
        return f"for ({v} : ({bound[0][0]} & 3)..({bound[1][0]} & 7)) {{ {text} }}", between

    def gather(self, acc, depth):
        """A statement that may run for the keys in any order."""
        kind = self.r.randrange(6 if depth else 3)
        if kind < 2:
            e, fe = self.int(2)
            op = self.pick("+", "^", "-")
            fn = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "^": lambda x, y: x ^ y}[op]

            def add(s):
                s.v[acc] = signed(fn(s.v[acc], fe(s)))
            return (f"{acc} {op}= {e};", add) if op != "^" else (f"@x ^= {e};", self.flip(fe))
        if kind == 2:
            k, fk = self.leaf()
            return f"@seen[{k} & 3] = count();", lambda s: tally("@seen", s, fk(s) & 3, 0)
        if kind == 3:
            c, fc = self.condition(1)

            def skip(s):
                if fc(s):
                    raise Stop("continue")
            return f"if ({c}) {{ continue; }}", skip
        if kind == 4:
            c, fc = self.condition(2)
            a, fa = self.gathered(acc, depth - 1)
            b, fb = self.gathered(acc, depth - 1)
            return f"if ({c}) {{ {a} }} else {{ {b} }}", lambda s: (fa if fc(s) else fb)(s)
        e, fe = self.int(1)
        n, v = len(self.leaves), self.name("w")
        self.leaves.append((S64, v, lambda s: s.v[v]))
        a, fa = self.gathered(acc, 0)
        del self.leaves[n:]
        return f"for ({v} : 0..({e} & 3)) {{ {a} }}", \
            lambda s: run_rounds(s, range(fe(s) & 3), fa, lambda s, i: s.v.__setitem__(v, i))

    @staticmethod
    def flip(fe):
        def run(s):
            s.v["@x"] = signed(s.v["@x"] ^ fe(s))
        return run

    def gathered(self, acc, depth):
        made = [self.gather(acc, depth) for _ in range(self.r.randrange(1, 4))]
        return "\n".join(x[0] for x in made), lambda s: [x[1](s) for x in made] and None

    def each(self):
        self.loops_left -= 1
        name = self.r.choice([m for m in self.maps if m not in self.banned])
        kt, vt = self.maps[name]
        acc, kv = self.name("z"), self.name("k")
        n = len(self.leaves)
        self.leaves.append((tuple_of([kt, vt]), kv, lambda s: s.v[kv]))
        remove = self.chance(0.3)
        self.pure, self.banned = True, {name} if remove else set()
        text, fn = self.gathered(acc, 2)
        if remove:
            text = f"delete({name}, {kv}.0);\n" + text if self.chance(0.5) else text
        del self.leaves[n:]
        self.pure, self.banned = False, set()
        removes = text.startswith("delete")

        def run(s):
            s.v[acc] = 0
            pairs = list(s.map(name).items())
            if removes:
                s.map(name).clear()
            run_rounds(s, pairs, fn, lambda s, p: s.v.__setitem__(kv, p))
            s.out.append(f"> {s.v[acc]} {s.v['@x']}")
        return (f'let {acc} : int64 = 0; for ({kv} : {name}) {{ {text} }} '
                f'printf("> %lld %lld\\n", {acc}, @x);'), run

    def first(self):
        """Leaves a loop over a map early."""
        name, most = self.r.choice(list(self.maps)), self.r.randrange(1, 4)
        v, kv = self.name("z"), self.name("k")

        def run(s):
            s.out.append(f"> {min(most, len(s.map(name)))} {len(s.map(name))}")
        return (f"{v} = 0; for ({kv} : {name}) {{ {v}++; if ({v} == {most}) {{ break; }} }} "
                f'printf("> %d %d\\n", {v}, len({name}));'), run

    def statement(self, depth):
        kinds = [self.assign, self.assign, self.assign_any, self.assign_any, self.store, self.store,
                 self.store, self.step, self.delete, self.tallies, self.swap, self.show, self.show]
        if depth > 0 and self.branches_left > 0:
            kinds += [lambda: self.if_(depth)] * 3
        if depth > 0 and self.loops_left > 0:
            kinds += [lambda: self.loop(depth)] * 2 + [self.each] * 2
        if not self.loops:
            kinds += [self.first]
        if self.may_jump:
            kinds += [self.jump]
        return self.r.choice(kinds)()

    def body(self, depth, n=None):
        n_leaves = len(self.leaves)
        made = [self.statement(depth) for _ in range(n or self.r.randrange(1, 4))]
        del self.leaves[n_leaves:]

        def run(s):
            for _, fn in made:
                fn(s)
        return "\n".join(text for text, _ in made), run

    # ---- a script -------------------------------------------------------------------------------

    def variables(self):
        """Their first values: (text, fn)."""
        self.leaves, self.ints, self.narrow = [], [], {}
        made = []
        for _ in range(self.pick(3, 3, 12)):
            v = self.variable(S64, "i")
            self.ints.append(v)
            made.append((v, "", self.literal()))
        for bits, minus in self.r.sample(NARROW, 2):
            v = self.variable(S64, "n")
            self.narrow[v] = (bits, minus)
            e, value = self.literal()
            made.append((v, f"{'' if minus else 'u'}int{bits}",
                         (e, lambda s, f=value, t=(bits, minus): fit(f(s), *t))))
        for t in [BOOL, STR, STR, ENUM] + self.types:
            first = self.value(t, 2)  # of what there is before it
            made.append((self.variable(t, "v"), "", first))
        text = [f"let {v} : {t} = {e[0]};" if t else f"{v} = {'(int64)' * (v[1] == 'i')}{e[0]};"
                for v, t, e in made]

        def run(s):
            for v, _, (_, fn) in made:
                s.v[v] = fn(s)
        return "\n".join(text), run

    def probe(self, n):
        start, begin = self.variables()
        self.may_jump = False
        if self.chance(0.3):
            self.may_jump = True
        body, run = self.body(DEPTH, n)
        self.may_jump = False

        def whole(s):
            begin(s)
            try:
                run(s)
            except Stop:
                pass
        return f"{start}\n{body}\n", whole


def declared(maker):
    """Each map's types, known before the first probe uses them."""
    made = []
    for name, (kt, vt) in maker.maps.items():
        maker.leaves, maker.pure = [], True
        maker.banned = set(maker.maps) | set(READ) | {"@n"}
        k, fk = maker.made(kt, 1)
        v, fv = maker.made(vt, 1)
        maker.pure, maker.banned = False, set()
        made.append((name, fk, fv))
        yield f"{name}[{k}] = {v};", lambda s, name=name, fk=fk, fv=fv: \
            s.map(name).__setitem__(fk(s), fv(s))


def make(seed):
    """(script, lines it must print, divisions by zero on the way)."""
    m = Maker(seed)
    s = Values()
    s.v["@x"] = 0
    first = list(declared(m))
    probes = [m.probe(m.r.randrange(2, 8)) for _ in range(m.pick(1, 1, 2))]
    m.loops_left, m.branches_left = 1, 2
    last = m.probe(2)
    tail = "".join(f"{name}[0] = {name[1:]}({'' if name == '@count' else '(int32)1'});\n"
                   for name in READ)
    for _, fn in first:
        fn(s)
    for name in READ:
        tally(name, s, 0, 0 if name == "@count" else 1)
    tally("@seen", s, 0, 0)
    for _, fn in probes:
        fn(s)
    last[1](s)
    script = HEAD + "BEGIN {\n@n = 0; @x = 0; @seen[0] = count();\n" + \
        "\n".join(text for text, _ in first) + "\n" + tail + "}\n" + \
        "".join(f"BEGIN {{\n{text}}}\n" for text, _ in probes) + \
        f"END {{\n{last[0]}" + "".join(f"clear({n});" for n in list(m.maps) + list(READ)) + \
        "clear(@n); clear(@x); clear(@seen);\n}\n"
    return script, s.out, s.errors
