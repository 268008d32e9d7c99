# evener_layer(NAME [USES layer...] [LIBRARIES target...] [BACKENDS folder...] [ONLY regex]
#              [EXCLUDE regex])
# A static library evener_NAME of all sources in evener/NAME whose paths match ONLY and not EXCLUDE.
# The file lists are globbed, so that a new policy or device is its own files and nothing else.
# Folders named plugin are other targets. BACKENDS are folders that are optional: where the option
# EVENER_FOLDER is off, only their absent.cc is built, with names.cc beside it; where it is on, all
# but absent.cc.
function(evener_layer name)
  cmake_parse_arguments(ARG "" "ONLY;EXCLUDE" "USES;LIBRARIES;BACKENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/evener/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/app/main\\.cc$|/plugin/")
  if(ARG_ONLY)
    list(FILTER sources INCLUDE REGEX "${ARG_ONLY}")
  endif()
  if(ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${ARG_EXCLUDE}")
  endif()
  foreach(backend ${ARG_BACKENDS})
    string(TOUPPER EVENER_${backend} enabled)
    set(absent "/${name}/${backend}/absent\\.cc$")
    if(${enabled})
      list(FILTER sources EXCLUDE REGEX ${absent})
    else()
      set(kept ${sources})
      list(FILTER kept INCLUDE REGEX "/${name}/${backend}/(absent|names)\\.cc$")
      list(FILTER sources EXCLUDE REGEX "/${name}/${backend}/")
      list(APPEND sources ${kept})
    endif()
  endforeach()
  add_library(evener_${name} STATIC ${sources})
  list(TRANSFORM ARG_USES PREPEND evener_)
  # Programs that use the installed library choose their own warnings.
  target_link_libraries(evener_${name} PUBLIC $<BUILD_INTERFACE:evener_flags> ${ARG_USES}
                                              ${ARG_LIBRARIES})
  target_compile_features(evener_${name} PUBLIC cxx_std_20)
  set_target_properties(evener_${name} PROPERTIES EXPORT_NAME ${name})
  evener_unity(evener_${name})
  if(ARG_BACKENDS)  # a backend's objects are its own, so that a program can be linked without them
    set_target_properties(evener_${name} PROPERTIES UNITY_BUILD_MODE GROUP)
    set_source_files_properties(${sources} PROPERTIES UNITY_GROUP ${name})
    foreach(backend ${ARG_BACKENDS})
      set(own ${sources})
      list(FILTER own INCLUDE REGEX "/${name}/${backend}/")
      list(FILTER own EXCLUDE REGEX "/names\\.cc$")
      set_source_files_properties(${own} PROPERTIES UNITY_GROUP ${backend})
    endforeach()
  endif()
endfunction()

# evener_part(NAME HELP NEEDS condition...)
# The option NAME for a part that is optional: on by default where the condition, as of if(), holds.
# Where it is on without that, configuring fails and says what the part NEEDS.
function(evener_part name help needs)
  set(found OFF)
  if(${ARGN})
    set(found ON)
  endif()
  option(${name} "${help}" ${found})
  if(${name} AND NOT found)
    message(FATAL_ERROR "${name} needs ${needs}")
  endif()
endfunction()

# evener_unity(TARGET)
# With EVENER_UNITY its sources are compiled several at a time, so that the headers they share are read
# once. Names in their anonymous namespaces must then differ.
function(evener_unity target)
  if(EVENER_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# evener_strategies(TARGET)
# The list of built-in strategies: a call of FILE_strategy() for each FILE.cc of
# evener/policy/strategies. A new strategy is its file and nothing else.
function(evener_strategies target)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/evener/policy/strategies/*.cc)
  set(declarations "")
  set(calls "")
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    string(APPEND declarations "Strategy ${name}_strategy();  // strategies/${name}.cc\n")
    list(APPEND calls "${name}_strategy()")
  endforeach()
  list(JOIN calls ",\n          " calls)
  set(source ${PROJECT_BINARY_DIR}/generated/evener/policy/built_in_strategies.cc)
  configure_file(${PROJECT_SOURCE_DIR}/evener/policy/built_in_strategies.cc.in ${source} @ONLY)
  target_sources(${target} PRIVATE ${source})
endfunction()

# evener_embed(TARGET TEMPLATE FILE...)
# The files' texts as strings in the program: for each, the template's @NAME@ after the file's name
# without its ending.
function(evener_embed target template)
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME_WE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
    file(READ ${PROJECT_SOURCE_DIR}/${file} ${name})
  endforeach()
  string(REGEX REPLACE "\\.in$" "" source ${template})
  configure_file(${PROJECT_SOURCE_DIR}/${template} ${PROJECT_BINARY_DIR}/generated/${source} @ONLY)
  target_sources(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated/${source})
endfunction()

# evener_messages(TARGET FILE)
# Classes for the messages of a .proto file, as FILE's name with .pb.h; warnings in them are not
# ours.
function(evener_messages target file)
  string(REGEX REPLACE "\\.proto$" "" stem ${PROJECT_BINARY_DIR}/generated/${file})
  add_custom_command(
    OUTPUT ${stem}.pb.cc ${stem}.pb.h
    COMMAND protobuf::protoc --cpp_out=${PROJECT_BINARY_DIR}/generated
            --proto_path=${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${file}
    DEPENDS ${file})
  set_source_files_properties(${stem}.pb.cc PROPERTIES COMPILE_OPTIONS -w)
  target_sources(${target} PRIVATE ${stem}.pb.cc)
  target_include_directories(${target} SYSTEM PUBLIC
                             $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
endfunction()
