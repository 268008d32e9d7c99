# libevener_mpi_openmpi.so and libevener_mpi_mpich.so, the ways to talk through MPI: each built where
# a library of that family is, and loaded at run time by evener/cluster/transport/mpi/load.cc. The command
# itself links nothing of MPI's, so that it runs anywhere. Only MPI's C interface is used.
set(EVENER_MPI_FAMILIES "")
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/evener/cluster/transport/mpi/plugin/*.cc)
# What it needs of Evener's own code is compiled once more for a shared object.
foreach(own transport serial_executor endpoint)
  list(APPEND sources ${PROJECT_SOURCE_DIR}/evener/cluster/transport/${own}.cc)
endforeach()

# evener_mpi_plugin(FAMILY MODULE): MODULE is pkg-config's.
function(evener_mpi_plugin family module)
  pkg_check_modules(mpi_${family} QUIET IMPORTED_TARGET ${module})
  if(NOT mpi_${family}_FOUND)
    message(STATUS "No ${module}: the MPI plug-in for ${family} is not built")
    return()
  endif()
  set(target evener_mpi_${family})
  add_library(${target} MODULE ${sources})
  target_link_libraries(${target} PRIVATE evener_flags fmt::fmt Threads::Threads
                                          PkgConfig::mpi_${family})
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  # Nothing undefined is left to chance, and nothing but the entry is to be seen: the command has its
  # own copy of what both need.
  target_link_options(${target} PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  install(TARGETS ${target} LIBRARY DESTINATION lib/evener)
  set(EVENER_MPI_FAMILIES ${EVENER_MPI_FAMILIES} ${family} PARENT_SCOPE)
endfunction()
evener_mpi_plugin(openmpi ompi-c)
evener_mpi_plugin(mpich mpich)
