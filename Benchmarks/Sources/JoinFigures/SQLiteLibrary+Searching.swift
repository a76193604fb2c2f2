import Foundation
import GRDB

extension SQLiteLibrary {
  /// Adds a full-text table and an R*Tree, if they are not there.
  ///
  /// No trigger keeps them up to date: call it before the searches and after all writes.
  func prepareSearches() throws {
    try pool.write { db in
      if try !db.tableExists("bookText") {
        try db.execute(
          sql: """
            CREATE VIRTUAL TABLE bookText
              USING fts5(title, summary, content = 'book', content_rowid = 'id');
            CREATE VIRTUAL TABLE bookPlace USING rtree(id, south, north, west, east);
            """)
      }
      try db.execute(
        sql: """
          INSERT INTO bookText (bookText) VALUES ('rebuild');
          INSERT INTO bookText (bookText) VALUES ('optimize');
          DELETE FROM bookPlace;
          INSERT INTO bookPlace SELECT id, latitude, latitude, longitude, longitude FROM book;
          """)
    }
  }

  /// The number of the 20 best matches of all words in title and summary, by bm25.
  func matches(of words: [String]) throws -> Int {
    try pool.read { db in
      let statement = try db.cachedStatement(
        sql: """
          SELECT book.* FROM bookText JOIN book ON book.id = bookText.rowid
          WHERE bookText MATCH ? ORDER BY rank LIMIT 20
          """)
      return try BookRecord.fetchAll(statement, arguments: [words.joined(separator: " ")]).count
    }
  }

  /// The number of books within a distance of a point, nearest first, decoded.
  func books(
    within kilometres: Double, of centre: (latitude: Double, longitude: Double)
  ) throws -> Int {
    // An R*Tree rounds its coordinates outwards: the box loses nothing.
    let height = kilometres / 111.19
    let width = height / max(0.01, cos(centre.latitude * .pi / 180))
    return try pool.read { db in
      let statement = try db.cachedStatement(
        sql: """
          SELECT book.* FROM bookPlace JOIN book ON book.id = bookPlace.id
          WHERE north >= ? AND south <= ? AND east >= ? AND west <= ?
          """)
      let arguments: StatementArguments = [
        centre.latitude - height, centre.latitude + height, centre.longitude - width,
        centre.longitude + width,
      ]
      let cursor = try BookRecord.fetchCursor(statement, arguments: arguments)
      var found: [(distance: Double, book: BookRecord)] = []
      while let book = try cursor.next() {
        let distance = Self.kilometres(
          from: centre, to: (book.latitude, book.longitude))
        if distance <= kilometres { found.append((distance, book)) }
      }
      return found.sorted { $0.distance < $1.distance }.count
    }
  }

  /// On a sphere, by the haversine formula.
  private static func kilometres(
    from one: (latitude: Double, longitude: Double), to other: (latitude: Double, longitude: Double)
  ) -> Double {
    let radian = Double.pi / 180
    let north = sin((other.latitude - one.latitude) * radian / 2)
    let east = sin((other.longitude - one.longitude) * radian / 2)
    let square =
      north * north + cos(one.latitude * radian) * cos(other.latitude * radian) * east * east
    return 2 * 6371.0088 * asin(min(1, square.squareRoot()))
  }
}
