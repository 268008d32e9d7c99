# Compiler settings common to every target.
add_library(evener_flags INTERFACE)
target_include_directories(evener_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(evener_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                              -Werror -fno-math-errno)
# False alarms: g++ 12 sees overlap in joined strings (its bug 105651), and clang takes the inside of
# g++ 12's std::stable_sort for our use of something deprecated.
target_compile_options(evener_flags INTERFACE
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                       $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(EVENER_UNITY)  # names of one file seem to shadow those of another; clang-tidy looks at each alone
  target_compile_options(evener_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
endif()
# Products and sums are rounded where the source says so, whatever the machine: without this the
# compiler may fuse them, and results would depend on which functions it happened to inline.
target_compile_options(evener_flags INTERFACE -ffp-contract=off)

if(EVENER_SANITIZE)
  target_compile_options(evener_flags INTERFACE -fsanitize=${EVENER_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  target_link_options(evener_flags INTERFACE -fsanitize=${EVENER_SANITIZE})
  if(EVENER_SANITIZE MATCHES "address")  # so that the fuzzers need no build of their own
    target_compile_options(evener_flags INTERFACE -fsanitize=fuzzer-no-link)
  endif()
endif()

find_program(EVENER_CCACHE ccache)
if(EVENER_CCACHE)
  # Precompiled headers (the tests' frameworks) are cached only with this leniency. Paths below the
  # project count as relative, so that one clone uses what another has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${EVENER_CCACHE})
  add_compile_options("$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
find_program(EVENER_MOLD mold)
if(EVENER_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
