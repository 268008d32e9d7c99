#include "evener/run/artifacts/model_file.h"

#include <cassert>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "evener/core/error.h"
#include "evener/run/artifacts/tensor_header.h"

namespace evener {

namespace {

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

/// Calls `use(data, bytes)` for each contiguous piece of a tensor, in the file's order.
template <class Use>
void for_each_run(const TensorView& tensor, Use use) {
  const std::size_t size = element_size(tensor.dtype);
  const std::size_t cols = tensor.shape.empty() ? 1 : tensor.shape.back();
  std::size_t rows = 1;
  for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i) rows *= tensor.shape[i];
  const auto* data = static_cast<const std::byte*>(tensor.data);
  if (rows * cols == 0) return;
  if (tensor.stride == 0 || tensor.stride == cols) return use(data, rows * cols * size);
  assert(tensor.stride > cols);
  for (std::size_t r = 0; r < rows; ++r) use(data + r * tensor.stride * size, cols * size);
}

std::string checksum_of(const TensorView& tensor) {
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  XXH3_64bits_reset(state.get());
  for_each_run(tensor, [&](const std::byte* data, std::size_t bytes) {
    XXH3_64bits_update(state.get(), data, bytes);
  });
  return checksum_text(XXH3_64bits_digest(state.get()));
}

/// Buffers short rows, to reduce the number of system calls.
class Gather {
 public:
  explicit Gather(AtomicFile& file) : file_(file) { buffer_.reserve(kBytes); }
  void add(const std::byte* data, std::size_t bytes) {
    if (buffer_.size() + bytes > kBytes) flush();
    if (bytes >= kBytes) return file_.write(data, bytes);
    buffer_.insert(buffer_.end(), data, data + bytes);
  }
  void flush() {
    file_.write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  AtomicFile& file_;
  std::vector<std::byte> buffer_;
};

std::vector<const TensorView*> widest_first(std::span<const TensorView> tensors) {
  std::vector<const TensorView*> order;
  for (const std::size_t size : {8, 4, 2, 1}) {
    for (const TensorView& tensor : tensors) {
      if (element_size(tensor.dtype) == size) order.push_back(&tensor);
    }
  }
  assert(order.size() == tensors.size());  // fails if a dtype is unknown
  return order;
}

TensorFile::Entry entry_of(const TensorView& tensor, std::size_t begin) {
  std::size_t bytes = 0;
  [[maybe_unused]] const bool fits = byte_count(tensor.shape, element_size(tensor.dtype), bytes);
  assert(fits);
  return {tensor.dtype, tensor.shape, begin, begin + bytes};
}

}  // namespace

void write_tensors(const std::string& path, std::span<const TensorView> tensors,
                   const std::map<std::string, std::string>& metadata) {
  const std::vector<const TensorView*> order = widest_first(tensors);
  TensorHeader header{metadata, {}, 0};
  std::size_t end = 0;
  for (const TensorView* tensor : order) {
    TensorFile::Entry entry = entry_of(*tensor, end);
    end = entry.end;
    header.metadata["xxh3:" + tensor->name] = checksum_of(*tensor);
    [[maybe_unused]] const bool added =
        header.entries.emplace(tensor->name, std::move(entry)).second;
    assert(added && tensor->name != "__metadata__");
  }
  AtomicFile file(path);
  const std::string text = format_tensor_header(header);
  file.write(text.data(), text.size());
  Gather gather(file);
  for (const TensorView* tensor : order) {
    for_each_run(*tensor,
                 [&](const std::byte* data, std::size_t bytes) { gather.add(data, bytes); });
  }
  gather.flush();
  file.commit();
}

TensorFile::TensorFile(const std::string& path) : path_(path), file_(path) {
  TensorHeader header;
  try {
    header = parse_tensor_header(file_.bytes(), path);
  } catch (const Error&) {
    file_.check();
    throw;
  }
  data_begin_ = header.data_begin;
  metadata_ = std::move(header.metadata);
  entries_ = std::move(header.entries);
}

void TensorFile::refuse(const std::string& name, const std::string& what) const {
  throw Error(path_ + ": tensor '" + name + "': " + what);
}

const TensorFile::Entry& TensorFile::expect(const std::string& name, const std::string& dtype,
                                            const std::vector<std::size_t>& shape) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse(name, "is missing");
  const Entry& entry = found->second;
  if (entry.dtype != dtype || entry.shape != shape) {
    refuse(name, fmt::format("is {} [{}], expected {} [{}]", entry.dtype,
                             fmt::join(entry.shape, ", "), dtype, fmt::join(shape, ", ")));
  }
  return entry;
}

std::span<const std::byte> TensorFile::verified(const std::string& name, const Entry& entry) const {
  const auto data = file_.bytes().subspan(data_begin_ + entry.begin, entry.end - entry.begin);
  if (!checksummed()) return data;
  const auto claimed = metadata_.find("xxh3:" + name);
  if (claimed == metadata_.end()) refuse(name, "has no checksum");
  if (checksum_text(XXH3_64bits(data.data(), data.size())) != claimed->second) {
    file_.check();
    refuse(name, "is damaged: its checksum is wrong");
  }
  return data;
}

std::span<const std::byte> TensorFile::bytes(const std::string& name, const std::string& dtype,
                                             const std::vector<std::size_t>& shape) const {
  return verified(name, expect(name, dtype, shape));
}

void TensorFile::read_floats(const std::string& name, std::size_t rows, std::size_t cols,
                             std::size_t stride, float* out) const {
  const auto found = entries_.find(name);
  const bool flat = rows == 1 && found != entries_.end() && found->second.shape.size() == 1;
  const auto data = bytes(name, "F32", flat ? std::vector{cols} : std::vector{rows, cols});
  if (data.empty()) return;
  if (stride == cols) {
    std::memcpy(out, data.data(), data.size());
  } else {
    for (std::size_t r = 0; r < rows; ++r) {
      std::memcpy(out + r * stride, data.data() + r * cols * sizeof(float), cols * sizeof(float));
    }
  }
  file_.check();  // after the copy: it may have been truncated after its checksum was verified
  // Only whole pages within the tensor; they are read from the file again on the next access.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t skip = (page - reinterpret_cast<std::uintptr_t>(data.data()) % page) % page;
  if (data.size() < skip + page) return;
  const std::span<const std::byte> whole = data.subspan(skip, (data.size() - skip) / page * page);
  madvise(const_cast<std::byte*>(whole.data()), whole.size(), MADV_DONTNEED);
}

}  // namespace evener
