// The program `evener`.
#include "evener/app/command_line.h"

int main(int argc, char** argv) {
  return evener::run_command_line(argc, argv);
}
