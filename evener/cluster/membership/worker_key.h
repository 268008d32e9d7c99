// Shows a shard server that the coordinator has given a slot to a worker. The coordinator sends its
// servers a secret, and each worker a key that only the secret and its slot yield.
#pragma once

#include <cstdint>
#include <string>

namespace evener {

/// 128 random bits that nobody can guess.
std::string random_secret();

/// The key of a worker: HMAC-SHA256 of its slot and the slot's generation.
std::string worker_key(const std::string& secret, std::uint32_t slot, std::uint64_t generation);

/// How long it takes does not depend on the contents.
bool same_key(const std::string& a, const std::string& b);

}  // namespace evener
