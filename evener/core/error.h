// Errors with a message for the user. What must not happen throws Error in release builds too.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace evener {

/// A failure that the message explains; the command exits with 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The user's request is invalid; the command exits with 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The results of a run could not be written.
class SaveError : public Error {
 public:
  using Error::Error;
};

/// Bad input data. The message starts with `file:line:` (line 0: the file as a whole).
class DataError : public Error {
 public:
  DataError(const std::string& file, std::size_t line, const std::string& what)
      : Error(line == 0 ? file + ": " + what : file + ":" + std::to_string(line) + ": " + what) {}
};

}  // namespace evener
