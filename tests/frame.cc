// What all test programs have: the frameworks' headers, compiled once, and what sanitizers ask for.

// PoCL's compiler leaks, on a machine where it has not compiled a kernel before.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpocl\nleak:libLLVM\n";
}
