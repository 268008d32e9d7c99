// CSR matrices as scipy.sparse.save_npz writes them.
#include <limits>
#include <string>

#include "tests/data/helpers.h"
#include "tests/data/npz_maker.h"

#include "evener/data/parse.h"

namespace evener {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kCsr = npy("|S3", "()", "csr");

// Members of a 2 x 5 matrix with labels; tests replace one of them.
struct Archive {
  std::string indices = npy_of<std::int32_t>("<i4", {4, 0, 2});
  std::string indptr = npy_of<std::int32_t>("<i4", {0, 2, 3});
  std::string format = kCsr;
  std::string shape = npy_of<std::int64_t>("<i8", {2, 5});
  std::string data = npy_of<float>("<f4", {40, 0.5F, -1});
  std::string y_indptr = npy_of<std::int64_t>("<i8", {0, 1, 3});
  std::string y_indices = npy_of<std::int64_t>("<i8", {1, 2, 0});
  std::string y_shape = npy_of<std::int64_t>("<i8", {2, 3});

  std::string zip(bool deflate = true) const {
    return ZipMaker(deflate)
        .add("indices.npy", indices)
        .add("indptr.npy", indptr)
        .add("format.npy", format)
        .add("shape.npy", shape)
        .add("data.npy", data)
        .add("y_indptr.npy", y_indptr)
        .add("y_indices.npy", y_indices)
        .add("y_shape.npy", y_shape)
        .finish();
  }
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Dataset npz_data(const std::string& zip) {
  return parse_npz(bytes_of(zip), "f", {}, "");
}

std::string error_of(const Archive& archive) {
  const std::string zip = archive.zip();
  return data_error([&] { npz_data(zip); });
}

TEST(Npz, StoredAndDeflatedMatricesWithLabelsInside) {
  for (const bool deflate : {false, true}) {
    const Dataset data = npz_data(Archive().zip(deflate));
    EXPECT_EQ(features_of(data), (Rows{{{0, 0.5F}, {4, 40}}, {{2, -1}}}));
    EXPECT_EQ(labels_of(data), (Labels{{1}, {0, 2}}));
    EXPECT_EQ(data.feature_count, 5U);
    EXPECT_EQ(data.label_count, 3U);
  }
}

TEST(Npz, OtherTypesOfNumbers) {
  Archive archive;
  archive.indices = npy_of<std::int64_t>("<i8", {4, 0, 2});
  archive.indptr = npy_of<std::uint32_t>("<u4", {0, 2, 3});
  archive.data = npy_of<double>("<f8", {40, 0.5, -1});
  const Dataset data = npz_data(archive.zip());
  EXPECT_EQ(features_of(data), (Rows{{{0, 0.5F}, {4, 40}}, {{2, -1}}}));
  archive.data = npy_of<std::int8_t>("|i1", {40, 5, -1});
  EXPECT_EQ(features_of(npz_data(archive.zip())), (Rows{{{0, 5}, {4, 40}}, {{2, -1}}}));
  archive.format = npy("<U3", "()", std::string("c\0\0\0s\0\0\0r\0\0\0", 12));
  EXPECT_EQ(npz_data(archive.zip()).rows(), 2U);
}

class NpzFiles : public FolderTest {};

TEST_F(NpzFiles, LabelsFromTheFileBesideIt) {
  const std::string x = ZipMaker(true)
                            .add("indices.npy", Archive().indices)
                            .add("indptr.npy", Archive().indptr)
                            .add("shape.npy", Archive().shape)
                            .add("data.npy", Archive().data)
                            .finish();
  make("X.npz", x);
  EXPECT_THAT(
      data_error([&] { read_dataset(name("X.npz"), {}); }),
      HasSubstr("no labels: neither arrays y_indptr, y_indices, y_shape in it, nor a file " +
                name("X.labels.npz")));
  ReadOptions prediction;
  prediction.label_count = 7;
  prediction.feature_count = 6;
  EXPECT_EQ(labels_of(read_dataset(name("X.npz"), prediction)), (Labels{{}, {}}));
  const std::string y = ZipMaker(true)
                            .add("indices.npy", npy_of<std::int32_t>("<i4", {3, 1, 2}))
                            .add("indptr.npy", npy_of<std::int32_t>("<i4", {0, 2, 3}))
                            .add("format.npy", kCsr)
                            .add("shape.npy", npy_of<std::int64_t>("<i8", {2, 4}))
                            .add("data.npy", npy_of<std::uint8_t>("|b1", {1, 1, 0}))
                            .finish();
  make("X.labels.npz", y);
  make("labels.txt", "a\nb\nc\nd\n");
  const Dataset data = read_dataset(name("X.npz"), {});
  EXPECT_EQ(labels_of(data), (Labels{{1, 3}, {}}));  // a stored zero is no label
  EXPECT_EQ(data.label_count, 4U);
  EXPECT_THAT(data.label_names, ElementsAre("a", "b", "c", "d"));
  make("X.labels.npz", "");
  EXPECT_THAT(data_error([&] { read_dataset(name("X.npz"), {}); }), HasSubstr("empty"));
  make("X.npz.gz", deflated(x));
  EXPECT_THAT(data_error([&] { read_dataset(name("X.npz.gz"), {}); }), HasSubstr("unpack it"));
}

TEST(Npz, BadArraysAreRefusedNamingThem) {
  const auto with = [](auto member, const std::string& array) {
    Archive archive;
    archive.*member = array;
    return error_of(archive);
  };
  using A = Archive;
  EXPECT_EQ(with(&A::format, npy("|S3", "()", "csc")),
            "f: the matrix is in 'csc' format; save it as CSR (tocsr())");
  EXPECT_THAT(with(&A::indices, npy_of<std::int32_t>("<i4", {4, 5, 2})),
              StartsWith("f: 'indices': row 0: index 5 is not below"));
  EXPECT_THAT(with(&A::indices, npy_of<std::int32_t>("<i4", {4, -1, 2})), HasSubstr("index -1"));
  EXPECT_THAT(with(&A::indices, npy_of<std::int32_t>("<i4", {4, 4, 2})),
              StartsWith("f: row 0: feature index 4 stands twice"));
  EXPECT_THAT(with(&A::indices, npy_of<float>("<f4", {4, 0, 2})), HasSubstr("no integers"));
  EXPECT_THAT(with(&A::indices, npy_of<std::int32_t>("<i4", {4, 0})), HasSubstr("indptr's last"));
  EXPECT_THAT(with(&A::indptr, npy_of<std::int32_t>("<i4", {0, 3, 2})), HasSubstr("out of order"));
  EXPECT_THAT(with(&A::indptr, npy_of<std::int32_t>("<i4", {1, 2, 3})), HasSubstr("out of order"));
  EXPECT_THAT(with(&A::indptr, npy_of<std::int32_t>("<i4", {0, 3})), HasSubstr("one more than"));
  EXPECT_THAT(with(&A::indptr, npy_of<std::int64_t>("<i8", {0, 2, 1LL << 60})),
              HasSubstr("indptr's last"));
  EXPECT_THAT(with(&A::shape, npy_of<std::int64_t>("<i8", {1LL << 60, 5})),
              HasSubstr("one more than"));
  EXPECT_THAT(with(&A::shape, npy_of<std::int64_t>("<i8", {2, 1LL << 40})),
              HasSubstr("impossible"));
  EXPECT_THAT(with(&A::shape, npy_of<std::int64_t>("<i8", {2})), HasSubstr("two dimensions"));
  EXPECT_THAT(with(&A::shape, npy_of<std::uint64_t>("<u8", {2, ~0ULL})), HasSubstr("too large"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(with(&A::data, npy_of<float>("<f4", {1, 1, nan})),
              HasSubstr("row 1: a value is not"));
  EXPECT_THAT(with(&A::data, npy_of<double>("<f8", {1, 1e300, 1})), HasSubstr("row 0: a value"));
  EXPECT_THAT(with(&A::data, npy(">f4", "(3,)", std::string(12, 'x'))), HasSubstr("big-endian"));
  EXPECT_THAT(with(&A::data, npy("<c8", "(3,)", std::string(24, 'x'))), HasSubstr("unsupported"));
  EXPECT_THAT(with(&A::data, npy("<f4", "(3, 1)", std::string(12, 'x'))), HasSubstr("dimensions"));
  EXPECT_THAT(with(&A::data, npy("<f4", "(3,)", std::string(8, 'x'))), HasSubstr("as long as"));
  EXPECT_THAT(with(&A::data, npy("<f4", "(99999999999999999999,)", "")), HasSubstr("impossible"));
  EXPECT_THAT(with(&A::data, "\x93NUMPY"), HasSubstr("'data': a numpy array has no header"));
  EXPECT_THAT(with(&A::y_shape, npy_of<std::int64_t>("<i8", {3, 3})), HasSubstr("one more than"));
  EXPECT_THAT(with(&A::y_indices, npy_of<std::int64_t>("<i8", {1, 2, 3})),
              HasSubstr("'y_indices'"));
}

TEST(Npz, LabelsForOtherRowsAreRefused) {
  Archive archive;
  archive.y_indptr = npy_of<std::int64_t>("<i8", {0, 1, 2, 3});
  archive.y_shape = npy_of<std::int64_t>("<i8", {3, 3});
  EXPECT_EQ(error_of(archive), "f: there are labels for 3 rows, but 2 rows");
}

TEST(Npz, MissingArraysAreNamed) {
  const std::string zip = ZipMaker(true).add("shape.npy", Archive().shape).finish();
  EXPECT_EQ(data_error([&] { npz_data(zip); }), "f: there is no array 'indptr'");
}

TEST(Npz, DamagedArchivesAreRefused) {
  for (const bool deflate : {false, true}) {
    const std::string good = Archive().zip(deflate);
    for (std::size_t size = 0; size < good.size(); ++size) {
      const std::string cut = good.substr(0, size);
      EXPECT_THAT(data_error([&] { npz_data(cut); }), StartsWith("f: ")) << size << " bytes";
    }
  }
}

TEST(Npz, LyingSizesCostNoMemory) {
  std::string zip = Archive().zip(true);
  const std::size_t entry = zip.find("PK\x01\x02");
  zip.replace(entry + 24, 4, little_endian(0xFFFFFFFE, 4));  // the unpacked size
  EXPECT_THAT(data_error([&] { npz_data(zip); }), HasSubstr("impossible size"));
  zip = Archive().zip(true);
  zip[entry + 16] = static_cast<char>(zip[entry + 16] ^ 1);  // the checksum
  EXPECT_THAT(data_error([&] { npz_data(zip); }), HasSubstr("checksum"));
}

}  // namespace
}  // namespace evener
