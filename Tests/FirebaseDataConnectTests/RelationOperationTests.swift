import Foundation
import Hearth
import Testing

@testable import FirebaseDataConnect

/// Tables that refer to each other: reviews and actors of movies.
@Suite struct RelationOperationTests {
  static let schema = """
    type Movie @table {
      title: String!
      year: Int
      tags: [String!]
    }
    type MovieMetadata @table {
      movie: Movie! @unique
      studio: String
    }
    type Actor @table {
      name: String!
    }
    type MovieActor @table(key: ["movie", "actor"]) {
      movie: Movie!
      actor: Actor!
      role: String!
    }
    type User @table(key: "uid") {
      uid: String!
      name: String
    }
    type Review @table(key: ["movie", "user"]) {
      movie: Movie!
      user: User!
      rating: Int
      mentor: User
    }
    """

  static let operations = """
    mutation AddMovie($id: UUID!, $title: String!, $year: Int) {
      movie_insert(data: {id: $id, title: $title, year: $year})
    }
    mutation AddMetadata($movie: Movie_Key!, $studio: String) {
      movieMetadata_insert(data: {movie: $movie, studio: $studio})
    }
    mutation AddActor($id: UUID!, $name: String!) { actor_insert(data: {id: $id, name: $name}) }
    mutation Cast($movieId: UUID!, $actorId: UUID!, $role: String!) {
      movieActor_insert(data: {movieId: $movieId, actorId: $actorId, role: $role})
    }
    mutation AddUser($uid: String!, $name: String) { user_upsert(data: {uid: $uid, name: $name}) }
    mutation AddReview($movieId: UUID!, $uid: String!, $rating: Int, $mentor: String) {
      review_upsert(data: {movieId: $movieId, userUid: $uid, rating: $rating, mentorUid: $mentor})
    }
    mutation DeleteMovie($id: UUID!) { movie_delete(id: $id) }
    mutation DeleteUser($uid: String!) { user_delete(uid: $uid) }
    mutation MovieWithReviews($title: String!) {
      movie_insert(data: {
        title: $title,
        reviews_on_movie: [{userUid: "ada", rating: 5}, {user: {uid: "bob"}, rating: 1}]
      })
    }
    mutation Twice($id: UUID!) @transaction {
      first: movie_insert(data: {id: $id, title: "A"})
      second: movie_insert(data: {id: $id, title: "B"})
      third: movie_insert(data: {title: "C"})
    }
    mutation TwiceInSteps($id: UUID!) {
      first: movie_insert(data: {id: $id, title: "A"})
      second: movie_insert(data: {id: $id, title: "B"})
      third: movie_insert(data: {title: "C"})
    }
    mutation Raise($id: UUID!, $by: Int!) {
      movie_update(id: $id, data: {year_update: {inc: $by}, tags_update: [{append: ["x"]}]})
    }
    mutation RaiseOld($before: Int!) {
      movie_updateMany(where: {year: {lt: $before}}, data: {tags: ["old"]})
    }
    mutation DeleteOld($before: Int!) { movie_deleteMany(where: {year: {lt: $before}}) }

    query GetMovie($id: UUID!) {
      movie(id: $id) {
        id title
        metadata: movieMetadata_on_movie { studio }
        best: reviews_on_movie(where: {rating: {ge: 4}}, orderBy: [{rating: DESC}], limit: 2) {
          rating user { uid name } mentor { name }
        }
        all: reviews_on_movie(orderBy: [{rating: ASC}]) { rating }
        actors: actors_via_MovieActor(where: {role: {eq: "main"}}) { name }
      }
    }
    query GetActor($id: UUID!) { actor(id: $id) { name movies_via_MovieActor { title } } }
    query GetReview($key: Review_Key!) { review(key: $key) { movieId userUid rating movie { title } } }
    query MoviesOf($name: String!) {
      movies(where: {actors_via_MovieActor: {exist: {name: {eq: $name}}}}, orderBy: [{title: ASC}]) {
        title
      }
    }
    query Praised($rating: Int!) {
      movies(where: {reviews_on_movie: {exist: {rating: {ge: $rating}}}}, orderBy: [{title: ASC}]) {
        title
      }
    }
    query Unreviewed {
      movies(where: {reviews_on_movie: {count: {eq: 0}}}, orderBy: [{title: ASC}]) { title }
    }
    query Reviewed($filter: Movie_Filter!) {
      movies(where: $filter, orderBy: [{title: ASC}]) { title }
    }
    query Loved {
      movies(where: {reviews_on_movie: {exist: {rating: {ge: 4}}, count: {eq: 2}}}) { title }
    }
    query Cast2 { movies(where: {actors_via_MovieActor: {count: {eq: 2}}}) { title } }
    query ByMovie {
      reviews(orderBy: [{movie: {title: DESC}}, {mentor: {name: ASC}}, {rating: DESC}], offset: 1, limit: 3) {
        rating movie { title }
      }
    }
    query Best { review(first: {orderBy: [{movie: {title: DESC}}]}) { rating } }
    query ReviewsOf($title: String!) {
      reviews(where: {movie: {title: {eq: $title}}}, orderBy: [{rating: ASC}]) { rating user { uid } }
    }
    query ReviewsIn($ids: [UUID!]!) { reviews(where: {movieId: {in: $ids}}) { rating } }
    """

  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(schema: Self.schema, operations: Self.operations)
  }

  private static func id(_ number: Int) -> DataValue {
    let digits = String(number)
    return .string(String(repeating: "0", count: 32 - digits.count) + digits)
  }

  /// Three movies, two actors, three users.
  private func fill() async throws {
    for (number, title, year) in [(1, "Alien", 1979), (2, "Brazil", 1985), (3, "Casino", 1995)] {
      try await connector.mutate(
        "AddMovie", ["id": Self.id(number), "title": .string(title), "year": .int(Int64(year))])
    }
    try await connector.mutate(
      "AddMetadata", ["movie": ["id": Self.id(1)], "studio": "Fox"])
    for (number, name) in [(11, "Weaver"), (12, "Holm")] {
      try await connector.mutate("AddActor", ["id": Self.id(number), "name": .string(name)])
    }
    for (movie, actor, role) in [(1, 11, "main"), (1, 12, "side"), (2, 12, "main")] {
      try await connector.mutate(
        "Cast",
        ["movieId": Self.id(movie), "actorId": Self.id(actor), "role": .string(role)])
    }
    for name in ["ada", "bob", "cy/d:e"] {
      try await connector.mutate(
        "AddUser", ["uid": .string(name), "name": .string(name.uppercased())])
    }
    for (movie, user, rating, mentor) in [
      (1, "ada", 5, DataValue.null), (1, "bob", 4, "ada"), (1, "cy/d:e", 1, .null),
      (2, "ada", 3, .null),
    ] {
      try await connector.mutate(
        "AddReview",
        [
          "movieId": Self.id(movie), "uid": .string(user), "rating": .int(Int64(rating)),
          "mentor": mentor,
        ])
    }
  }

  private func titles(_ name: String, _ variables: DataObject = [:]) async throws -> [DataValue] {
    try await connector.query(name, variables)["movies"]?.elements?.compactMap { $0["title"] } ?? []
  }

  @Test func `a row is read with its relations in both directions`() async throws {
    try await fill()
    let movie = try await connector.query("GetMovie", ["id": Self.id(1)])["movie"]
    #expect(
      movie == [
        "id": Self.id(1), "title": "Alien", "metadata": ["studio": "Fox"],
        "best": [
          ["rating": 5, "user": ["uid": "ada", "name": "ADA"], "mentor": nil],
          ["rating": 4, "user": ["uid": "bob", "name": "BOB"], "mentor": ["name": "ADA"]],
        ],
        "all": [["rating": 1], ["rating": 4], ["rating": 5]], "actors": [["name": "Weaver"]],
      ])
    let actor = try await connector.query("GetActor", ["id": Self.id(12)])["actor"]
    #expect(actor?["name"] == "Holm")
    #expect(
      Set(actor?["movies_via_MovieActor"]?.elements?.compactMap { $0["title"] } ?? [])
        == ["Alien", "Brazil"])
    #expect(
      try await connector.query(
        "GetReview", ["key": ["movieId": Self.id(1), "userUid": "cy/d:e"]])["review"] == [
          "movieId": Self.id(1), "userUid": "cy/d:e", "rating": 1, "movie": ["title": "Alien"],
        ])
    let other = try await connector.query("GetMovie", ["id": Self.id(3)])["movie"]
    #expect(other?["metadata"] == .null && other?["all"] == [] && other?["actors"] == [])
  }

  @Test func `rows are found by the rows that they are related to`() async throws {
    try await fill()
    #expect(try await titles("MoviesOf", ["name": "Holm"]) == ["Alien", "Brazil"])
    #expect(try await titles("Praised", ["rating": 3]) == ["Alien", "Brazil"])
    #expect(try await titles("Praised", ["rating": 4]) == ["Alien"])
    #expect(try await titles("Unreviewed") == ["Casino"])
    let reviews = try await connector.query("ReviewsOf", ["title": "Alien"])["reviews"]
    #expect(reviews?.elements?.compactMap { $0["rating"] } == [1, 4, 5])
    let some = try await connector.query("ReviewsIn", ["ids": [Self.id(2), Self.id(3)]])
    #expect(some["reviews"] == [["rating": 3]])
  }

  @Test(
    arguments: [
      (["gt": 1], ["Alien"]), (["ge": 1, "lt": 3], ["Brazil"]), (["ne": 3], ["Brazil", "Casino"]),
      (["in": [0, 1]], ["Brazil", "Casino"]), (["nin": [0, 1]], ["Alien"]), (["lt": 0], []),
      ([:], ["Alien", "Brazil", "Casino"]), (["eq": nil], []),
      (["isNull": false, "gt": 0], ["Alien", "Brazil"]),
      (["gt": 0], ["Alien", "Brazil"]), (["le": 0], ["Casino"]),
    ] as [(DataValue, [DataValue])])
  func `rows are found by the number of those that refer to them`(
    count: DataValue, titles: [DataValue]
  ) async throws {
    try await fill()
    #expect(
      try await self.titles("Reviewed", ["filter": ["reviews_on_movie": ["count": count]]])
        == titles)
  }

  @Test func `only the related rows that match are counted, also through a join table`()
    async throws
  {
    try await fill()
    #expect(try await titles("Loved") == ["Alien"])
    #expect(try await titles("Cast2") == ["Alien"])
  }

  @Test func `rows are in the order of those that they refer to`() async throws {
    try await fill()
    let reviews = try await connector.query("ByMovie")["reviews"]
    #expect(
      reviews == [
        ["rating": 5, "movie": ["title": "Alien"]], ["rating": 1, "movie": ["title": "Alien"]],
        ["rating": 4, "movie": ["title": "Alien"]],
      ])
    #expect(try await connector.query("Best")["review"] == ["rating": 3])
  }

  @Test func `a deleted row deletes those that must refer to it, and is removed from the others`()
    async throws
  {
    try await fill()
    try await connector.mutate("DeleteUser", ["uid": "ada"])
    let movie = try await connector.query("GetMovie", ["id": Self.id(1)])["movie"]
    #expect(movie?["all"] == [["rating": 1], ["rating": 4]])
    #expect(movie?["best"]?.elements?.first?["mentor"] == .null)
    try await connector.mutate("DeleteMovie", ["id": Self.id(1)])
    for collection in ["review", "movie_actor", "movie_metadata"] {
      let left = try await connector.firestore.collection(collection).getDocuments().documents
      #expect(!left.contains { ($0["movie"] as? DocumentReference)?.documentID == Self.id(1).text })
    }
  }

  @Test func `a row that refers to nothing, or exists already, is refused`() async throws {
    try await fill()
    let missing = await message {
      try await connector.mutate(
        "Cast", ["movieId": Self.id(9), "actorId": Self.id(11), "role": "main"])
    }
    #expect(
      missing.contains("MovieActor.movie refers to a row of Movie that does not exist"),
      "\(missing)")
    let second = await message {
      try await connector.mutate(
        "Cast", ["movieId": Self.id(1), "actorId": Self.id(11), "role": "side"])
    }
    #expect(second.contains("already a row of MovieActor"), "\(second)")
    let metadata = await message {
      try await connector.mutate("AddMetadata", ["movie": ["id": Self.id(1)], "studio": "MGM"])
    }
    #expect(metadata.contains("MovieMetadata.movie must be unique"), "\(metadata)")
    #expect(try await connector.firestore.collection("movie_metadata").getDocuments().count == 1)
  }

  @Test func `a row is inserted with the rows that refer to it`() async throws {
    for name in ["ada", "bob"] { try await connector.mutate("AddUser", ["uid": .string(name)]) }
    let result = try await connector.mutate("MovieWithReviews", ["title": "Dune"])
    let id = try #require(result["movie_insert"]?["id"])
    let movie = try await connector.query("GetMovie", ["id": id])["movie"]
    #expect(movie?["all"] == [["rating": 1], ["rating": 5]])
    // Without the users, nothing is inserted.
    try await connector.mutate("DeleteUser", ["uid": "bob"])
    let failed = await message { try await connector.mutate("MovieWithReviews", ["title": "Heat"]) }
    #expect(failed.contains("movie_insert.reviews_on_movie.1"), "\(failed)")
    #expect(try await connector.firestore.collection("movie").getDocuments().count == 1)
  }

  @Test func `a transaction is applied whole or not at all, other mutations field by field`()
    async throws
  {
    let service = try connector.dataConnect.service()
    let whole = try await service.mutate("Twice", ["id": Self.id(1)], nil)
    #expect(whole.fields == ["first": nil, "second": nil, "third": nil])
    #expect(
      whole.errors.map(\.message).map { String($0.prefix(13)) } == [
        "(rolled back)", "There is alre", "(aborted)",
      ])
    #expect(whole.errors.map(\.path) == [[.field("first")], [.field("second")], [.field("third")]])
    #expect(try await connector.firestore.collection("movie").getDocuments().isEmpty)
    let steps = try await service.mutate("TwiceInSteps", ["id": Self.id(1)], nil)
    #expect(steps.fields["first"] == ["id": Self.id(1)] && steps.fields["second"] == .null)
    #expect(steps.errors.map(\.path) == [[.field("second")]])
    #expect(try await connector.firestore.collection("movie").getDocuments().count == 2)
  }

  @Test func `values are updated from themselves, and many rows at once`() async throws {
    try await fill()
    try await connector.mutate("Raise", ["id": Self.id(1), "by": 3])
    try await connector.mutate("Raise", ["id": Self.id(1), "by": -1])
    let document = try await connector.firestore.collection("movie")
      .document(Self.id(1).text ?? "").getDocument()
    #expect(document["year"] as? Int == 1981)
    #expect(
      await message {
        try await connector.mutate("Raise", ["id": Self.id(1), "by": 2_147_483_000])
      }
      .contains("32 bits"))
    #expect(try await connector.mutate("RaiseOld", ["before": 1990]) == ["movie_updateMany": 2])
    #expect(try await connector.mutate("DeleteOld", ["before": 1990]) == ["movie_deleteMany": 2])
    #expect(try await titles("Unreviewed") == ["Casino"])
  }

  // MARK: Beyond one query of the database

  private static let club = """
    enum Rank { NOVICE MEMBER MASTER }
    type Club @table(key: "name") { name: String! }
    type Person @table(key: "name") {
      name: String!
      age: Int
      rank: Rank
      club: Club
    }
    type Follow @table(key: ["fan", "star"]) { fan: Person!  star: Person!  since: Int }
    type Meeting @table(key: "id") { id: Int!  host: Person!  at: Club! }
    type Guest @table(key: ["meeting", "person"]) { meeting: Meeting!  person: Person!  seat: Int }
    """

  private static let clubOperations = """
    mutation AddClub($name: String!) { club_insert(data: {name: $name}) }
    mutation AddPerson($name: String!, $age: Int, $rank: Rank, $club: String) {
      person_insert(data: {name: $name, age: $age, rank: $rank, clubName: $club})
    }
    mutation AddFollow($fan: String!, $star: String!, $since: Int) {
      follow_insert(data: {fanName: $fan, starName: $star, since: $since})
    }
    mutation AddMeeting($id: Int!, $host: String!, $club: String!) {
      meeting_insert(data: {id: $id, hostName: $host, atName: $club})
    }
    mutation AddGuest($id: Int!, $person: String!, $seat: Int) {
      guest_insert(data: {meetingId: $id, personName: $person, seat: $seat})
    }
    query Any($filter: Person_Filter!) { people(where: $filter, orderBy: [{name: ASC}]) { name } }
    query Within($name: String!) {
      person(key: {name: $name}) {
        stars: people_via_Follow_on_fan(orderBy: [{since: DESC}]) { name }
        fans: people_via_Follow_on_star { name }
        young: people_via_Follow_on_star { _count age_avg }
      }
    }
    query FansOf($name: String!) {
      people(
        where: {people_via_Follow_on_fan: {exist: {name: {eq: $name}}}}, orderBy: [{name: ASC}]
      ) { name }
    }
    query Orders {
      clubs(orderBy: [{name: ASC}]) {
        name
        members: people_on_club(orderBy: [{rank: DESC}, {name: ASC}], offset: 1, limit: 2) { name rank }
        hosted: meetings_on_at(orderBy: [{host: {rank: ASC}}, {host: {age: DESC}}]) {
          id host { name }
        }
      }
      meetings(orderBy: [{id: ASC}]) {
        guests: people_via_Guest(orderBy: [{person: {rank: DESC}}, {seat: ASC}], limit: 2) { name }
      }
    }
    query Groups($seat: Int) {
      meetings(orderBy: [{id: ASC}]) {
        id
        all: people_via_Guest(where: {seat: {gt: $seat}}) { _count age_avg age_max }
        ranks: people_via_Guest(orderBy: [{_count: DESC}], having: {_count: {gt: 1}}) { rank _count }
        distinct: people_via_Guest(distinct: true) { clubName }
      }
    }
    query BySeat { meetings { people_via_Guest(having: {seat_count: {gt: 0}}) { rank } } }
    """

  private func clubs() async throws -> TestConnector {
    let connector = try TestConnector(schema: Self.club, operations: Self.clubOperations)
    for name in ["A", "B"] { try await connector.mutate("AddClub", ["name": .string(name)]) }
    for (name, age, rank, club) in [
      ("ada", 30, "MASTER", "A"), ("bob", 40, "NOVICE", "A"), ("cyd", 50, "MEMBER", "A"),
      ("dan", 20, "MASTER", "B"), ("eve", nil, nil, "A"),
    ] as [(String, Int64?, String?, String)] {
      try await connector.mutate(
        "AddPerson",
        [
          "name": .string(name), "age": age.map { .int($0) } ?? .null,
          "rank": rank.map { .string($0) } ?? .null, "club": .string(club),
        ])
    }
    for (fan, star, since) in [
      ("ada", "bob", 1), ("ada", "cyd", 2), ("bob", "ada", 3), ("dan", "ada", 4),
    ]
      as [(String, String, Int64)]
    {
      try await connector.mutate(
        "AddFollow", ["fan": .string(fan), "star": .string(star), "since": .int(since)])
    }
    for (id, host) in [(1, "cyd"), (2, "ada"), (3, "dan")] as [(Int64, String)] {
      try await connector.mutate(
        "AddMeeting", ["id": .int(id), "host": .string(host), "club": "B"])
    }
    for (id, person, seat) in [
      (1, "ada", 3), (1, "dan", 2), (1, "bob", 1), (2, "cyd", 1), (2, "eve", 2),
    ] as [(Int64, String, Int64)] {
      try await connector.mutate(
        "AddGuest", ["id": .int(id), "person": .string(person), "seat": .int(seat)])
    }
    return connector
  }

  @Test func `a filter has any number of alternatives`() async throws {
    let connector = try await clubs()
    func names(_ filter: DataValue) async throws -> [DataValue?] {
      try await connector.query("Any", ["filter": filter])["people"]?.elements?
        .map { $0["name"] } ?? []
    }
    func either(_ count: Int64, _ last: DataValue) -> DataValue {
      ["_or": .list((0..<count).map { ["age": ["eq": .int(100 + $0)]] } + [last])]
    }
    let ada: DataValue = ["name": ["eq": "ada"]]
    for count in [29, 30, 31, 899, 1000] as [Int64] {
      #expect(try await names(either(count, ada)) == ["ada"], "\(count)")
      #expect(
        try await names(["_not": either(count, ada)]) == ["bob", "cyd", "dan", "eve"], "\(count)")
    }
    // The product of two, beside other conditions; inside of a relation; a negated conjunction.
    let adult: DataValue = ["age": ["ge": 30]]
    #expect(
      try await names(["_and": [either(40, adult), either(40, ["rank": ["ne": "NOVICE"]])]])
        == ["ada", "cyd"])
    #expect(try await names(["club": ["people_on_club": ["exist": either(40, ada)]]]).count == 4)
    let conjunction = DataValue.list((0..<40).map { ["age": ["ne": .int($0)]] })
    #expect(try await names(["_not": ["_and": conjunction]]) == ["ada", "dan", "eve"])
    let empty = DataValue.list((0..<30).map { _ in ["age": ["nin": []]] })
    #expect(try await names(["_or": empty]) == ["ada", "bob", "cyd", "dan"])
    let long = DataValue.list((1000..<1200).map { ["age": ["ne": .int($0)]] })
    #expect(try await names(["_and": long]) == ["ada", "bob", "cyd", "dan"])
    #expect(try await names(either(40, [:])).count == 5, "No condition matches all.")
  }

  @Test func `rows of one table are related through a join table`() async throws {
    let connector = try await clubs()
    let ada = try await connector.query("Within", ["name": "ada"])["person"]
    #expect(ada?["stars"] == [["name": "cyd"], ["name": "bob"]])
    #expect(Set(ada?["fans"]?.elements ?? []) == [["name": "bob"], ["name": "dan"]])
    #expect(ada?["young"] == [["_count": 2, "age_avg": 30.0]])
    let fans = try await connector.query("FansOf", ["name": "ada"])["people"]
    #expect(fans == [["name": "bob"], ["name": "dan"]])
  }

  @Test(arguments: ["InOrder", "Plain"])
  func `a list without a limit has 100 rows, in any order`(name: String) async throws {
    let connector = try TestConnector(
      schema: """
        type Club @table(key: "name") { name: String! }
        type Member @table(key: "id") { id: Int!  club: Club! }
        """,
      operations: """
        mutation AddClub($name: String!) { club_insert(data: {name: $name}) }
        mutation AddMembers($members: [Member_Data!]!) { member_insertMany(data: $members) }
        query InOrder($offset: Int, $limit: Int) {
          members(
            orderBy: [{club: {name: DESC}}, {id: ASC}], offset: $offset, limit: $limit
          ) { id }
        }
        query Plain($offset: Int, $limit: Int) {
          members(orderBy: [{clubName: DESC}, {id: ASC}], offset: $offset, limit: $limit) { id }
        }
        """)
    for club in ["A", "B"] { try await connector.mutate("AddClub", ["name": .string(club)]) }
    let even = Array(stride(from: Int64(0), to: 104, by: 2))
    let odd = Array(stride(from: Int64(1), to: 104, by: 2))
    for (club, ids) in [("A", even), ("B", odd)] {
      let members = ids.map { DataValue.object(["id": .int($0), "clubName": .string(club)]) }
      try await connector.mutate("AddMembers", ["members": .list(members)])
    }
    let all = odd + even
    let cases: [(variables: DataObject, ids: ArraySlice<Int64>)] = [
      ([:], all.prefix(100)), (["limit": nil], all.prefix(100)), (["offset": 3], all[3..<103]),
      (["offset": 10], all[10...]), (["limit": 103], all.prefix(103)), (["limit": 0], []),
    ]
    for (variables, ids) in cases {
      let found = try await connector.query(name, variables)["members"]?.elements
      #expect(found?.map { $0["id"] } == ids.map { .int($0) }, "\(variables)")
    }
  }

  @Test func `rows of a relation are ordered by referred rows, and by positions in enums`()
    async throws
  {
    let connector = try await clubs()
    let found = try await connector.query("Orders")
    let members = found["clubs"]?.elements?.first?["members"]
    #expect(
      members == [["name": "cyd", "rank": "MEMBER"], ["name": "bob", "rank": "NOVICE"]])
    let hosted = found["clubs"]?.elements?.last?["hosted"]?.elements?.map { $0["id"] }
    #expect(hosted == [1, 2, 3], "A member; then masters, the older first.")
    #expect(
      found["meetings"]?.elements?.map { $0["guests"] } == [
        [["name": "dan"], ["name": "ada"]], [["name": "cyd"], ["name": "eve"]], [],
      ])
  }

  @Test func `rows that are related through a join table have aggregates`() async throws {
    let connector = try await clubs()
    let meetings = try await connector.query("Groups", ["seat": 1])["meetings"]?.elements
    #expect(
      meetings?.map { $0["all"] } == [
        [["_count": 2, "age_avg": 25.0, "age_max": 30]],
        [["_count": 1, "age_avg": nil, "age_max": nil]],
        [["_count": 0, "age_avg": nil, "age_max": nil]],
      ])
    #expect(
      meetings?.map { $0["ranks"] } == [[["rank": "MASTER", "_count": 2]], [], []])
    #expect(
      meetings?.map { Set($0["distinct"]?.elements ?? []) } == [
        [["clubName": "A"], ["clubName": "B"]], [["clubName": "A"]], [],
      ])
    let error = await message { _ = try await connector.query("BySeat") }
    #expect(error.contains("group the rows of the join table"))
  }

  @Test func `rows are related by unique columns that are not the key`() async throws {
    let connector = try TestConnector(
      schema: """
        type Country @table(key: "id") { id: Int!  code: String! @unique  name: String }
        type City @table(key: "name") {
          name: String!
          country: Country @ref(fields: "land", references: "code")
          land: String
          size: Int
        }
        type Flag @table(key: "id") {
          id: Int!
          country: Country! @ref(fields: "land", references: "code") @unique
          land: String!
        }
        """,
      operations: """
        mutation AddCountry($id: Int!, $code: String!, $name: String) {
          country_insert(data: {id: $id, code: $code, name: $name})
        }
        mutation AddCity($name: String!, $land: String, $size: Int) {
          city_insert(data: {name: $name, land: $land, size: $size})
        }
        mutation AddFlag($id: Int!, $land: String!) { flag_insert(data: {id: $id, land: $land}) }
        mutation Rename($id: Int!, $name: String) {
          country_update(key: {id: $id}, data: {name: $name})
        }
        query Cities { cities(orderBy: [{name: ASC}]) { name country { name flag_on_country { id } } } }
        query Countries {
          countries(orderBy: [{id: ASC}]) {
            code
            largest: cities_on_country(where: {size: {gt: 1}}, orderBy: [{size: DESC}], limit: 2) { name }
            sizes: cities_on_country { _count size_sum }
            flag_on_country { id }
          }
        }
        query In($name: String!) {
          cities(where: {country: {name: {eq: $name}}}, orderBy: [{name: ASC}]) { name }
        }
        query With($filter: Country_Filter!) {
          countries(where: $filter, orderBy: [{id: ASC}]) { id }
        }
        """)
    for (id, code, name) in [(1, "AT", "Austria"), (2, "FR", "France"), (3, "XX", "None")]
      as [(Int64, String, String)]
    {
      try await connector.mutate(
        "AddCountry", ["id": .int(id), "code": .string(code), "name": .string(name)])
    }
    for (name, land, size) in [
      ("Linz", "AT", 2), ("Vienna", "AT", 19), ("Graz", "AT", 3), ("Wels", "AT", 1),
      ("Paris", "FR", 20), ("Atlantis", nil, 5), ("Nowhere", "ZZ", 1),
    ] as [(String, String?, Int64)] {
      try await connector.mutate(
        "AddCity",
        [
          "name": .string(name), "land": land.map { .string($0) } ?? .null, "size": .int(size),
        ])
    }
    try await connector.mutate("AddFlag", ["id": 7, "land": "FR"])
    let cities = try await connector.query("Cities")["cities"]?.elements
    #expect(
      cities?.map { $0["country"]?["name"] } == [
        nil, "Austria", "Austria", nil, "France", "Austria", "Austria",
      ])
    #expect(cities?[4]["country"]?["flag_on_country"] == ["id": 7])
    #expect(cities?[1]["country"]?["flag_on_country"] == DataValue.null)
    let countries = try await connector.query("Countries")["countries"]?.elements
    #expect(
      countries?.map { $0["largest"] } == [
        [["name": "Vienna"], ["name": "Graz"]], [["name": "Paris"]], [],
      ])
    #expect(
      countries?.map { $0["sizes"]?.elements?.first?["_count"] } == [4, 1, 0])
    #expect(countries?.map { $0["flag_on_country"]?["id"] } == [nil, 7, nil])
    let inAustria = try await connector.query("In", ["name": "Austria"])["cities"]?.elements
    #expect(inAustria?.map { $0["name"] } == ["Graz", "Linz", "Vienna", "Wels"])
    func ids(_ filter: DataValue) async throws -> [DataValue?] {
      try await connector.query("With", ["filter": filter])["countries"]?.elements?
        .map { $0["id"] } ?? []
    }
    for (filter, expected) in [
      (["cities_on_country": ["exist": ["size": ["ge": 19]]]], [1, 2]),
      (["cities_on_country": ["count": ["eq": 0]]], [3]),
      (["cities_on_country": ["count": ["ge": 4]]], [1]),
      (["cities_on_country": ["exist": ["size": ["gt": 1]], "count": ["lt": 2]]], [2, 3]),
      (["flag_on_country": ["id": ["eq": 7]]], [2]),
      (["_not": ["flag_on_country": ["id": ["eq": 7]]]], [1, 3]),
    ] as [(DataValue, [DataValue])] {
      #expect(try await ids(filter) == expected, "\(filter.json)")
    }
  }

  @Test func `nested rows refer to unique columns that are not the key`() async throws {
    let connector = try TestConnector(
      schema: """
        type Country @table(key: "id") { id: Int!  code: String @unique  name: String }
        type City @table(key: "name") {
          name: String!
          country: Country @ref(fields: "land", references: "code")
          land: String
        }
        """,
      operations: """
        mutation Add($id: Int!, $code: String, $city: String!) {
          country_insert(data: {id: $id, code: $code, cities_on_country: [{name: $city}]})
        }
        mutation Extend($id: Int!, $city: String!) {
          country_upsert(data: {id: $id, name: "x", cities_on_country: [{name: $city}]})
        }
        query Cities { cities(orderBy: [{name: ASC}]) { name land country { id } } }
        """)
    try await connector.mutate("Add", ["id": 1, "code": "AT", "city": "Linz"])
    // The code is that of the stored row.
    try await connector.mutate("Extend", ["id": 1, "city": "Wels"])
    let cities: DataValue = [
      ["name": "Linz", "land": "AT", "country": ["id": 1]],
      ["name": "Wels", "land": "AT", "country": ["id": 1]],
    ]
    #expect(try await connector.query("Cities")["cities"] == cities)
    for name in ["Add", "Extend"] {
      let text = await message {
        try await connector.mutate(
          name,
          name == "Add"
            ? ["id": 2, "code": nil, "city": "Atlantis"] : ["id": 3, "city": "Atlantis"])
      }
      #expect(text.contains("Country.code must have a value"), "\(text)")
    }
    #expect(try await connector.query("Cities")["cities"] == cities)
    #expect(try await connector.firestore.collection("country").getDocuments().count == 1)
  }
}
