// evener predict
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/app/commands/commands.h"
#include "evener/app/options/model_options.h"
#include "evener/app/shell/output.h"
#include "evener/core/error.h"
#include "evener/core/printable.h"
#include "evener/data/data_folder.h"
#include "evener/data/names.h"

namespace evener {

namespace {

// Rows are printed as they are computed, so that `| head` gets output at once.
constexpr std::size_t kBatchRows = 512;

struct PredictOptions : ModelOptions {
  std::uint32_t k = 5;
};

struct Names {
  const std::vector<std::string>& labels;
  std::vector<std::string> rows;

  std::string label(std::uint32_t index) const {
    return labels.empty() ? fmt::to_string(index) : printable(labels[index]);
  }
};

std::string text_row(const Predictions& predictions, std::size_t row, std::size_t number,
                     const Names& names) {
  std::string line = names.rows.empty() ? "" : printable(names.rows[number]);
  for (std::uint32_t i = 0; i < predictions.k; ++i) {
    line +=
        fmt::format("{}{}:{:.4g}", line.empty() ? "" : "\t",
                    names.label(predictions.row_labels(row)[i]), predictions.row_scores(row)[i]);
  }
  return line + "\n";
}

std::string json_row(const Predictions& predictions, std::size_t row, std::size_t number,
                     const Names& names) {
  nlohmann::ordered_json json{{"row", number}};
  if (!names.rows.empty()) json["name"] = names.rows[number];
  auto& labels = json["labels"] = nlohmann::ordered_json::array();
  for (std::uint32_t i = 0; i < predictions.k; ++i) {
    const std::uint32_t label = predictions.row_labels(row)[i];
    nlohmann::ordered_json entry{{"label", label}};
    if (!names.labels.empty()) entry["name"] = names.labels[label];
    entry["score"] = predictions.row_scores(row)[i];
    labels.push_back(std::move(entry));
  }
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

void run_predict(const PredictOptions& options, const Environment& environment) {
  if (options.k == 0) throw UsageError("-k: at least 1 label is needed");
  const LoadedModel loaded = load_for(options, environment);
  std::string warning;
  const Names names{
      loaded.model.label_names,
      find_names(row_names_path(data_file(options.data, "test")), loaded.data.rows(), &warning)};
  if (!warning.empty()) print_warning(warning);

  std::vector<std::uint32_t> rows(loaded.data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  for (std::size_t begin = 0; begin < rows.size(); begin += kBatchRows) {
    const std::size_t count = std::min(kBatchRows, rows.size() - begin);
    Predictions predictions;
    predictions.k = std::min(options.k, loaded.model.network.labels);
    loaded.replica->predict({&loaded.data, std::span(rows).subspan(begin, count)}, predictions);
    check_intact(loaded.data);
    for (std::size_t row = 0; row < count; ++row) {
      print(options.json ? json_row(predictions, row, begin + row, names)
                         : text_row(predictions, row, begin + row, names));
    }
    flush_output();
  }
}

}  // namespace

void add_predict(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("predict", "print the best labels of each row");
  command->footer(
      "Each line has the row's name, if known, then LABEL:SCORE, best first, separated by tabs.\n"
      "Control characters in names are printed as \\xNN.\n\n"
      "Examples:\n"
      "  evener predict runs/first test.txt -k 3\n"
      "  evener predict runs/first test.txt --json | jq '.labels[0]'");
  auto options = std::make_shared<PredictOptions>();
  add_model_options(*command, *options);
  command->add_option("-k,--top", options->k, "labels a row (5)")->type_name("N");
  command->callback([options, &shell] { run_predict(*options, shell.environment); });
}

}  // namespace evener
