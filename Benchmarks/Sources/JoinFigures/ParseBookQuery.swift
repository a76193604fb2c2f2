import ParseSwift

/// Where `Hearth` is imported, too, `Query` is that of Firestore.
typealias ParseBookQuery = Query<ParseBook>
