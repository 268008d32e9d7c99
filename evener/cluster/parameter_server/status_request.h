// The question of `evener status` to a coordinator. coordinator_status.h has the answer.
#pragma once

#include <string>

#include "evener/cluster/transport/transport.h"

namespace evener {

/// The coordinator's answer: JSON. Error where there is no answer.
std::string ask_status(Transport& transport, const std::string& coordinator,
                       const std::string& token);

}  // namespace evener
