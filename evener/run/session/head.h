// --head auto: which output layer suits the data.
#pragma once

#include <string>

#include "evener/data/dataset.h"

namespace evener {

struct HeadChoice {
  std::string head;  // "full" or "shortlist"
  std::string why;   // a line for the user
};
HeadChoice choose_head(const Dataset& data);

}  // namespace evener
