# Replaces the toolchain file of the Android NDK: sets the variables that cmake/android.cmake reads, with $CC
# and $AR.
set(CMAKE_SYSTEM_NAME Android)
set(CMAKE_SYSTEM_VERSION 1) # so CMake does not search for an NDK
set(CMAKE_ANDROID_ARCH_ABI "${ANDROID_ABI}")
set(CMAKE_C_COMPILER "$ENV{CC}")
set(CMAKE_C_COMPILER_TARGET aarch64-none-linux-android21)
set(CMAKE_AR "$ENV{AR}" CACHE FILEPATH "")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANDROID_ABI)
