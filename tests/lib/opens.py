# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""scripts/lint-source finds whoever reads a file without base/file.h, each way there is."""
import importlib.machinery
import importlib.util

# C that opens, maps or lists a file.
OPENED = (
    "int fd = open(path, O_RDONLY);", "int fd = open (path, O_RDONLY);",
    "int fd = (open)(path, O_RDONLY);", "int fd = open64(path, 0);",
    "int fd = openat(at, path, 0);",
    "int fd = openat64(at, path, 0);", "int fd = openat2(at, path, &how, n);",
    "int fd = creat(path, 0600);", "FILE *f = fopen(path, \"r\");",
    "FILE *f = fopen64(path, \"r\");",
    "FILE *f = freopen(path, \"r\", stdin);", "FILE *f = popen(\"cat x\", \"r\");",
    "DIR *d = opendir(path);", "int n = scandir(path, &names, NULL, alphasort);",
    "int n = scandirat(at, path, &names, NULL, alphasort);", "nftw(path, fn, 8, 0);",
    "ftw(path, fn, 8);", "FTS *f = fts_open(paths, 0, NULL);", "glob(path, 0, NULL, &found);",
    "void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);",
    "void *p = mmap64(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);",
    "int fd = open_by_handle_at(mount, &h, 0);", "int fd = (int)syscall(SYS_open, path, 0);",
    "long n = __NR_openat;", "int fd = (int)syscall(SYS_openat2, at, path, &how, n);",
    "void *p = (void *)syscall(SYS_mmap, 0, n, 1, 2, fd, 0);", "io_uring_prep_openat(e, at, path);",
    "gzFile f = gzopen(path, \"r\");", "dwfl_report_offline(d, path, path, -1);",
    "void *so = dlopen(path, RTLD_NOW);", "btf__parse(path, NULL);", "bpf_object__open(path);",
    "yaml_parser_set_input_file(&p, f);", "std::ifstream f(path);", "fstream f(path);",
    "asm volatile(\"syscall\");", "__asm__(\".incbin \\\"x\\\"\");",
    "static int (*const way)(const char *, int, ...) = open;\n#include <fcntl.h>",
    "call(&open, path);\n#include <fcntl.h>", "#include <fcntl.h>\n#define OURS open\n",
    "call(mmap);\n#include <sys/mman.h>", "ok = file_read(path, &b, n, e);", "call(file_read);",
)
# And what only looks so.
NOT_OPENED = (
    "/* open(path) */", "err_set(e, \"fopen() failed\");", "t->open(t, name);", "lib.mmap(p);",
    "bool open = true; close = open;", "struct glob glob; match(glob);", "file_open(path, e);",
    "file_read_regular(path, &b, n, e);", "void (*open)(struct tree *t);", "reopen(x);",
    "x = entry.nr == SYS_mmap;",
)


def found(code):
    """What lint says of a file of that code."""
    path = "scripts/lint-source"
    spec = importlib.util.spec_from_loader(
        "lint_source", importlib.machinery.SourceFileLoader("lint_source", path))
    lint = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lint)
    lint.check_opens("src/elf/other.c", code)
    return lint.problems


def problem():
    wrong = [f"not found: {code}" for code in OPENED if not found(code)]
    wrong += [f"found: {code}" for code in NOT_OPENED if found(code)]
    return "\n".join(wrong) or None
