"""Weir's build rules: the native ones with the house flags."""

_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",  # generated service code has them
    "-Wno-sign-compare",
    "-Wno-maybe-uninitialized",  # gcc 12 reports false ones from absl::StatusOr at -O2
    "-Wno-deprecated-declarations",
]

def weir_cc_library(name, copts = [], **kwargs):
    native.cc_library(name = name, copts = _COPTS + copts, **kwargs)

def weir_cc_binary(name, copts = [], linkopts = [], **kwargs):
    # Exported symbols let base/socket_bytes count what shared libraries send.
    native.cc_binary(name = name, copts = _COPTS + copts, linkopts = ["-rdynamic"] + linkopts, **kwargs)

def weir_cc_test(name, copts = [], linkopts = [], data = [], deps = [], size = "small", **kwargs):
    native.cc_test(
        name = name,
        size = size,
        copts = _COPTS + copts,
        linkopts = ["-rdynamic"] + linkopts,
        data = data + ["//tests/sanitizers:tsan.supp"],
        deps = deps + ["@system//:gtest_main", "@system//:gtest"],
        **kwargs
    )

def weir_cc_fuzz(name, srcs, deps):
    """One LLVMFuzzerTestOneInput: a libFuzzer target, and <name>_replay_test, an ordinary test that feeds it the kept inputs.

    The kept inputs are the files of corpus/<name>/ beside the BUILD file. tools/fuzz finds the target by its tag "fuzz".
    """
    corpus = native.glob(["corpus/" + name + "/*"], allow_empty = False)
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = _COPTS,
        linkopts = ["-fsanitize=fuzzer", "-rdynamic"],
        data = corpus,
        deps = deps,
        tags = ["fuzz", "manual"],
        testonly = True,
    )
    native.cc_test(
        name = name + "_replay_test",
        size = "small",
        srcs = srcs,
        copts = _COPTS,
        linkopts = ["-rdynamic"],
        args = [native.package_name() + "/corpus/" + name],
        data = corpus + ["//tests/sanitizers:tsan.supp"],
        deps = deps + ["//tests/fuzz:replay_main"],
    )

def weir_proto_library(name, src, imports = [], deps = [], grpc = False, **kwargs):
    """C++ of one .proto file; grpc = True adds the service classes.

    imports: the .proto files that src imports; deps: their C++ libraries.
    """
    stem = src[:-len(".proto")]
    suffixes = [".pb"] + ([".grpc.pb"] if grpc else [])
    headers = [stem + suffix + ".h" for suffix in suffixes]
    sources = [stem + suffix + ".cc" for suffix in suffixes]
    flags = "--cpp_out=$(GENDIR)"
    if grpc:
        flags += " --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin --grpc_out=$(GENDIR)"
    native.genrule(
        name = name + "_generated",
        srcs = [src] + imports,
        outs = headers + sources,
        cmd = "/usr/bin/protoc -I. %s $(location %s)" % (flags, src),
    )
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        copts = ["-std=c++17", "-w"],
        deps = deps + ["@system//:grpc", "@system//:protobuf"],
        **kwargs
    )
