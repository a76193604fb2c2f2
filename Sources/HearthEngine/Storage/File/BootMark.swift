import Foundation
internal import LMDB

/// Begins a new history in a file that may have lost commits with the system's memory.
///
/// With a durability below `full`, a power failure undoes commits, and later ones get their
/// sequences. Change tokens of the undone commits would be taken for those of the new ones. So such a
/// file holds the boot of the system during which it was written, and whoever opens it for writing
/// during another one begins a new history.
///
/// On disk, in `meta` under "boot": frame, the boot's id as text. An earlier Hearth ignores it.
enum BootMark {
  static let key = Array("boot".utf8)

  /// The id that Linux gives to each boot. Empty, and no file gets a mark, where there is none.
  static let system: [UInt8] = {
    let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    return Array((text ?? "").utf8.filter { $0 != UInt8(ascii: "\n") })
  }()

  /// Reads the mark of a file that is opened. Writes only if there is something to change: once in
  /// each boot, for a durability below `full`.
  static func update(_ store: Store, boot: [UInt8] = system) throws {
    guard !store.configuration.isReadOnly, !boot.isEmpty else { return }
    let isWeak = store.configuration.durability != .full
    func isDue(_ found: [UInt8]?) -> Bool { found == nil ? isWeak : found != boot }
    guard isDue(try store.read { try mark($0) }) else { return }
    try store.write { transaction in
      // Another process may have done it meanwhile.
      let found = try mark(StoreSnapshot(transaction.snapshot, store))
      guard isDue(found) else { return }
      if found != nil { try History.begin(&transaction, in: store) }
      let record = isWeak ? RecordFrame.record(under: key) { $0 += boot } : nil
      try transaction.put(store.tables.meta, key, record)
    }
  }

  private static func mark(_ snapshot: StoreSnapshot) throws -> [UInt8]? {
    try snapshot.lmdb.get(snapshot.tables.meta, key)
      .map { Array(try RecordFrame.payload(of: $0, key: key)) }
  }
}
