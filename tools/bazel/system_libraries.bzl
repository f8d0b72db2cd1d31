"""A repository of the libraries that the machine has: one cc_library with flags, and no headers, for each."""

def _words(text):
    return [word for word in text.replace("\n", " ").split(" ") if word]

def _flags(ctx, packages):
    result = ctx.execute(["pkg-config", "--cflags", "--libs"] + packages)
    if result.return_code != 0:
        fail("pkg-config does not know one of %s; run tools/setup\n%s" % (packages, result.stderr))
    return _words(result.stdout)

def _unique(flags):
    seen = {}
    for flag in flags:
        seen[flag] = True
    return seen.keys()

def _impl(ctx):
    build = ['package(default_visibility = ["//visibility:public"])']
    for name, spec in ctx.attr.libraries.items():
        kind, _, words = spec.partition(":")
        words = _words(words)
        flags = _flags(ctx, words) if kind == "pkg-config" else words
        defines = _unique([flag[2:] for flag in flags if flag.startswith("-D")])
        links = _unique([flag for flag in flags if flag.startswith("-l") or flag == "-pthread"])
        build.append("cc_library(name = %r, defines = %r, linkopts = %r)" % (name, defines, links))
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD", "\n".join(build) + "\n")

system_libraries = repository_rule(
    implementation = _impl,
    attrs = {"libraries": attr.string_dict(mandatory = True)},
    doc = "libraries: target name -> 'pkg-config: PACKAGE...' or 'link: FLAG...'.",
    local = True,
)
