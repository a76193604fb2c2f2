import Foundation
internal import LMDB

/// Sentences for the errors of the file system, with the remedy.
///
///     FileError.sentence(for: error)    "There is no such file."
///
/// Foundation's own descriptions name a domain and a number for most of these errors.
package enum FileError {
  /// Nil for an error that is not of the file system.
  package static func sentence(for error: any Error) -> String? {
    let error = error as NSError
    switch error.domain {
    case NSPOSIXErrorDomain: return sentence(forCode: Int32(clamping: error.code))
    case NSCocoaErrorDomain: break
    default: return nil
    }
    if let cause = error.userInfo[NSUnderlyingErrorKey] as? any Error,
      let sentence = sentence(for: cause)
    {
      return sentence
    }
    switch CocoaError.Code(rawValue: error.code) {
    case .fileNoSuchFile, .fileReadNoSuchFile: return sentence(forCode: ENOENT)
    case .fileReadNoPermission, .fileWriteNoPermission: return sentence(forCode: EACCES)
    case .fileWriteOutOfSpace: return sentence(forCode: ENOSPC)
    case .fileWriteVolumeReadOnly: return sentence(forCode: EROFS)
    case .fileWriteFileExists: return sentence(forCode: EEXIST)
    case .fileReadCorruptFile, .fileReadInapplicableStringEncoding, .fileReadUnknownStringEncoding:
      return "It is not UTF-8 text. Save it as UTF-8."
    default: return sentence(forCode: EIO)
    }
  }

  /// The sentences for a number of `errno`.
  package static func sentence(forCode code: Int32) -> String { LMDBError(code).message }

  /// The file that an error is about, if it says so.
  package static func path(of error: any Error) -> String? {
    let information = (error as NSError).userInfo
    return information[NSFilePathErrorKey] as? String
      ?? (information[NSURLErrorKey] as? URL).map(\.path)
  }
}
