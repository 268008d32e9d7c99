# cmake --install: the command, the plug-ins that it loads, and the library as the CMake package
# `evener` with the targets evener::core ... evener::run.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library_layers core data nn device retrieval policy runtime cluster run)
list(TRANSFORM library_layers PREPEND evener_ OUTPUT_VARIABLE library_targets)
install(TARGETS evener RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${library_targets} EXPORT evenerTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(layer ${library_layers})
  install(DIRECTORY evener/${layer} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/evener
          FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE PATTERN plugin EXCLUDE)
endforeach()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/evener)
configure_package_config_file(cmake/evenerConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/generated/evenerConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/evenerConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/evenerConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/evenerConfigVersion.cmake
        DESTINATION ${package_folder})
install(EXPORT evenerTargets NAMESPACE evener:: DESTINATION ${package_folder})
