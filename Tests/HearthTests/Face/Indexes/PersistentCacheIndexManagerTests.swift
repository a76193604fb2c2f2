import Testing

@testable import Hearth
@testable import HearthEngine

struct PersistentCacheIndexManagerTests {
  @Test func `what is asked is handed on`() {
    var commands: [PersistentCacheIndexManager.Command] = []
    let manager = PersistentCacheIndexManager { commands.append($0) }
    manager.enableIndexAutoCreation()
    manager.disableIndexAutoCreation()
    manager.deleteAllIndexes()
    #expect(commands == [.enableAutoCreation, .disableAutoCreation, .deleteAll])
  }
}
