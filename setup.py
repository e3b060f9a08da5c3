"""Build the extension modules, and the page on PyPI; other metadata is in pyproject.toml."""

import multiprocessing
import os
import re
import sys
import tempfile
import tomllib
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

CORE = Path("skgpb") / "_core"
# GCC's options for modules with long loops of their own. The others compile twice as fast with
# fewer: their loops are in BLAS, or short, or need no more than these.
LOOPS = {"_additive": ["-O2", "-ftree-vectorize"], "_cells": ["-O3"]}

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": bool(int(os.environ.get("SKGPB_BOUNDSCHECK", "0"))),
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    # Functions without attributes of their own take less code; signatures are in the docstrings.
    "binding": False,
    # Compiled classes are pickled only if they define how.
    "auto_pickle": False,
    "embedsignature": True,
    "freethreading_compatible": True,
}


# Nothing is written among the sources. Where they are read-only, all of the build goes elsewhere.
if os.access(".", os.W_OK):
    build, options = Path("build"), {}
else:
    scratch = tempfile.TemporaryDirectory()
    build = Path(scratch.name)
    options = {"egg_info": {"egg_base": scratch.name}, "build": {"build_base": scratch.name}}

# Directives change the C code of sources that did not change: each kind has its own directory.
generated = build / ("cython-checked" if DIRECTIVES["boundscheck"] else "cython")


def write_blas_int() -> None:
    """Write the one-line include that names BLAS's integer type.

    SciPy 1.18 and later export ``blas_int``, which is 64 bits wide in ILP64 builds; before
    that every build uses C ``int``.
    """
    import scipy.linalg

    declarations = (Path(scipy.linalg.__file__).parent / "cython_blas.pxd").read_text()
    line = (
        "from scipy.linalg.cython_blas cimport blas_int\n"
        if "blas_int" in declarations
        else "ctypedef int blas_int\n"
    )
    target = generated / "blas_int.pxi"
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.read_text() != line:
        target.write_text(line)


write_blas_int()

if sys.platform == "win32":
    LOOPS, brief = {}, ["/O2"]
    compile_args, link_args, libraries = [], [], []
else:
    # Without debug symbols and with a stripped symbol table a wheel is five times smaller.
    # The compiler decides which helpers of Cython it inlines. Marked inline, they take a quarter
    # more time to compile and a tenth more space, and are no faster.
    brief = ["-O1", "-ftree-vectorize", "-fstrict-aliasing"]
    if sys.platform.startswith("linux"):
        # The one of GCC's options above -O1 that loops over functions of distances need: without
        # it they take twice the time, and with -O3 they take as long.
        brief.append("-fexpensive-optimizations")
    compile_args = ["-DCYTHON_INLINE=__attribute__((unused))"]
    compile_args += ["-g0", "-fno-math-errno", "-fno-trapping-math"]
    link_args = ["-Wl,-s"] if sys.platform.startswith("linux") else []
    libraries = ["m"]
    if sanitizers := os.environ.get("SKGPB_SANITIZE"):
        kinds = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
        compile_args += ["-O1", "-g", "-fno-omit-frame-pointer", *kinds]
        link_args = kinds

extensions = [
    Extension(
        f"skgpb._core.{path.stem}",
        [str(path)],
        extra_compile_args=LOOPS.get(path.stem, brief) + compile_args,
        extra_link_args=link_args,
        libraries=libraries,
    )
    for path in sorted(CORE.glob("*.pyx"), key=lambda path: path.stat().st_size, reverse=True)
]

# What Cython needs for memoryviews is in one module and not in each, which halves what they take;
# up to Cython 3.1 it is in each as well.
SHARED = "skgpb._core._shared"
extensions.insert(
    0,
    Extension(
        SHARED,
        [f"{SHARED.replace('.', '/')}.c"],
        extra_compile_args=brief + compile_args,
        extra_link_args=link_args,
        libraries=libraries,
    ),
)

# All processors compile, each another module, the longest ones first. Processes that do not begin
# as copies of this one would run this file again.
n_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
options["build_ext"] = {"parallel": n_processors}


def readme() -> str:
    """Return README.md with links that work on PyPI: to the release's files at the ``Source``.

    As long as ``[project.urls]`` has no ``Source`` they stay relative.
    """
    text = Path("README.md").read_text(encoding="utf-8")
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    if (source := project["urls"].get("Source")) is None:
        return text
    tag = f"v{project['version']}"
    text = re.sub(r"(\]\()(?![a-z]+:|#)", rf"\1{source}/blob/{tag}/", text)
    return re.sub(r'((?:src|srcset)=")(?![a-z]+:)', rf"\1{source}/raw/{tag}/", text)


setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    ext_modules=cythonize(
        extensions,
        nthreads=n_processors if multiprocessing.get_start_method() == "fork" else 0,
        shared_utility_qualified_name=SHARED,
        compiler_directives=DIRECTIVES,
        build_dir=str(generated),
        include_path=[str(generated)],
    ),
    options=options,
)
