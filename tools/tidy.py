#!/usr/bin/env python3
"""House rules that no compiler checks. Prints `file:line: what is wrong; what to write instead`; exit status 1 when anything is.

Looks at the files that git tracks, from the root of the repository. Changes nothing. A rule is a generator of findings registered by
@file_rule (one text file) or @tree_rule (all files); tests/tools/tidy_test.py shows for each what it refuses and what it accepts.
"""
import posixpath
import re
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

Finding = namedtuple("Finding", "path line message")

# Which folders a folder's C++ may include (the layers of ARCHITECTURE.md). tools and tests assemble everything.
LAYERS = {
    "base": {"base"},
    "proto": {"base", "proto"},
    "compression": {"base", "proto", "compression"},
    "cuda": {"base", "proto", "compression", "cuda"},
    "server": {"base", "proto", "compression", "server"},
    "client": {"base", "proto", "compression", "client"},
    "worker": {"base", "proto", "compression", "client", "worker", "cuda"},
    "examples": {"base", "proto", "client", "examples"},
    "tools": {"base", "proto", "compression", "cuda", "server", "client", "worker", "tools"},
    "tests": {"base", "proto", "compression", "cuda", "server", "client", "worker", "tools", "tests"},
}
TWINNED = {"base", "proto", "compression", "cuda", "server", "client", "worker", "tools"}

HEADER_LINES_MAX = 250
SOURCE_LINES_MAX = 500  # also of a test
FILE_BYTES_MAX = 256 << 10

# The ratchet: what does not keep a limit yet, with how far it goes and why. Entries may shrink and go, not grow or come: a longer file,
# an entry without need and a list longer than EXCEPTIONS_MAX are findings.
LINES_EXCEPTIONS = {}  # path: (lines, reason)
TWIN_EXCEPTIONS = {}  # path: reason
EXCEPTIONS_MAX = 0

# These two name what they forbid.
SELF = {"tools/tidy.py", "tests/tools/tidy_test.py"}

CXX = (".h", ".cc", ".cu", ".cuh")
TEXT = CXX + (".proto", ".py", ".js", ".css", ".html", ".md", ".yaml", ".yml", ".bzl", ".sh", ".supp", ".json", ".txt")
TEXT_NAMES = {"BUILD", "WORKSPACE", ".bazelrc", ".gitignore", ".clang-format", "LICENSE", "Dockerfile"}

BANNED_NAMES = {"util", "utils", "common", "misc", "helper", "helpers"}

# (pattern over code without comments and text, folders or files where it is fine, what to do instead)
BANNED_CODE = [
    (r"\b(?:sleep|usleep|nanosleep)\s*\(|\bsleep_(?:for|until)\s*\(|\bSleepFor\s*\(", ("proto/control_client.cc",),  # backs off between tries
     "a sleep hides a race and costs time; wait for the event itself with CondVar::WaitUntil and a deadline"),
    (r"(?<![\w.>])s?rand\s*\(", (), "one hidden state for the whole process; take a seed and use base/key.h KeyedUniform or <random>"),
    (r"\b(?:secure_)?getenv\s*\(", ("base/", "tests/"),
     "settings come from the job file or a flag; what the environment must say is read in base/"),
    (r"\babsl::(?:Mutex\w*|CondVar|ReaderMutexLock|WriterMutexLock)\b", (),
     "ThreadSanitizer cannot see Debian's Abseil; use weir::Mutex of base/mutex.h"),
    (r"\bstd::(?:\w*mutex|condition_variable\w*|lock_guard|unique_lock|scoped_lock|shared_lock)\b", ("base/mutex.h",),
     "not annotated for thread-safety analysis; use weir::Mutex of base/mutex.h"),
    (r"\bthrow\b", (), "errors are values here; return absl::Status"),
    (r"\busing\s+namespace\s+std\s*;", (), "write std:: where it is used"),
]

MACHINE_PATH = re.compile(r"(?<![\w.$}/~*-])/(?:home|root|work|tmp|Users)/[\w.]")

Rule = namedtuple("Rule", "applies check")
FILE_RULES = []
TREE_RULES = []


def file_rule(applies):
    """Registers check(tree, path, lines) for the text files that applies(path)."""
    def register(check):
        FILE_RULES.append(Rule(applies, check))
        return check
    return register


def tree_rule(check):
    """Registers check(tree)."""
    TREE_RULES.append(check)
    return check


class Tree:
    """The tracked files: contents by path, and which are executable. Tests make one from a dict."""

    def __init__(self, files, executables=()):
        self.files = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
        self.executables = set(executables)
        self.folders = {parent.as_posix() for path in files for parent in Path(path).parents}

    @staticmethod
    def of_git(root):
        # The owner of a checkout in a container is often someone else than the one who runs this.
        listing = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-s", "-z"], cwd=root, capture_output=True, text=True, check=True)
        modes = {}
        for entry in listing.stdout.split("\0")[:-1]:
            meta, path = entry.split("\t", 1)
            modes[path] = meta.split()[0]
        present = {path: mode for path, mode in modes.items() if (root / path).is_file()}
        return Tree({path: (root / path).read_bytes() for path in present}, {path for path, mode in present.items() if mode == "100755"})

    def exists(self, path):
        return path in self.files or path.rstrip("/") in self.folders

    def text(self, path):
        return self.files[path].decode("utf-8", "replace")


def is_cxx(path):
    return path.endswith(CXX)


def is_header(path):
    return path.endswith((".h", ".cuh"))


def is_build(path):
    return posixpath.basename(path) in ("BUILD", "WORKSPACE") or path.endswith(".bzl")


def is_markdown(path):
    return path.endswith(".md")


def is_text(tree, path):
    # Inputs that a fuzzer or a format keeps byte for byte.
    if "/corpus/" in path or "/golden/" in path and not path.endswith(CXX) and posixpath.basename(path) != "BUILD":
        return False
    return path.endswith(TEXT) or posixpath.basename(path) in TEXT_NAMES or tree.files[path].startswith(b"#!")


def top(path):
    return path.split("/", 1)[0] if "/" in path else ""


CXX_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|\bR"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


def code_lines(text):
    """The lines of C++ with comments and literals blanked, so that a rule sees code alone."""
    return CXX_TOKEN.sub(lambda token: re.sub(r"[^\n]", " ", token.group()), text).split("\n")


@file_rule(is_cxx)
def layering(tree, path, lines):
    folder = top(path)
    for number, line in enumerate(lines, 1):
        include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not include:
            continue
        target = include.group(1)
        if top(target) in LAYERS:
            if folder in LAYERS and top(target) not in LAYERS[folder]:
                allowed = ", ".join(sorted(LAYERS[folder]))
                yield Finding(path, number, f"{folder} must not include {target}; it may include {allowed}")
        elif tree.exists(posixpath.normpath(posixpath.join(posixpath.dirname(path), target))):
            yield Finding(path, number, f'include by the path from the root: "{posixpath.dirname(path)}/{target}"')


@file_rule(is_header)
def include_guard(tree, path, lines):
    guard = "WEIR_" + re.sub(r"\W", "_", path).upper() + "_"
    code = [line for line in lines if line and not line.startswith("//")]
    # Highway compiles an -inl.h once for each instruction set, and guards it by a toggle of its own.
    if path.endswith("-inl.h"):
        pass
    elif code[:2] != [f"#ifndef {guard}", f"#define {guard}"]:
        yield Finding(path, 1, f"the include guard must be the first code: #ifndef {guard}, #define {guard}")
    elif code[-1] != f"#endif  // {guard}":
        yield Finding(path, len(lines), f"the last line must be: #endif  // {guard}")
    if not lines[0].startswith("// "):
        yield Finding(path, 1, "a header begins with a comment that says what it is and how it behaves under threads")


@file_rule(is_header)
def using_namespace_in_header(tree, path, lines):
    for number, line in enumerate(code_lines("\n".join(lines)), 1):
        if re.search(r"\busing\s+namespace\b", line):
            yield Finding(path, number, "`using namespace` in a header reaches all its readers; name what is used")


def lines_limit(path):
    return HEADER_LINES_MAX if is_header(path) and top(path) != "tests" else SOURCE_LINES_MAX


@file_rule(lambda path: is_cxx(path) or path.endswith((".py", ".js")))
def file_length(tree, path, lines):
    limit = lines_limit(path)
    if path in LINES_EXCEPTIONS:
        limit = LINES_EXCEPTIONS[path][0]
    if len(lines) > limit:
        yield Finding(path, limit + 1, f"{len(lines)} lines, at most {limit}; split it by subject")


@tree_rule
def exceptions_shrink(tree):
    for path in LINES_EXCEPTIONS:
        if path not in tree.files or len(tree.text(path).splitlines()) <= lines_limit(path):
            yield Finding("tools/tidy.py", 1, f"LINES_EXCEPTIONS: {path} needs no exception any more; take it out")
    for path in TWIN_EXCEPTIONS:
        if path not in tree.files or test_twin(path) in tree.files or posixpath.splitext(path)[0] + ".h" in tested_headers(tree):
            yield Finding("tools/tidy.py", 1, f"TWIN_EXCEPTIONS: {path} needs no exception any more; take it out")
    count = len(LINES_EXCEPTIONS) + len(TWIN_EXCEPTIONS)
    if count != EXCEPTIONS_MAX:
        do = "repair the file instead" if count > EXCEPTIONS_MAX else f"lower EXCEPTIONS_MAX to {count}"
        yield Finding("tools/tidy.py", 1, f"{count} exceptions, EXCEPTIONS_MAX is {EXCEPTIONS_MAX}; {do}")


@tree_rule
def banned_names(tree):
    for path in tree.files:
        for part in path.split("/"):
            banned = BANNED_NAMES.intersection(re.split(r"[_.-]", part.lower()))
            if banned:
                yield Finding(path, 1, f"`{banned.pop()}` says nothing in a name; name the thing that the file holds")


@file_rule(is_cxx)
def banned_code(tree, path, lines):
    for number, line in enumerate(code_lines("\n".join(lines)), 1):
        for pattern, fine_in, instead in BANNED_CODE:
            found = re.search(pattern, line)
            if found and not path.startswith(fine_in):
                yield Finding(path, number, f"`{found.group().strip()}`: {instead}")


@file_rule(lambda path: path not in SELF)
def unowned_todo(tree, path, lines):
    for number, line in enumerate(lines, 1):
        found = re.search(r"\b(TODO|FIXME|XXX)\b(?!\(\w+\): \S)", line)
        if found:
            yield Finding(path, number, f"{found.group(1)} without owner and condition; write `TODO(name): what, and when`, or an issue")


@file_rule(lambda path: path not in SELF)
def machine_paths(tree, path, lines):
    for number, line in enumerate(lines, 1):
        if MACHINE_PATH.search(line):
            yield Finding(path, number, "a path of one machine; use one from the root of the repository, `mktemp -d` or testing::TempDir()")


def string_lists(lines, name):
    """(first line, labels) of each multi-line `name = [...]`, comments left out."""
    begin, labels = None, []
    for number, line in enumerate(lines, 1):
        if re.search(rf"\b{name} = \[\s*$", line):
            begin, labels = number, []
        elif begin and re.match(r"\s*\]", line):
            yield begin, labels
            begin = None
        elif begin and (label := re.match(r'\s*"([^"]+)"', line)):
            labels.append(label.group(1))


def label_order(label):
    # This package, this repository, others: as buildifier sorts.
    rank = 0 if label.startswith(":") else 1 if label.startswith("//") else 2
    return rank, label.replace(":", "!")


@file_rule(is_build)
def build_files(tree, path, lines):
    shim = path.startswith("tools/bazel/")
    for number, line in enumerate(lines, 1):
        code = line.split("#", 1)[0]
        if re.search(r"\bglob\(", code) and not shim:
            yield Finding(path, number, "glob hides what a target is made of; list the files")
        if "//visibility:public" in code and not shim:
            yield Finding(path, number, "public visibility undoes the layers; use the folder's package group, //:<folder>_readers")
        if (headers := re.search(r"\bhdrs = \[([^\]]*)\]", code)) and headers.group(1).count('"') > 2:
            yield Finding(path, number, "one header, one target: give each header its own")
    for number, labels in string_lists(lines, "hdrs"):
        if len(labels) > 1:
            yield Finding(path, number, "one header, one target: give each header its own")
    for name in ("deps", "srcs"):
        for number, labels in string_lists(lines, name):
            for before, after in zip(labels, labels[1:]):
                if label_order(before) > label_order(after):
                    yield Finding(path, number, f'{name} not sorted: "{after}" goes before "{before}"')
                    break


@tree_rule
def files_are_built(tree):
    for path in tree.files:
        folder, name = posixpath.split(path)
        if not is_cxx(path) or top(path) not in LAYERS:
            continue
        owner = f"{folder}/BUILD"
        if owner not in tree.files or f'"{name}"' not in tree.text(owner):
            yield Finding(path, 1, f"no target holds this file; name it in {owner}")


def test_twin(path):
    return f"tests/{posixpath.splitext(path)[0]}_test.cc"


def includes(tree, path):
    return set(re.findall(r'#include "([^"]+)"', tree.text(path))) if path in tree.files else set()


def tested_headers(tree):
    """What tests include, of their own folder or as a whole job, and the private parts of it: headers of the same folder that it is made of. So a
    suite over all implementations of an interface is the twin of each, and a part is tested through what it is a part of."""
    tested = {include for path in tree.files if path.startswith("tests/") and path.endswith(("_test.cc", "_fuzz.cc"))
              for include in includes(tree, path) if path.startswith((f"tests/{top(include)}/", "tests/integration/", "tests/fuzz/"))}
    found = tested
    while found:
        parts = {part for header in found for path in (header, posixpath.splitext(header)[0] + ".cc") for part in includes(tree, path)
                 if posixpath.dirname(part) == posixpath.dirname(header)}
        found = parts - tested
        tested = tested | found
    return tested


@tree_rule
def test_twins(tree):
    tested = tested_headers(tree)
    for path in tree.files:
        header = posixpath.splitext(path)[0] + ".h"
        if not path.endswith((".cc", ".cu")) or top(path) not in TWINNED or header not in tree.files:
            continue
        if test_twin(path) not in tree.files and header not in tested and path not in TWIN_EXCEPTIONS:
            yield Finding(path, 1, f"no test includes its header; write {test_twin(path)}")


def outside_fences(lines):
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def heading_anchors(text):
    for _, line in outside_fences(text.splitlines()):
        if heading := re.match(r"#+\s+(.*)", line):
            yield re.sub(r"[^\w\- ]", "", heading.group(1).strip().lower()).replace(" ", "-")


@file_rule(is_markdown)
def markdown_links(tree, path, lines):
    titles = 0
    for number, line in outside_fences(lines):
        titles += line.startswith("# ")
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            file = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
            if not tree.exists(file):
                yield Finding(path, number, f"the link leads nowhere: {target}")
            elif anchor and is_markdown(file) and anchor not in heading_anchors(tree.text(file)):
                yield Finding(path, number, f"{file} has no heading for #{anchor}")
    if titles > 1:
        yield Finding(path, 1, f"{titles} titles; a page has one, the rest begins with ##")


@file_rule(is_markdown)
def markdown_names_files(tree, path, lines):
    folders = {top(file) for file in tree.files} - {""}
    for number, line in outside_fences(lines):
        for quoted in re.findall(r"`([^`]+)`", line):
            name = quoted.split()[0] if quoted.split() else ""
            # A path of the repository, and no pattern, label or placeholder.
            if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)*/?", name) and "/" in name and top(name) in folders and not tree.exists(name):
                yield Finding(path, number, f"`{name}` does not exist; name a file or folder by its path from the root")


@file_rule(lambda path: True)
def whitespace(tree, path, lines):
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield Finding(path, number, "trailing white space; take it out")
    text = tree.text(path)
    if text and not text.endswith("\n"):
        yield Finding(path, len(lines), "the last line does not end; add a line feed")
    elif text.endswith("\n\n"):
        yield Finding(path, len(lines), "empty lines at the end; take them out")


@tree_rule
def executable_bits(tree):
    for path, data in tree.files.items():
        script = data.startswith(b"#!")
        if script and path not in tree.executables:
            yield Finding(path, 1, f"a script that cannot be run; git update-index --chmod=+x {path}")
        elif path in tree.executables and not script:
            yield Finding(path, 1, f"executable, and no script; git update-index --chmod=-x {path}")


@tree_rule
def large_files(tree):
    for path, data in tree.files.items():
        if len(data) > FILE_BYTES_MAX:
            yield Finding(path, 1, f"{len(data)} bytes, at most {FILE_BYTES_MAX}; make it at build or run time")


def findings(tree):
    found = [finding for rule in TREE_RULES for finding in rule(tree)]
    for path in tree.files:
        if is_text(tree, path):
            lines = tree.text(path).removesuffix("\n").split("\n") if tree.files[path] else []
            # An empty file has nothing to say, and nothing to say it in.
            found += [finding for rule in FILE_RULES if lines and rule.applies(path) for finding in rule.check(tree, path, lines)]
    return sorted(found)


def main():
    found = findings(Tree.of_git(Path(__file__).resolve().parent.parent))
    for finding in found:
        print(f"{finding.path}:{finding.line}: {finding.message}")
    if found:
        print(f"tools/tidy.py: {len(found)} finding{'s' if len(found) > 1 else ''}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
