// Reads IDX: images of unsigned bytes, as MNIST has them, and their labels in another file.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/data/parse.h"
#include "evener/data/read_arrays.h"
#include "evener/data/text_rows.h"

namespace evener {

namespace {

// The file's shape: first the number of items, then the dimensions of an item.
struct IdxShape {
  std::uint32_t items = 0;
  std::uint64_t item_size = 1;
  std::size_t dimensions = 0;
};

// Adds the file's name to errors of unpacking, which do not know it.
std::size_t read_fully(ByteStream& stream, std::span<char> out, const std::string& name) {
  try {
    return stream.read(out);
  } catch (const Error& error) {
    throw DataError(name, 0, error.what());
  }
}

std::uint32_t read_big_endian(ByteStream& stream, const std::string& name) {
  std::array<char, 4> bytes{};
  if (read_fully(stream, bytes, name) != bytes.size()) {
    throw DataError(name, 0, "the file ends within the IDX header");
  }
  std::uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// Magic number: two zero bytes, the type of the elements, the number of dimensions; then the
// dimensions, 32 bits each, most significant byte first.
IdxShape read_shape(ByteStream& stream, const std::string& name) {
  const std::uint32_t magic = read_big_endian(stream, name);
  constexpr std::uint32_t kUnsignedBytes = 0x08;
  if (magic >> 16 != 0) throw DataError(name, 0, "this is not an IDX file");
  if ((magic >> 8) != kUnsignedBytes) {
    throw DataError(name, 0,
                    fmt::format("IDX elements of type 0x{:02x} are not supported, only unsigned "
                                "bytes (0x08)",
                                magic >> 8));
  }
  IdxShape shape;
  shape.dimensions = magic & 0xFF;
  if (shape.dimensions == 0) throw DataError(name, 0, "the IDX file has no dimension");
  shape.items = read_big_endian(stream, name);
  for (std::size_t i = 1; i < shape.dimensions; ++i) {
    shape.item_size *= read_big_endian(stream, name);
    if (shape.item_size >= IndexLimit::kLargest) {
      throw DataError(name, 0, "the IDX header promises items of an impossible size");
    }
  }
  return shape;
}

void expect_end(ByteStream& stream, const std::string& name) {
  char byte = 0;
  if (read_fully(stream, {&byte, 1}, name) != 0) {
    throw DataError(name, 0, "the file is longer than the IDX header says");
  }
}

// Items are read in pieces, so that a header with a wrong size costs no memory. Calls `use` with
// each whole item.
template <class Use>
void for_each_item(ByteStream& stream, const IdxShape& shape, const std::string& name, Use use) {
  constexpr std::uint64_t kPiece = 1 << 20;
  const std::uint64_t at_once =
      std::max<std::uint64_t>(1, kPiece / std::max<std::uint64_t>(1, shape.item_size));
  Array<char> buffer;
  for (std::uint64_t item = 0; item < shape.items;) {
    const std::uint64_t count = std::min<std::uint64_t>(at_once, shape.items - item);
    std::size_t have = 0;
    // The buffer of one huge item grows step by step too.
    while (have < count * shape.item_size) {
      const std::size_t step = std::min<std::size_t>(kPiece, count * shape.item_size - have);
      buffer.resize(have + step);
      const std::size_t got = read_fully(stream, {buffer.data() + have, step}, name);
      if (got != step) {
        throw DataError(name, 0,
                        fmt::format("the IDX header promises {} items, but the file ends in "
                                    "item {}",
                                    shape.items, item + (have + got) / shape.item_size + 1));
      }
      have += step;
    }
    for (std::uint64_t i = 0; i < count; ++i, ++item) {
      use(std::span<const char>(buffer.data() + i * shape.item_size, shape.item_size));
    }
  }
  expect_end(stream, name);
}

std::array<float, 256> pixel_values() {
  std::array<float, 256> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 255.0F;
  return values;
}

void read_images(ByteStream& stream, const IdxShape& shape, const std::string& name,
                 ReadArrays<std::uint32_t>& data) {
  const auto values = pixel_values();
  for_each_item(stream, shape, name, [&](std::span<const char> pixels) {
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const auto pixel = static_cast<unsigned char>(pixels[i]);
      if (pixel == 0) continue;
      data.indices.push_back(static_cast<std::uint32_t>(i));
      data.values.push_back(values[pixel]);
    }
    data.feature_offsets.push_back(data.indices.size());
  });
}

}  // namespace

Dataset parse_idx(ByteStream& images, const std::string& images_name, ByteStream* labels,
                  const std::string& labels_name) {
  const IdxShape shape = read_shape(images, images_name);
  if (shape.dimensions == 1) {
    throw DataError(images_name, 0, "these are IDX labels; name the file with the images");
  }
  if (shape.items == 0 || shape.item_size == 0) {
    throw DataError(images_name, 0, "the file has no images");
  }
  ReadArrays<std::uint32_t> data;
  read_images(images, shape, images_name, data);
  std::uint32_t label_count = 0;
  if (labels != nullptr) {
    const IdxShape label_shape = read_shape(*labels, labels_name);
    if (label_shape.dimensions != 1 || label_shape.items != shape.items) {
      throw DataError(
          labels_name, 0,
          fmt::format("these are not the labels of the {} images in {}", shape.items, images_name));
    }
    for_each_item(*labels, label_shape, labels_name, [&](std::span<const char> item) {
      const auto label = static_cast<unsigned char>(item[0]);
      data.labels.push_back(label);
      data.label_offsets.push_back(data.labels.size());
      label_count = std::max<std::uint32_t>(label_count, label + 1U);
    });
  } else {
    while (data.label_offsets.size() < data.feature_offsets.size()) data.label_offsets.push_back(0);
  }
  return dataset_of(std::move(data), static_cast<std::uint32_t>(shape.item_size), label_count);
}

}  // namespace evener
