import Foundation
import HearthTesting
import Testing

@testable import Hearth
@testable import HearthEngine

/// References to documents of models, as properties.
@Suite struct TypedDocumentTests {
  // These tests have a class of this name.
  private typealias Reference<Model: DocumentModel> = Hearth.Reference<Model>

  private struct Doctor: Codable, Equatable, DocumentModel {
    var name: String
    var deputy: Reference<Doctor>?

    struct Fields: Sendable { var name: Field<String> { Field("name") } }
    static let fields = Fields()
  }

  private struct Visit: Codable, Equatable, DocumentModel {
    var doctor: Reference<Doctor>
    var others: [Reference<Doctor>] = []
    var room: Int = 1

    struct Fields: Sendable {
      var doctor: Field<Reference<Doctor>> { Field("doctor") }
      var others: Field<[Reference<Doctor>]> { Field("others") }
      var room: Field<Int> { Field("room") }
    }
    static let fields = Fields()
  }

  private let database: TemporaryDatabase
  private let db: Firestore
  private let doctors: TypedCollection<Doctor>
  private let visits: TypedCollection<Visit>

  init() throws {
    database = try TemporaryDatabase()
    db = database.firestore
    doctors = db.collection("doctors", of: Doctor.self)
    visits = db.collection("visits", of: Visit.self)
  }

  @Test func `a reference is stored as a document reference, and leads to the document`()
    async throws
  {
    let (ann, bob) = (doctors.document("ann"), doctors.document("bob"))
    try await ann.set(Doctor(name: "Ann", deputy: bob))
    try await bob.set(Doctor(name: "Bob"))
    let visit = Visit(doctor: ann, others: [bob, ann])
    try await visits.document("1").set(visit)
    let stored = try #require(try await visits.document("1").untyped.getDocument().data())
    #expect(stored["doctor"] as? DocumentReference == ann.untyped)
    #expect(stored["others"] as? [DocumentReference] == [bob.untyped, ann.untyped])
    let read = try #require(try await visits.document("1").get())
    #expect(read == visit)
    #expect(try await read.doctor.get()?.deputy?.get()?.name == "Bob")
    // The same bytes as the untyped reference has.
    try await visits.document("2").untyped.setData([
      "doctor": ann.untyped, "others": [bob.untyped, ann.untyped], "room": 1,
    ])
    #expect(try await visits.document("2").get() == visit)
  }

  @Test func `queries and updates take references`() async throws {
    let (ann, bob) = (doctors.document("ann"), doctors.document("bob"))
    try await visits.document("1").set(Visit(doctor: ann, others: [bob]))
    try await visits.document("2").set(Visit(doctor: bob, room: 2))
    #expect(try await visits.where(\.doctor == ann).getDocuments().map(\.room) == [1])
    #expect(try await visits.where { $0.doctor.in([ann, bob]) }.count() == 2)
    #expect(try await visits.where { $0.others.contains(bob) }.getDocuments().map(\.room) == [1])
    try await visits.document("1").update {
      $0.doctor = bob
      $0.others.formUnion([ann])
    }
    #expect(try await visits.where(\.doctor == bob).count() == 2)
    #expect(try await visits.document("1").get()?.others == [bob, ann])
    try await bob.set(Doctor(name: "Bob"))
    let name = try await db.read { tx in
      try tx.get(visits.document("2")).flatMap { try tx.get($0.doctor) }?.name
    }
    #expect(name == "Bob")
  }

  @Test func `references are equal if their documents are`() throws {
    let one = doctors.document("ann")
    #expect(one == db.document("doctors/ann").of(Doctor.self))
    #expect(Set([one, doctors.document("ann"), doctors.document("bob")]).count == 2)
    let other = try TemporaryDatabase().firestore
    #expect(one != other.collection("doctors", of: Doctor.self).document("ann"))
  }

  @Test func `a value that is not a reference is not decoded as one, nor written elsewhere`()
    async throws
  {
    try await visits.document("1").untyped.setData(["doctor": "doctors/ann"])
    await #expect(throws: DecodingError.self) { try await visits.document("1").get() }
    #expect(throws: (any Error).self) {
      try JSONEncoder().encode(Visit(doctor: doctors.document("ann")))
    }
    // One of another database is refused, as an untyped one is.
    let other = try TemporaryDatabase().firestore.collection("doctors", of: Doctor.self)
    await #expect(throws: NSError.self) {
      try await visits.document("1").set(Visit(doctor: other.document("ann")))
    }
  }
}
