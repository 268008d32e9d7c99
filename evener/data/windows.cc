#include "evener/data/windows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "evener/core/error.h"

namespace evener {

namespace {

class MemoryWindows : public Windows {
 public:
  MemoryWindows(std::string_view text, std::size_t size) : text_(text), size_(size) {}

  std::string_view next() override {
    if (text_.empty()) return {};
    std::size_t end = text_.find('\n', std::min(size_, text_.size()) - 1);
    if (end == std::string_view::npos) end = text_.rfind('\n');
    if (end == std::string_view::npos) return take_unfinished_line();
    const auto window = text_.substr(0, end + 1);
    text_.remove_prefix(end + 1);
    return window;
  }
  bool slow() const override { return false; }

 private:
  std::string_view take_unfinished_line() {
    last_line_ = std::string(std::exchange(text_, {})) + '\n';
    return last_line_;
  }

  std::string_view text_;
  std::size_t size_;
  std::string last_line_;
};

// Two buffers in turn, one being parsed and one being filled; only cut lines are copied.
class StreamWindows : public Windows {
 public:
  StreamWindows(std::unique_ptr<ByteStream> stream, std::string name, std::size_t size,
                StreamSpeed speed)
      : stream_(std::move(stream)), name_(std::move(name)), size_(size), speed_(speed) {}

  std::string_view next() override {
    Array<char>& buffer = buffers_[turn_ ^= 1];
    buffer.clear();
    buffer.append(cut_line_.span());
    cut_line_.clear();
    std::size_t searched = 0;
    for (;;) {
      const bool more = fill(buffer);
      const std::string_view fresh(buffer.data() + searched, buffer.size() - searched);
      const std::size_t end = fresh.rfind('\n');
      if (end != std::string_view::npos) return cut(buffer, searched + end + 1);
      if (failure_) std::rethrow_exception(failure_);
      if (!more) break;
      searched = buffer.size();
    }
    if (buffer.empty()) return {};
    buffer.push_back('\n');
    return {buffer.data(), buffer.size()};
  }
  bool slow() const override { return speed_ == StreamSpeed::slow; }

 private:
  // At least `size_` more bytes, and never less than what is there: a line longer than the window
  // is read in doubling steps.
  bool fill(Array<char>& buffer) {
    const std::size_t before = buffer.size();
    const std::size_t wanted = std::max(size_, before);
    buffer.resize(before + wanted);
    std::size_t count = 0;
    while (count < wanted) {
      const std::size_t fresh = read_some({buffer.data() + before + count, wanted - count});
      if (fresh == 0) break;
      count += fresh;
    }
    buffer.resize(before + count);
    return count == wanted;
  }

  std::size_t read_some(std::span<char> out) {
    if (failure_) return 0;
    try {
      const std::size_t count = stream_->read_some(out);
      // Only unpacking can fail; text that is copied need not be searched for lines.
      if (slow())
        lines_ += static_cast<std::size_t>(
            std::count(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count), '\n'));
      return count;
    } catch (const Error& error) {
      // Reported after all whole lines before it: the first error in the file is reported.
      failure_ = std::make_exception_ptr(DataError(name_, lines_ + 1, error.what()));
      return 0;
    }
  }

  std::string_view cut(Array<char>& buffer, std::size_t end) {
    cut_line_.append({buffer.data() + end, buffer.size() - end});
    return {buffer.data(), end};
  }

  std::unique_ptr<ByteStream> stream_;
  std::string name_;
  std::size_t size_;
  StreamSpeed speed_;
  Array<char> buffers_[2];
  Array<char> cut_line_;
  int turn_ = 0;
  std::exception_ptr failure_;
  std::size_t lines_ = 0;
};

}  // namespace

std::unique_ptr<Windows> windows_of(std::string_view text, std::size_t size) {
  return std::make_unique<MemoryWindows>(text, std::max<std::size_t>(size, 1));
}

std::unique_ptr<Windows> windows_of(std::unique_ptr<ByteStream> stream, const std::string& name,
                                    std::size_t size, StreamSpeed speed) {
  return std::make_unique<StreamWindows>(std::move(stream), name, std::max<std::size_t>(size, 1),
                                         speed);
}

}  // namespace evener
