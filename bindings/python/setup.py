"""A wheel of the package with the shared library inside: LIBZTENSOR=path/to/libztensor.so.0 pip wheel bindings/python"""
import os
import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel


class WithLibrary(build_py):
    def run(self):
        library = os.environ.get("LIBZTENSOR", "")
        if not os.path.isfile(library):
            given = f"LIBZTENSOR={library} is no file" if library else "LIBZTENSOR is not set"
            sys.exit(f"libztensor: {given}; it has to be the path of libztensor.so.0, which `make libs` builds and packages install")
        super().run()
        shutil.copyfile(library, Path(self.build_lib) / "libztensor/libztensor.so.0")


class AnyPython(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": WithLibrary, "bdist_wheel": AnyPython})
