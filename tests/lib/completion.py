# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the shells complete, asked of themselves, beside what memtap has."""
import os
import re
import shutil
import subprocess
import tempfile

from lib import tools

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BASH = r"""source "$1"; shift
COMP_WORDS=(memtap "$@") COMP_CWORD=$#
_memtap
printf '%s\n' "${COMPREPLY[@]}"
"""
# What _describe would offer is printed; files and processes are the shell's own affair.
ZSH = r"""_describe() { print -rl -- "${(@)${(@P)argv[-1]}%%:*}" }
_files _pids _message _command_names() { : }
file=$1; shift
words=(memtap "$@") CURRENT=$(( $# + 1 ))
source $file
"""
FISH = r"""source $argv[1]; complete -C (string join -- ' ' memtap $argv[2..-1])
"""


def ask(shell, path, *line):
    """The words that may stand where the last one of the line is begun."""
    command = {"bash": ["bash", "--norc", "-c", BASH, "bash"],
               "zsh": ["zsh", "-f", "-c", ZSH, "zsh"],
               "fish": ["fish", "--no-config", "-c", FISH]}[shell]
    with tempfile.TemporaryDirectory() as home:
        p = subprocess.run([*command, path, *line], capture_output=True, text=True, cwd=home,
                           env={**os.environ, "HOME": home}, timeout=60, check=False)
    return {s.split("\t")[0] for s in p.stdout.split("\n")} - {""}, p.stderr


def long_options(context, *args):
    text = subprocess.run([context.memtap, *args, "--help"], capture_output=True, text=True,
                          check=True).stdout
    return set(re.findall(r"^  (?:-\w, |    )(--[\w-]+)", text, re.M))


def commands():
    with open(TOP + "/src/main.c") as f:
        return set(re.findall(r'\{ "(\w+)", +cmd_\w+ \}', f.read()))


def problem(context, shell):
    """None, or what a shell does not complete."""
    if not shutil.which(shell):
        return f"{shell} is not installed"
    with tempfile.NamedTemporaryFile("w", prefix="memtap-completion.") as f:
        subprocess.run([TOP + "/scripts/completions", context.memtap, shell], stdout=f, check=True)
        f.flush()
        wanted = [(("",), commands() | set(tools.names())), (("-",), {"-e", "-p", "-v"}),
                  (("--",), long_options(context)), (("btf", ""), {"show", "path", "diff", "stat"}),
                  (("tools", ""), set(tools.names())), (("-f", ""), {"text", "json"}),
                  (("faults", "-f", ""), {"text", "json"}), (("oomkill", "--"), {"--json"})]
        wanted += [((n, "--"), long_options(context, n))
                   for n in sorted(commands() - {"run"}) + tools.names()]
        wrong = []
        for line, words in wanted:
            found, said = ask(shell, f.name, *line)
            if said or words - found:
                wrong.append(f"{line}: without {sorted(words - found)} {said}")
    return "\n".join(wrong) or None
