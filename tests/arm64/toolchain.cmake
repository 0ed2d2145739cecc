# Debian's cross compiler with the libraries of an arm64 Debian in a directory, BATON_ARM64_ROOT.
# What is linked is wrapped: its name runs it in an emulator (wrap).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(BATON_ARM64_ROOT "" CACHE PATH "root of an arm64 Debian: libraries and headers")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BATON_ARM64_ROOT)
set(CMAKE_SYSROOT ${BATON_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH ${BATON_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()

set(ENV{PKG_CONFIG_SYSROOT_DIR} ${BATON_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${BATON_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)

set(CMAKE_C_LINK_EXECUTABLE
  "<CMAKE_C_COMPILER> <FLAGS> <CMAKE_C_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> \
<LINK_LIBRARIES>"
  "${CMAKE_CURRENT_LIST_DIR}/wrap <TARGET> ${BATON_ARM64_ROOT}")
