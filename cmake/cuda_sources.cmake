# evener_cuda_sources(SOURCES KERNELS)
# The files of the plug-in that holds the CUDA devices. SOURCES are for any C++ compiler; among them
# is what the plug-in needs of Evener's own code, which is compiled once more for a shared object.
function(evener_cuda_sources sources kernels)
  set(plugin ${PROJECT_SOURCE_DIR}/evener/device/cuda/plugin)
  file(GLOB cu CONFIGURE_DEPENDS ${plugin}/*.cu)
  file(GLOB cc CONFIGURE_DEPENDS ${plugin}/*.cc)
  # One of these, by whether NCCL is there.
  list(REMOVE_ITEM cc ${plugin}/nccl_merges.cc ${plugin}/no_merges.cc)
  set(own core/buffer nn/network nn/training device/device device/update_rule
          device/accelerator/batch_image device/accelerator/footprint
          device/accelerator/label_results)
  list(TRANSFORM own REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/evener/\\1.cc")
  set(${sources} ${cc} ${own} PARENT_SCOPE)
  set(${kernels} ${cu} PARENT_SCOPE)
endfunction()
