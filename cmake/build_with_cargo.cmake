# The target ztensor_cargo, which runs cargo and stages its output, and the imported targets that depend on
# it. Every build runs cargo, because cargo knows what is out of date. Staged files change only if their
# content changes.

find_program(ZTENSOR_CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin" "$ENV{USERPROFILE}/.cargo/bin")
if(NOT ZTENSOR_CARGO)
    message(FATAL_ERROR "ztensor: cargo was not found; install Rust, or set ZTENSOR_CARGO")
endif()
if(NOT UNIX AND NOT WIN32)
    message(FATAL_ERROR "ztensor: CMake builds only work on Unix and Windows; use cargo on this system")
endif()

set(ztensor_cargo_target "${ZTENSOR_CARGO_TARGET}")
set(ztensor_cargo_environment "")
set(ztensor_stage_environment "")
set(ztensor_crate_types cdylib,staticlib)
set(ztensor_static_name libztensor.a)
if(ANDROID)
    include("${CMAKE_CURRENT_LIST_DIR}/android.cmake")
elseif(APPLE)
    include("${CMAKE_CURRENT_LIST_DIR}/apple.cmake")
elseif(WIN32)
    include("${CMAKE_CURRENT_LIST_DIR}/windows.cmake")
endif()

set(profile release)
set(profile_dir release)
set(strip --strip-debug) # debug information of Rust's standard library; this profile has no other
if(CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT CMAKE_CONFIGURATION_TYPES)
    set(profile dev)
    set(profile_dir debug)
    set(strip "")
endif()

set(ztensor_stage_dir "${CMAKE_CURRENT_BINARY_DIR}/lib")
set(shared_dir "${ztensor_stage_dir}")
if(WIN32) # the names are in cmake/windows.cmake
    set(shared_dir "${CMAKE_CURRENT_BINARY_DIR}/bin")
elseif(APPLE)
    set(ztensor_shared_names libztensor.${PROJECT_VERSION}.dylib libztensor.${PROJECT_VERSION_MAJOR}.dylib libztensor.dylib)
    set(ztensor_soname "@rpath/libztensor.${PROJECT_VERSION_MAJOR}.dylib")
    set(ztensor_native_libs "")
elseif(ANDROID)
    set(ztensor_shared_names libztensor.so) # in an app, links and names that end in a number do not work
    set(ztensor_soname libztensor.so)
    set(ztensor_native_libs m dl)
else()
    set(ztensor_shared_names libztensor.so.${PROJECT_VERSION} libztensor.so.${PROJECT_VERSION_MAJOR} libztensor.so)
    set(ztensor_soname libztensor.so.${PROJECT_VERSION_MAJOR})
    # What the static archive needs besides libc and libgcc, which a C compiler links itself. Since glibc 2.34
    # both lists are empty. tests/consumers/host/checks.sh compares the list with the archive.
    set(ztensor_native_libs pthread dl)
endif()
set(ztensor_shared_files ${ztensor_shared_names})
list(TRANSFORM ztensor_shared_files PREPEND "${shared_dir}/")
list(GET ztensor_shared_names 0 ztensor_shared_name)
list(GET ztensor_shared_files 0 ztensor_shared_file)
set(ztensor_static_file "${ztensor_stage_dir}/${ztensor_static_name}")
set(ztensor_import_file "")
if(WIN32)
    set(ztensor_import_file "${ztensor_stage_dir}/${ztensor_import_name}")
endif()

# The compiler that links the shared library, with the flags that select the machine. Other flags are only for
# C code.
separate_arguments(link UNIX_COMMAND "${CMAKE_C_FLAGS}")
list(FILTER link INCLUDE REGEX "^(-m|-B|--target=|--sysroot=|-fuse-ld=)")
if(CMAKE_C_COMPILER_TARGET AND CMAKE_C_COMPILE_OPTIONS_TARGET)
    list(APPEND link "${CMAKE_C_COMPILE_OPTIONS_TARGET}${CMAKE_C_COMPILER_TARGET}")
endif()
if(CMAKE_SYSROOT)
    list(APPEND link "--sysroot=${CMAKE_SYSROOT}")
endif()
list(PREPEND link "${CMAKE_C_COMPILER}")
list(JOIN link " " link)
if(DEFINED ENV{LINK})
    set(link "$ENV{LINK}")
endif()

# Adds to ztensor_commands the commands that build for a target ("" for the host) and stage the output in a
# folder. More arguments are environment variables. Uses cargo rustc, because cargo build does not apply
# link-time optimisation to a library that is also an rlib.
set(ztensor_commands "")
function(ztensor_add_commands target folder)
    set(target_flag "")
    set(cargo_output "${ZTENSOR_CARGO_TARGET_DIR}/${profile_dir}")
    if(target)
        set(target_flag --target ${target})
        set(cargo_output "${ZTENSOR_CARGO_TARGET_DIR}/${target}/${profile_dir}")
    endif()
    if(WIN32)
        set(stage
            COMMAND ${CMAKE_COMMAND} -E make_directory "${shared_dir}" "${folder}"
            COMMAND ${CMAKE_COMMAND} -E copy_if_different "${cargo_output}/${ztensor_shared_name}" "${shared_dir}"
            COMMAND ${CMAKE_COMMAND} -E copy_if_different
                "${cargo_output}/${ztensor_import_name}" "${cargo_output}/${ztensor_static_name}" "${folder}")
    else()
        set(stage
            COMMAND ${CMAKE_COMMAND} -E env ${ztensor_stage_environment} ${ARGN} "CC=${CMAKE_C_COMPILER}" "LINK=${link}"
                "LD=${CMAKE_LINKER}" "NM=${CMAKE_NM}" "OBJCOPY=${CMAKE_OBJCOPY}" "AR=${CMAKE_AR}"
                sh "${PROJECT_SOURCE_DIR}/cmake/stage_libraries.sh"
                "${cargo_output}" "${folder}" ${PROJECT_VERSION} ${strip})
    endif()
    set(ztensor_commands ${ztensor_commands}
        COMMAND ${CMAKE_COMMAND} -E env "CARGO_TARGET_DIR=${ZTENSOR_CARGO_TARGET_DIR}" ${ztensor_cargo_environment}
            "${ZTENSOR_CARGO}" rustc --lib --package ztensor-c --profile ${profile} --crate-type ${ztensor_crate_types}
            ${target_flag} ${ZTENSOR_CARGO_FLAGS}
        ${stage}
        PARENT_SCOPE)
endfunction()

if(ztensor_architectures)
    set(folders "")
    foreach(architecture IN LISTS ztensor_architectures)
        list(FIND ztensor_architectures ${architecture} place)
        list(GET ztensor_apple_targets ${place} target)
        list(APPEND folders "${ztensor_stage_dir}-${architecture}")
        ztensor_add_commands(${target} "${ztensor_stage_dir}-${architecture}" ARCH=${architecture})
    endforeach()
    list(APPEND ztensor_commands COMMAND ${CMAKE_COMMAND} -E env "LIPO=${ZTENSOR_LIPO}"
        sh "${PROJECT_SOURCE_DIR}/cmake/join_architectures.sh" "${ztensor_stage_dir}" ${PROJECT_VERSION} ${folders})
else()
    ztensor_add_commands("${ztensor_cargo_target}" "${ztensor_stage_dir}")
endif()
add_custom_target(ztensor_cargo ALL
    ${ztensor_commands}
    BYPRODUCTS ${ztensor_shared_files} ${ztensor_import_file} "${ztensor_static_file}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    COMMENT "Building libztensor with cargo (${profile})"
    USES_TERMINAL VERBATIM)

if(ZTENSOR_BUILD_SHARED)
    add_library(ztensor::ztensor SHARED IMPORTED GLOBAL)
    set_target_properties(ztensor::ztensor PROPERTIES
        IMPORTED_LOCATION "${ztensor_shared_file}"
        INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include")
    if(WIN32)
        set_target_properties(ztensor::ztensor PROPERTIES IMPORTED_IMPLIB "${ztensor_import_file}")
    else()
        set_target_properties(ztensor::ztensor PROPERTIES IMPORTED_SONAME "${ztensor_soname}")
    endif()
    add_dependencies(ztensor::ztensor ztensor_cargo)
endif()

if(ZTENSOR_BUILD_STATIC)
    add_library(ztensor::static STATIC IMPORTED GLOBAL)
    set_target_properties(ztensor::static PROPERTIES
        IMPORTED_LOCATION "${ztensor_static_file}"
        IMPORTED_LINK_INTERFACE_LANGUAGES C
        INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include"
        INTERFACE_LINK_LIBRARIES "${ztensor_native_libs}")
    add_dependencies(ztensor::static ztensor_cargo)
endif()
