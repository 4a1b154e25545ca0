# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Calls of each command that a Redis or Valkey server knows, made from what it says of its
arguments (COMMAND DOCS), and the keys in them by its own word (COMMAND GETKEYS)."""
import itertools
import socket

# Values that make sense where the kind of an argument does not say enough.
BY_NAME = {"script": "return 1", "host": "127.0.0.1", "encoding": "u8", "timeout": "0.01",
           "destination-db": "9", "db": "9", "min": "0", "max": "5", "start": "0", "stop": "5",
           "end": "5", "cursor": "0", "index": "0", "id": "0", "ids": "0-1", "value": "1"}
BY_TYPE = {"integer": "1", "double": "1", "unix-time": "33177117420", "pattern": "*"}

# Vector sets, whose arguments the server does not describe (Redis 8.0).
VECTORS = {"VADD": "VALUES 2 1 2 x", "VCARD": "", "VDIM": "", "VEMB": "x", "VGETATTR": "x",
           "VINFO": "", "VISMEMBER": "x", "VLINKS": "x", "VRANDMEMBER": "", "VREM": "x",
           "VSETATTR": "x {}", "VSIM": "ELE x"}


class Client:
    """One connection, RESP2 or, after hello(), RESP3."""

    def __init__(self, where):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
        self.socket.settimeout(60)
        self.socket.connect(where)
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) +
                            b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))

    def __call__(self, *words):
        self.send(*words)
        return self.read()

    def read(self):
        """Strings as str, errors as Exception, arrays and maps as lists."""
        line = self.file.readline()
        if not line:
            raise EOFError
        kind, rest = line[:1], line[1:-2]
        if kind in b"+,(":
            return rest.decode()
        if kind == b"-":
            return Exception(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_" or rest == b"-1":
            return None
        if kind in b"$=!":
            return self.file.read(int(rest) + 2)[:-2].decode("latin-1")
        return [self.read() for _ in range(int(rest) * (2 if kind in b"%|" else 1))]


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


class Sample:
    """Builds one call. `full`: options are given and what may be repeated is; `choice`: which of
    the alternatives is taken; `key`: the next key's name."""

    def __init__(self, full, choice, key):
        self.full, self.choice, self.key = full, choice, key

    def value(self, a):
        if a["type"] == "key":
            return [next(self.key)]
        if a["type"] == "pure-token":
            return []
        if a["type"] == "oneof":
            options = [pairs(x) for x in a["arguments"]]
            return self.argument(options[min(self.choice, len(options) - 1)], True)
        if a["type"] == "block":
            return self.arguments(a["arguments"])
        return [BY_NAME.get(a["name"], BY_TYPE.get(a["type"], "x"))]

    def argument(self, a, wanted=False):
        flags = a.get("flags", [])
        if "optional" in flags and not self.full and not wanted:
            return []
        token = [a["token"]] if "token" in a else []
        times = 2 if "multiple" in flags and self.full else 1
        words = list(token)
        for i in range(times):
            words += token if i and "multiple_token" in flags else []
            words += self.value(a)
        return words

    def arguments(self, flat):
        """A number of keys is that of the keys behind it."""
        words, number = [], None
        for a in map(pairs, flat):
            new = self.argument(a)
            if a["name"] == "numkeys":
                number = len(words)
            elif number is not None and new:
                words[number] = str(2 if len(new) > 1 and "multiple" in a.get("flags", []) else 1)
                number = None
            words += new
        return words


def calls(docs):
    """{NAME: [words, ...]} of all commands in what COMMAND DOCS says; subcommands: "NAME SUB"."""
    found = {}
    for name, doc in pairs(docs).items():
        doc = pairs(doc)
        subs = pairs(doc.get("subcommands", []))
        for sub, more in subs.items() or [(name, None)]:
            words = sub.upper().replace("|", " ").split()
            arguments = (pairs(more) if more else doc).get("arguments", [])
            keys = (f"key:{words[-1].lower()}:{i}" for i in itertools.count())
            ways = ((False, 0), (False, 1), (True, 0), (True, 1), (True, 2))
            tries = [words + Sample(full, choice, keys).arguments(arguments)
                     for full, choice in ways]
            found[" ".join(words)] = [list(t) for t in dict.fromkeys(map(tuple, tries))]
    for name, more in VECTORS.items():
        found[name] = [[name, f"key:{name.lower()}:0", *more.split()]]
    return found


def keys_of(client, words):
    """By the server; None when it takes the call for none."""
    answer = client("COMMAND", "GETKEYS", *words)
    return None if isinstance(answer, Exception) else answer
