// Chooses between our kernel and CLBlast for a product. On cards, each shape is measured once, and
// the choice is cached on disk with the compiled kernels. On processors our kernels are always
// used: they are ten times as fast (bench/clblast), and CLBlast's first call takes seconds.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "evener/device/device.h"

namespace evener::opencl {

struct ProductShape {
  std::string name;                 // which product of a layer
  std::size_t m = 0, n = 0, k = 0;  // m x k times k x n
};

/// Puts the product on the queue; false on failure.
using DoProduct = std::function<bool()>;

class Products {
 public:
  /// `identity`: device, driver and kernels, on which a choice depends in addition to the shape.
  Products(std::string device, std::string identity, ProductsBy by, std::string cache_directory);

  /// Whether CLBlast computes products of this shape. The first call measures: it runs `own` and
  /// `library` a few times in turn (their output is discarded), with `finish` after each.
  bool by_library(const ProductShape& shape, const DoProduct& own, const DoProduct& library,
                  const std::function<void()>& finish);
  /// CLBlast failed: our kernel computes this shape from now on. DeviceError if only CLBlast is
  /// allowed.
  void give_up(const ProductShape& shape);

  /// The choices since the last call.
  std::vector<std::string> take_notes();

 private:
  struct Choice {
    bool library = false;
    double own_ms = 0, library_ms = 0;  // 0: not measured
  };

  Choice measure(const DoProduct& own, const DoProduct& library,
                 const std::function<void()>& finish) const;
  std::string file_of(const std::string& key) const;
  bool read(const std::string& key, Choice& choice) const;
  void write(const std::string& key, const Choice& choice) const;

  std::string device_, identity_;
  ProductsBy by_;
  std::string cache_directory_;
  std::mutex mutex_;  // notes are read while the device computes
  std::map<std::string, Choice> choices_;
  std::vector<std::string> notes_;
};

}  // namespace evener::opencl
