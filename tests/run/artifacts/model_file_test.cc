#include "evener/run/artifacts/model_file.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/run/artifacts/file_limit.h"
#include "tests/run/support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "evener/run/artifacts/tensor_header.h"

namespace evener {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

/// A file as another program might write it: any header, any data, no checksums.
std::string raw_file(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string text(reinterpret_cast<const char*>(&length), sizeof(length));
  return text + header + std::string(data_bytes, '\x01');
}

std::string refusal(const std::string& header, std::size_t data_bytes) {
  const std::string text = raw_file(header, data_bytes);
  return error_of([&] { parse_tensor_header(std::as_bytes(std::span(text)), "f"); });
}

/// A file with three tensors of different element sizes, one of them with padded rows.
std::string write_sample(const std::string& path) {
  const std::vector<std::uint8_t> small{1, 2, 3};
  const std::vector<float> wide{1, 2, 3, -1, 4, 5, 6, -1};
  const std::vector<std::int64_t> large{-7, 1LL << 62};
  const std::vector<TensorView> tensors{{"small", "U8", {3}, small.data(), 0},
                                        {"wide", "F32", {2, 3}, wide.data(), 4},
                                        {"large", "I64", {2, 1}, large.data(), 0}};
  write_tensors(path, tensors, {{"greeting", "grüß \"dich\"\n"}});
  return contents_of(path);
}

TEST(TensorFile, ReturnsWhatWasWritten) {
  const Folder folder;
  write_sample(folder / "t");
  const TensorFile file(folder / "t");
  EXPECT_EQ(file.metadata().at("greeting"), "grüß \"dich\"\n");
  EXPECT_TRUE(file.contains("small"));
  EXPECT_FALSE(file.contains("tiny"));
  EXPECT_TRUE(file.checksummed());
  EXPECT_EQ(file.entries().size(), 3U);
  std::vector<float> rows(10, 9);
  file.read_floats("wide", 2, 3, 5, rows.data());
  EXPECT_THAT(rows, ElementsAre(1, 2, 3, 9, 9, 4, 5, 6, 9, 9));
  const auto bytes = file.bytes("small", "U8", {3});
  EXPECT_EQ(std::to_integer<int>(bytes[2]), 3);
  std::int64_t large = 0;
  std::memcpy(&large, file.bytes("large", "I64", {2, 1}).data() + 8, 8);
  EXPECT_EQ(large, 1LL << 62);
}

TEST(TensorFile, HasTheLayoutOfSafetensors) {
  const Folder folder;
  const std::string text = write_sample(folder / "t");
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  const json header = json::parse(text.substr(8, length));
  EXPECT_EQ(header["large"]["data_offsets"], (std::vector{0, 16})) << "widest first: aligned";
  EXPECT_EQ(header["wide"]["data_offsets"], (std::vector{16, 40}));
  EXPECT_EQ(header["small"]["data_offsets"], (std::vector{40, 43}));
  EXPECT_EQ(header["wide"]["dtype"], "F32");
  EXPECT_EQ(header["wide"]["shape"], (std::vector{2, 3}));
  EXPECT_EQ(header["__metadata__"]["xxh3:small"].get<std::string>().size(), 16U);
  EXPECT_EQ(text.size(), 8 + length + 43);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("t")) << "no temporary file stays";
}

TEST(TensorFile, KeepsEmptyTensorsAndEmptyFiles) {
  const Folder folder;
  const float one = 1;
  const std::vector<TensorView> tensors{{"none", "F32", {0, 4}, nullptr, 0},
                                        {"also none", "F32", {3, 0}, nullptr, 8},
                                        {"scalar", "F32", {}, &one, 0}};
  write_tensors(folder / "t", tensors, {});
  const TensorFile file(folder / "t");
  EXPECT_EQ(file.bytes("none", "F32", {0, 4}).size(), 0U);
  EXPECT_EQ(file.bytes("also none", "F32", {3, 0}).size(), 0U);
  EXPECT_EQ(file.bytes("scalar", "F32", {}).size(), 4U);
  write_tensors(folder / "empty", {}, {});
  EXPECT_TRUE(TensorFile(folder / "empty").entries().empty());
}

TEST(TensorFile, ReadsFilesWithoutChecksums) {
  const Folder folder;
  put_contents(folder / "t",
               raw_file(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 2));
  const TensorFile file(folder / "t");
  EXPECT_FALSE(file.checksummed());
  EXPECT_EQ(file.bytes("a", "U8", {2}).size(), 2U);
}

TEST(TensorFile, NamesTheTensorThatIsNotAsExpected) {
  const Folder folder;
  write_sample(folder / "t");
  const TensorFile file(folder / "t");
  EXPECT_EQ(error_of([&] { file.bytes("x", "U8", {3}); }), folder / "t: tensor 'x': is missing");
  EXPECT_EQ(error_of([&] {
              file.bytes("wide", "F32", {3, 2});
            }),
            folder / "t: tensor 'wide': is F32 [2, 3], expected F32 [3, 2]");
  EXPECT_THAT(error_of([&] { file.bytes("wide", "I64", {2, 3}); }), HasSubstr("expected I64"));
}

TEST(TensorFile, FindsEveryChangedByteAndNamesTheTensor) {
  const Folder folder;
  const std::string good = write_sample(folder / "t");
  const std::size_t data = good.size() - 43;
  const auto read_all = [&] {
    const TensorFile file(folder / "t");
    if (!file.checksummed()) throw Error("no checksums");
    std::vector<float> rows(6);
    file.bytes("large", "I64", {2, 1});
    file.read_floats("wide", 2, 3, 3, rows.data());
    file.bytes("small", "U8", {3});
  };
  EXPECT_EQ(error_of(read_all), "");
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {0x01, 0x08, 0x20, 0x80, 0xFF}) {
      xor_byte(folder / "t", i, flip);
      const std::string error = error_of(read_all);
      xor_byte(folder / "t", i, flip);
      ASSERT_NE(error, "") << "byte " << i << " ^ " << flip;
      if (i < data) continue;
      const char* tensor = i < data + 16 ? "'large'" : i < data + 40 ? "'wide'" : "'small'";
      ASSERT_THAT(error, HasSubstr(std::string("tensor ") + tensor + ": is damaged"));
    }
  }
}

TEST(TensorFile, RefusesEveryTruncationAndWhatIsAppended) {
  const Folder folder;
  const std::string good = write_sample(folder / "t");
  for (std::size_t length = good.size(); length-- > 0;) {
    std::filesystem::resize_file(folder / "t", length);
    ASSERT_NE(error_of([&] { TensorFile file(folder / "t"); }), "") << length;
  }
  put_contents(folder / "t", good + "x");
  EXPECT_THAT(error_of([&] { TensorFile file(folder / "t"); }),
              HasSubstr("1 bytes at its end belong to no tensor"));
}

TEST(TensorFile, IsRefusedIfItIsTruncatedWhileItIsRead) {
  const Folder folder;
  const std::string path = folder / "m";
  const std::vector<float> values(10000, 1.5F);
  const TensorView tensors[] = {{"w", "F32", {values.size()}, values.data(), 0}};
  write_tensors(path, tensors, {});
  const TensorFile file(path);
  std::filesystem::resize_file(path, 8192);
  std::vector<float> read(values.size());
  EXPECT_EQ(error_of([&] { file.read_floats("w", 1, read.size(), read.size(), read.data()); }),
            path + ": was truncated while it was read");
}

TEST(TensorHeader, RefusesHeadersThatLie) {
  const auto tensor = [](const std::string& dtype, const std::string& shape,
                         const std::string& offsets) {
    return R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  EXPECT_EQ(refusal(tensor("F32", "[2]", "[0,8]"), 8), "");
  EXPECT_EQ(refusal(tensor("F32", "[2]", "[0,8]"), 7),
            "f: tensor 'x': bytes 0 to 8 are not within the file, which holds 7");
  EXPECT_THAT(refusal(tensor("F32", "[2]", "[8,0]"), 8), HasSubstr("'x': bytes 8 to 0"));
  EXPECT_THAT(refusal(tensor("F32", "[3]", "[0,8]"), 8), HasSubstr("'x': its length"));
  // 2^62 * 4 wraps to 0, 2^63 * 2 * 4 as well.
  EXPECT_THAT(refusal(tensor("F32", "[4611686018427387904]", "[0,0]"), 0), HasSubstr("length"));
  EXPECT_THAT(refusal(tensor("U8", "[9223372036854775808,2]", "[0,0]"), 0), HasSubstr("length"));
  EXPECT_THAT(refusal(tensor("F32", "[18446744073709551616]", "[0,0]"), 0), HasSubstr("whole"));
  EXPECT_THAT(refusal(tensor("F32", "[-1]", "[0,4]"), 4), HasSubstr("'x': a negative number"));
  EXPECT_THAT(refusal(tensor("F32", "[1.5]", "[0,4]"), 4), HasSubstr("'x': a number that is not"));
  EXPECT_THAT(refusal(tensor("X9", "[1]", "[0,4]"), 4), HasSubstr("'x': unknown dtype 'X9'"));
  EXPECT_THAT(refusal(tensor("F32", "[1]", "[0]"), 4), HasSubstr("'x': data_offsets"));
  EXPECT_THAT(refusal(tensor("F32", "[1]", "[0,4,4]"), 4), HasSubstr("'x': data_offsets"));
  EXPECT_THAT(refusal(tensor("F32", "[[1]]", "[0,4]"), 4), HasSubstr("'x': unexpected array"));
  EXPECT_THAT(refusal(tensor("F32", "[" + std::string(40, '1') + "]", "[0,4]"), 4),
              HasSubstr("'x'"));
  EXPECT_THAT(refusal(R"({"x":{"dtype":"F32","shape":[1]}})", 4), HasSubstr("missing"));
  EXPECT_THAT(refusal(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"z":1}})", 4),
              HasSubstr("'x': unexpected number"));
  EXPECT_THAT(refusal(R"({"x":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1),
              HasSubstr("'x': the field 'dtype' occurs twice"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":{}}})", 0), HasSubstr("metadata: unexpected object"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":"1","a":"2"}})", 0), HasSubstr("'a' occurs twice"));
  EXPECT_THAT(refusal("[]", 0), HasSubstr("damaged header: unexpected array"));
  EXPECT_THAT(refusal("{\"x\":", 0), HasSubstr("damaged header: not JSON"));
  EXPECT_THAT(refusal("{} {}", 0), HasSubstr("damaged header: not JSON"));
  EXPECT_THAT(refusal(std::string(100'000, '['), 0), HasSubstr("unexpected array"));
}

TEST(TensorHeader, RefusesOverlapsGapsAndDoubles) {
  const auto two = [](const char* a, const char* b, const char* second = "b") {
    return std::string(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)") + a + R"(},")" +
           second + R"(":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}";
  };
  EXPECT_EQ(refusal(two("[0,2]", "[2,4]"), 4), "");
  EXPECT_EQ(refusal(two("[2,4]", "[0,2]"), 4), "");
  EXPECT_EQ(refusal(two("[0,2]", "[1,3]"), 3), "f: tensor 'b': overlaps another");
  EXPECT_EQ(refusal(two("[0,2]", "[0,2]"), 2), "f: tensor 'b': overlaps another");
  EXPECT_EQ(refusal(two("[0,2]", "[3,5]"), 5), "f: tensor 'b': bytes before it belong to none");
  EXPECT_EQ(refusal(two("[0,2]", "[2,4]", "a"), 4), "f: tensor 'a': occurs twice");
}

TEST(TensorHeader, RefusesLengthsThatAreNotTheFiles) {
  for (const std::uint64_t length : {std::uint64_t{3}, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
    std::string text(reinterpret_cast<const char*>(&length), sizeof(length));
    text += "{}";
    EXPECT_THAT(error_of([&] { parse_tensor_header(std::as_bytes(std::span(text)), "f"); }),
                HasSubstr("damaged header: its length is " + std::to_string(length)));
  }
  EXPECT_EQ(error_of([] { parse_tensor_header({}, "f"); }), "f: too short for a tensor file");
}

RC_GTEST_PROP(TensorFile, RoundTripsAnyShapeAndStride, ()) {
  const Folder folder;
  const auto rows = *rc::gen::inRange<std::size_t>(0, 40);
  const auto cols = *rc::gen::inRange<std::size_t>(1, 40);
  const auto stride = cols + *rc::gen::inRange<std::size_t>(0, 20);
  const auto out_stride = cols + *rc::gen::inRange<std::size_t>(0, 20);
  std::string name;
  for (const int piece : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 9))) {
    name += std::vector<std::string>{
        "a", "Z", ".", "\"", "\\", "\n", "ü", "漢", "\x01"}[static_cast<std::size_t>(piece)];
  }
  std::vector<float> in(rows * stride);
  for (float& value : in) value = std::bit_cast<float>(*rc::gen::arbitrary<std::uint32_t>());
  const std::vector<TensorView> tensors{{name, "F32", {rows, cols}, in.data(), stride}};
  write_tensors(folder / "t", tensors, {});
  std::vector<float> out(rows * out_stride, 1.0F);
  TensorFile(folder / "t").read_floats(name, rows, cols, out_stride, out.data());
  for (std::size_t r = 0; r < rows; ++r) {
    RC_ASSERT(bits(std::span(in).subspan(r * stride, cols)) ==
              bits(std::span(out).subspan(r * out_stride, cols)));
    for (std::size_t c = cols; c < out_stride; ++c) RC_ASSERT(out[r * out_stride + c] == 1.0F);
  }
}

TEST(WriteTensors, LeavesTheOldFileWhereTheDiskIsFull) {
  const Folder folder;
  const std::string good = write_sample(folder / "t");
  for (std::size_t limit = 0; limit < good.size(); limit += 7) {
    const FileLimit full(limit);
    EXPECT_THAT(error_of([&] { write_sample(folder / "t"); }),
                HasSubstr(folder / "t: cannot write: File too large"));
    ASSERT_EQ(contents_of(folder / "t"), good);
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("t"));
}

}  // namespace
}  // namespace evener
