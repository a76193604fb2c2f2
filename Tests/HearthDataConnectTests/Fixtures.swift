import DataConnectModel

@testable import HearthDataConnect

/// Sources for tests.
enum Fixtures {
  static func input(_ schema: String, _ operations: String) -> CompilerInput {
    CompilerInput(
      serviceID: "service", location: "local", connectorID: "movies",
      schema: [SourceFile(path: "schema.gql", text: schema)],
      connector: [SourceFile(path: "ops.gql", text: operations)])
  }

  static func compile(
    _ schema: String, _ operations: String = "",
    // Expressions have tests of their own.
    options: CompilerOptions = CompilerOptions { _, _ in nil }
  ) -> CompilerResult {
    DataConnectCompiler(options: options).compile(input(schema, operations))
  }

  // MARK: - The guides

  static let guideSchema = """
    type Movie @table {
      id: UUID! @default(expr: "uuidV4()")
      title: String!
      releaseYear: Int!
      genre: String!
      rating: Int!
      aspectratio: AspectRatio! @default(value: WIDESCREEN)
    }

    enum AspectRatio {
      ACADEMY
      WIDESCREEN
      ANAMORPHIC
    }
    """

  static let guideOperations = """
    mutation createMovie($title: String!, $releaseYear: Int!, $genre: String!, $rating: Int!) {
      movie_insert(data: {
        title: $title
        releaseYear: $releaseYear
        genre: $genre
        rating: $rating
      })
    }

    query getMovieByKey($key: Movie_Key!) {
      movie(key: $key) { id title }
    }

    query listMoviesByGenre($genre: String!) {
      movies(where: {genre: {eq: $genre}}) {
        id
        title
      }
    }
    """

  static let realtimeSchema = """
    # dataconnect/schema/schema.gql

    type Movie @table(key: "id") {
      id: UUID! @default(expr: "uuidV4()")
      title: String!
      releaseYear: Int
      genre: String
      description: String
      averageRating: Int
    }
    type Profile @table {
      id: String!
      status: String
      photoUrl: String
      socialLink: String
    }
    """

  /// Each of the code blocks with operations. Names occur again in later blocks.
  static let realtimeOperations = [
    """
    # dataconnect/connector/operations.gql

    query GetMovieById($id: UUID!) @auth(level: PUBLIC) {
      movie(id: $id) {
        id
        title
        releaseYear
        genre
        description
      }
    }

    mutation UpdateMovie(
      $id: UUID!,
      $genre: String!,
      $description: String!
    ) {
      movie_update(id: $id,
        data: {
          genre: $genre
          description: $description
        })
    }
    """,
    """
    query GetExtendedProfileByUser @auth(level: USER) {
      profile(key: { id_expr: "auth.uid" }) {
        id
        status
        photoUrl
        socialLink
      }
    }
    mutation UpsertExtendedProfile($status: String, $photoUrl: String, $socialLink: String) @auth(level: USER) {
      profile_upsert(
        data: {
          id_expr: "auth.uid"
          status: $status
          photoUrl: $photoUrl
          socialLink: $socialLink
        }
      ) {
        id
        status
        photoUrl
        socialLink
      }
    }
    """,
    """
    # dataconnect/connector/operations.gql

    query GetMovieRating($id: UUID!) @auth(level: PUBLIC) @refresh(every: {seconds: 30}) {
      movie(id: $id) {
        id
        averageRating
      }
    }
    """,
    """
    query ListMovies($offset: Int)
        @auth(level: PUBLIC, insecureReason: "Anyone can list all movies.")
        @refresh(onMutationExecuted: { operation: "UpdateMovie" }) {
      movies(limit: 10, offset: $offset) {
        id
        title
        releaseYear
        genre
        description
      }
    }
    """,
    """
    query ListMoviesByGenre($genre: String, $offset: Int)
        @auth(level: PUBLIC, insecureReason: "Anyone can list movies.")
        @refresh(onMutationExecuted: {
          operation: "UpdateMovie",
          condition: "request.variables.genre == mutation.variables.genre"
        }) {
      movies(
          where: { genre: { eq: $genre } },
          limit: 10,
          offset: $offset) {
        id
        title
        releaseYear
        genre
        description
      }
    }
    """,
    """
    query ListMovies($offset: Int)
        @auth(level: PUBLIC, insecureReason: "Anyone can list all movies.")
        @refresh(every: {seconds: 30})
        @refresh(onMutationExecuted: { operation: "UpdateMovie" })
        @refresh(onMutationExecuted: { operation: "BulkUpdateMovies" }) {
      movies(limit: 10, offset: $offset) {
        id
        title
        releaseYear
        genre
        description
      }
    }
    """,
  ]

  // MARK: - A connector with relations

  static let recipeSchema = """
    "A dish, and the way to it"
    type Recipe @table {
      name: String! @searchable
      minutes: Int
      cuisine: String
      score: Float
      steps: [String!]
      since: Date
    }

    # Has an implicit id, so that a recipe has many.
    type Nutrition @table {
      recipe: Recipe! @ref
      calories: Int
    }

    type Ingredient @table {
      id: UUID!
      label: String! @col(name: "label", dataType: "varchar(40)")
    }

    type Cook @table {
      id: String! @col(name: "cook_uid")
      nickname: String! @unique
    }

    type Tasting @table(name: "Tastings", key: ["recipe", "cook"]) {
      number: UUID! @default(expr: "uuidV4()")
      cook: Cook!
      recipe: Recipe!
      stars: Int
      remark: String
      day: Date! @default(expr: "request.time")
    }

    type RecipeIngredient @table(key: ["recipe", "ingredient"]) {
      recipe: Recipe!
      ingredient: Ingredient!
      part: String! # "base" or "topping"
    }

    type CookBookmark @table(
      name: "CookBookmarks", singular: "cook_bookmark", plural: "cook_bookmarks",
      key: ["cook", "recipe"]
    ) {
      cook: Cook!
      recipe: Recipe!
    }
    """

  static let recipeOperations = """
    query Recipes($byScore: OrderDirection, $byMinutes: OrderDirection, $limit: Int)
      @auth(level: PUBLIC) {
      recipes(orderBy: [{ score: $byScore }, { minutes: $byMinutes }], limit: $limit) {
        id
        name
        steps
      }
    }

    query RecipeCard($id: UUID!) @auth(level: PUBLIC) {
      recipe(id: $id) {
        id
        name
        facts: nutritions_on_recipe { calories }
        base: ingredients_via_RecipeIngredient(where: { part: { eq: "base" } }) { id label }
        topping: ingredients_via_RecipeIngredient(where: { part: { eq: "topping" } }) { id label }
        opinions: tastings_on_recipe { number day cook { id nickname } }
      }
    }

    query MyKitchen @auth(level: USER) {
      cook(key: { id_expr: "auth.uid" }) {
        id
        opinions: tastings_on_cook { stars recipe { id name } }
        saved: cook_bookmarks_on_cook {
          recipe { id facts: nutritions_on_recipe { calories } }
        }
      }
    }

    query IsSaved($recipeId: UUID!) @auth(level: USER) {
      cook_bookmark(key: { cookId_expr: "auth.uid", recipeId: $recipeId }) { recipeId }
    }

    query IsSavedNested($recipeId: UUID!) @auth(level: USER) {
      cook_bookmark(key: { cook: { id_expr: "auth.uid" }, recipe: { id: $recipeId } }) { recipeId }
    }

    query SearchAll($text: String, $atLeast: Int!, $atMost: Int!, $score: Float!)
      @auth(level: PUBLIC) {
      byName: recipes(
        where: {
          _and: [
            { minutes: { ge: $atLeast } }
            { minutes: { le: $atMost } }
            { score: { ge: $score } }
            { name: { contains: $text } }
          ]
        }
      ) { id name }
      ingredients(where: { label: { contains: $text } }) { id }
      byRemark: tastings(where: { remark: { contains: $text } }) {
        number
        recipe { id name }
        cook { id nickname }
      }
    }

    query Popular @auth(level: PUBLIC) {
      recipes(
        where: {
          tastings_on_recipe: { exist: { stars: { gt: 3 } }, count: { ge: 2 } }
          ingredients_via_RecipeIngredient: { exist: { label: { startsWith: "A" } } }
        }
        orderBy: { score: DESC }
      ) { id }
    }

    mutation Taste($recipeId: UUID!, $stars: Int!, $remark: String!) @auth(level: USER) {
      tasting_upsert(data: {
        cookId_expr: "auth.uid"
        recipeId: $recipeId
        stars: $stars
        remark: $remark
        day_date: { today: true }
      })
    }

    mutation ForgetTasting($recipeId: UUID!) @auth(level: USER) {
      tasting_delete(key: { cookId_expr: "auth.uid", recipeId: $recipeId })
    }
    """

  // MARK: - A connector with every scalar

  static let sinkSchema = """
    type StandardScalars @table { whole: Int!  words: String!  real: Float! }
    type Big @table { most: Int64!  least: Int64! }
    type Bag @table { id: UUID!  content: Any! }
    type Guest @table { id: UUID!  name: String! }
    type Everything @table {
      flag: Boolean
      moment: Timestamp @default(expr: "request.time")
      color: Color @default(value: RED)
      colors: [Color!]
      embedding: Vector @col(size: 3)
      number: Int @col(dataType: "serial")
      days: [Date!]! @default(value: [])
    }
    enum Color { RED GREEN BLUE }
    """

  static let sinkOperations = """
    mutation createStandardScalar($whole: Int!, $words: String!, $real: Float!)
      @auth(level: PUBLIC) {
      standardScalars_insert(data: { whole: $whole, words: $words, real: $real })
    }

    query StandardScalar($id: UUID!, $words: String) @auth(level: PUBLIC)
    @refresh(onMutationExecuted: [{
      operation: "CreateStandardScalar"
      condition: "request.variables.words == mutation.variables.words"
    }])
    { standardScalars(id: $id) { id whole words real } }

    mutation Fill($id: UUID!, $content: Any!) @auth(level: PUBLIC) {
      bag_insert(data: { id: $id, content: $content })
    }

    query Biggest @auth(level: PUBLIC) @refresh(every: { seconds: 10 }) {
      bigs(orderBy: { most: DESC }, limit: 1, where: { least: { gt: "-9223372036854775808" } }) {
        most
      }
    }

    mutation SameTwice($id: UUID!, $first: String!) @auth(level: PUBLIC) {
      one: guest_insert(data: { id: $id, name: $first })
      two: guest_insert(data: { id: $id, name: "again" }) @check(expr: "false")
      gone: guest_delete(id: "11A7649B-8FF5-485B-AFBF-2EA5F28894DF")
    }

    query Similar($vector: Vector!) @auth(level: PUBLIC) {
      everythings_embedding_similarity(compare: $vector, method: COSINE, within: 2, limit: 5) {
        id
        _metadata { distance }
      }
    }

    mutation Everything($since: Timestamp) @auth(level: PUBLIC) {
      everything_insert(data: {
        flag: true, moment_time: { at: "2024-02-29T12:00:00.5Z", add: { days: 1 } }, color: GREEN,
        colors: BLUE, embedding: [1, 2.5, -3], days: ["2024-01-01T10:00:00Z", "2024-01-02"]
      })
      everything_updateMany(
        where: { moment: { lt: $since }, color: { in: [RED, GREEN] },
          days: { includes_date: { today: true } } }
        data: { number_update: { inc: 1 }, colors_update: [{ append: RED }],
          moment_expr: "request.time" }
      )
    }
    """
}
