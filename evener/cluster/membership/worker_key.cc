#include "evener/cluster/membership/worker_key.h"

#include <array>
#include <cstring>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "evener/core/error.h"

namespace evener {

std::string random_secret() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw Error("OpenSSL has no random numbers");
  }
  return {bytes.begin(), bytes.end()};
}

std::string worker_key(const std::string& secret, std::uint32_t slot, std::uint64_t generation) {
  std::array<unsigned char, sizeof slot + sizeof generation> text{};
  std::memcpy(text.data(), &slot, sizeof slot);
  std::memcpy(text.data() + sizeof slot, &generation, sizeof generation);
  std::array<unsigned char, EVP_MAX_MD_SIZE> key{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), text.data(), text.size(),
           key.data(), &size) == nullptr) {
    throw Error("OpenSSL could not make a key");
  }
  return {key.begin(), key.begin() + size};
}

bool same_key(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace evener
