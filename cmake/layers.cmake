# evener_layer(NAME [USES layer...] [LIBRARIES target...])
# A static library evener_NAME of all sources in evener/NAME. The file lists are globbed, so that a
# new policy or device is its own files and nothing else.
function(evener_layer name)
  cmake_parse_arguments(ARG "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/evener/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/app/main\\.cc$")
  add_library(evener_${name} STATIC ${sources})
  list(TRANSFORM ARG_USES PREPEND evener_)
  target_link_libraries(evener_${name} PUBLIC evener_flags ${ARG_USES} ${ARG_LIBRARIES})
endfunction()
