"""Objects of .cu files, with the toolkit under /usr/local/cuda. Only --config=cuda asks for them: nothing else needs the toolkit."""

_TOOLKIT = "/usr/local/cuda"
_FLAGS = ["-std=c++17", "-O2", "-I."]

# Code for Hopper, and what a driver compiles for any other GPU of the toolkit's range. Each host thread has a stream of its own.
_NVCC = [
    _TOOLKIT + "/bin/nvcc",
    "-gencode=arch=compute_90a,code=sm_90a",
    "-gencode=arch=compute_75,code=compute_75",
    "--default-stream=per-thread",
    "-Xcompiler=-fPIC,-Wall,-Wextra",
]

# The same source for the processor: Thrust's algorithms and __host__ functions are plain C++.
_PROCESSOR = [
    "g++",
    "-x",
    "c++",
    "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP",
    "-isystem" + _TOOLKIT + "/include",
    "-isystem" + _TOOLKIT + "/include/cccl",
    "-fPIC",
    "-Wall",
    "-Wextra",
    "-Werror",
]

def _impl(ctx):
    object = ctx.actions.declare_file(ctx.label.name + ".o")
    command = (_PROCESSOR if ctx.attr.on_processor else _NVCC) + _FLAGS + ["-c", ctx.file.src.path, "-o", object.path]
    ctx.actions.run_shell(
        command = " ".join(command),
        inputs = [ctx.file.src] + ctx.files.headers,
        outputs = [object],
        mnemonic = "CudaCompile",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([object]))]

weir_cuda_object = rule(
    implementation = _impl,
    attrs = {
        "src": attr.label(allow_single_file = [".cu"], mandatory = True),
        "headers": attr.label_list(allow_files = [".h"], doc = "of this repository that src includes, also through others"),
        "on_processor": attr.bool(doc = "for the processor instead of the GPU: kernels can be tested where there is none"),
    },
    doc = "The object of one .cu file, to be named in the srcs of a weir_cc_library.",
)
