# keel_module(NAME [DEPENDS target...] [APART file...] [SOURCES file...])
#   one library per module: keel_NAME, alias keel::NAME; it is installed with the headers of its folder. Without sources
#   it is headers only, or a name for the modules that it depends on. The module a_b lies in src/keel/a/b; the helpers
#   for tests of the module a, which programs that use Keel test with too, are the module a_testing. With
#   KEEL_UNITE_LIBRARY several sources are compiled as one, those that are also APART by themselves.
# keel_tool(NAME [APART file...] SOURCES file...)
#   a library of a command of the program `keel`, compiled with KEEL_TOOL_OPTIONS.
# keel_program(NAME)  the executable NAME is installed.
# keel_test(NAME [ALONE] [OWN_PROGRAM] [LABELS label...] [LIBS target...] [OPTIONS option...] [TIMEOUT seconds]
#   [COST seconds] SOURCES file...)
#   one ctest entry, which runs the tests of these files; those with the highest cost start first. ALONE: no other test
#   runs beside it, which measures real delays. All tests of a folder are one program, in which several files are compiled
#   as one (keel_test_program). OWN_PROGRAM: the executable NAME, with what other commands add to it; so is what has fuzzers
#   among its files or OPTIONS of its own for the compiler, with which it does without the precompiled header. Everything
#   links keel::base_testing. The target `test_programs` builds what the tests run, and nothing else.
# keel_fuzzer(NAME SOURCES file... [LIBS target...])  one libFuzzer executable; Clang only.
# keel_bench(NAME SOURCES file... [LIBS target...])   one Google Benchmark executable.
# keel_list_fuzzers()  target `fuzzers` builds all of them; their paths are in fuzzers.txt in the build folder.

include(GNUInstallDirs)

# What everything of ours is compiled with, tests included.
function(keel_language target)
  target_compile_features(${target} PUBLIC cxx_std_23)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
  # GCC 13 and 14 often mistake a reference that a function returns for one to a temporary argument of that function.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(${target} PRIVATE -Wno-dangling-reference)
  endif()
  # The libraries are static: nobody replaces their functions, which may therefore be inlined within a file, and their
  # thread-local variables lie in the program's own block, which saves a call at each access.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition -ftls-model=initial-exec)
endfunction()

# The same for what is no module and no test.
function(keel_options target)
  keel_language(${target})
  get_target_property(type ${target} TYPE)
  if(KEEL_HARDEN AND type STREQUAL "EXECUTABLE")
    target_link_libraries(${target} PRIVATE keel_harden)
  elseif(KEEL_HARDEN)
    keel_harden(${target} "")
  endif()
endfunction()

function(keel_module name)
  cmake_parse_arguments(arg "" "" "APART;DEPENDS;SOURCES" ${ARGN})
  set(target keel_${name})
  if(arg_SOURCES)
    set(scope PUBLIC)
    add_library(${target} STATIC ${arg_SOURCES})
    keel_language(${target})
    if(KEEL_HARDEN AND NOT name MATCHES "_testing$")
      keel_harden(${target} ${name})
    endif()
    keel_precompile_library(${target})
    keel_unite_library(${target} ${arg_APART})
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_23)
  endif()
  add_library(keel::${name} ALIAS ${target})
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} ${scope} ${arg_DEPENDS})
  target_compile_definitions(${target} ${scope} $<$<BOOL:${KEEL_BARE}>:KEEL_BARE=1>)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY KEEL_MODULES ${target})
endfunction()

function(keel_program name)
  set_property(GLOBAL APPEND PROPERTY KEEL_PROGRAMS ${name})
endfunction()

function(keel_test name)
  cmake_parse_arguments(arg "ALONE;OWN_PROGRAM" "TIMEOUT;COST" "LABELS;LIBS;OPTIONS;SOURCES" ${ARGN})
  if(NOT KEEL_TESTS OR (KEEL_TESTS_WITH_LABEL AND NOT KEEL_TESTS_WITH_LABEL IN_LIST arg_LABELS))
    return()
  endif()
  if(arg_OWN_PROGRAM OR arg_OPTIONS OR "${arg_SOURCES}" MATCHES "_fuzz\\.cc")
    add_executable(${name} ${arg_SOURCES})
    if(KEEL_UNITE_TESTS)
      keel_unite_test(${name})
    endif()
    keel_test_options(${name} "${arg_OPTIONS}" ${arg_LIBS} GTest::gtest_main)
    keel_add_test_program(${name})
    set(command ${name})
  else()
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
    string(REGEX REPLACE "^src/keel/" "" program "${folder}_tests")
    string(REPLACE "/" "_" program ${program})
    get_directory_property(others KEEL_TEST_SOURCES)
    if(NOT others)
      cmake_language(EVAL CODE "cmake_language(DEFER CALL keel_test_program ${program})")
    endif()
    set_property(DIRECTORY APPEND PROPERTY KEEL_TEST_SOURCES ${arg_SOURCES})
    set_property(DIRECTORY APPEND PROPERTY KEEL_TEST_LIBS ${arg_LIBS})
    add_custom_target(${name} DEPENDS ${program})
    list(TRANSFORM arg_SOURCES PREPEND "${folder}/" OUTPUT_VARIABLE files)
    list(JOIN files "," files)
    set(command ${program} --files=${files})
  endif()
  add_test(NAME ${name} COMMAND ${command})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT arg_COST)
    set(arg_COST 1)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} COST ${arg_COST}
    RUN_SERIAL ${arg_ALONE})
endfunction()

# GCC collects garbage from 128 MiB on: several files that are one need 700, and a tenth of the time for it.
function(keel_collect_garbage_late target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)
endfunction()

function(keel_compile_as_test target)
  keel_language(${target})
  keel_collect_garbage_late(${target})
  target_compile_options(${target} PRIVATE ${KEEL_TEST_OPTIONS})
endfunction()

function(keel_add_test_program target)
  if(NOT TARGET test_programs)
    add_custom_target(test_programs)
  endif()
  add_dependencies(test_programs ${target})
endfunction()

# What every program of tests is compiled and linked with; `options` of its own for the compiler, or "".
function(keel_test_options target options)
  keel_compile_as_test(${target})
  target_link_libraries(${target} PRIVATE ${ARGN} keel::base_testing)
  if(KEEL_PRECOMPILE AND NOT options)
    keel_precompile_test(${target})
  endif()
  target_compile_options(${target} PRIVATE ${options})
endfunction()

# Sources of a target are compiled as one, in groups of at most `bytes_max`: the headers that they share are most of
# what each takes to compile. Groups are compiled beside each other, and again when one of theirs changes. The sources
# of a group see what the others have in unnamed namespaces: such a name is unique in its module, and a test file has
# a namespace of its own.
function(keel_unite target bytes_max)
  get_target_property(sources ${target} SOURCES)
  set(group 1)
  set(bytes 0)
  foreach(source IN LISTS sources)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      continue()  # It is generated.
    endif()
    file(SIZE ${CMAKE_CURRENT_SOURCE_DIR}/${source} size)
    math(EXPR bytes "${bytes} + ${size}")
    if(bytes GREATER ${bytes_max})
      math(EXPR group "${group} + 1")
      set(bytes ${size})
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes what a united file has in an unnamed namespace for part of a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# Tests are compiled in larger groups than the library: they also share what they make of templates. Two groups of
# app_tests take a sixth less than four. The largest group needs 1.9 GB of memory.
function(keel_unite_test target)
  keel_unite(${target} 250000)
endfunction()

# A library of ours, except the sources APART. Not where benchmarks are built: these measure the library as others compile
# it, and a name that two sources have is seen here, not there.
function(keel_unite_library target)
  if(KEEL_UNITE_LIBRARY AND NOT KEEL_BENCH)
    keel_unite(${target} 100000)
    keel_collect_garbage_late(${target})
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# Nothing measures what a command does besides `keel load`, which is therefore no keel_tool(): less optimization saves two
# fifths of the time to compile it, and its sources are united everywhere. With -O1, GCC 14 takes an empty std::optional for
# one that is read, and -O2 does not.
function(keel_tool target)
  cmake_parse_arguments(arg "" "" "APART;SOURCES" ${ARGN})
  add_library(${target} STATIC ${arg_SOURCES})
  keel_options(${target})
  target_compile_options(${target} PRIVATE ${KEEL_TOOL_OPTIONS})
  keel_precompile_library(${target})
  if(KEEL_UNITE_LIBRARY)
    keel_unite(${target} 100000)
    keel_collect_garbage_late(${target})
    set_source_files_properties(${arg_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# The program of all tests of a folder, once all of them are known.
function(keel_test_program program)
  get_directory_property(sources KEEL_TEST_SOURCES)
  get_directory_property(libs KEEL_TEST_LIBS)
  list(REMOVE_DUPLICATES libs)
  add_executable(${program} ${sources})
  if(KEEL_UNITE_TESTS)
    keel_unite_test(${program})
  endif()
  target_compile_definitions(${program} PRIVATE KEEL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  keel_test_options(${program} "" ${libs} keel_test_main)
  keel_add_test_program(${program})
endfunction()

# A test of a program in Python, where there is Python; it runs nothing of ours, so a sanitizer changes nothing about it.
function(keel_python_test name file)
  if(NOT KEEL_TESTS OR KEEL_TESTS_WITH_LABEL OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    return()
  endif()
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND)
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endif()
endfunction()

# GoogleTest and what most tests include of the standard library, compiled once for all: half of what a test's file
# takes. With headers of our own in it, a change of one would compile every test again.
function(keel_precompile_test name)
  set(target keel_precompiled)
  if(NOT TARGET ${target})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "int main() {}\n")
    add_executable(${target} ${PROJECT_BINARY_DIR}/precompiled.cc)  # Compiled as the tests are: it must be a program.
    keel_compile_as_test(${target})
    target_link_libraries(${target} PRIVATE GTest::gtest)
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <algorithm> <atomic> <cerrno> <chrono> <cstdio> <deque>
      <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string>
      <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
  endif()
  keel_use_precompiled(${name} ${target})
endfunction()

# The same for a library, with what most of them include. Not where benchmarks are built: these measure the library as
# others compile it, and a source that forgets to include something is seen there.
function(keel_precompile_library name)
  if(NOT KEEL_PRECOMPILE_LIBRARY)
    return()
  endif()
  # Once for each set of options: a precompiled header is of use only to what is compiled with its own.
  get_target_property(options ${name} COMPILE_OPTIONS)
  string(MD5 hash "${options}")
  set(target keel_precompiled_library_${hash})
  if(NOT TARGET ${target})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled_library.cc CONTENT "")
    add_library(${target} STATIC ${PROJECT_BINARY_DIR}/precompiled_library.cc)
    keel_language(${target})
    set_target_properties(${target} PROPERTIES COMPILE_OPTIONS "${options}")
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <bit> <cerrno> <charconv> <concepts>
      <condition_variable> <coroutine> <cstdint> <cstring> <expected> <limits> <memory> <mutex> <new> <optional>
      <source_location> <span> <string> <string_view> <type_traits> <typeinfo> <utility> <vector>)
  endif()
  keel_use_precompiled(${name} ${target})
endfunction()

function(keel_use_precompiled name from)
  target_precompile_headers(${name} REUSE_FROM ${from})
  # The first is for ccache, which looks at what the preprocessor says. GCC 12 warns without reason about what it inlines
  # of std::string, and does not know system headers any more when they come from a precompiled one.
  target_compile_options(${name} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>)
endfunction()

# What must not compile: `source` compiles with CASE=0, and with CASE=1, 2, … the compiler's first error is what stands
# here, as a regular expression, for each, and leads to a line of the case (must_not_compile.cmake); a dropped
# [[nodiscard]] is a mistake. A sanitizer changes nothing about it: once for each compiler is enough. Headers are also found
# in the folders of the variable KEEL_MUST_NOT_COMPILE_INCLUDES.
function(keel_must_not_compile name source)
  if(NOT KEEL_TESTS OR (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize"))
    return()
  endif()
  set(compile ${CMAKE_CXX_COMPILER} -std=c++23 -Werror=unused-result -I${PROJECT_SOURCE_DIR}/src)
  foreach(folder IN LISTS KEEL_MUST_NOT_COMPILE_INCLUDES)
    list(APPEND compile -I${folder})
  endforeach()
  set(includes "")
  list(LENGTH ARGN cases)
  if(KEEL_PRECOMPILE AND cases GREATER 4)  # Worth it from there on.
    set(header ${CMAKE_CURRENT_BINARY_DIR}/${name}.h)
    file(STRINGS ${source} lines REGEX "^#include")
    list(JOIN lines "\n" lines)
    file(CONFIGURE OUTPUT ${header} CONTENT "${lines}\n")
    set(precompiled ${header}.gch)
    set(includes -include ${header})
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      set(precompiled ${header}.pch)
      set(includes -include-pch ${precompiled})
    endif()
    add_custom_command(OUTPUT ${precompiled} COMMAND ${compile} -x c++-header -MD -MF ${header}.d -MT ${precompiled}
      ${header} -o ${precompiled} DEPENDS ${header} DEPFILE ${header}.d VERBATIM)
    add_custom_target(${name} ALL DEPENDS ${precompiled})
  endif()
  set(case 0)
  foreach(reason IN ITEMS "-" ${ARGN})
    set(is "")
    if(case GREATER 0)
      set(is "-DREASON=${reason}")
    endif()
    add_test(NAME ${name}_${case} COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/${source}
      -DCASE=${case} ${is} -P ${PROJECT_SOURCE_DIR}/cmake/must_not_compile.cmake --
      ${compile} -fsyntax-only ${includes})
    math(EXPR case "${case} + 1")
  endforeach()
endfunction()

function(keel_fuzzer name)
  if(NOT KEEL_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "LIBS;SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  keel_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_property(GLOBAL APPEND PROPERTY KEEL_FUZZERS ${name})
endfunction()

function(keel_list_fuzzers)
  if(NOT KEEL_FUZZ)
    return()
  endif()
  get_property(fuzzers GLOBAL PROPERTY KEEL_FUZZERS)
  set(paths "")
  foreach(fuzzer IN LISTS fuzzers)
    string(APPEND paths "$<TARGET_FILE:${fuzzer}>\n")
  endforeach()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/fuzzers.txt CONTENT "${paths}")
  add_custom_target(fuzzers DEPENDS ${fuzzers})
endfunction()

function(keel_bench name)
  if(NOT KEEL_BENCH)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "LIBS;SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  keel_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} benchmark::benchmark_main)
endfunction()
