import CLMDB
import Glibc

/// Blocks of the disk under all of LMDB's lock file.
///
/// The lock file is sparse, and mapped: a reader's slot on a page that a full disk has no block for
/// would end the process with SIGBUS. Where blocks cannot be had in advance, things stay as they are.
struct LockFile: ~Copyable {
  // Kept: LMDB's locks belong to the process, and closing any descriptor of the file drops them.
  private let descriptor: Int32

  /// After LMDB has opened it; gone after LMDB has closed it.
  init?(reserving path: String) {
    descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
    if descriptor < 0 { return nil }
    var info = stat()
    if fstat(descriptor, &info) == 0 { _ = fallocate(descriptor, 0, 0, info.st_size) }
  }

  deinit { _ = Glibc.close(descriptor) }
}
