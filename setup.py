"""The one compiled part, `gibbsafe.losses._kernels`, is optional: where it cannot be built, NumPy and SciPy do its work."""

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "gibbsafe.losses._kernels",
            ["src/gibbsafe/losses/_kernels.c"],
            include_dirs=[numpy.get_include()],
            # Beside optimisation, what allows vector instructions: no errno, no traps, the one sum marked for it in any order.
            extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"],
            optional=True,
        )
    ]
)
