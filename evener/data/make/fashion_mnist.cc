// The data set fashion-mnist, from the Debian package dataset-fashion-mnist.
#include <filesystem>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/data/make/make.h"
#include "evener/data/read.h"

namespace evener {

namespace {

constexpr std::uint32_t kSide = 28;  // pixels

Dataset read_part(const FashionMnistOptions& options, const char* part) {
  const auto path =
      std::filesystem::path(options.directory) / (std::string(part) + "-images-idx3-ubyte.gz");
  if (!std::filesystem::exists(path)) {
    throw Error(path.string() + " is not there: run `apt-get install dataset-fashion-mnist`");
  }
  ReadOptions read;
  read.format = Format::idx;
  read.threads = options.threads;
  read.feature_count = kSide * kSide;
  read.label_count = 10;
  Dataset data = read_dataset(path.string(), read);
  data.label_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                      "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  return data;
}

std::vector<std::string> row_names(const char* part, std::size_t rows) {
  std::vector<std::string> names;
  for (std::size_t row = 0; row < rows; ++row) names.push_back(fmt::format("{}-{}", part, row));
  return names;
}

}  // namespace

MadeData make_fashion_mnist(const FashionMnistOptions& options) {
  MadeData made;
  made.train = read_part(options, "train");
  made.test = read_part(options, "t10k");
  for (std::uint32_t pixel = 0; pixel < kSide * kSide; ++pixel) {
    made.features.push_back(fmt::format("row{:02}.column{:02}", pixel / kSide, pixel % kSide));
  }
  made.train_names = row_names("train", made.train.rows());
  made.test_names = row_names("t10k", made.test.rows());
  made.name = "fashion-mnist";
  made.description =
      "Pictures of clothing (Fashion-MNIST by Zalando Research), 28 x 28 grey pixels, ten\n"
      "kinds. A feature is a pixel's brightness (0 to 1); black pixels are left out. Training\n"
      "and test rows are those of the original, in its order. Source: Debian package\n"
      "dataset-fashion-mnist.\n";
  return made;
}

}  // namespace evener
