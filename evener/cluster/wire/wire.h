// Heads of messages (wire.proto) as bytes and back, and the types that they carry.
#pragma once

#include <string>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/chunks.h"
#include "evener/cluster/wire/job.h"
#include "evener/cluster/wire/model_update_format.h"
#include "evener/cluster/wire/wire.pb.h"

namespace evener {

inline constexpr std::uint32_t kProtocol = 8;

inline Message message_of(const wire::Head& head) {
  return {head.SerializeAsString(), {}, nullptr};
}
/// Throws Error if the head cannot be read. Texts for people (names, reasons) are cut to 1,000
/// bytes and have no control characters (core/printable.h): they reach terminals and logs.
wire::Head head_of(const Message& message);

/// Whether it is a first message, which says what the sender is or wants. A connection has one.
inline bool is_hello(const wire::Head& head) {
  return head.has_hello() || head.has_server_hello() || head.has_worker_hello() ||
         head.has_peer_hello() || head.has_join_request() || head.has_status_request();
}

inline DataFingerprint fingerprint_of(const wire::Data& data) {
  return {data.rows(), data.features(), data.labels(), data.checksum()};
}
inline void set_fingerprint(const DataFingerprint& print, wire::Data& data) {
  data.set_rows(print.rows);
  data.set_features(print.features);
  data.set_labels(print.labels);
  data.set_checksum(print.checksum);
}

inline Job job_of(const wire::Welcome& welcome) {
  return {{welcome.options().begin(), welcome.options().end()},
          fingerprint_of(welcome.data()),
          welcome.batch()};
}
inline void set_job(const Job& job, wire::Welcome& welcome) {
  welcome.mutable_options()->insert(job.options.begin(), job.options.end());
  set_fingerprint(job.data, *welcome.mutable_data());
  welcome.set_batch(job.batch);
}

}  // namespace evener
