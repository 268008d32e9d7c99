// Whether a sanitizer slows this build down: tests that go through many cases then take fewer.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EVENER_SANITIZED 1
#endif
#endif

namespace evener {

#ifdef EVENER_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace evener
