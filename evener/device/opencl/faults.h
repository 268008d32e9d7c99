// For tests: a device that fails at a chosen call, as a lost card or a full memory does.
#pragma once

namespace evener::opencl {

/// The n-th call from now on fails with DeviceError, and all after it, as on a lost device. Until
/// the next call of this function; n < 0: none fails. Returns how many calls there were since the
/// last time.
long fail_from_call(long n);

/// Before every command that goes to a device; `what` names it in the error.
void before_call(const char* what);

}  // namespace evener::opencl
