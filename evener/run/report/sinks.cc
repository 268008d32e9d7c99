#include "evener/run/report/sinks.h"

#include <nlohmann/json.hpp>

#include "evener/run/artifacts/append_file.h"

namespace evener {

namespace {

using Json = nlohmann::ordered_json;

class JsonlSink final : public Sink {
 public:
  explicit JsonlSink(const std::string& path) : file_(path) { file_.drop_torn_line(); }

  void write(const Record& record) override {
    Json line{{"kind", record.kind}, {"step", record.step}, {"seconds", record.seconds}};
    if (!record.worker.empty()) line["of"] = record.worker;
    for (const auto& [name, value] : record.fields) {
      std::visit([&line, &key = name](const auto& v) { line[key] = v; }, value);
    }
    // Non-finite numbers become null: JSON has no other value for them.
    file_.append(line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
  }
  void flush() override {}  // every line is written at once
  std::string take_warning() override { return file_.take_warning(); }

 private:
  AppendFile file_;
};

}  // namespace

std::unique_ptr<Sink> make_jsonl_sink(const std::string& path) {
  return std::make_unique<JsonlSink>(path);
}

}  // namespace evener
