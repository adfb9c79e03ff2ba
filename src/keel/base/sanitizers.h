// keel/base/sanitizers.h — whether the code is compiled with a sanitizer, from the macros of GCC and Clang: 1 or 0.

#pragma once

#if defined(__has_feature)  // Clang
#if __has_feature(address_sanitizer)
// Defined when AddressSanitizer is on.
#define KEEL_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
// Defined when ThreadSanitizer is on.
#define KEEL_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)  // GCC
#define KEEL_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define KEEL_THREAD_SANITIZER 1
#endif

#ifndef KEEL_ADDRESS_SANITIZER
#define KEEL_ADDRESS_SANITIZER 0
#endif
#ifndef KEEL_THREAD_SANITIZER
#define KEEL_THREAD_SANITIZER 0
#endif
// Whether one of the sanitizers is on, as a preprocessor condition.
#define KEEL_SANITIZED (KEEL_ADDRESS_SANITIZER || KEEL_THREAD_SANITIZER)
