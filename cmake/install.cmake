# cmake --install: header, libraries, links, the CMake package, ztensor.pc, licences. Nothing that is installed
# knows where it is, so that the tree may be moved.
include(CMakePackageConfigHelpers)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
set(ztensor_shared_dir "${CMAKE_INSTALL_LIBDIR}")
set(ztensor_shared_property "IMPORTED_SONAME \"${ztensor_soname}\"")
if(WIN32) # looks for libraries where programs are
    set(ztensor_shared_dir "${CMAKE_INSTALL_BINDIR}")
    set(ztensor_shared_property "IMPORTED_IMPLIB \"\${_ztensor_libdir}/${ztensor_import_name}\"")
endif()
if(ZTENSOR_BUILD_SHARED)
    install(PROGRAMS "${ztensor_shared_file}" DESTINATION "${ztensor_shared_dir}" COMPONENT runtime)
    if(WIN32)
        install(FILES "${ztensor_import_file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
    elseif(NOT ANDROID)
        list(GET ztensor_shared_files 1 abi_link)
        list(GET ztensor_shared_files 2 plain_link)
        install(FILES "${abi_link}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime)
        install(FILES "${plain_link}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
    endif()
endif()
if(ZTENSOR_BUILD_STATIC)
    install(FILES "${ztensor_static_file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ztensor")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/ztensor-config.cmake.in"
    "${CMAKE_CURRENT_BINARY_DIR}/ztensor-config.cmake"
    INSTALL_DESTINATION "${package_dir}"
    PATH_VARS CMAKE_INSTALL_LIBDIR ztensor_shared_dir CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/ztensor-config-version.cmake"
    COMPATIBILITY SameMajorVersion)
install(FILES
    "${CMAKE_CURRENT_BINARY_DIR}/ztensor-config.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/ztensor-config-version.cmake"
    DESTINATION "${package_dir}" COMPONENT development)

# pkg-config knows where it found ztensor.pc; from there it is so many folders up. What it says is for compilers that look for
# -lztensor, which Microsoft's takes for the static library.
set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
    set(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
else()
    file(RELATIVE_PATH up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
    string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${up}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(pc_libs_private ${ztensor_native_libs})
list(TRANSFORM pc_libs_private PREPEND "-l")
string(REPLACE ";" " " pc_libs_private "${pc_libs_private}")
configure_file("${PROJECT_SOURCE_DIR}/pkgconfig/ztensor.pc.in" "${CMAKE_CURRENT_BINARY_DIR}/ztensor.pc" @ONLY)
if(NOT MSVC)
    install(FILES "${CMAKE_CURRENT_BINARY_DIR}/ztensor.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endif()

file(GLOB licences CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/LICENSE*")
install(FILES ${licences} DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/man/zt.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT runtime)
install(FILES "${PROJECT_SOURCE_DIR}/man/ztensor.3" DESTINATION "${CMAKE_INSTALL_MANDIR}/man3" COMPONENT development)
