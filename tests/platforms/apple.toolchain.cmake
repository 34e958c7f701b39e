# Lets CMake build for macOS on another system, with $CC, $AR and LLVM's tools.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_C_COMPILER "$ENV{CC}")
set(CMAKE_AR "$ENV{AR}" CACHE FILEPATH "")
set(CMAKE_NM "$ENV{NM}" CACHE FILEPATH "")
set(CMAKE_INSTALL_NAME_TOOL "$ENV{INSTALL_NAME_TOOL}" CACHE FILEPATH "")
set(CMAKE_OSX_SYSROOT macosx) # not a path that exists
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
