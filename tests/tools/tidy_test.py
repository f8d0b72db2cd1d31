#!/usr/bin/env python3
"""Each house rule: what it refuses, and what it accepts."""
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.path.insert(0, str(Path.cwd() / "tools"))  # where Bazel puts the files of a test
import tidy  # noqa: E402


def header(path, body="", about="// What it is. Thread-safe."):
    guard = "WEIR_" + path.replace("/", "_").replace(".", "_").upper() + "_"
    return f"{about}\n#ifndef {guard}\n#define {guard}\n\n{body}\n\n#endif  // {guard}\n"


def build(*names):
    return "".join(f'srcs = ["{name}"]\n' for name in names)


class TidyTest(unittest.TestCase):
    def found(self, files, executables=()):
        return tidy.findings(tidy.Tree(files, executables))

    def assert_clean(self, files, executables=()):
        self.assertEqual(self.found(files, executables), [])

    def assert_found(self, files, path, line, words, executables=()):
        """The one finding of these files."""
        found = self.found(files, executables)
        self.assertEqual([(finding.path, finding.line) for finding in found], [(path, line)], found)
        self.assertIn(words, found[0].message)

    def source(self, text, path="server/main.cc"):
        folder, name = path.rsplit("/", 1)
        return {path: text, f"{folder}/BUILD": build(name)}

    # Layers

    def test_layers_go_one_way(self):
        self.assert_clean(self.source('#include "base/key.h"\n#include "compression/frame.h"\n#include "grpcpp/server.h"\n'))
        self.assert_found(self.source('#include "base/key.h"\n#include "worker/batch.h"\n'), "server/main.cc", 2, "server must not include worker/batch.h")
        self.assert_found(self.source('#include "server/table/table.h"\n', "worker/main.cc"), "worker/main.cc", 1, "worker must not include")
        self.assert_found(self.source('#include "proto/job_file.h"\n', "base/main.cc"), "base/main.cc", 1, "base must not include")
        self.assert_found(self.source('#include "tests/testing/reference_job.h"\n', "tools/main.cc"), "tools/main.cc", 1, "tools must not include")

    def test_layers_are_those_of_the_design(self):
        everything = set(tidy.LAYERS) - {"tests", "examples"}
        self.assertEqual(tidy.LAYERS["tests"], everything | {"tests"})
        self.assertEqual(tidy.LAYERS["tools"], everything)
        for folder in everything - {"tools"}:
            for below in tidy.LAYERS[folder]:
                self.assertLessEqual(tidy.LAYERS[below], tidy.LAYERS[folder], f"{folder} sees {below}, and not all that {below} sees")
        self.assertNotIn("worker", tidy.LAYERS["server"])
        self.assertNotIn("server", tidy.LAYERS["worker"])

    def test_includes_begin_at_the_root(self):
        files = {"server/main.cc": '#include "gate.h"\n', "server/gate.h": header("server/gate.h"), "server/BUILD": build("main.cc", "gate.h")}
        self.assert_found(files, "server/main.cc", 1, '"server/gate.h"')

    # Headers

    def test_include_guard(self):
        good = {"base/key.h": header("base/key.h"), "base/BUILD": build("key.h")}
        self.assert_clean(good)
        self.assert_found({**good, "base/key.h": header("base/kay.h")}, "base/key.h", 1, "WEIR_BASE_KEY_H_")
        self.assert_found({**good, "base/key.h": header("base/key.h") + "int x;\n"}, "base/key.h", 8, "the last line")

    def test_highway_headers_guard_themselves(self):
        text = "// What it is.\n#if defined(X) == defined(HWY_TARGET_TOGGLE)\n#endif\n"
        self.assert_clean({"base/sum-inl.h": text, "base/BUILD": build("sum-inl.h")})

    def test_header_says_what_it_is(self):
        files = {"base/key.h": header("base/key.h", about=""), "base/BUILD": build("key.h")}
        self.assert_found(files, "base/key.h", 1, "begins with a comment")

    def test_using_namespace_in_headers_only(self):
        files = {"base/key.h": header("base/key.h", "using namespace absl;"), "base/BUILD": build("key.h")}
        self.assert_found(files, "base/key.h", 5, "using namespace")
        self.assert_clean(self.source("using namespace std::chrono_literals;\n"))

    # Sizes, and the ratchet

    def test_file_length(self):
        self.assert_clean(self.source("\n" * 499 + "int x;\n"))
        self.assert_found(self.source("\n" * 500 + "int x;\n"), "server/main.cc", 501, "501 lines, at most 500")
        body = "\n".join(["int x;"] * 245)
        self.assert_found({"base/key.h": header("base/key.h", body), "base/BUILD": build("key.h")}, "base/key.h", 251, "at most 250")

    def test_exceptions_only_shrink(self):
        long_file = self.source("\n" * 600 + "int x;\n")
        with mock.patch.object(tidy, "LINES_EXCEPTIONS", {"server/main.cc": (601, "why")}), mock.patch.object(tidy, "EXCEPTIONS_MAX", 1):
            self.assert_clean(long_file)
            self.assert_found(self.source("\n" * 601 + "int x;\n"), "server/main.cc", 602, "at most 601")
            self.assert_found(self.source("int x;\n"), "tools/tidy.py", 1, "needs no exception any more")
        with mock.patch.object(tidy, "LINES_EXCEPTIONS", {"server/main.cc": (601, "why")}), mock.patch.object(tidy, "EXCEPTIONS_MAX", 0):
            self.assert_found(long_file, "tools/tidy.py", 1, "repair the file instead")
        with mock.patch.object(tidy, "EXCEPTIONS_MAX", 2):
            self.assert_found({}, "tools/tidy.py", 1, "lower EXCEPTIONS_MAX to")

    def test_large_files(self):
        self.assert_clean({"docs/plot.png": b"\0" * (256 << 10)})
        self.assert_found({"docs/plot.png": b"\0" * ((256 << 10) + 1)}, "docs/plot.png", 1, "at most 262144")

    # Names and calls

    def test_names_that_say_nothing(self):
        for path in ("base/string_utils.bzl", "base/common.bzl", "tests/helpers/BUILD"):
            self.assert_found({path: "x = 1\n"}, path, 1, "says nothing")
        self.assert_clean({"base/commons_rule.bzl": "x = 1\n"})

    def test_banned_calls(self):
        for code in ("sleep(1);", "usleep(5);", "std::this_thread::sleep_for(x);", "absl::SleepFor(x);", "int x = rand();", "srand(1);",
                     'getenv("HOME");', "absl::Mutex mu;", "absl::MutexLock lock(&mu);", "std::mutex mu;", "std::lock_guard<M> lock(mu);",
                     "std::condition_variable cv;", "throw 1;", "using namespace std;"):
            self.assert_found(self.source(f"int y;\n{code}\n"), "server/main.cc", 2, "`")

    def test_banned_calls_where_they_belong(self):
        self.assert_clean(self.source('getenv("HOME");\n', "base/environment.cc"))
        self.assert_clean({"base/mutex.h": header("base/mutex.h", "std::mutex mu_;"), "base/BUILD": build("mutex.h")})

    def test_code_is_not_comments_or_text(self):
        for code in ("// throw nothing, sleep(1)", '"throw"', 'R"(throw " sleep(1))"', "/* rand()\n   throw */", "'\"'; // throw",
                     "overthrow();", "strand();", "options.rand();", 'x = "\\"throw";'):
            self.assert_clean(self.source(code + "\n"))
        self.assert_found(self.source('1\'000; throw 2; x = \'a\';\n'), "server/main.cc", 1, "throw")
        self.assert_found(self.source('"text"; throw 2; "text";\n'), "server/main.cc", 1, "throw")

    def test_owned_todo(self):
        self.assert_clean({"base/BUILD": "# TODO(ann): take out with version 2\n"})
        for text in ("# TODO: later\n", "# TODO(ann)\n", "# FIXME\n"):
            self.assert_found({"base/BUILD": text}, "base/BUILD", 1, "without owner")

    def test_paths_of_one_machine(self):
        for text in ("cd /home/ann/weir\n", "see /work/main/base\n", 'out = "/tmp/x"\n'):
            self.assert_found({"base/notes.txt": text}, "base/notes.txt", 1, "path of one machine")
        self.assert_clean({"base/notes.txt": "${TMPDIR:-/tmp}/x, runs/tmp/x, https://host/home/x, /tmp\n"})

    # BUILD files

    def test_build_hides_nothing(self):
        self.assert_found({"base/BUILD": 'srcs = glob(["*.cc"])\n'}, "base/BUILD", 1, "glob")
        self.assert_found({"base/BUILD": 'visibility = ["//visibility:public"]\n'}, "base/BUILD", 1, "public visibility")
        self.assert_clean({"tools/bazel/rules_cc/BUILD": 'visibility = ["//visibility:public"]\n'})

    def test_one_header_one_target(self):
        self.assert_found({"base/BUILD": 'hdrs = ["a.h", "b.h"]\n'}, "base/BUILD", 1, "one header")
        self.assert_found({"base/BUILD": 'hdrs = [\n    "a.h",\n    "b.h",\n]\n'}, "base/BUILD", 1, "one header")

    def test_labels_are_sorted(self):
        deps = 'deps = [\n    "{}",\n    "{}",\n],\n'
        for before, after in ((":a", ":b"), (":z", "//a:a"), ("//z", "@system//:a"), ("//base:z", "//base/x:a")):
            self.assert_clean({"base/BUILD": deps.format(before, after)})
            self.assert_found({"base/BUILD": deps.format(after, before)}, "base/BUILD", 1, "not sorted")

    def test_every_source_has_a_target(self):
        self.assert_found({"server/main.cc": "int x;\n"}, "server/main.cc", 1, "no target")
        self.assert_found({"server/main.cc": "int x;\n", "server/BUILD": build("domain.cc")}, "server/main.cc", 1, "no target")

    def test_every_part_has_a_test(self):
        files = {"base/key.cc": "int x;\n", "base/key.h": header("base/key.h"), "base/BUILD": build("key.cc", "key.h")}
        self.assert_found(files, "base/key.cc", 1, "tests/base/key_test.cc")
        self.assert_clean({**files, "tests/base/key_test.cc": "int y;\n", "tests/base/BUILD": build("key_test.cc")})
        suite = {"tests/base/suite_test.cc": '#include "base/key.h"\n', "tests/base/BUILD": build("suite_test.cc")}
        self.assert_clean({**files, **suite})
        elsewhere = {"tests/server/suite_test.cc": '#include "base/key.h"\n', "tests/server/BUILD": build("suite_test.cc")}
        self.assert_found({**files, **elsewhere}, "base/key.cc", 1, "no test includes its header")
        whole = {"base/job.h": header("base/job.h"), "base/job.cc": '#include "base/key.h"\n', "base/BUILD": build("key.cc", "key.h", "job.h", "job.cc"),
                 "tests/base/job_test.cc": '#include "base/job.h"\n', "tests/base/BUILD": build("job_test.cc")}
        self.assert_clean({**files, **whole})
        with mock.patch.object(tidy, "TWIN_EXCEPTIONS", {"base/key.cc": "why"}), mock.patch.object(tidy, "EXCEPTIONS_MAX", 1):
            self.assert_clean(files)
            self.assert_found({**files, **suite}, "tools/tidy.py", 1, "needs no exception any more")

    # Prose

    def test_links_lead_somewhere(self):
        files = {"README.md": "# Weir\n## Life of a push\n[x](docs/a.md#one-and-two) [y](#life-of-a-push) [z](https://x.org/y)\n",
                 "docs/a.md": "# One, and `two`\n[up](../README.md)\n"}
        self.assert_clean(files)
        self.assert_found({**files, "docs/a.md": "# One, and two\n[x](b.md)\n"}, "docs/a.md", 2, "leads nowhere: b.md")
        self.assert_found({**files, "docs/a.md": "# Three\n"}, "README.md", 3, "no heading for #one-and-two")

    def test_one_title_a_page(self):
        self.assert_found({"README.md": "# One\n# Two\n"}, "README.md", 1, "2 titles")
        self.assert_clean({"README.md": "# One\n```\n# a comment\n```\n"})

    def test_files_named_in_prose_exist(self):
        files = {"base/BUILD": "x = 1\n", "tools/demo": "#!/bin/sh\n"}
        text = "# A\n`base/BUILD`, `base/`, `tools/demo --rows 5`, `runs/demo/x.json`, `a/b`, `base/<name>.h`, `//base:key`, `base/*.h`\n"
        self.assert_clean({**files, "README.md": text}, ["tools/demo"])
        self.assert_found({**files, "README.md": "# A\n\n`base/kay.h`\n"}, "README.md", 3, "`base/kay.h` does not exist", ["tools/demo"])

    # Bytes

    def test_white_space(self):
        self.assert_found({"base/BUILD": "x = 1 \n"}, "base/BUILD", 1, "trailing")
        self.assert_found({"base/BUILD": "x = 1\r\ny = 2\n"}, "base/BUILD", 1, "trailing")
        self.assert_found({"base/BUILD": "x = 1\ny = 2"}, "base/BUILD", 2, "does not end")
        self.assert_found({"base/BUILD": "x = 1\n\n"}, "base/BUILD", 2, "empty lines")
        self.assert_clean({"base/BUILD": "", "tests/fuzz/corpus/job/1.yaml": "x:  ", "docs/plot.png": b"\x89PNG \n\0"})

    def test_scripts_can_be_run(self):
        self.assert_clean({"tools/demo": "#!/bin/sh\n"}, ["tools/demo"])
        self.assert_found({"tools/demo": "#!/bin/sh\n"}, "tools/demo", 1, "cannot be run")
        self.assert_found({"README.md": "# A\n"}, "README.md", 1, "no script", ["README.md"])


if __name__ == "__main__":
    unittest.main()
