import Testing

@testable import HearthDataConnect

@Suite struct `Names` {
  @Test(arguments: [
    ("movie", "movies"), ("category", "categories"), ("movieMetadata", "movieMetadatas"),
    ("standardScalars", "standardScalars"), ("box", "boxes"), ("key", "keys"), ("dish", "dishes"),
    ("match", "matches"), ("class", "classes"), ("status", "statuses"), ("bus", "buses"),
    ("analysis", "analyses"), ("person", "people"), ("child", "children"), ("leaf", "leaves"),
    ("knife", "knives"), ("hero", "heroes"), ("photo", "photos"), ("movieActor", "movieActors"),
    ("boxOfficeStory", "boxOfficeStories"), ("favoritePerson", "favoritePeople"),
    ("favorite_movie", "favorite_movies"), ("user_category", "user_categories"),
    ("quiz", "quizzes"), ("sheep", "sheep"), ("series", "series"), ("day", "days"),
    ("largeIntType", "largeIntTypes"), ("testId", "testIds"),
    ("scalarBoundary", "scalarBoundaries"),
    ("address", "addresses"), ("news", "news"), ("roof", "roofs"), ("people", "people"), ("", "s"),
  ])
  func `plurals are English`(singular: String, plural: String) {
    #expect(Naming.plural(singular) == plural)
  }

  @Test(arguments: [
    ("Movie", "movie"), ("MovieActor", "movie_actor"), ("HTTPServer", "http_server"),
    ("userID", "user_id"), ("A", "a"), ("Movie2Actor", "movie2_actor"), ("user_item", "user_item"),
    ("User_Item", "user_item"),
  ])
  func `collections have snake case`(name: String, expected: String) {
    #expect(Naming.snakeCase(name) == expected)
  }
}
