// Writes multi-label text.
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>

#include "evener/core/file.h"
#include "evener/data/read.h"

namespace evener {

namespace {

// Formats into a buffer and writes the buffer when it is full. `to_chars` gives the shortest text
// that reads back as the same float, several times faster than a stream.
class Writer {
 public:
  explicit Writer(const std::string& path) : file_(path), buffer_(new char[kCapacity]) {}

  void put(char c) {
    reserve(1);
    buffer_[used_++] = c;
  }
  template <class Number>
  void put_number(Number number) {
    reserve(kLongest);
    char* begin = buffer_.get() + used_;
    used_ += static_cast<std::size_t>(std::to_chars(begin, begin + kLongest, number).ptr - begin);
  }
  void finish(const Dataset& data) {
    check_intact(data);
    file_.write(buffer_.get(), used_);
    file_.commit();
  }

 private:
  static constexpr std::size_t kCapacity = std::size_t{1} << 20;
  static constexpr std::size_t kLongest = 32;  // a float takes at most 16, a 64-bit integer 20

  void reserve(std::size_t size) {
    if (used_ + size <= kCapacity) return;
    file_.write(buffer_.get(), used_);
    used_ = 0;
  }

  AtomicFile file_;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
};

// Counts are the most common values, and integers are formatted several times faster than floats.
void put_value(Writer& out, float value) {
  constexpr float kExact = 1 << 24;  // below it every integer is a float
  if (value >= 1 && value < kExact) {
    const auto whole = static_cast<std::uint32_t>(value);
    if (static_cast<float>(whole) == value) return out.put_number(whole);
  }
  out.put_number(value);
}

void put_row(Writer& out, const RowView& labels, const RowView& features) {
  for (std::size_t i = 0; i < labels.indices.size(); ++i) {
    if (i > 0) out.put(',');
    out.put_number(labels.indices[i]);
  }
  // A row without labels begins with the blank, as in the XML repository's files. So a row without
  // labels and features is not an empty line, which other readers skip.
  if (labels.indices.empty() && features.indices.empty()) out.put(' ');
  for (std::size_t i = 0; i < features.indices.size(); ++i) {
    out.put(' ');
    out.put_number(features.indices[i]);
    out.put(':');
    if (features.values.empty()) {
      out.put('1');
    } else {
      put_value(out, features.values[i]);
    }
  }
  out.put('\n');
}

}  // namespace

void write_multilabel(const Dataset& data, const std::string& path) {
  Writer out(path);
  out.put_number(data.rows());
  out.put(' ');
  out.put_number(data.feature_count);
  out.put(' ');
  out.put_number(data.label_count);
  out.put('\n');
  for (std::size_t row = 0; row < data.rows(); ++row) {
    put_row(out, data.labels.row(row), data.features.row(row));
  }
  out.finish(data);
}

}  // namespace evener
