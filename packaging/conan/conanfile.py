"""conan create packaging/conan -o "ztensor/*:shared=True". Uses the source tree around it; cargo must be on
the PATH."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class ZTensor(ConanFile):
    name = "ztensor"
    version = "1.0.0"
    license = "MIT OR Apache-2.0"
    description = "Opens, reads, verifies and writes zTensor .zt files of tensors"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("src/*", "include/*", "cmake/*", "man/*", "pkgconfig/*", "cli/*", "Cargo.*", "build.rs", "cbindgen.toml", "CMakeLists.txt", "LICENSE*"):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["ZTENSOR_BUILD_TESTS"] = False
        toolchain.cache_variables["ZTENSOR_BUILD_SHARED"] = bool(self.options.shared)
        toolchain.cache_variables["ZTENSOR_BUILD_STATIC"] = not self.options.shared
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE*", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.libs = ["ztensor"]
        self.cpp_info.set_property("cmake_file_name", "ztensor")
        self.cpp_info.set_property("cmake_target_name", "ztensor::ztensor" if self.options.shared else "ztensor::static")
        self.cpp_info.set_property("pkg_config_name", "ztensor")
        if self.settings.os == "Linux" and not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "dl"]
