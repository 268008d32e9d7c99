# The layer for several machines. Where gRPC, protobuf or OpenSSL is missing, or EVENER_CLUSTER is off,
# the sources in evener/cluster/absent replace it: commands exist and report what is missing.
find_package(OpenSSL QUIET)
find_package(Protobuf QUIET)
pkg_check_modules(grpc QUIET IMPORTED_TARGET grpc++)
evener_part(EVENER_CLUSTER "coordinators, workers, servers and peers (gRPC, protobuf, OpenSSL)"
            "gRPC, protobuf and OpenSSL (found: ${grpc_FOUND}, ${Protobuf_FOUND}, ${OPENSSL_FOUND})"
            OPENSSL_FOUND AND Protobuf_FOUND AND grpc_FOUND)

if(NOT EVENER_CLUSTER)
  message(STATUS "EVENER_CLUSTER is off: the cluster layer is not built")
  evener_layer(cluster USES runtime ONLY "/cluster/absent/|/gossip_work\\.cc$")
  return()
endif()
if(EVENER_SANITIZE STREQUAL "thread")  # gRPC is not instrumented: tests use the local transport
  evener_layer(cluster USES runtime EXCLUDE "/absent/cluster\\.cc$|/transport/grpc/"
               LIBRARIES protobuf::libprotobuf OpenSSL::Crypto ${CMAKE_DL_LIBS})
else()
  evener_layer(cluster USES runtime EXCLUDE "/cluster/absent/"
               LIBRARIES PkgConfig::grpc protobuf::libprotobuf OpenSSL::Crypto ${CMAKE_DL_LIBS})
endif()
evener_messages(evener_cluster evener/cluster/wire/wire.proto)
