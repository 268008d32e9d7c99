// Whether a sanitizer slows this build down: tests that go through many cases then take fewer.
#pragma once

namespace evener {

#if defined(__clang__)
inline constexpr bool kThreadSanitized = __has_feature(thread_sanitizer);
inline constexpr bool kSanitized = kThreadSanitized || __has_feature(address_sanitizer);
#else  // sanitized builds are clang's (decision 6)
inline constexpr bool kThreadSanitized = false;
inline constexpr bool kSanitized = false;
#endif

}  // namespace evener
