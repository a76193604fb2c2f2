import Glibc

/// A file of one byte beside the data file, written after every commit: whoever watches it hears of
/// the commit when readers can see it.
///
/// The data file itself is written before that: a reader who looks at once may look too early.
/// Rung by overwriting, so that a full disk does not matter; where the file cannot be made nobody hears.
struct Doorbell: ~Copyable {
  private let descriptor: Int32

  init?(at path: String) {
    descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 { return nil }
    var info = stat()
    // Its block is taken now, not when the disk is full.
    if fstat(descriptor, &info) == 0, info.st_size == 0 { ring() }
  }

  deinit { _ = Glibc.close(descriptor) }

  func ring() {
    var byte: UInt8 = 0
    _ = pwrite(descriptor, &byte, 1, 0)
  }
}
