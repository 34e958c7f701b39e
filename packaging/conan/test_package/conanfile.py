"""The test package of conan create: a user's first program, built with CMake."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class ZTensorTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            model = os.environ.get("ZTENSOR_MODEL", "")
            self.run(f'"{os.path.join(self.cpp.build.bindir, "stranger")}" "{model}"', env="conanrun")
