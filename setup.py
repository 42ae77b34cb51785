"""The one compiled part, `gibbsafe.losses._kernels`, is optional: where it cannot be built, NumPy and SciPy do its work."""

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

#: Beside optimisation, what allows vector instructions: no errno, no traps, the one sum marked for it in any order.
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"]
#: Microsoft's compiler has other names; it passes over the pragmas that it does not know.
MSVC_FLAGS = ["/O2", "/fp:precise", "/wd4068"]


class BuildWithFlags(build_ext):
    """Builds with the flags of the compiler at hand."""

    def build_extensions(self):
        """Set the flags, now that the compiler is known."""
        for extension in self.extensions:
            extension.extra_compile_args = MSVC_FLAGS if self.compiler.compiler_type == "msvc" else FLAGS
        super().build_extensions()


setup(
    cmdclass={"build_ext": BuildWithFlags},
    ext_modules=[
        Extension(
            "gibbsafe.losses._kernels",
            ["src/gibbsafe/losses/_kernels.c"],
            include_dirs=[numpy.get_include()],
            optional=True,
        )
    ],
)
