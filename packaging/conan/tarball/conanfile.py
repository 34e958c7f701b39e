"""The library from the packages of `make -C packaging dist` and `make -C packaging dist-elsewhere`, without
Rust.

    ZTENSOR_DIST=DIR-OR-URL conan create packaging/conan/tarball --test-folder=../test_package

ZTENSOR_DIST contains the tarball and its .sha256, like target/dist or a release."""

import os

from conan import ConanFile
from conan.errors import ConanException, ConanInvalidConfiguration
from conan.tools.files import check_sha256, copy, download, unzip

ARCHITECTURES = {"x86_64": "x86_64", "armv8": "aarch64"}


class ZTensor(ConanFile):
    name = "ztensor"
    version = "1.0.0"
    license = "MIT OR Apache-2.0"
    description = "Opens, reads, verifies and writes zTensor .zt files of tensors"
    settings = "os", "arch"
    options = {"shared": [True, False], "libc": ["gnu", "musl"]}
    default_options = {"shared": False, "libc": "gnu"}

    def config_options(self):
        if self.settings.os != "Linux":
            del self.options.libc

    def _file(self):
        architecture = ARCHITECTURES.get(str(self.settings.arch))
        if architecture and self.settings.os == "Linux":
            return f"ztensor-{self.version}-{architecture}-linux-{self.options.libc}.tar.xz"
        if architecture == "x86_64" and self.settings.os == "Windows":
            return f"ztensor-{self.version}-x86_64-windows.zip"
        return None

    def validate(self):
        if not self._file():
            raise ConanInvalidConfiguration(f"there is no tarball for {self.settings.os} on {self.settings.arch}")
        if self.settings.os == "Windows" and not self.options.shared:
            raise ConanInvalidConfiguration("the zip for Windows only has the DLL; set shared=True")

    def build(self):
        file, place = self._file(), os.environ.get("ZTENSOR_DIST")
        if not place:
            raise ConanException(f"set ZTENSOR_DIST to the folder or URL of {file}")
        for name in (file, f"{file}.sha256"):
            if "://" in place:
                download(self, f"{place.rstrip('/')}/{name}", name)
            else:
                copy(self, name, place, self.build_folder)
        with open(f"{file}.sha256", encoding="ascii") as sums:
            check_sha256(self, file, sums.read().split()[0])
        unzip(self, file, "tarball", strip_root=True)

    def package(self):
        unpacked = os.path.join(self.build_folder, "tarball")
        copy(self, "include/*", unpacked, self.package_folder)
        copy(self, "*", os.path.join(unpacked, "share", "doc", "ztensor"), os.path.join(self.package_folder, "licenses"))
        libraries = ["lib/libztensor.so*", "lib/libztensor.dll.a", "bin/ztensor.dll"] if self.options.shared else ["lib/libztensor.a"]
        for pattern in libraries:
            copy(self, pattern, unpacked, self.package_folder)

    def package_info(self):
        self.cpp_info.libs = ["ztensor"]
        self.cpp_info.set_property("cmake_file_name", "ztensor")
        self.cpp_info.set_property("cmake_target_name", "ztensor::ztensor" if self.options.shared else "ztensor::static")
        self.cpp_info.set_property("pkg_config_name", "ztensor")
        if self.settings.os == "Linux" and not self.options.shared:
            self.cpp_info.system_libs = ["gcc_s" if self.options.libc == "gnu" else "gcc_eh", "pthread", "dl", "m"]
