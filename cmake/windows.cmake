# For Windows, on any host. The compiler and its processor select cargo's target, unless ZTENSOR_CARGO_TARGET
# is set. cargo's output is used unchanged, without a shell.

if(MSVC)
    set(machine "${CMAKE_C_COMPILER_ARCHITECTURE_ID}")
    set(compiler msvc)
else()
    set(machine "${CMAKE_SYSTEM_PROCESSOR}") # a toolchain file must set it
    set(compiler gnu)
    if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
        set(compiler gnullvm)
    endif()
endif()
if(NOT ztensor_cargo_target)
    string(TOLOWER "${machine}" machine)
    if(machine MATCHES "^(x64|x86_64|amd64|x86|i[3-6]86)$")
        set(processor x86_64)
        if(CMAKE_SIZEOF_VOID_P EQUAL 4)
            set(processor i686)
        endif()
    elseif(machine MATCHES "^(arm64|aarch64)$" AND NOT compiler STREQUAL "gnu") # Rust has no target for gcc
        set(processor aarch64)
    else()
        message(FATAL_ERROR "ztensor: no Rust target is known for CMAKE_SYSTEM_PROCESSOR \"${machine}\"; set ZTENSOR_CARGO_TARGET")
    endif()
    set(ztensor_cargo_target "${processor}-pc-windows-${compiler}")
endif()

# The names that rustc uses. Rust and the crate cc find Microsoft's compiler and linker themselves.
set(ztensor_shared_names ztensor.dll)
if(MSVC)
    set(ztensor_import_name ztensor.dll.lib)
    set(ztensor_static_name ztensor.lib)
else()
    set(ztensor_import_name libztensor.dll.a)
    set(ztensor_static_name libztensor.a)
    string(REPLACE "-" "_" name "${ztensor_cargo_target}")
    string(TOUPPER "${name}" upper)
    set(ztensor_cargo_environment "CC_${name}=${CMAKE_C_COMPILER}" "AR_${name}=${CMAKE_AR}"
        "CARGO_TARGET_${upper}_LINKER=${CMAKE_C_COMPILER}")
endif()

# The output of rustc --print native-static-libs for the static library, and the output of other Rust versions.
set(ztensor_native_libs ws2_32 userenv ntdll bcrypt advapi32 dbghelp kernel32)
