import Testing
import Workloads

struct WorkloadsTests {
  @Test(arguments: Workload.all.indices)
  func `a workload does the same each time`(index: Int) async throws {
    let run = try await Workload.all[index].prepare(.smoke)
    let first = try await run()
    #expect(first != Digest(), "Something was done.")
    #expect(try await run() == first, "\(Workload.all[index].title)")
  }

  @Test(arguments: Workload.Subject.allCases)
  func `every subject has workloads, and each a sentence of its own`(subject: Workload.Subject) {
    let titles = Workload.all.filter { $0.subject == subject }.map(\.title)
    #expect(!titles.isEmpty && Set(titles).count == titles.count)
    #expect(titles.allSatisfy { $0.contains(" ") })
  }
}
