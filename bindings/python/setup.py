"""Makes a wheel of the package with the shared library inside: LIBZTENSOR=path/to/libztensor.so.1 pip wheel
bindings/python

LIBZTENSOR_NOTICES is a folder with licenses/ and sboms/ of the library's contents; they become part of the
wheel's metadata.
"""
import os
import shutil
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel


class WithLibrary(build_py):
    def run(self):
        library = os.environ.get("LIBZTENSOR", "")
        if not os.path.isfile(library):
            given = f"LIBZTENSOR={library} is not a file" if library else "LIBZTENSOR is not set"
            sys.exit(f"libztensor: {given}; it must be the path of libztensor.so.1, which `make libs` builds and packages install")
        super().run()
        shutil.copyfile(library, Path(self.build_lib) / "libztensor/libztensor.so.1")


class Compiled(Distribution):
    """Installs into the folder of compiled packages, although setuptools compiles nothing."""

    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def write_wheelfile(self, wheelfile_base, *arguments, **options):
        super().write_wheelfile(wheelfile_base, *arguments, **options)
        if "LIBZTENSOR_NOTICES" in os.environ:
            shutil.copytree(os.environ["LIBZTENSOR_NOTICES"], wheelfile_base, dirs_exist_ok=True)

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=Compiled, cmdclass={"build_py": WithLibrary, "bdist_wheel": AnyPython})
