# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The file of `make static`, where there is nothing else: a root with it, /proc and /sys."""
import os
import pty
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import time
import urllib.request

MAX_STRIPPED = 4 * 1000 * 1000
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENTER = """set -e
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
root=$1
shift
exec chroot "$root" "$@"
"""
# A pod as deploy/daemonset.yml describes it: the root, its rights, what is mounted of the machine.
POD = """set -e
root=$1 caps=$2 mounts=$3
shift 3
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
for m in $mounts; do mount --bind "${m#*:}" "$root${m%%:*}"; done
exec setpriv --bounding-set="$caps,+sys_chroot" --inh-caps=-all --no-new-privs chroot "$root" "$@"
"""
# What it has to do there, and what has to come out.
COMMANDS = [
    (["-V"], r"^features \(one file\): \+debug_information( \+decoder)? \+screens \+xz"),
    (["-e", 'BEGIN { printf("%s %s\\n", comm, username); exit(); }'], r"^memtap 0$"),
    (["-lv", "uprobe:/memtap:cmd_run"], r"^    int argc$"),     # by libdw
    (["-e", 'tracepoint:syscalls:sys_enter_write { printf("%s\\n", probe); exit(); }', "-c",
      "/memtap -V"], r"^tracepoint:syscalls:sys_enter_write$"),
    (["-e", "uprobe:/memtap:version_print { print(ustack(1)); exit(); }", "-c", "/memtap -V"],
     r"version_print\+0@src/cmd/version\.c:\d+$"),
    (["serve", "--check", "/proc/self/status"], r"^ERROR: /proc/self/status:\d+:\d+: "),
    (["serve", "--web", "/web.yml"], r"^ERROR: this memtap, one file, has no TLS in it"),
]

# Of each kind that is taken: a token, and what crypt(3) makes of it.
HASHES = {
    "bcrypt": "$2y$04$abcdefghijklmnopqrstuueceoR5imRkn1bn4HlZMqJZLUPXhPAV6",
    "sha256": "$5$rounds=1000$abcdefgh$oT4fVZEFAIJ2vcAOjpKfU2R.XYVIlMYWbAJ0t1fJCzC",
    "sha512": "$6$rounds=1000$abcdefgh$f/5.aeQLcdM1KaQrpEXWizFM5v"
          "qDG1RIjMnN1r4mdvhLjg8QFgKi1PzCWsxehv43F3pN9krKkeTMGxKQOqK8x.",
    "yescrypt": "$y$j75$abcdefghijklmnop$balSubMFaIIs7LBiA6A4OgHAoNgHkVLAZrDbfJV6lN5",
}


def build(context):
    """None, or why there is no such file."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    p = subprocess.run(["make", "-s", "static", f"BUILD={context.build}"], cwd=TOP, env=env,
                       capture_output=True, text=True, check=False)
    return p.stdout + p.stderr if p.returncode or p.stderr else None


def shape_problem(path):
    """Libraries it wants, its size, and where libc's functions of a start are (mk/start.ld)."""
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run(["strip", "-o", f.name, path], check=True)
        size = os.path.getsize(f.name)
    head = subprocess.run(["readelf", "-Wdl", path], capture_output=True, text=True,
                          check=True).stdout
    if re.search(r"NEEDED|INTERP", head):
        return "it needs the dynamic linker\n" + head
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True,
                              check=True).stdout
    at, size_of = (int(x, 16) for x in re.search(
        r" \.text\.start +PROGBITS +(\w+) +\w+ (\w+)", sections).groups())
    nm = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    apart = [name for name in ("__libc_start_main", "malloc", "memcpy", "run_script")
             if not at <= address_of(nm, name) < at + size_of]
    if apart:
        return f"make start-order: {', '.join(apart)} not among the functions of a start"
    return None if size <= MAX_STRIPPED else f"{size} bytes"


def address_of(nm, function):
    return int(re.search(rf"^(\w+) [TtWi] {function}$", nm, re.M)[1], 16)


def enter(root, argv, **options):
    return subprocess.Popen(["unshare", "--mount", "sh", "-c", ENTER, "sh", root, *argv],
                            env={"PATH": os.environ["PATH"], "TERM": "xterm",
                                 "LANG": "de_DE.ISO-8859-1", "DEBUGINFOD_URLS": "http://[::1]:1"},
                            **options)


def on_terminal(root, argv):
    """What the command writes to a terminal."""
    ours, its = pty.openpty()
    p = enter(root, argv, stdin=its, stdout=its, stderr=its)
    os.close(its)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:     # the terminal is closed
        pass
    os.close(ours)
    p.wait()
    return text


def pod_problem(root):
    """The same as in a pod: both the machine's events and a server outside of the pod."""
    with open(TOP + "/deploy/daemonset.yml", encoding="ascii") as f:
        text = f.read()
    caps = ",".join(["-all"] + ["+" + c.strip().lower() for c in
                                re.search(r"add: \[(.*)\]", text)[1].split(",")])
    paths = dict(re.findall(r"name: (\w+), hostPath: \{path: (\S+?)\}", text))
    mounts = [f"{where}:{paths[name]}" for name, where in
              re.findall(r"name: (\w+), mountPath: ([^\s,]+)", text)]
    argv = ["/memtap", *re.search(r"args: \[(.*)\]", text)[1].replace('"', "").split(", ")]
    argv[argv.index("--listen") + 1] = "127.0.0.1:0"
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = str(s.getsockname()[1])
    with subprocess.Popen(["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", port, "-U", "0"],
                          stderr=subprocess.DEVNULL) as server, \
            subprocess.Popen(["unshare", "--mount", "sh", "-c", POD, "sh", root, caps,
                              " ".join(mounts), *argv], stderr=subprocess.PIPE, text=True) as p:
        try:
            address = listens_at(p)
            page = until_up(address, ("machine", "memcached:" + port))
            if page:
                return page
            missing = re.findall("memory_events_missing.*", read(address))
            return f"{missing}" if missing else None
        finally:
            p.kill()
            server.kill()


def listens_at(p):
    """Says first that system calls are not filtered: there is no libseccomp in it."""
    first = p.stderr.readline()
    if "libseccomp" not in first:
        raise AssertionError("no word of libseccomp: " + first)
    return re.search(r"http://\S+", p.stderr.readline())[0]


def read(address, who=None):
    """The page; "" when it was not answered: a slow machine's connections are dropped."""
    headers = {"Authorization": who} if who else {}
    try:
        request = urllib.request.Request(address, headers=headers)
        return urllib.request.urlopen(request, timeout=60).read().decode()
    except OSError:
        return ""


def until_up(address, collectors):
    """None once they all answer, or what there is after a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        page = read(address)
        if all(re.search(f'^memtap_collector_up\\{{collector="{c}"\\}} 1$', page, re.M)
               for c in collectors):
            return None
        time.sleep(0.2)
    return f"{collectors} do not answer\n{page}"


def serve_problem(root):
    """A collector can not be started without /dev/null, which is said; when that comes it is."""
    argv = ["/memtap", "serve", "--listen", "127.0.0.1:0", "--restart", "1", "vmscan"]
    with enter(root, argv, stderr=subprocess.PIPE, text=True) as p:
        try:
            address = listens_at(p)
            said = p.stderr.readline()
            if said != "ERROR: vmscan can not be started: /dev/null: No such file or directory\n":
                return said
            os.mkdir(root + "/dev")
            os.mknod(root + "/dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
            return until_up(address, ("vmscan",)) or pod_problem(root)
        finally:
            p.kill()


def hash_problem(root):
    """Who has a token is let in by each kind of hash, and by no other."""
    with open(root + "/users.yml", "w", encoding="ascii") as f:
        f.write("bearer_tokens: [%s]\n" % ", ".join(f'"{h}"' for h in HASHES.values()))
    with enter(root, ["/memtap", "serve", "--listen", "127.0.0.1:0", "--web", "/users.yml",
                      "vmscan"], stderr=subprocess.PIPE, text=True) as p:
        try:
            address = listens_at(p)
            let_in = [bool(read(address, "Bearer " + token)) for token in [*HASHES, "nobody"]]
            wanted = [True] * len(HASHES) + [False]
            return None if let_in == wanted else f"let in are {let_in} of {list(HASHES)}, nobody"
        finally:
            p.kill()


def root_problem(path):
    """Runs it in a root without any other file but those it is told to read."""
    with tempfile.TemporaryDirectory(prefix="memtap-root.") as root:
        os.mkdir(root + "/proc")
        os.mkdir(root + "/sys")
        shutil.copy(path, root + "/memtap")
        with open(root + "/web.yml", "w", encoding="ascii") as f:
            f.write("tls_server_config: {cert_file: web.yml, key_file: web.yml}\n")
        for argv, wanted in COMMANDS:
            p = enter(root, ["/memtap", *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                      stdin=subprocess.DEVNULL, text=True)
            out, _ = p.communicate(timeout=60)
            if bool(p.returncode) != (argv[0] == "serve") or not re.search(wanted, out, re.M):
                return f"{argv}: status {p.returncode}\n{out}"
        screen = on_terminal(root, ["/memtap", "memstat", "1", "2"])
        if b"\x1b[H\x1b[2J" not in screen:
            return f"no screen: {screen}"
        return hash_problem(root) or serve_problem(root)
