# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Random well-typed scripts over integers, strings, tuples, maps and control flow.

Each piece is made together with what it does: `Maker` writes text and a tree of closures at the
same time, and the closures run on a `State` by the language's rules. So a script comes with the
lines it must print, worked out by nothing that memtap is made of.

Two levels: an `old` script keeps to what Debian's bpftrace 0.17 has and computes as memtap does
(no negative divisions, no `>>` of negative numbers, no division by zero, no casts: 0.17 takes
(uint16)65535 for -1); a `new` one uses all.
What is compared are the lines that begin with "> ".
"""
import random

MASK = (1 << 64) - 1
WORDS = ["", "a", "ab", "abc", "b", "memory", "cache", "cache line", "needle in hay"]
# 0.17 copies a string of another length with the wrong size.
OLD_WORDS = ["abc", "abd", "hay", "mem", "xyz"]
INTS = [0, 1, 2, 3, 7, 8, 10, 63, 64, 100, 255, 256, 1000, 65535, 65536, 1 << 31, (1 << 32) + 5]
DEPTH = 3


class Stop(Exception):
    """break, continue or return in a script."""


def run_rounds(s, values, fn, before):
    """The body `fn` of a loop, behind `before`, for each value."""
    for value in values:
        before(s, value)
        try:
            fn(s)
        except Stop as e:
            if e.args[0] == "break":
                break
            if e.args[0] == "return":
                raise


def signed(v):
    v &= MASK
    return v - (1 << 64) if v >> 63 else v


def divide(a, b):
    q = abs(a) // abs(b)
    return signed(q if (a < 0) == (b < 0) else -q)


class State:
    def __init__(self):
        self.v = {}
        self.maps = {"@m": {}, "@t": {}, "@p": {}, "@c": {}}
        self.n = 0
        self.out = []
        self.errors = 0

    def div(self, a, b):
        if b == 0:
            self.errors += 1
            return 1
        return divide(a, b)

    def mod(self, a, b):
        if b == 0:
            self.errors += 1
            return 1
        return signed(a - b * divide(a, b)) if b != -1 else 0


class Maker:
    def __init__(self, seed, old):
        self.r = random.Random(seed)
        self.old = old
        self.ints = ["$i%d" % i for i in range(4)]  # assigned at the start
        self.strs = ["$s0", "$s1"]
        self.words = OLD_WORDS if old else WORDS
        self.loops = 0  # enclosing
        self.may_jump = False
        # The kernel's checker follows every path through loops and branches.
        self.loops_left, self.branches_left = 2, 5
        self.count = 0  # names of loop counters and locals

    def name(self, prefix):
        self.count += 1
        return "$%s%d" % (prefix, self.count)

    def pick(self, *options):
        return self.r.choice(options)

    # ---- integers: (text, fn(state) -> int) ------------------------------------------------------

    def literal(self):
        v = self.r.choice(INTS)
        return str(v), lambda s: v

    def leaf(self):
        kind = self.r.randrange(8)
        if kind < 3:
            return self.literal()
        if kind == 3:
            return "@n", lambda s: s.n
        if kind == 4:
            k, fk = self.literal()
            return f"@m[{k}]", lambda s: s.maps["@m"].get(fk(s), 0)
        if kind == 5:
            k, fk = self.string(0)
            return f"@t[{k}]", lambda s: s.maps["@t"].get(fk(s), 0)
        v = self.r.choice(self.ints)
        return v, lambda s: s.v[v]

    def divided(self, depth):
        a, fa = self.expr(depth - 1)
        b, fb = self.expr(depth - 1)
        op = self.pick("/", "%")
        if self.old:
            a, fa2 = f"({a} & 0xffffff)", fa
            b, fb2 = f"(({b} & 0xff) + 1)", fb
            if op == "/":
                return f"({a} / {b})", lambda s: (fa2(s) & 0xffffff) // ((fb2(s) & 0xff) + 1)
            return f"({a} % {b})", lambda s: (fa2(s) & 0xffffff) % ((fb2(s) & 0xff) + 1)
        if op == "/":
            return f"({a} / {b})", lambda s: s.div(fa(s), fb(s))
        return f"({a} % {b})", lambda s: s.mod(fa(s), fb(s))

    def binary(self, depth):
        op = self.pick("+", "-", "*", "&", "|", "^")
        a, fa = self.expr(depth - 1)
        b, fb = self.expr(depth - 1)
        fn = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
              "&": lambda x, y: x & y, "|": lambda x, y: x | y, "^": lambda x, y: x ^ y}[op]

        def run(s):
            x = fa(s)
            return signed(fn(x, fb(s)))
        return f"({a} {op} {b})", run

    def shift(self, depth):
        a, fa = self.expr(depth - 1)
        by = self.r.randrange(20)
        if self.r.random() < 0.5:
            return f"({a} << {by})", lambda s: signed(fa(s) << by)
        if self.old:
            return f"(({a} & 0xffffffff) >> {by})", lambda s: (fa(s) & 0xffffffff) >> by
        return f"({a} >> {by})", lambda s: fa(s) >> by

    def cast(self, depth):
        bits, minus = self.pick(8, 16, 32), self.r.random() < 0.5
        a, fa = self.expr(depth - 1)

        def run(s):
            v = fa(s) & ((1 << bits) - 1)
            return v - (1 << bits) if minus and v >> (bits - 1) else v
        # 64 bits again: 0.17 computes in the narrow type
        return f"((int64)({'' if minus else 'u'}int{bits}){a})", run

    def ternary(self, depth):
        c, fc = self.condition(depth - 1)
        a, fa = self.expr(depth - 1)
        b, fb = self.expr(depth - 1)
        text = self.pick(f"({c} ? {a} : {b})", f"if ({c}) {{ {a} }} else {{ {b} }}",
                         f"pick({c}, {a}, {b})")
        if self.old:
            text = f"({c} ? {a} : {b})"
        return f"({text})" if text[0] == "i" else text, lambda s: fa(s) if fc(s) else fb(s)

    def block(self, depth):
        v = self.name("l")
        a, fa = self.expr(depth - 1)
        self.ints.append(v)
        b, fb = self.expr(depth - 1)
        self.ints.remove(v)

        def run(s):
            s.v[v] = fa(s)
            return fb(s)
        return f"{{ let {v} = {a}; {b} }}", run

    def text_number(self):
        a, fa = self.string(1)
        b = self.r.choice(self.words[1:])
        kind = self.r.randrange(3)
        if kind == 0:
            return f"strlen({a})", lambda s: len(fa(s))
        if kind == 1:
            return f'strstr({a}, "{b}")', lambda s: fa(s).find(b)
        v = self.r.choice(self.strs)
        return f"strstr({a}, {v})", lambda s: fa(s).find(s.v[v])

    def expr(self, depth):
        if depth <= 0:
            return self.leaf()
        kinds = [self.leaf, lambda: self.binary(depth), lambda: self.binary(depth),
                 lambda: self.divided(depth), lambda: self.shift(depth),
                 lambda: self.ternary(depth)]
        if not self.old:
            kinds += [lambda: self.cast(depth), lambda: self.block(depth), self.text_number,
                      self.tuple_part, self.aggregation]
        return self.r.choice(kinds)()

    def tuple_part(self):
        a, fa = self.expr(0)
        b, fb = self.expr(0)
        if self.r.random() < 0.5:
            return f"({a}, {b}).1", lambda s: (fa(s), fb(s))[1]
        return f"({a}, (\"x\", {b})).1.1", lambda s: (fa(s), fb(s))[1]

    def aggregation(self):
        k, fk = self.literal()
        return self.pick(f"(len(@m) * 0 + @c[{k}])", f"@c[{k}]"), \
            lambda s: s.maps["@c"].get(fk(s), 0)

    # ---- truths ---------------------------------------------------------------------------------

    def condition(self, depth):
        kind = self.r.randrange(6 if depth > 0 else 3)
        if kind == 0:
            a, fa = self.string(1)
            b, fb = self.string(1)
            op = self.pick("==", "!=")
            return f"({a} {op} {b})", lambda s: (fa(s) == fb(s)) == (op == "==")
        if kind == 3:
            a, fa = self.condition(depth - 1)
            return f"(!{a})", lambda s: not fa(s)
        if kind >= 4:
            a, fa = self.condition(depth - 1)
            b, fb = self.condition(depth - 1)
            if kind == 4:
                return f"({a} && {b})", lambda s: fa(s) and fb(s)
            return f"({a} || {b})", lambda s: fa(s) or fb(s)
        a, fa = self.expr(depth - 1)
        b, fb = self.expr(depth - 1)
        op = self.pick("==", "!=", "<", "<=", ">", ">=")
        fn = {"==": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y,
              "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y}[op]

        def run(s):
            x = fa(s)
            return fn(x, fb(s))
        return f"({a} {op} {b})", run

    # ---- strings --------------------------------------------------------------------------------

    def string(self, depth):
        if depth > 0 and self.r.random() < 0.6:
            v = self.r.choice(self.strs)
            return v, lambda s: s.v[v]
        w = self.r.choice(self.words)
        if depth > 1 and self.r.random() < 0.3 and not self.old:
            c, fc = self.condition(depth - 1)
            a, fa = self.string(depth - 1)
            return f"({c} ? {a} : \"{w}\")", lambda s: fa(s) if fc(s) else w
        return f'"{w}"', lambda s: w

    # ---- statements: (text, fn(state)) -------------------------------------------------------

    def assign(self):
        v = self.r.choice(self.ints[:4])
        e, fe = self.expr(DEPTH)
        op = self.pick("", "", "+", "-", "*", "&", "|", "^")
        fn = {"": lambda x, y: y, "+": lambda x, y: x + y, "-": lambda x, y: x - y,
              "*": lambda x, y: x * y, "&": lambda x, y: x & y, "|": lambda x, y: x | y,
              "^": lambda x, y: x ^ y}[op]

        def run(s):
            y = fe(s)
            s.v[v] = signed(fn(s.v[v], y))
        return f"{v} {op}= {e};", run

    def assign_string(self):
        v = self.r.choice(self.strs)
        e, fe = self.string(2)

        def run(s):
            s.v[v] = fe(s)
        return f"{v} = {e};", run

    def step(self):
        op = self.pick("++", "--")
        by = 1 if op == "++" else -1
        if self.r.random() < 0.5:
            v = self.r.choice(self.ints[:4])

            def run(s):
                s.v[v] = signed(s.v[v] + by)
            return self.pick(f"{v}{op};", f"{op}{v};"), run

        def run_map(s):
            s.n = signed(s.n + by)
        return f"@n{op};", run_map

    def store(self):
        e, fe = self.expr(2)
        if self.r.random() < 0.3:
            def run_n(s):
                s.n = fe(s)
            return f"@n = {e};", run_n
        which = self.pick("@m", "@t", "@p")
        if which == "@m":
            k, fk = self.expr(1) if self.r.random() < 0.5 else self.literal()
        elif which == "@t":
            k, fk = self.string(1)
        else:
            a, fa = self.literal()
            b, fb = self.string(1)
            k, fk = f"{a}, {b}", lambda s: (fa(s), fb(s))
        plus = self.r.random() < 0.4

        def run(s):
            m = s.maps[which]
            v = fe(s)
            key = fk(s)
            m[key] = signed((m.get(key, 0) if plus else 0) + v)
        return f"{which}[{k}] {'+' if plus else ''}= {e};", run

    def tally(self):
        k, fk = self.literal()

        def run(s):
            key = fk(s)
            s.maps["@c"][key] = s.maps["@c"].get(key, 0) + 1
        return f"@c[{k}] = count();", run

    def delete(self):
        k, fk = self.literal()

        def run(s):
            s.maps["@m"].pop(fk(s), None)
        if self.old:
            return f"delete(@m[{k}]);", run
        return self.pick(f"delete(@m[{k}]);", f"delete(@m, {k});"), run

    def show(self):
        e, fe = self.expr(DEPTH)
        w, fw = self.string(1)

        def run(s):
            v = fe(s)
            s.out.append(f"> {v} {fw(s)}")
        return f'printf("> %lld %s\\n", {e}, {w});', run

    def show_tuple(self):
        e, fe = self.expr(1)
        w, fw = self.string(1)
        v = self.name("t")

        def run(s):
            s.out.append(f"> {fe(s)}|{fw(s)}")
        return f'{v} = ({e}, {w}); printf("> %lld|%s\\n", {v}.0, {v}.1);', run

    def show_kept(self):
        """What a map holds and whether."""
        k, fk = self.literal()

        def run(s):
            key = fk(s)
            has = key in s.maps["@m"]
            s.out.append(f"> {int(has)} {len(s.maps['@m'])} {s.maps['@m'].get(key, 0)}")
        return f'printf("> %d %d %lld\\n", has_key(@m, {k}), len(@m), @m[{k}]);', run

    def find(self):
        k, fk = self.literal()
        v = self.r.choice(self.ints[:4])

        def run(s):
            key = fk(s)
            if key in s.maps["@m"]:
                s.v[v] = s.maps["@m"][key]
                s.out.append("> found")
        return f'if (find(@m, {k}, {v})) {{ printf("> found\\n"); }}', run

    def sum_map(self):
        def run(s):
            s.out.append(f"> {signed(sum(s.maps['@m'].values()))}")
        v, kv = self.name("z"), self.name("k")
        return (f'let {v} = 0; for ({kv} : @m) {{ {v} += {kv}.1; }} '
                f'printf("> %lld\\n", {v});'), run

    def bump(self):
        v = self.r.choice(self.ints[:4])
        e, fe = self.expr(1)

        def run(s):
            s.v[v] = signed(s.v[v] + fe(s))
            s.out.append(f"> {s.v[v]}")
        return f'printf("> %lld\\n", bump({v}, {e}));', run

    def if_(self, depth):
        self.branches_left -= 1
        c, fc = self.condition(2)
        a, fa = self.body(depth - 1)
        if self.r.random() < 0.5:
            b, fb = self.body(depth - 1)
        else:
            b, fb = None, lambda s: None

        def run(s):
            (fa if fc(s) else fb)(s)
        return f"if ({c}) {{ {a} }}" + (f" else {{ {b} }}" if b is not None else ""), run

    def jump(self):
        word = self.pick("break", "continue")
        c, fc = self.condition(1)

        def run(s):
            if fc(s):
                raise Stop(word)
        return f"if ({c}) {{ {word}; }}", run

    def repeat(self, rounds, fn, before=lambda s, i: None):
        return lambda s: run_rounds(s, range(rounds), fn, before)

    def loop(self, depth):
        self.loops += 1
        self.loops_left -= 1
        kind = self.pick("while", "unroll") if self.old else self.pick("while", "unroll", "range")
        rounds = self.r.randrange(1, 5)
        v = self.name("w")
        outer, self.may_jump = self.may_jump, not (self.old and kind == "unroll")
        if kind == "range":
            self.ints.append(v)
        text, fn = self.body(depth - 1)
        self.may_jump = outer
        if kind == "range":
            self.ints.remove(v)
        self.loops -= 1
        if kind == "unroll":
            return f"unroll({rounds}) {{ {text} }}", self.repeat(rounds, fn)
        if kind == "while":
            return f"{v} = 0; while ({v} < {rounds}) {{ {v}++; {text} }}", \
                self.repeat(rounds, fn)
        start = self.r.randrange(-3, 4)
        return f"for ({v} : {start}..{start + rounds}) {{ {text} }}", \
            self.repeat(rounds, fn, lambda s, i: s.v.__setitem__(v, start + i))

    def statement(self, depth):
        kinds = [self.assign, self.assign, self.assign_string, self.step, self.store, self.store,
                 self.delete, self.show, self.show_tuple]
        if not self.old:
            kinds += [self.show_kept, self.find, self.bump, self.tally]
            if not self.loops:
                kinds += [self.sum_map]
        if depth > 0 and self.branches_left > 0:
            kinds += [lambda: self.if_(depth)] * 3
        if depth > 0 and self.loops_left > 0:
            kinds += [lambda: self.loop(depth)] * 2
        if self.may_jump:
            kinds += [self.jump]
        return self.r.choice(kinds)()

    def body(self, depth, n=None):
        made = [self.statement(depth) for _ in range(n or self.r.randrange(1, 4))]

        def run(s):
            for _, fn in made:
                fn(s)
        return "\n".join(text for text, _ in made), run


MACROS = """macro bump($v, by) { $v += by; $v }
macro pick(c, a, b) { if (c) { a } else { b } }
"""


def make(seed, old):
    """(script, lines it must print, divisions by zero on the way)."""
    m = Maker(seed, old)
    s = State()
    start = []
    for v in m.ints:
        value = m.r.choice(INTS)
        s.v[v] = value
        start.append(f"{v} = (int64){value};")
    for v in m.strs:
        s.v[v] = m.r.choice(m.words)
        start.append(f'{v} = "{m.words[-1]}"; {v} = "{s.v[v]}";')
    long = m.words[-1]
    start.append(f'@n = 0; @m[0] = 0; delete(@m[0]); @t["{long}"] = 0; delete(@t["{long}"]); '
                 f'@p[0, "{long}"] = 0;')
    if not old:
        start.append("@c[0] = count(); ")
        s.maps["@c"][0] = 1
    text, run = m.body(DEPTH, m.r.randrange(6, 14))
    try:
        run(s)
    except Stop:
        pass
    end = "clear(@m); clear(@t); clear(@p);" + ("" if old else " clear(@c);")
    script = ("" if old else MACROS) + "BEGIN {\n" + "\n".join(start) + "\n" + text + \
        f"\n{end}\nexit();\n}}\n"
    return script, s.out, s.errors
