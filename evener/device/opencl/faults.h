// For tests: a device that fails at a chosen call, as a lost card or a full memory does.
#pragma once

namespace evener::opencl {

/// The n-th call of before_call from now on, and all later ones, throw DeviceError, as on a lost
/// device. n < 0: none fails. Returns the number of calls since the last call of this function.
long fail_from_call(long n);

/// Called before every command to a device; `what` names it in the error.
void before_call(const char* what);

}  // namespace evener::opencl
