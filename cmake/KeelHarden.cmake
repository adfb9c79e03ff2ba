# keel::harden, what compiler and linker do against those who make use of a mistake with memory: for a program that uses
# Keel, target_link_libraries(shop PRIVATE keel::app keel::harden). docs/hardening.md has it all.
#
# KEEL_HARDEN=ON builds Keel's own programs with it, and its libraries with what costs at most 1 % of the user instructions
# of a request, counted by callgrind for /plaintext, /json and /api/users/1. Left out everywhere are the landing pads of
# indirect branch tracking (-fcf-protection=full), which Linux does not check in programs.

set(keel_harden_default ON)
if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(keel_harden_default OFF)
endif()
option(KEEL_HARDEN "Compile and link against exploits; by default not in Debug and not under sanitizers" ${keel_harden_default})

set(keel_optimized $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)  # What _FORTIFY_SOURCE needs.
set(keel_harden_always -fstack-clash-protection $<${keel_optimized}:-U_FORTIFY_SOURCE>
  $<${keel_optimized}:-D_FORTIFY_SOURCE=3>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND keel_harden_always -fcf-protection=return)  # Shadow stacks, which need no instruction more.
endif()
# Left out in these modules: the assertions took 2.5 % there, and 0.5 % in all others together; the stack protector took
# 2.5 % in the server and 1.2 % in these others.
set(keel_harden_without_assertions http_server)
set(keel_harden_without_protector http_server base observe exec task io db)

add_library(keel_harden INTERFACE)
add_library(keel::harden ALIAS keel_harden)
target_compile_options(keel_harden INTERFACE ${keel_harden_always} -D_GLIBCXX_ASSERTIONS -fstack-protector-strong)
target_link_options(keel_harden INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack
  $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
set_target_properties(keel_harden PROPERTIES EXPORT_NAME harden INTERFACE_POSITION_INDEPENDENT_CODE ON)

# keel_harden(TARGET NAME): a library of ours, which is the module NAME, or "".
function(keel_harden target name)
  target_compile_options(${target} PRIVATE ${keel_harden_always})
  if(NOT name IN_LIST keel_harden_without_assertions)
    target_compile_options(${target} PRIVATE -D_GLIBCXX_ASSERTIONS)
  endif()
  if(NOT name IN_LIST keel_harden_without_protector)
    target_compile_options(${target} PRIVATE -fstack-protector-strong)
  endif()
endfunction()
