#include "evener/app/shell/version.h"

namespace evener {

const char* const kVersion = EVENER_VERSION;

}  // namespace evener
