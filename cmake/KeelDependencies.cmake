# Debian packages only; nothing is downloaded. scripts/setup installs them and says what each is for.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)  # The name since 0.8.
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
find_package(SQLite3 3.40 REQUIRED)
# libbacktrace comes with the compiler (Debian's libgcc-N-dev). Its header lies among GCC's own, which Clang must not
# see: it is copied out of there.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libbacktrace.a OUTPUT_VARIABLE keel_backtrace
  OUTPUT_STRIP_TRAILING_WHITESPACE)
get_filename_component(keel_backtrace "${keel_backtrace}" DIRECTORY)
if(NOT EXISTS "${keel_backtrace}/include/backtrace.h")
  message(FATAL_ERROR "libbacktrace is not beside the compiler's libgcc (Debian: a part of libgcc-12-dev and later)")
endif()
set(KEEL_BACKTRACE_INCLUDE "${CMAKE_CURRENT_BINARY_DIR}/backtrace")
configure_file("${keel_backtrace}/include/backtrace.h" "${KEEL_BACKTRACE_INCLUDE}/backtrace.h" COPYONLY)
if(KEEL_URING)
  pkg_check_modules(liburing REQUIRED IMPORTED_TARGET liburing>=2.3)
endif()
if(KEEL_TESTS)
  find_package(GTest 1.12 REQUIRED)
endif()
if(KEEL_BENCH)
  find_package(benchmark REQUIRED)
endif()
