#include "evener/data/cache_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include <xxhash.h>

#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/core/finite.h"
#include "evener/data/cache.h"
#include "evener/data/parse.h"

static_assert(std::endian::native == std::endian::little, "cache files are little-endian");

namespace evener {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t kAlignment = 64;  // a cache line; also enough for any vector load

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

enum Section { kFeatureOffsets, kIndices, kValues, kLabelOffsets, kLabels, kNames, kSections };

struct Place {
  std::uint64_t offset, size;
};
struct Layout {
  std::array<Place, kSections> places;
  std::uint64_t file_size;
};

// Counts are below 2^48 (checked), so nothing here overflows.
Layout layout_of(const CacheHeader& header) {
  const std::array<std::uint64_t, kSections> sizes{
      (header.rows + 1) * 8, header.features * 4, header.has_values != 0 ? header.features * 4 : 0,
      (header.rows + 1) * 8, header.labels * 4,   header.names_size};
  Layout layout{};
  std::uint64_t at = sizeof(CacheHeader);
  for (std::size_t i = 0; i < kSections; ++i) {
    layout.places[i] = {aligned(at), sizes[i]};
    at = layout.places[i].offset + sizes[i];
  }
  layout.file_size = at;
  return layout;
}

std::uint64_t header_checksum(const CacheHeader& header) {
  return XXH3_64bits(&header, offsetof(CacheHeader, header_checksum));
}

std::string packed_names(const std::vector<std::string>& names) {
  std::string packed;
  for (const auto& name : names) {
    const auto size = static_cast<std::uint32_t>(name.size());
    packed.append(reinterpret_cast<const char*>(&size), sizeof size);
    packed += name;
  }
  return packed;
}

std::vector<std::string> unpacked_names(std::string_view packed, std::uint32_t count) {
  std::vector<std::string> names;
  while (packed.size() >= 4) {
    std::uint32_t size = 0;
    std::memcpy(&size, packed.data(), sizeof size);
    packed.remove_prefix(sizeof size);
    if (size > packed.size()) break;
    names.emplace_back(packed.substr(0, size));
    packed.remove_prefix(size);
  }
  if (!packed.empty() || names.size() != count) throw Error("its label names are damaged");
  return names;
}

/// Appends sections at aligned offsets and computes the checksum of what it writes.
class PayloadWriter {
 public:
  explicit PayloadWriter(AtomicFile& file) : file_(file), state_(XXH3_createState()) {
    XXH3_64bits_reset(state_);
  }
  PayloadWriter(const PayloadWriter&) = delete;
  PayloadWriter& operator=(const PayloadWriter&) = delete;
  ~PayloadWriter() { XXH3_freeState(state_); }

  void write_section(const Place& place, const void* data) {
    static constexpr char kZeros[kAlignment] = {};
    put(kZeros, place.offset - at_);
    put(data, place.size);
  }
  std::uint64_t checksum() const { return XXH3_64bits_digest(state_); }

 private:
  void put(const void* data, std::uint64_t size) {
    if (size == 0) return;
    // First: if `data` is in a mapped file that was truncated, a write of it would fail.
    XXH3_64bits_update(state_, data, size);
    file_.write(data, size);
    at_ += size;
  }

  AtomicFile& file_;
  XXH3_state_t* state_;
  std::uint64_t at_ = sizeof(CacheHeader);
};

template <class T>
std::span<const T> section(Bytes bytes, const Place& place) {
  const Bytes part = bytes.subspan(place.offset, place.size);
  return {reinterpret_cast<const T*>(part.data()), place.size / sizeof(T)};
}

void check_offsets(std::span<const std::uint64_t> offsets, std::size_t nonzeros) {
  bool rising = true;
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    rising &= offsets[row] <= offsets[row + 1];
  }
  if (!rising || offsets.front() != 0 || offsets.back() != nonzeros) {
    throw Error("its row offsets are damaged");
  }
}

/// Within bounds, and rising within each row. The loops have no branches, so that the compiler
/// vectorizes them: a file is checked about as fast as memory is read.
void check_indices(const CsrView& matrix, std::uint32_t count) {
  const std::span indices = matrix.indices;
  std::uint32_t largest = 0;
  for (const std::uint32_t index : indices) largest = std::max(largest, index);
  std::int64_t falls = 0;
  for (std::size_t i = 1; i < indices.size(); ++i) falls += indices[i] <= indices[i - 1] ? 1 : 0;
  for (std::size_t row = 1; row < matrix.rows(); ++row) {  // between two rows they may fall
    const std::uint64_t begin = matrix.offsets[row];
    const bool starts = begin > 0 && begin < matrix.offsets[row + 1];
    falls -= starts && indices[begin] <= indices[begin - 1] ? 1 : 0;
  }
  if ((!indices.empty() && largest >= count) || falls != 0) throw Error("its indices are damaged");
}

/// A file with correct checksums can still be invalid if it was made on purpose.
void check_rows(const CsrView& matrix, std::uint32_t count) {
  check_offsets(matrix.offsets, matrix.indices.size());
  check_indices(matrix, count);
  if (!all_finite(matrix.values)) throw Error("its values are damaged");
}

/// The mapped file of a data set, and copies of its row offsets. Offsets address memory: read from
/// a file that is truncated meanwhile, they would lead anywhere. A wrong index stays within bounds.
struct MappedRows {
  std::shared_ptr<const void> file;
  std::vector<std::uint64_t> feature_offsets, label_offsets;
};

std::vector<std::uint64_t> copied(std::span<const std::uint64_t> offsets) {
  return {offsets.begin(), offsets.end()};
}

Dataset map_sections(Bytes bytes, const CacheHeader& header, std::shared_ptr<const void> file) {
  const Layout layout = layout_of(header);
  const auto& places = layout.places;
  const auto names = section<char>(bytes, places[kNames]);
  if (XXH3_64bits(names.data(), names.size()) != header.names_checksum) {
    throw Error("its label names are damaged");
  }
  const Bytes payload = bytes.subspan(sizeof(CacheHeader));
  if (XXH3_64bits(payload.data(), payload.size()) != header.payload_checksum) {
    throw Error("its contents are damaged (wrong checksum)");
  }
  const auto rows = std::make_shared<const MappedRows>(
      MappedRows{std::move(file), copied(section<std::uint64_t>(bytes, places[kFeatureOffsets])),
                 copied(section<std::uint64_t>(bytes, places[kLabelOffsets]))});
  Dataset data;
  data.storage = rows;
  data.features = {rows->feature_offsets, section<std::uint32_t>(bytes, places[kIndices]),
                   section<float>(bytes, places[kValues])};
  data.labels = {rows->label_offsets, section<std::uint32_t>(bytes, places[kLabels]), {}};
  data.feature_count = header.feature_count;
  data.label_count = header.label_count;
  if (header.names_size > 0) {
    data.label_names = unpacked_names({names.data(), names.size()}, header.label_count);
  }
  check_rows(data.features, data.feature_count);
  check_rows(data.labels, data.label_count);
  check_mapping(bytes.data());  // zeros instead of contents can pass the checks
  return data;
}

}  // namespace

bool begins_as_cache(Bytes bytes) {
  return bytes.size() >= sizeof CacheHeader::kMagic &&
         std::memcmp(bytes.data(), CacheHeader::kMagic, sizeof CacheHeader::kMagic) == 0;
}

CacheHeader checked_cache_header(Bytes bytes, const std::string& name, bool* wrong_version) {
  if (wrong_version != nullptr) *wrong_version = false;
  if (!begins_as_cache(bytes)) throw DataError(name, 0, "this is not a cache file");
  if (bytes.size() < sizeof(CacheHeader)) throw DataError(name, 0, "the cache file is cut off");
  CacheHeader header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != CacheHeader::kVersion) {
    if (wrong_version != nullptr) *wrong_version = true;
    throw DataError(name, 0, "the cache file was made by another version; make it again");
  }
  if (header.header_checksum != header_checksum(header)) {
    throw DataError(name, 0, "the cache file is damaged: the checksum of its header is wrong");
  }
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 48;
  if (header.rows >= kLargest || header.features >= kLargest || header.labels >= kLargest ||
      header.names_size >= kLargest || header.file_size != bytes.size() ||
      layout_of(header).file_size != bytes.size()) {
    throw DataError(name, 0, "the cache file is damaged: it is not as long as its header says");
  }
  return header;
}

Dataset parse_cache(Bytes bytes, const std::string& name, std::shared_ptr<const void> storage) {
  const CacheHeader header = checked_cache_header(bytes, name);
  try {
    return map_sections(bytes, header, std::move(storage));
  } catch (const Error& error) {
    check_mapping(bytes.data());
    throw DataError(name, 0, std::string("the cache file is damaged: ") + error.what());
  }
}

void write_cache_file(const Dataset& data, const std::string& path, std::uint64_t stamp) {
  const std::string names = packed_names(data.label_names);
  CacheHeader header{};
  std::memcpy(header.magic, CacheHeader::kMagic, sizeof header.magic);
  header.version = CacheHeader::kVersion;
  header.has_values = data.features.values.empty() ? 0 : 1;
  header.rows = data.rows();
  header.features = data.features.nonzeros();
  header.labels = data.labels.nonzeros();
  header.feature_count = data.feature_count;
  header.label_count = data.label_count;
  header.names_size = names.size();
  header.names_checksum = XXH3_64bits(names.data(), names.size());
  header.stamp = stamp;
  const Layout layout = layout_of(header);
  header.file_size = layout.file_size;

  AtomicFile file(path);
  file.write(&header, sizeof header);
  PayloadWriter payload(file);
  payload.write_section(layout.places[kFeatureOffsets], data.features.offsets.data());
  payload.write_section(layout.places[kIndices], data.features.indices.data());
  payload.write_section(layout.places[kValues], data.features.values.data());
  payload.write_section(layout.places[kLabelOffsets], data.labels.offsets.data());
  payload.write_section(layout.places[kLabels], data.labels.indices.data());
  payload.write_section(layout.places[kNames], names.data());
  header.payload_checksum = payload.checksum();
  header.header_checksum = header_checksum(header);
  file.write_at(0, &header, sizeof header);
  check_intact(data);
  file.commit();
}

}  // namespace evener
