# Models and events are read back by the packages that users read them with. Not in every build
# environment: needs numpy, safetensors and tensorboard.
set(EVENER_TEST_PYTHON "" CACHE FILEPATH "Python with numpy, safetensors and tensorboard, for tests")

add_executable(write_samples ${CMAKE_CURRENT_LIST_DIR}/write_samples.cc)
target_link_libraries(write_samples PRIVATE evener_run)

if(EVENER_TEST_PYTHON)
  foreach(script read_model read_events)
    add_test(NAME python.${script} COMMAND ${EVENER_TEST_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/${script}.py
                                           $<TARGET_FILE:write_samples>)
  endforeach()
else()
  message(STATUS "EVENER_TEST_PYTHON is not set: models and events are not read back by Python")
endif()
