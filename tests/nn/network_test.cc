#include "evener/nn/network.h"

#include "tests/nn/print.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/core/error.h"

namespace evener {
namespace {

using testing::HasSubstr;

/// The message of the UsageError that `action` must throw.
template <class Action>
std::string usage_error(const Action& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Network, LayoutOfASparseNetwork) {
  const Network network{.features = 10, .hidden = {20, 3}, .labels = 33};
  const auto segments = layout_of(network).segments();
  ASSERT_EQ(segments.size(), 6U);
  const auto check = [&](std::size_t i, const std::string& name, std::size_t offset,
                         std::size_t rows, std::size_t cols, std::size_t stride) {
    EXPECT_EQ(segments[i].name, name);
    EXPECT_EQ(segments[i].offset, offset) << name;
    EXPECT_EQ(segments[i].rows, rows) << name;
    EXPECT_EQ(segments[i].cols, cols) << name;
    EXPECT_EQ(segments[i].stride, stride) << name;
  };
  check(0, "hidden1.weight", 0, 10, 20, 32);  // a row a feature
  check(1, "hidden1.bias", 320, 1, 20, 32);
  check(2, "hidden2.weight", 352, 3, 20, 32);  // a row a unit
  check(3, "hidden2.bias", 448, 1, 3, 32);
  check(4, "output.weight", 480, 33, 3, 32);
  check(5, "output.bias", 1536, 1, 33, 64);
  EXPECT_EQ(layout_of(network).size, 1600U);
  EXPECT_EQ(layout_of(network).parameters(), 10 * 20 + 20 + 3 * 20 + 3 + 33 * 3 + 33U);
}

TEST(Network, DenseInputHasARowAUnit) {
  const Network network{.features = 10, .hidden = {20}, .labels = 3, .input = Input::dense};
  const Segment weight = layout_of(network).layers[0].weight;
  EXPECT_EQ(weight.rows, 20U);
  EXPECT_EQ(weight.cols, 10U);
}

TEST(Network, AListedOutputHasRowsOfOneWidthAndNoBias) {
  Network network{.features = 10, .hidden = {20}, .labels = 33, .loss = Loss::sigmoid};
  EXPECT_EQ(sparse_rows(network), 10U);
  network.output = Output::listed;
  const Layout layout = layout_of(network);
  EXPECT_EQ(sparse_rows(network), 10U + 1 + 33);
  EXPECT_EQ(layout.size, sparse_rows(network) * 32);
  EXPECT_EQ(layout.layers[0].bias.offset, bias_row(network) * 32U);
  EXPECT_EQ(layout.layers[1].weight.offset, first_label_row(network) * 32U);
  EXPECT_EQ(layout.layers[1].bias.rows, 0U);
  EXPECT_EQ(layout.parameters(), 10 * 20 + 20 + 33 * 20U);
}

TEST(Network, AListedOutputOfAnotherShapeIsRefused) {
  const Network good{.features = 10,
                     .hidden = {20},
                     .labels = 33,
                     .loss = Loss::sigmoid,
                     .output = Output::listed};
  Network deep = good, dense = good, softmax = good, tanh = good;
  deep.hidden = {20, 20};
  dense.input = Input::dense;
  softmax.loss = Loss::softmax;
  tanh.activation = Activation::tanh;
  for (const Network& network : {deep, dense, softmax, tanh}) {
    EXPECT_THROW(layout_of(network), Error);
  }
}

TEST(Network, WithoutHiddenLayerTheInputIsDense) {
  const Network network{.features = 10, .hidden = {}, .labels = 3, .input = Input::sparse};
  EXPECT_FALSE(network.sparse_input());
  const auto layout = layout_of(network);
  ASSERT_EQ(layout.layers.size(), 1U);
  EXPECT_EQ(layout.layers[0].weight.name, "output.weight");
  EXPECT_EQ(layout.layers[0].weight.rows, 3U);
}

RC_GTEST_PROP(NetworkProperty, SegmentsAreAlignedAndFollowEachOther, ()) {
  Network network;
  network.features = *rc::gen::inRange(1U, 200U);
  network.hidden = *rc::gen::container<std::vector<std::uint32_t>>(
      *rc::gen::inRange<std::size_t>(0, 5), rc::gen::inRange(1U, 100U));
  network.labels = *rc::gen::inRange(1U, 200U);
  network.input = *rc::gen::element(Input::sparse, Input::dense);
  const auto layout = layout_of(network);
  std::size_t end = 0;
  std::size_t parameters = 0;
  for (const auto& segment : layout.segments()) {
    RC_ASSERT(segment.offset == end);
    RC_ASSERT(segment.offset % 32 == 0U);
    RC_ASSERT(segment.stride % 32 == 0U);
    RC_ASSERT(segment.stride >= segment.cols);
    RC_ASSERT(segment.stride < segment.cols + 32);
    end = segment.offset + segment.size();
    parameters += segment.rows * segment.cols;
  }
  RC_ASSERT(layout.size == end);
  RC_ASSERT(layout.parameters() == parameters);
  RC_ASSERT(layout.layers.size() == network.hidden.size() + 1);
}

TEST(Network, PaddedRoundsUpTo32Floats) {
  EXPECT_EQ(padded(0), 0U);
  EXPECT_EQ(padded(1), 32U);
  EXPECT_EQ(padded(32), 32U);
  EXPECT_EQ(padded(33), 64U);
}

TEST(Network, NamesAreParsedBack) {
  for (const auto a : {Activation::relu, Activation::sigmoid, Activation::tanh}) {
    EXPECT_EQ(parse_activation(to_string(a)), a);
  }
  for (const auto l : {Loss::softmax, Loss::sigmoid, Loss::squared}) {
    EXPECT_EQ(parse_loss(to_string(l)), l);
  }
  for (const auto i : {Input::sparse, Input::dense}) EXPECT_EQ(parse_input(to_string(i)), i);
  EXPECT_EQ(parse_activation("tanh"), Activation::tanh);
  EXPECT_EQ(parse_loss("squared"), Loss::squared);
}

TEST(Network, UnknownNamesAreRefusedWithTheValidOnes) {
  const auto activation = usage_error([] { parse_activation("gelu"); });
  EXPECT_THAT(activation, HasSubstr("activation 'gelu'"));
  EXPECT_THAT(activation, HasSubstr("relu, sigmoid, tanh"));
  EXPECT_THAT(usage_error([] { parse_loss(""); }), HasSubstr("softmax, sigmoid, squared"));
  EXPECT_THAT(usage_error([] { parse_input("Sparse"); }), HasSubstr("sparse, dense"));
}

}  // namespace
}  // namespace evener
