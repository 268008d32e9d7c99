// Which computes a product: our own kernel or CLBlast's. On cards that is measured once for each
// shape and kept on disk beside the compiled kernels. Never on processors: there our kernels win by
// ten to one (bench/clblast) and CLBlast's first call takes seconds.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "evener/device/device.h"

namespace evener::opencl {

struct ProductShape {
  std::string name;                 // which of a layer's products it is
  std::size_t m = 0, n = 0, k = 0;  // m x k times k x n
};

/// Puts the product on the queue; false where that cannot be done.
using DoProduct = std::function<bool()>;

class Products {
 public:
  /// `identity` is all that a choice depends on beside the shape: device, driver, kernels.
  Products(std::string device, std::string identity, ProductsBy by, std::string cache_directory);

  /// Whether CLBlast does products like this one. The first time, `own` and `library` are done a
  /// few times in turns (what they write is of no use), with `finish` after each.
  bool by_library(const ProductShape& shape, const DoProduct& own, const DoProduct& library,
                  const std::function<void()>& finish);
  /// CLBlast failed: our kernel computes those from here on. DeviceError if only CLBlast may.
  void give_up(const ProductShape& shape);

  /// What was chosen since this was last called.
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
  std::mutex mutex_;  // notes are asked for while the device works
  std::map<std::string, Choice> choices_;
  std::vector<std::string> notes_;
};

}  // namespace evener::opencl
