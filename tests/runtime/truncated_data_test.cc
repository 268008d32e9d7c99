// A process of a cluster whose data file is truncated must not send what it trained on the rest.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/device/random_data.h"
#include <gtest/gtest.h>

#include "evener/core/error.h"
#include "evener/data/cache.h"
#include "evener/nn/initialise.h"
#include "evener/policy/policy.h"
#include "evener/runtime/node_replica.h"
#include "evener/runtime/peer_replica.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

class TruncatedData : public testing::Test {
 protected:
  TruncatedData() {
    std::string pattern = fs::temp_directory_path() / "evener_truncated_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ / "data.evd";
    Random random(3);
    write_cache(random_data(random, 50, 60, 9), path_);
    data_ = open_cache(path_);
    network_.features = data_.feature_count;
    network_.labels = data_.label_count;
    network_.hidden = {3};
    start_.resize(layout_of(network_).size);
    initialise(network_, 5, start_);
    task_.parts.push_back({{rows_, rows_.size(), 0}, {1, 0.1F}});
  }
  ~TruncatedData() override { fs::remove_all(folder_); }

  template <class Train>
  std::string error_of(Train train) {
    EXPECT_NO_THROW(train());
    fs::resize_file(path_, 0);
    try {
      train();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
  std::string path_;
  Dataset data_;
  Network network_;
  std::vector<float> start_;
  std::vector<std::uint32_t> rows_{1, 5, 49};
  Task task_;
  std::unique_ptr<Device> device_ = make_device("cpu:1");
};

TEST_F(TruncatedData, AWorkerFailsBeforeItPushes) {
  NodeReplica replica(device_->make_replica(network_, Training{}), network_, data_, {});
  EXPECT_EQ(error_of([&] { replica.train(task_); }), path_ + ": was truncated while it was read");
}

TEST_F(TruncatedData, APeerFailsBeforeItSends) {
  PeerReplica replica(device_->make_replica(network_, Training{}), network_, data_,
                      peer_options(parse_strategy("gossip")));
  replica.start_from(start_);
  EXPECT_EQ(error_of([&] { replica.train(task_); }), path_ + ": was truncated while it was read");
}

}  // namespace
}  // namespace evener
