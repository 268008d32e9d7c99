#include <charconv>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "evener/core/file.h"
#include "evener/data/read.h"

namespace evener {

namespace {

/// Collects text and writes it in large pieces.
class TextWriter {
 public:
  explicit TextWriter(const std::string& path) : file_(path) {}

  void put(char c) { text_ += c; }
  template <class Number>
  void put_number(Number number) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number);
    text_.append(digits, end.ptr);
  }
  void end_line() {
    text_ += '\n';
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    if (text_.size() >= kPiece) flush();
  }
  void commit() {
    flush();
    file_.commit();
  }

 private:
  void flush() {
    file_.write(text_.data(), text_.size());
    text_.clear();
  }

  AtomicFile file_;
  std::string text_;
};

void write_row(const RowView& features, const RowView& labels, TextWriter& out) {
  for (std::size_t i = 0; i < labels.indices.size(); ++i) {
    if (i > 0) out.put(',');
    out.put_number(labels.indices[i]);
  }
  // A row without labels begins with a blank, which also tells an empty row from an empty line.
  if (labels.indices.empty() && features.indices.empty()) out.put(' ');
  for (std::size_t i = 0; i < features.indices.size(); ++i) {
    out.put(' ');
    out.put_number(features.indices[i]);
    out.put(':');
    // The shortest digits that read back as the same float.
    out.put_number(features.values.empty() ? 1.0F : features.values[i]);
  }
  out.end_line();
}

}  // namespace

void write_multilabel(const Dataset& data, const std::string& path) {
  TextWriter out(path);
  out.put_number(data.rows());
  out.put(' ');
  out.put_number(data.feature_count);
  out.put(' ');
  out.put_number(data.label_count);
  out.end_line();
  for (std::size_t row = 0; row < data.rows(); ++row) {
    write_row(data.features.row(row), data.labels.row(row), out);
  }
  out.commit();
}

}  // namespace evener
