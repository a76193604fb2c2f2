import Glibc
import Testing

/// The tests run with the thread sanitizer, which leaves a program little address space.
package let hasThreadSanitizer = dlsym(nil, "__tsan_init") != nil

/// Memory and time are then the sanitizer's, too; helpers are built with it as well.
package let hasSanitizer = hasThreadSanitizer || dlsym(nil, "__asan_init") != nil

/// The time limit of tests that could hang: far more than a slow machine needs, as the time passes while other tests
/// and other programs use it. Under the thread sanitizer, and in a soak, all tests together take half an hour, and
/// each has begun at once.
package let patience: TimeLimitTrait.Duration =
  .minutes(hasThreadSanitizer || Soak.isOn ? 60 : 20)
