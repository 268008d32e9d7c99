// From argv to an exit code.
#pragma once

namespace evener {

/// 0 done, 1 failed, 2 wrong usage, 129/130/143 interrupted by SIGHUP/SIGINT/SIGTERM.
int run_command_line(int argc, const char* const* argv);

}  // namespace evener
