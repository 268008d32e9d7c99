// A checkpoint whose state file has any bytes, or any texts in its metadata: loaded, or refused
// with an Error. Its tensors and its model are right, so that all of the texts are read.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/memory_file.h"
#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/artifacts/model_file.h"

namespace {

using namespace evener;

/// A folder with one checkpoint, whose state file can be replaced.
class CheckpointFolder {
 public:
  CheckpointFolder()
      : path_(std::filesystem::temp_directory_path() / fmt::format("evener-fuzz-{}", getpid())) {
    Checkpoint checkpoint;
    checkpoint.model.network = {.features = 3, .hidden = {1}, .labels = 2};
    const std::size_t size = layout_of(checkpoint.model.network).size;
    checkpoint.model.parameters = FloatBuffer(size);
    checkpoint.state.emplace_back(size);
    checkpoint.progress.step = 7;
    save_checkpoint(checkpoint, path_);
    state_ = path_ / "step-00000007" / "state.safetensors";
    layout_ = layout_of(checkpoint.model.network);
    values_ = FloatBuffer(size);
    std::filesystem::remove(state_);
    std::filesystem::create_symlink(file_.path(), state_);
  }
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;
  ~CheckpointFolder() { std::filesystem::remove_all(path_); }

  void put(std::string_view bytes) const { file_.put(bytes); }
  /// A state file with these texts.
  void put(const std::map<std::string, std::string>& metadata) const {
    std::vector<TensorView> tensors;
    add_segments(layout_, values_, "state0.", tensors);
    add_segments(layout_, values_, "kept.a.", tensors);
    const std::string written = path_ / "written";
    write_tensors(written, tensors, metadata);
    std::filesystem::remove(state_);
    std::filesystem::rename(written, state_);
  }
  void load() const {
    try {
      load_checkpoint(path_, [](const std::string&) {});
    } catch (const Error&) {
    }
    checkpoint_options(path_);
  }
  void link() const {
    std::filesystem::remove(state_);
    std::filesystem::create_symlink(file_.path(), state_);
  }

 private:
  std::filesystem::path path_, state_;
  MemoryFile file_;
  Layout layout_;
  FloatBuffer values_;
};

/// The text at a place, as the writer would have it, with some bytes replaced by the input's.
std::string changed(std::string text, FuzzInput& input) {
  const unsigned changes = input.below(4);
  for (unsigned i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = input.byte() * text.size() / 256;
    text.replace(at, input.below(12), input.text(input.below(12)));
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const CheckpointFolder folder;
  FuzzInput input(data, size);
  if (input.byte() % 8 == 0) {
    folder.link();
    folder.put(input.text(size));
  } else {
    folder.put(
        {{"evener.state_format", "2"},
         {"evener.states", changed("1", input)},
         {"evener.kept", changed(R"(["a"])", input)},
         {"evener.progress", changed(R"({"step":7,"epoch":1,"next_row":0,"train_loss_sum":"0.5",)"
                                     R"("worker_steps":[7,8],"best_metric":"inf","best_epoch":1,)"
                                     R"("epochs_since_best":0,"seconds":"1e3"})",
                                     input)},
         {"evener.options", changed(R"({"strategy":"dasp","epochs":"3"})", input)}});
  }
  folder.load();
  return 0;
}
