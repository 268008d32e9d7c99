// How a row of the option table is made from a member of TrainOptions: parsing, printing and range
// checks by the member's type.
#pragma once

#include <string>
#include <vector>

#include "evener/run/options/options.h"

namespace evener {

/// What every row says beside its member.
struct OptionHead {
  const char* name;
  const char* unit;
  const char* help;
};

OptionInfo flag_option(OptionHead head, bool TrainOptions::*member);
OptionInfo text_option(OptionHead head, std::string TrainOptions::*member);
OptionInfo path_option(OptionHead head, std::string TrainOptions::*member);
OptionInfo choice_option(OptionHead head, std::string TrainOptions::*member,
                         std::vector<std::string> choices);
/// Positive integers separated by commas, or "none".
OptionInfo list_option(OptionHead head, std::vector<std::uint32_t> TrainOptions::*member);

/// The valid range is [low, high]; `open_high` excludes high.
struct RealRange {
  double low = 0;
  double high = 0;
  bool open_low = false;
  bool open_high = false;
};
OptionInfo real_option(OptionHead head, double TrainOptions::*member, RealRange range);

OptionInfo integer_option(OptionHead head, std::uint32_t TrainOptions::*member, std::uint32_t low,
                          std::uint32_t high);
OptionInfo integer_option(OptionHead head, std::uint64_t TrainOptions::*member, std::uint64_t low,
                          std::uint64_t high);
OptionInfo integer_option(OptionHead head, int TrainOptions::*member, int low, int high);

/// One option for each name in the catalogue of strategies; which of them have it, and what each
/// makes of it, is in its help.
std::vector<OptionInfo> catalogue_options();

}  // namespace evener
