# libevener_mpi_openmpi.so and libevener_mpi_mpich.so, the transports over MPI: each built where a
# library of that family is installed, and loaded at run time by evener/cluster/transport/mpi/load.cc.
# The command itself does not link MPI, so that it runs anywhere. Only MPI's C interface is used.
set(EVENER_MPI_FAMILIES "")
pkg_check_modules(mpi_openmpi QUIET IMPORTED_TARGET ompi-c)
pkg_check_modules(mpi_mpich QUIET IMPORTED_TARGET mpich)
evener_part(EVENER_MPI "plug-ins for --transport mpi (Open MPI, MPICH)"
            "EVENER_CLUSTER and an MPI library (ompi-c or mpich of pkg-config)"
            EVENER_CLUSTER AND (mpi_openmpi_FOUND OR mpi_mpich_FOUND))
if(NOT EVENER_MPI)
  message(STATUS "EVENER_MPI is off: no MPI plug-in is built")
  return()
endif()
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/evener/cluster/transport/mpi/plugin/*.cc)
# Evener's own code that a plug-in needs is compiled once more for a shared object.
foreach(own transport serial_executor endpoint)
  list(APPEND sources ${PROJECT_SOURCE_DIR}/evener/cluster/transport/${own}.cc)
endforeach()

function(evener_mpi_plugin family)
  if(NOT mpi_${family}_FOUND)
    message(STATUS "The MPI plug-in for ${family} is not built: its library was not found")
    return()
  endif()
  set(target evener_mpi_${family})
  add_library(${target} MODULE ${sources})
  evener_unity(${target})
  target_link_libraries(${target} PRIVATE evener_flags fmt::fmt Threads::Threads
                                          PkgConfig::mpi_${family})
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  # All symbols are resolved here, and only the entry is exported: the command has its own copy of
  # the code that both need.
  target_link_options(${target} PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  install(TARGETS ${target} LIBRARY DESTINATION lib/evener)
  set(EVENER_MPI_FAMILIES ${EVENER_MPI_FAMILIES} ${family} PARENT_SCOPE)
endfunction()
evener_mpi_plugin(openmpi)
evener_mpi_plugin(mpich)
