import Foundation
import Hearth

extension GrowthRoute {
  private static func fields(_ count: Int) -> [String: Any] {
    Dictionary(uniqueKeysWithValues: GrowthShelf.names(count).map { ($0, 1 as Any) })
  }

  private struct Fields: Encodable, Sendable {
    struct Inner: Encodable, Sendable { var value = 1 }
    let names: [String]

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Name.self)
      for name in names { try container.encode(Inner(), forKey: Name(stringValue: name)) }
    }

    struct Name: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
  }

  static let fields: [GrowthRoute] = [
    GrowthRoute(
      "the fields of a document",
      [
        "BulkWriter.enqueueSet(_:forDocument:)", "BulkWriter.enqueueCreate(_:forDocument:)",
        "CollectionReference.addDocument(data:)",
        "CollectionReference.addDocument(data:isolation:completion:)",
        "DocumentReference.setData(_:)", "DocumentReference.setData(_:isolation:completion:)",
        "DocumentReference.setData(_:precondition:)", "DocumentReference.create(_:)",
        "DocumentReference.create(_:isolation:completion:)",
        "DocumentWrites.setData(_:forDocument:)",
        "DocumentWrites.setData(_:forDocument:precondition:)",
        "DocumentWrites.create(_:forDocument:)",
        "WriteTransaction.setData(_:forDocument:)",
        "WriteTransaction.setData(_:forDocument:precondition:)",
        "WriteTransaction.create(_:forDocument:)",
      ],
      because: "One reader of users' data makes one mutation, which one writer plans."
    ) { shelf, count in
      let fields = fields(count)
      nonisolated(unsafe) let data = fields
      return { try await shelf.dune.setData(data) }
    },
    GrowthRoute(
      "a merge of fields",
      [
        "BulkWriter.enqueueSet(_:forDocument:merge:)", "DocumentReference.setData(_:merge:)",
        "DocumentReference.setData(_:merge:isolation:completion:)",
        "DocumentWrites.setData(_:forDocument:merge:)",
        "WriteTransaction.setData(_:forDocument:merge:)",
      ],
      because: "All of them make one patch of every leaf."
    ) { shelf, count in
      try await shelf.dune.setData(["map": fields(count)])
      nonisolated(unsafe) let data: [String: Any] = ["map": fields(count)]
      return { try await shelf.dune.setData(data, merge: true) }
    },
    GrowthRoute(
      "a merge of named fields",
      [
        "DocumentReference.setData(_:mergeFields:)",
        "DocumentReference.setData(_:mergeFields:isolation:completion:)",
        "DocumentWrites.setData(_:forDocument:mergeFields:)",
        "WriteTransaction.setData(_:forDocument:mergeFields:)",
      ],
      because: "All of them find the names among the same leaves."
    ) { shelf, count in
      let fields = fields(count)
      nonisolated(unsafe) let (data, names) = (fields, fields.keys.map { FieldPath([$0]) } as [Any])
      return { try await shelf.dune.setData(data, mergeFields: names) }
    },
    GrowthRoute(
      "a merge of named fields of a model",
      [
        "DocumentReference.setData(from:mergeFields:encoder:isolation:completion:)",
        "DocumentReference.setData(committing:mergeFields:encoder:)",
        "DocumentWrites.setData(from:forDocument:mergeFields:encoder:)",
        "WriteTransaction.setData(from:forDocument:mergeFields:encoder:)",
      ],
      because: "All of them encode a document, and read its leaves from it."
    ) { shelf, count in
      let value = Fields(names: GrowthShelf.names(count))
      nonisolated(unsafe) let names = value.names.map { FieldPath([$0, "value"]) } as [Any]
      return { try await shelf.dune.setData(committing: value, mergeFields: names) }
    },
    GrowthRoute(
      "an update of fields",
      [
        "BulkWriter.enqueueUpdate(_:forDocument:precondition:)", "DocumentReference.updateData(_:)",
        "DocumentReference.updateData(_:isolation:completion:)",
        "DocumentReference.updateData(_:precondition:)",
        "DocumentWrites.updateData(_:forDocument:)",
        "DocumentWrites.updateData(_:forDocument:precondition:)",
        "WriteTransaction.updateData(_:forDocument:)",
        "WriteTransaction.updateData(_:forDocument:precondition:)", "Query.updateAll(_:limit:)",
      ],
      because: "All of them make one patch, here of fields in a map."
    ) { shelf, count in
      try await shelf.dune.setData(["map": fields(count)])
      let changes = GrowthShelf.names(2 * count).dropFirst(count / 2).prefix(count).map {
        (FieldPath(["map", $0]) as AnyHashable, 2 as Any)
      }
      nonisolated(unsafe) let data = Dictionary(uniqueKeysWithValues: changes)
      return { try await shelf.dune.updateData(data) }
    },
  ]

  static let elements: [GrowthRoute] = [
    GrowthRoute(
      "a union of elements", ["FieldValue.arrayUnion(_:)", "FieldUpdate.formUnion(_:)"],
      because: "Both are the same transform of a stored array."
    ) { shelf, count in
      let names = GrowthShelf.names(2 * count)
      try await shelf.dune.setData(["list": Array(names[..<count])])
      return {
        try await shelf.dune.updateData(["list": FieldValue.arrayUnion(Array(names[count...]))])
      }
    },
    GrowthRoute(
      "a removal of elements", ["FieldValue.arrayRemove(_:)", "FieldUpdate.subtract(_:)"],
      because: "Both are the same transform of a stored array."
    ) { shelf, count in
      let names = GrowthShelf.names(2 * count)
      try await shelf.dune.setData(["list": names])
      return {
        try await shelf.dune.updateData(["list": FieldValue.arrayRemove(Array(names[count...]))])
      }
    },
    GrowthRoute(
      "documents by their references",
      [
        "Firestore.getAll(_:)", "BlockingFirestore.getAll(_:)", "Transaction.getAll(_:)",
        "DatabaseSnapshot.getAll(_:)",
      ],
      because: "All of them read a list of paths from one state."
    ) { shelf, count in
      let batch = shelf.db.batch()
      let references = GrowthShelf.names(count).map { shelf.books.document($0) }
      for reference in references { batch.setData(["a": 1], forDocument: reference) }
      try await batch.commit()
      return { _ = try await shelf.db.getAll(references + references) }
    },
    GrowthRoute(
      "a vector",
      [
        "FieldValue.vector(_:)", "VectorValue.init(_:)",
      ],
      because: "Both store the components, of which there are at most 2,048."
    ) { shelf, count in
      let components = (0..<count).map(Double.init)
      return { try await shelf.dune.setData(["vector": FieldValue.vector(components)]) }
    },
    GrowthRoute(
      "the names of a path", ["FieldPath.init(_:)"], because: "There is one call."
    ) { shelf, count in
      let path = FieldPath(GrowthShelf.names(count, "n"))
      return {
        await GrowthShelf.attempt { try await shelf.dune.updateData([path: 1]) }
      }
    },
  ]
}
