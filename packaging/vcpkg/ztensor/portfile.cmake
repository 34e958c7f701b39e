# An overlay port: vcpkg install ztensor --overlay-ports=packaging/vcpkg. Uses the source tree around it.
# cargo must be on the PATH, and downloads the crates.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "static" static)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DZTENSOR_BUILD_TESTS=OFF
        -DZTENSOR_INSTALL=ON
        "-DZTENSOR_BUILD_SHARED=${shared}"
        "-DZTENSOR_BUILD_STATIC=${static}"
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME ztensor CONFIG_PATH lib/cmake/ztensor)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE-MIT" "${SOURCE_PATH}/LICENSE-APACHE" "${SOURCE_PATH}/LICENSE-ggml-MIT")
