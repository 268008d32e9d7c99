// The program `evener`.
#include "evener/app/command_line.h"
#include "evener/app/shell/output.h"

int main(int argc, char** argv) {
  if (!evener::open_standard_descriptors()) return 1;  // there is no place for a message
  return evener::run_command_line(argc, argv);
}
