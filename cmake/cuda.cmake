# libevener_cuda.so, the devices cuda:N: built where nvcc is, and loaded at run time by
# evener/device/cuda/cuda_kind.cc. The command itself does not link CUDA, so that it runs anywhere.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "No nvcc: the CUDA plug-in is not built")
  return()
endif()
set(CMAKE_CUDA_ARCHITECTURES 80 90)  # card.cc names the oldest; newer cards translate the last
if(EVENER_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${EVENER_CCACHE})
endif()
enable_language(CUDA)
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not have it for nvcc
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
find_package(CUDAToolkit REQUIRED)
find_path(EVENER_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(EVENER_NCCL nccl HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/lib)

evener_cuda_sources(sources kernels)
if(EVENER_NCCL_INCLUDE AND EVENER_NCCL)
  list(APPEND sources ${PROJECT_SOURCE_DIR}/evener/device/cuda/plugin/nccl_merges.cc)
else()
  list(APPEND sources ${PROJECT_SOURCE_DIR}/evener/device/cuda/plugin/no_merges.cc)
  message(STATUS "No NCCL: the CUDA plug-in is built without merges between cards")
endif()

# nvcc has other flags than the C++ compiler.
add_library(evener_cuda_kernels OBJECT ${kernels})
target_include_directories(evener_cuda_kernels PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(evener_cuda_kernels PRIVATE -Xcompiler=-Wall,-Wextra)
set_target_properties(evener_cuda_kernels PROPERTIES
                      CUDA_STANDARD 20 CUDA_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
                      CUDA_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY Static)

add_library(evener_cuda MODULE ${sources} $<TARGET_OBJECTS:evener_cuda_kernels>)
evener_unity(evener_cuda)
target_link_libraries(evener_cuda PRIVATE evener_flags fmt::fmt CUDA::cudart_static CUDA::cublas
                                          CUDA::cusparse)
if(EVENER_NCCL_INCLUDE AND EVENER_NCCL)
  target_include_directories(evener_cuda SYSTEM PRIVATE ${EVENER_NCCL_INCLUDE})
  target_link_libraries(evener_cuda PRIVATE ${EVENER_NCCL})
endif()
# No undefined symbols, and only the entry point is exported: the command has its own copy of the code
# that both need.
target_link_options(evener_cuda PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL)
set_target_properties(evener_cuda PROPERTIES
                      LINKER_LANGUAGE CXX CXX_VISIBILITY_PRESET hidden
                      VISIBILITY_INLINES_HIDDEN ON
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                      INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS evener_cuda LIBRARY DESTINATION lib/evener)
