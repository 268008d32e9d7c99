#include "evener/run/devices/cluster_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "evener/core/error.h"
#include "evener/core/nearest.h"
#include "evener/run/options/config.h"

namespace evener {

namespace {

constexpr double kMilli = 1e-3, kMicro = 1e-6, kNano = 1e-9, kGiga = 1e9;

/// A key of a device: conversion of a number in the file's unit to the model, and back.
struct Key {
  const char* name;
  double low, high;
  std::function<void(DeviceModel&, double)> set;
  std::function<double(const DeviceModel&)> get;
  bool whole = false;
};

Key real_key(const char* name, double DeviceModel::*member, double unit, double low = 0,
             double high = 1e12) {
  return {name, low, high, [=](DeviceModel& m, double v) { m.*member = v * unit; },
          [=](const DeviceModel& m) { return m.*member / unit; }};
}

const std::vector<Key>& keys() {
  static const std::vector<Key> all{
      {"threads", 1, 1024, [](DeviceModel& m, double v) { m.threads = static_cast<int>(v); },
       [](const DeviceModel& m) { return m.threads; }, true},
      {"memory-rows", 0, 1e9,
       [](DeviceModel& m, double v) { m.memory_rows = static_cast<std::size_t>(v); },
       [](const DeviceModel& m) { return static_cast<double>(m.memory_rows); }, true},
      real_key("fixed-ms", &DeviceModel::fixed, kMilli),
      real_key("per-row-us", &DeviceModel::per_row, kMicro),
      real_key("per-nonzero-ns", &DeviceModel::per_nonzero, kNano),
      real_key("jitter", &DeviceModel::jitter, 1, 0, 1),
      real_key("drift-per-hour", &DeviceModel::drift, 1),
      real_key("burst-every-s", &DeviceModel::burst_every, 1),
      real_key("burst-s", &DeviceModel::burst_seconds, 1),
      real_key("burst-factor", &DeviceModel::burst_factor, 1, 1),
      real_key("latency-us", &DeviceModel::latency, kMicro),
      real_key("bandwidth-gb-s", &DeviceModel::bandwidth, kGiga),
      real_key("joins-at-s", &DeviceModel::joins_at, 1),
      real_key("fails-at-s", &DeviceModel::fails_at, 1),
  };
  return all;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < ' ' || code == 0x7F) {  // TOML has no raw control characters
      out += fmt::format("\\u{:04x}", code);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

const char* kind_of(const DeviceModel& model) {
  return model.in_place ? "cpu" : "accelerator";
}

/// Writes the costs of a step always, other keys only if they are not the default.
bool worth_saying(const Key& key, const DeviceModel& model) {
  const std::string_view name = key.name;
  const bool cost = name.starts_with("fixed") || name.starts_with("per-");
  return cost || key.get(model) != key.get(DeviceModel{});
}

class ClusterReader {
 public:
  explicit ClusterReader(const std::string& path) : path_(path) {}

  VirtualTimeOptions read() {
    if (!std::filesystem::exists(path_)) {
      throw UsageError(path_ + ": there is no such cluster file");
    }
    const std::string content = read_option_file("", path_);
    toml::table table;
    try {
      table = toml::parse(content, path_);
    } catch (const toml::parse_error& problem) {
      throw UsageError(where(problem.source()) + std::string(problem.description()));
    }
    VirtualTimeOptions options;
    for (const auto& [key, node] : table) {
      const std::string name = dashed(key.str());
      if (name == "merge-bandwidth-gb-s") {
        options.merge_bandwidth = number(node, where(key.source()), name, 1e-6, 1e6) * kGiga;
      } else if (name == "servers") {
        options.servers = static_cast<int>(number(node, where(key.source()), name, 1, 1024, true));
      } else if (name == "server-bandwidth-gb-s") {
        options.server_bandwidth = number(node, where(key.source()), name, 0, 1e6) * kGiga;
      } else if (name == "device" && node.is_array_of_tables()) {
        for (const auto& item : *node.as_array()) add_device(*item.as_table(), options);
      } else {
        unknown(key, {"device", "merge-bandwidth-gb-s", "servers", "server-bandwidth-gb-s"},
                "; devices are [[device]] tables");
      }
    }
    if (options.devices.empty()) throw UsageError(path_ + ": has no [[device]]");
    if (std::none_of(options.devices.begin(), options.devices.end(),
                     [](const DeviceModel& device) { return device.joins_at == 0; })) {
      throw UsageError(path_ + ": no device is there from the start: each has joins-at-s");
    }
    return options;
  }

 private:
  std::string where(const toml::source_region& region) const {
    return fmt::format("{}:{}: ", path_, region.begin.line);
  }
  static std::string dashed(std::string_view key) {
    std::string name(key);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
  }
  [[noreturn]] void unknown(const toml::key& key, std::vector<std::string> valid,
                            const std::string& more = "") const {
    throw UsageError(fmt::format("{}unknown key '{}'{}{}", where(key.source()), key.str(),
                                 did_you_mean(dashed(key.str()), valid), more));
  }
  static double number(const toml::node& node, const std::string& where, const std::string& name,
                       double low, double high, bool whole = false) {
    const auto value = node.value<double>();
    if (!value || !(*value >= low && *value <= high) || (whole && *value != std::floor(*value))) {
      throw UsageError(fmt::format("{}{} is not a {}number in {:g} .. {:g}", where, name,
                                   whole ? "whole " : "", low, high));
    }
    return *value;
  }
  static std::string word(const toml::node& node, const std::string& where,
                          const std::string& name) {
    const auto value = node.value<std::string>();
    if (!value) throw UsageError(fmt::format("{}{} is not a text in quotes", where, name));
    return *value;
  }

  void add_device(const toml::table& table, VirtualTimeOptions& options) {
    DeviceModel model;
    model.name = fmt::format("device {}", options.devices.size());
    std::size_t count = 1;
    for (const auto& [key, node] : table) {
      const std::string name = dashed(key.str());
      const std::string at = where(key.source());
      if (name == "name") {
        model.name = word(node, at, name);
      } else if (name == "kind") {
        const std::string kind = word(node, at, name);
        if (kind != "cpu" && kind != "accelerator") {
          throw UsageError(fmt::format("{}kind '{}' is neither cpu nor accelerator", at, kind));
        }
        model.in_place = kind == "cpu";
      } else if (name == "count") {
        count = static_cast<std::size_t>(number(node, at, name, 1, 1024, true));
      } else {
        const auto found = std::find_if(keys().begin(), keys().end(),
                                        [&](const Key& k) { return name == k.name; });
        if (found == keys().end()) {
          std::vector<std::string> valid{"name", "kind", "count"};
          for (const auto& k : keys()) valid.emplace_back(k.name);
          unknown(key, valid);
        }
        found->set(model, number(node, at, name, found->low, found->high, found->whole));
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      options.devices.push_back(model);
      if (count > 1) options.devices.back().name += fmt::format(" #{}", i + 1);
    }
  }

  std::string path_;
};

}  // namespace

VirtualTimeOptions read_cluster(const std::string& path) {
  return ClusterReader(path).read();
}

std::string cluster_device_text(const DeviceModel& model) {
  std::string text =
      fmt::format("[[device]]\nname = {}\nkind = \"{}\"\n", quoted(model.name), kind_of(model));
  for (const auto& key : keys()) {
    if (!worth_saying(key, model)) continue;
    text += key.whole ? fmt::format("{} = {:.0f}\n", key.name, key.get(model))
                      : fmt::format("{} = {:.6g}\n", key.name, key.get(model));
  }
  return text;
}

nlohmann::ordered_json cluster_device_json(const DeviceModel& model) {
  nlohmann::ordered_json json{{"name", model.name}, {"kind", kind_of(model)}};
  for (const auto& key : keys()) {
    if (!worth_saying(key, model)) continue;
    if (key.whole) {
      json[key.name] = static_cast<std::int64_t>(key.get(model));
    } else {
      json[key.name] = key.get(model);
    }
  }
  return json;
}

}  // namespace evener
