# Installs into a folder of its own, builds examples/cpp against the package there, and runs the
# programs.
set(prefix ${BUILD}/tests/install/prefix)
set(examples ${BUILD}/tests/install/examples)
file(REMOVE_RECURSE ${prefix} ${examples})

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " command "${ARGV}")
    message(FATAL_ERROR "failed (${result}): ${command}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/cpp -B ${examples} -G Ninja -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${examples})
run(${examples}/train_from_arrays)
run(${examples}/own_strategy)
run(${prefix}/bin/evener --version)
