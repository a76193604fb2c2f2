import Foundation

/// In place of Swift's, which spins for ever once a signal has interrupted a read: it asks the C library again, and that
/// only says again that there was an error.
func readLine() -> String? {
  var line: [UInt8] = []
  while true {
    var byte: UInt8 = 0
    switch read(0, &byte, 1) {
    case 1 where byte == UInt8(ascii: "\n"): return String(decoding: line, as: UTF8.self)
    case 1: line.append(byte)
    case -1 where errno == EINTR: continue
    default: return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }
  }
}
