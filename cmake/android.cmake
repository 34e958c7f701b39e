# For the toolchain file of the Android NDK. ANDROID_ABI selects cargo's target. The NDK's clang, whose target
# has the API level, compiles libzstd.

if(NOT ztensor_cargo_target)
    set(abis arm64-v8a armeabi-v7a x86 x86_64 riscv64)
    set(targets aarch64-linux-android armv7-linux-androideabi i686-linux-android x86_64-linux-android riscv64-linux-android)
    list(FIND abis "${CMAKE_ANDROID_ARCH_ABI}" place)
    if(place EQUAL -1)
        message(FATAL_ERROR "ztensor: no Rust target is known for ANDROID_ABI \"${CMAKE_ANDROID_ARCH_ABI}\"; set ZTENSOR_CARGO_TARGET")
    endif()
    list(GET targets ${place} ztensor_cargo_target)
endif()

# rustc does not link: the shared library is linked from the archive, as on other systems.
set(ztensor_crate_types staticlib)
set(flags "")
if(CMAKE_C_COMPILER_TARGET)
    list(APPEND flags "--target=${CMAKE_C_COMPILER_TARGET}")
endif()
if(CMAKE_SYSROOT)
    list(APPEND flags "--sysroot=${CMAKE_SYSROOT}")
endif()
list(JOIN flags " " flags)
string(REPLACE "-" "_" name "${ztensor_cargo_target}")
set(ztensor_cargo_environment "CC_${name}=${CMAKE_C_COMPILER}" "AR_${name}=${CMAKE_AR}" "CFLAGS_${name}=${flags}")
set(ztensor_stage_environment SYSTEM=Android)
