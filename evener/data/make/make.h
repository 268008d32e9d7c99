// Data sets that are made locally: from the package index of a Debian machine, from a Debian
// package, or from random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "evener/data/dataset.h"

namespace evener {

struct MadeData {
  Dataset train, test;                // the labels' names are in `train.label_names`
  std::vector<std::string> features;  // what each feature is; empty: features have no names
  std::vector<std::string> train_names, test_names;  // names of rows; empty: none
  std::string name;                                  // "debian-tags"
  std::string description;                           // what it is and how it was made
};

struct DebianOptions {
  std::string index;  // a Packages file, plain or .gz; empty: output of `apt-cache dumpavail`
  double test_share = 0.1;
  std::uint64_t seed = 0;  // decides the split
  /// Features and labels are kept if at least this many packages of the set have them. 0: the
  /// default of the set (debian-tags 3 and 2, debian-depends 2 and 1).
  std::uint32_t min_feature_packages = 0;
  std::uint32_t min_label_packages = 0;
};

/// The debtags (`role::program`) of each tagged package from the words of its name and synopsis.
MadeData make_debian_tags(const DebianOptions& options);
/// The dependencies of a package (Pre-Depends, Depends, Recommends) from the same words.
MadeData make_debian_depends(const DebianOptions& options);

struct FashionMnistOptions {
  std::string directory = "/usr/share/datasets/fashion-mnist";  // as in the Debian package
  int threads = 1;
};

/// 70,000 grey pictures of 28 x 28 pixels, ten kinds of clothing.
MadeData make_fashion_mnist(const FashionMnistOptions& options);

/// Random data with a structure that a network can learn; see synthetic.cc for the construction.
struct SyntheticOptions {
  std::size_t rows = 10'000;  // of the training set
  double test_share = 0.1;    // test rows, as a share of the training rows
  std::uint32_t features = 5'000;
  std::uint32_t labels = 1'000;
  double features_per_row = 50;  // means; single rows vary
  double labels_per_row = 3;
  double feature_exponent = 0.8;  // the r-th most frequent occurs in proportion to r^-exponent
  double label_exponent = 0.8;
  double noise = 0.2;  // share of a row's features that have nothing to do with its labels
  std::uint64_t seed = 0;
  int threads = 1;  // the data does not depend on it
};

MadeData make_synthetic(const SyntheticOptions& options);

/// The published sizes of data sets of the XML repository, for synthetic data of their shape.
struct Shape {
  const char* name;
  std::size_t train_rows, test_rows;
  std::uint32_t features, labels;
  double features_per_row, labels_per_row;
  double label_exponent;  // about that of the original
};
const std::vector<Shape>& synthetic_shapes();
/// Takes sizes, test share and the labels' exponent from a shape, everything else from `base`.
/// Throws UsageError naming the known shapes.
SyntheticOptions synthetic_of_shape(const std::string& name, SyntheticOptions base = {});

/// Writes train.txt, test.txt, labels.txt, features.txt, train.names.txt, test.names.txt (those
/// that have contents) and README.txt: all or nothing. An existing directory is a UsageError unless
/// `force` is set and it holds a data set and nothing else.
void write_made(const MadeData& data, const std::string& directory, bool force);
/// Throws the error that `write_made` would throw, before the data set is made.
void check_target(const std::string& directory, bool force);

}  // namespace evener
