// Preloaded before the MPI library. EVENER_TEST_STUCK names a file that holds a rank's number. Once
// the file exists, a call that every rank makes all the time never returns on that rank.
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

namespace {

bool is_stuck() {
  const char* path = std::getenv("EVENER_TEST_STUCK");
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  std::FILE* file = path != nullptr && rank != nullptr ? std::fopen(path, "r") : nullptr;
  if (file == nullptr) return false;
  int named = -1;
  const bool read = std::fscanf(file, "%d", &named) == 1;
  std::fclose(file);
  return read && named == std::atoi(rank);
}

}  // namespace

extern "C" int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                           MPI_Status* status) {
  while (is_stuck()) pause();
  // The library is loaded after this one, by dlopen.
  static const auto real =
      reinterpret_cast<decltype(&MPI_Improbe)>(dlsym(RTLD_DEFAULT, "PMPI_Improbe"));
  return real(source, tag, comm, flag, message, status);
}
