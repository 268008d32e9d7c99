#include "tests/device/devices_here.h"

#include <cctype>

#include "tests/sanitized.h"

#include "evener/device/cuda/probe.h"
#include "evener/device/opencl/clblast.h"
#include "evener/device/opencl/list.h"
#include "evener/device/vector/vector_kernels.h"

namespace evener {

std::vector<std::string> devices_here() {
  std::vector<std::string> names;
  for (const auto& name : instruction_sets()) {
    // Threads are the same in all instruction sets.
    if (!kThreadSanitized || names.empty()) names.push_back("cpu/" + name);
  }
  for (const auto& listed : opencl::list()) {
    if (!listed.usable) continue;
    const std::string whole = opencl::to_string(listed.place);
    names.push_back(whole);
    if (listed.processor && listed.compute_units > 1 && !kSanitized) {
      names.push_back("card/" + whole);
      if (!opencl::clblast_file().empty()) names.push_back("clblast/" + whole);
      names.push_back(whole + ".0");
      names.push_back(whole + ".1");
    }
  }
  for (const auto& card : cuda::probe().cards) names.push_back(card.name);
  return names;
}

std::vector<std::string> accelerators_here() {
  std::vector<std::string> names = devices_here();
  std::erase_if(names, [](const std::string& name) { return name.starts_with("cpu/"); });
  return names;
}

std::vector<std::pair<std::string, std::string>> pairs_here() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& listed : opencl::list()) {
    const std::string whole = opencl::to_string(listed.place);
    if (listed.usable && listed.processor && listed.compute_units > 1) {
      pairs.emplace_back(whole + ".0", whole + ".1");
    }
  }
  const auto cards = cuda::probe().cards;
  if (cards.size() > 1) pairs.emplace_back(cards[0].name, cards[1].name);
  return pairs;
}

std::unique_ptr<Device> open_device(const std::string& name, std::size_t memory_limit) {
  const bool library = name.starts_with("clblast/");
  return make_device(name.substr(name.find('/') + 1),
                     {.memory_limit = memory_limit,
                      .cache_directory = "",
                      .as_card = library || name.starts_with("card/"),
                      .products = library ? ProductsBy::library : ProductsBy::own,
                      .say = {}});
}

std::string test_name(std::string device) {
  for (char& c : device) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return device;
}

}  // namespace evener
