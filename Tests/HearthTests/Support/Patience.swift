import Glibc
import Testing

/// How long a test may take that could hang. Under the thread sanitizer all tests together take half an
/// hour, and each has begun at once.
let patience: TimeLimitTrait.Duration = .minutes(dlsym(nil, "__tsan_init") == nil ? 2 : 60)

/// Memory and time are then the sanitizer's, too.
let hasSanitizer = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
