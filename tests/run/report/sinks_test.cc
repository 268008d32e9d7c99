#include "evener/run/report/sinks.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "tests/run/artifacts/file_limit.h"
#include "tests/run/support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace evener {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

Record evaluation(std::uint64_t step) {
  return {"eval", step, 1.5, {{"p@1", 0.75}, {"rows", std::int64_t{1000}}, {"set", "test"}}};
}

std::vector<json> lines_of(const std::string& path) {
  std::vector<json> lines;
  std::istringstream text(contents_of(path));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST(JsonlSink, WritesOneObjectALineInTheOrderGiven) {
  const Folder folder;
  const auto sink = make_jsonl_sink(folder / "metrics.jsonl");
  sink->write(evaluation(7));
  EXPECT_EQ(contents_of(folder / "metrics.jsonl"),
            R"({"kind":"eval","step":7,"seconds":1.5,"p@1":0.75,"rows":1000,"set":"test"})"
            "\n")
      << "at once: a killed run must not lose what it has measured";
  EXPECT_EQ(sink->take_warning(), "");
}

TEST(JsonlSink, WritesNonFiniteNumbersAsNullAndAnyBytesAsText) {
  const Folder folder;
  const double infinity = std::numeric_limits<double>::infinity();
  make_jsonl_sink(folder / "m")
      ->write({"step", 1, std::nan(""), {{"a", infinity}, {"b", std::nan("")}, {"c", "\"\n\xFF"}}});
  const auto lines = lines_of(folder / "m");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0]["seconds"].is_null());
  EXPECT_TRUE(lines[0]["a"].is_null());
  EXPECT_TRUE(lines[0]["b"].is_null());
  EXPECT_EQ(lines[0]["c"], "\"\n\uFFFD");
}

TEST(JsonlSink, GoesOnInTheSameFileAndDropsATornLine) {
  const Folder folder;
  for (const std::string& torn :
       {std::string(), std::string("{\"kind\":\"st"), std::string(10'000, 'x')}) {
    const std::string path = folder / ("m" + std::to_string(torn.size()));
    make_jsonl_sink(path)->write(evaluation(1));
    put_contents(path, contents_of(path) + torn);
    make_jsonl_sink(path)->write(evaluation(2));
    const auto lines = lines_of(path);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[1]["step"], 2);
  }
  put_contents(folder / "only-torn", "{");
  make_jsonl_sink(folder / "only-torn")->write(evaluation(3));
  EXPECT_EQ(lines_of(folder / "only-torn").size(), 1U);
}

TEST(JsonlSink, WarnsOnceAboutAFullDisk) {
  const auto sink = make_jsonl_sink("/dev/full");
  sink->write(evaluation(1));
  EXPECT_THAT(sink->take_warning(), StartsWith("/dev/full: cannot write: No space left"));
  sink->write(evaluation(2));
  sink->flush();
  EXPECT_EQ(sink->take_warning(), "");
}

TEST(JsonlSink, WarnsAboutAFileThatCannotBeOpened) {
  const Folder folder;
  const auto sink = make_jsonl_sink(folder / "no/such/folder/metrics.jsonl");
  sink->write(evaluation(1));
  EXPECT_THAT(sink->take_warning(), HasSubstr("cannot open: No such file"));
  EXPECT_EQ(sink->take_warning(), "");
}

TEST(Sinks, TakeBackWhatDidNotFitAndGoOnWhenThereIsRoom) {
  const Folder folder;
  const std::string path = folder / "m";
  const auto sink = make_jsonl_sink(path);
  sink->write(evaluation(1));
  const std::size_t line = contents_of(path).size();
  {
    const FileLimit limit(line + line / 2);
    sink->write(evaluation(2));
    EXPECT_THAT(sink->take_warning(), HasSubstr("File too large"));
    EXPECT_EQ(contents_of(path).size(), line);
  }
  sink->write(evaluation(3));
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["step"], 3);
  EXPECT_EQ(sink->take_warning(), "");
}

/// The payloads of an event file. Reads only the lengths; read_events.py checks the checksums with
/// TensorBoard.
std::vector<std::string> payloads(const std::string& data) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < data.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, data.data() + at, sizeof(length));
    found.push_back(data.substr(at + 12, length));
    EXPECT_EQ(found.back().size(), length);
    at += 12 + length + 4;
  }
  return found;
}

TEST(TensorboardSink, FramesItsEventsAsTensorboardDoes) {
  const Folder folder;
  const auto sink = make_tensorboard_sink(folder / "deep/tensorboard");
  const auto names = names_in(folder / "deep/tensorboard");
  ASSERT_EQ(names.size(), 1U);
  EXPECT_THAT(names[0], StartsWith("events.out.tfevents."));
  const std::string path = folder / ("deep/tensorboard/" + names[0]);
  sink->write(evaluation(300));
  sink->write({"end", 301, 2, {{"reason", "done"}}});
  const auto events = payloads(contents_of(path));
  ASSERT_EQ(events.size(), 2U) << "a record without numbers makes no event";
  EXPECT_THAT(events[0], HasSubstr("brain.Event:2"));
  // step 300 as a varint; summary value with tag and the float 0.75
  EXPECT_THAT(events[1], HasSubstr(std::string("\x10\xac\x02", 3)));
  EXPECT_THAT(events[1], HasSubstr(std::string("eval/p@1\x15\0\0\x40\x3f", 13)));
  EXPECT_THAT(events[1], testing::Not(HasSubstr("eval/set")));
}

TEST(TensorboardSink, GivesEveryRunItsOwnFile) {
  const Folder folder;
  const auto first = make_tensorboard_sink(folder.path());
  const auto second = make_tensorboard_sink(folder.path());
  EXPECT_EQ(names_in(folder.path()).size(), 2U);
}

TEST(TensorboardSink, WarnsOnceAndNeverThrows) {
  const Folder folder;
  put_contents(folder / "file", "");
  const auto nowhere = make_tensorboard_sink(folder / "file/tensorboard");
  nowhere->write(evaluation(1));
  EXPECT_THAT(nowhere->take_warning(), HasSubstr("cannot open: Not a directory"));
  EXPECT_EQ(nowhere->take_warning(), "");

  const FileLimit limit(60);
  const auto full = make_tensorboard_sink(folder / "full");
  full->write(evaluation(1));
  full->write(evaluation(2));
  EXPECT_THAT(full->take_warning(), HasSubstr("cannot write"));
  EXPECT_EQ(full->take_warning(), "");
  EXPECT_EQ(payloads(contents_of(folder / ("full/" + names_in(folder / "full")[0]))).size(), 1U);
}

}  // namespace
}  // namespace evener
