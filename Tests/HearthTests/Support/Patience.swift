import Glibc
import Testing

/// The time limit of tests that could hang: far more than a slow machine needs. Under the thread sanitizer all tests
/// together take half an hour, and each has begun at once.
let patience: TimeLimitTrait.Duration = .minutes(dlsym(nil, "__tsan_init") == nil ? 20 : 60)

/// Memory and time are then the sanitizer's, too.
let hasSanitizer = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
