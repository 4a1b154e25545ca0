# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every operator over every pair of integer types and their edge values, as constants (which are
folded), as variables (which the program computes), mixed, and as the value of a #define.

What must come out is worked out here, by the rules as src/lang/infer/number.h states them and by
nothing that memtap is made of. Scripts print in a fixed order; each line stands for a pair of
operands.
"""
import operator
import random
import subprocess

TYPES = {f"{'' if s else 'u'}int{bits}": (bits, s)
         for bits in (8, 16, 32, 64) for s in (True, False)}
LITERALS = ["0", "1", "5", "63", "64", "255", "2147483648", "9223372036854775807",
            "9223372036854775808", "18446744073709551615", "-1", "-5", "-9223372036854775808",
            "1u", "64u"]
COMPARE = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
           ">": operator.gt, ">=": operator.ge}
BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
ARITHMETIC = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]
OPS = ARITHMETIC + list(COMPARE) + ["&&", "||"]
MASK = (1 << 64) - 1
LINES = 60         # pairs of operands in one program


def wrapped(v, bits, signed):
    v &= (1 << bits) - 1
    return v - (1 << bits) if signed and v >> (bits - 1) else v


class Number:
    """A value, the size and sign of its type (size 1: bool), whether it is known while compiling
    and whether the script says its type."""

    def __init__(self, v, bits, signed, known, typed):
        self.bits, self.signed, self.known, self.typed = bits, signed, known, typed
        self.v = int(v != 0) if bits == 1 else wrapped(v, bits, signed)

    def is_free(self):
        return self.known and not self.typed and self.v >= 0 and self.v < 1 << 63

    def has_sign(self):
        return self.signed and not self.is_free()

    def fits(self):
        return self.signed or self.bits < 64 or self.is_free()

    def read(self, signed):
        return wrapped(self.v, 64, signed)

    def text(self):
        return ("false", "true")[self.v] if self.bits == 1 else str(self.v)


def sign_of(op, a, b):
    if op == "-":
        return True
    if op in ("<<", ">>"):
        return a.signed
    if a.is_free() and b.is_free():
        return a.signed and b.signed
    return a.has_sign() or b.has_sign()


def quotient(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def binary(op, a, b, errors):
    """errors: a list that grows by one for each division by zero."""
    signed = a.fits() and b.fits() and (a.signed or b.signed)
    x, y = a.read(signed), b.read(signed)
    known, typed = a.known and b.known, a.typed or b.typed
    if op in COMPARE:
        return Number(COMPARE[op](x, y), 1, False, known, typed)
    if op in ("&&", "||"):
        return Number((x and y) if op == "&&" else (x or y), 1, False, known, typed)
    if op in "/%" and y == 0:
        errors.append(op)
        known, v = False, 1
    elif op in "/%":
        q = quotient(x, y)
        v = q if op == "/" else x - y * q
    elif op == "<<":
        v = x << (y & 63)
    elif op == ">>":
        v = a.read(a.signed) >> (y & 63)
    else:
        v = {"+": x + y, "-": x - y, "*": x * y}[op] if op in "+-*" else BITS[op](x, y)
    return Number(v, 64, sign_of(op, a, b), known, typed)


def unary(op, a):
    if op == "!":
        return Number(not a.v, 1, False, a.known, a.typed)
    v = -a.v if op == "-" else ~a.v
    return Number(v, 64, op == "-", a.known, a.typed or op == "~")


def choice(a, b):
    """The value a of a variable condition ? a : b."""
    if a.bits == 1 and b.bits == 1:
        return Number(a.v, 1, False, False, False)
    signed = a.signed or b.signed
    if a.is_free() != b.is_free():
        signed = (b if a.is_free() else a).signed
    return Number(a.v, 64, signed, False, False)


class Operand:
    """How it is written, and what it is as a constant and in a variable. in_c: C's constant
    expressions have it too."""

    def __init__(self, text, constant, variable=None, in_c=True):
        self.text, self.constant, self.variable, self.in_c = text, constant, variable, in_c

    def forms(self):
        return ["constant", "variable"] if self.variable else ["constant"]

    def name(self, side):
        return f"${side}_{self.variable}"

    def write(self, form, side):
        return self.text if form == "constant" else self.name(side)

    def number(self, form):
        n = self.constant
        return n if form == "constant" else Number(n.v, n.bits, n.signed, False, False)


def typed(name, v):
    if name == "bool":
        return Operand("true" if v else "false", Number(v, 1, False, True, False), name, False)
    bits, signed = TYPES[name]
    return Operand(f"({name}){v}", Number(v, bits, signed, True, True), name)


def literal(text):
    v = int(text.rstrip("u"))
    unsigned = text.endswith("u") or v >= 1 << 63
    typed_too = unsigned or v == -1 << 63  # 9223372036854775808 with a sign before it
    return Operand(f"({text})" if v < 0 else text, Number(v, 64, not unsigned, True, typed_too))


def edges(bits, signed):
    if signed:
        return [-1 << (bits - 1), -8, -1, 0, 1, 7, (1 << (bits - 1)) - 1]
    return [0, 1, 7, 1 << (bits - 1), (1 << bits) - 1]


def operands():
    found = [typed(name, v) for name, t in TYPES.items() for v in edges(*t)]
    found += [typed("bool", v) for v in (0, 1)] + [literal(text) for text in LITERALS]
    return found + [Operand("sizeof(uint64)", Number(8, 64, False, True, False), in_c=False)]


class Script:
    def __init__(self, what):
        self.what, self.head, self.body, self.want, self.errors = what, [], [], [], []
        self.set = {}

    def var(self, name, text):
        if self.set.get(name) != text:
            self.body.append(f"{name} = {text};")
            self.set[name] = text

    def line(self, label, texts, numbers):
        formats = " ".join(["%s"] * len(texts))
        self.body.append(f'printf("> {label} {formats}\\n", {", ".join(texts)});')
        self.want.append(f"> {label} " + " ".join(n.text() for n in numbers))

    def next_probe(self):
        self.body.append("}\nBEGIN {")
        self.set.clear()

    def text(self):
        return "\n".join(self.head + ["BEGIN {"] + self.body + ["}"]) + "\n"


def pair(s, number, a, b):
    """One line: all operators in all forms of the operands; constants by way of #define too."""
    texts, values = [], []
    for o, side in ((a, "l"), (b, "r")):
        if o.variable:
            s.var(o.name(side), o.text)
    for fa in a.forms():
        for fb in b.forms():
            for i, op in enumerate(OPS):
                text = f"{a.write(fa, 'l')} {op} {b.write(fb, 'r')}"
                if fa == fb == "constant" and a.in_c and b.in_c:
                    s.head.append(f"#define M{number}_{i} ({text})")
                    texts.append(f"M{number}_{i}")
                    n = binary(op, a.number(fa), b.number(fb), s.errors)
                    # In C a truth is an int.
                    values.append(Number(n.v, 64, True, True, False) if n.bits == 1 else n)
                texts.append(text)
                values.append(binary(op, a.number(fa), b.number(fb), s.errors))
    for at in range(0, len(texts), 30):
        s.line(f"{a.text} {b.text} {at}", texts[at:at + 30], values[at:at + 30])


def pairs(chosen):
    """Scripts for pairs (number, a, b)."""
    for at in range(0, len(chosen), LINES):
        s = Script(f"pairs from {at}")
        for number, a, b in chosen[at:at + LINES]:
            pair(s, number, a, b)
        yield s


def compound_line(s, prefix, ops, left, a, right, b):
    """`prefix`_0 and so on are `a` and change by `b`, each by one operator."""
    r = typed(right, b)
    s.var(r.name("r"), r.text)
    names, values = [], []
    for i, op in enumerate(ops):
        # The variable takes the type that both values of it have, and computes in it.
        old = Number(a, 64, TYPES[left][1], False, False)
        both = old.signed or sign_of(op, old, r.number("variable"))
        new = binary(op, Number(a, 64, both, False, False), r.number("variable"), s.errors)
        names.append(f"{prefix}_{i}")
        s.body.append(f"{names[-1]} = ({left}){a};")
        s.body.append(f"{names[-1]} {op}= {r.name('r') if (a ^ b) & 1 else r.text};")
        values.append(Number(new.v, 64, both, False, False))
    s.line(f"{left} {a} {right} {b}", names, values)


def compound():
    """$c op= r and @c op= r."""
    for left, bounds in TYPES.items():
        s = Script(f"{left} op= ...")
        for right in TYPES:
            for a in edges(*bounds):
                for b in edges(*TYPES[right]):
                    compound_line(s, "$c", ARITHMETIC, left, a, right, b)
            if bounds[0] >= 32 and TYPES[right][0] == 64:
                for a, b in zip(edges(*bounds), edges(*TYPES[right])):
                    compound_line(s, f"@c_{right}", ["/", "%", ">>", "<<", "-"], left, a, right, b)
            s.next_probe()
        yield s


def singles():
    """- ~ ! and casts of everything, and c ? a : b."""
    s = Script("unary operators, casts, conditions")
    s.var("$yes", "nsecs > 0")
    all_of = operands()
    for n, a in enumerate(all_of):
        texts, values = [], []
        if a.variable:
            s.var(a.name("l"), a.text)
        for form in a.forms():
            e, v = a.write(form, "l"), a.number(form)
            texts += [f"{op}{e}" for op in "-~!"] + [f"({t}){e}" for t in TYPES] + [f"(bool){e}"]
            values += [unary(op, v) for op in "-~!"]
            values += [Number(v.v, *t, False, True) for t in TYPES.values()]
            values += [Number(v.v, 1, False, False, True)]
            for b in all_of[n % 7::7]:
                texts.append(f"($yes ? {e} : {b.text})")
                values.append(choice(v, b.number("constant")))
        s.line(a.text, texts, values)
    yield s


class Tree:
    """A random expression, written in one form and computed beside it."""

    def __init__(self, r, leaves, s):
        self.r, self.leaves, self.s = r, leaves, s

    def make(self, depth):
        """(operator or operand, parts)"""
        if depth == 0 or self.r.random() < 0.2:
            return self.r.choice(self.leaves), ()
        kind = self.r.choice(["binary"] * 6 + ["unary", "cast"])
        if kind == "binary":
            return self.r.choice(OPS[:16]), (self.make(depth - 1), self.make(depth - 1))
        what = self.r.choice("-~!" if kind == "unary" else list(TYPES))
        return what, (self.make(depth - 1),)

    def show(self, tree, form):
        """The text and the number."""
        what, parts = tree
        if not parts:
            form = self.r.choice(what.forms()) if form == "mixed" else form
            form = form if form in what.forms() else "constant"
            return what.write(form, "l"), what.number(form)
        shown = [self.show(p, form) for p in parts]
        if len(shown) == 2:
            (a, x), (b, y) = shown
            return f"({a} {what} {b})", binary(what, x, y, self.s.errors)
        text, n = shown[0]
        if what in TYPES:
            return f"({what}){text}", Number(n.v, *TYPES[what], n.known, True)
        return f"({what}{text})", unary(what, n)


def trees(seed, n):
    r = random.Random(seed)
    everything = operands()
    for at in range(0, n, 50):
        s = Script(f"expressions of seed {seed} from {at}")
        for i in range(at, min(n, at + 50)):
            # A variable has one type, and here one value.
            leaves = {o.variable or o.text: o for o in r.sample(everything, 12)}
            leaves = list(leaves.values())
            for o in leaves:
                if o.variable:
                    s.var(o.name("l"), o.text)
            t = Tree(r, leaves, s)
            tree = t.make(4)
            shown = [t.show(tree, form) for form in ("constant", "variable", "mixed")]
            s.line(i, [text for text, _ in shown], [v for _, v in shown])
        yield s


def conditions(compiler):
    """#if, where C's own preprocessor says what is true."""
    values = [v for v in LITERALS if v != "-9223372036854775808"] + ["9223372036854775807u"]
    values = [v + "u" if int(v.rstrip("u")) >= 1 << 63 else v for v in values]
    tests = []
    for a in values:
        for op in OPS:
            for b in values:
                n = int(b.rstrip("u"))
                if (op in "/%" and n == 0) or (op in ("<<", ">>") and not 0 <= n < 64):
                    continue
                tests.append(f"({a}) {op} ({b})")
    tests += [f"{op}({v})" for op in "-~!+" for v in values]
    head = []
    for i, test in enumerate(tests):
        head += [f"#if ({test}) > 0", f"#define T{i} 1", f"#elif ({test}) == 0",
                 f"#define T{i} 2", "#else", f"#define T{i} 3", "#endif"]
    text = "\n".join(head + [f"{t!r} T{i}" for i, t in enumerate(tests)])
    p = subprocess.run([compiler, "-E", "-P", "-w", "-x", "c", "-"], input=text,
                       capture_output=True, text=True, check=True)
    s = Script(f"#if as {compiler} takes it")
    s.head = head
    got = [line.rsplit(" ", 1)[1] for line in p.stdout.splitlines() if line]
    assert len(got) == len(tests)
    for at in range(0, len(tests), 20):
        names = [f"T{i}" for i in range(at, min(at + 20, len(tests)))]
        s.line(f"#if {at}", names, [Number(int(v), 64, True, True, False)
                                    for v in got[at:at + 20]])
    yield s


def scripts(seed, n_trees, compiler):
    everything = operands()
    yield from pairs([(i, a, b) for i, (a, b) in
                      enumerate((a, b) for a in everything for b in everything)])
    yield from compound()
    yield from singles()
    yield from trees(seed, n_trees)
    yield from conditions(compiler)
