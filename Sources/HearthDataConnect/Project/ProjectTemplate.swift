/// The files of a new project.
public enum ProjectTemplate {
  /// Paths are relative to the folder of the project.
  public static func files(serviceID: String, connectorID: String) -> [GeneratedFile] {
    [
      GeneratedFile(
        path: ServiceConfiguration.fileName,
        text: """
          specVersion: v1
          serviceId: \(SwiftNames.literal(serviceID))
          location: local
          schema:
            source: ./schema
            datasource:
              embedded:
                path: ./data
          connectorDirs: [./connector]

          """),
      GeneratedFile(
        path: "connector/\(ConnectorConfiguration.fileName)",
        text: """
          connectorId: \(SwiftNames.literal(connectorID))

          """),
      GeneratedFile(
        path: "schema/schema.gql",
        text: """
          # Each type is a table. Without a key it gets an id: UUID!
          type Movie @table {
            title: String!
            releaseYear: Int
            genre: String @index
            rating: Float
          }

          # Its key is the movie and the author: one review of each movie by each author.
          type Review @table(key: ["movie", "author"]) {
            movie: Movie!
            author: String!
            stars: Int!
            text: String
          }

          """),
      GeneratedFile(
        path: "connector/queries.gql",
        text: """
          query ListMovies($genre: String, $limit: Int)
          @auth(level: PUBLIC, insecureReason: "Anyone can list movies.") {
            movies(where: {genre: {eq: $genre}}, orderBy: [{title: ASC}], limit: $limit) {
              id
              title
              genre
            }
          }

          query GetMovie($id: UUID!) @auth(level: PUBLIC, insecureReason: "Anyone can see a movie.") {
            movie(id: $id) {
              id
              title
              releaseYear
              genre
              rating
              reviews_on_movie {
                movieId
                author
                stars
                text
              }
            }
          }

          """),
      GeneratedFile(
        path: "connector/mutations.gql",
        text: """
          mutation CreateMovie($title: String!, $releaseYear: Int, $genre: String)
          @auth(level: USER, insecureReason: "Any user can add a movie.") {
            movie_insert(data: {title: $title, releaseYear: $releaseYear, genre: $genre})
          }

          mutation ReviewMovie($movieId: UUID!, $stars: Int!, $text: String) @auth(level: USER) {
            review_upsert(
              data: {movieId: $movieId, author_expr: "auth.uid", stars: $stars, text: $text}
            )
          }

          """),
      GeneratedFile(
        path: "seed_data.gql",
        text: """
          mutation {
            movie_insertMany(
              data: [
                {title: "Metropolis", releaseYear: 1927, genre: "Sci-Fi"}
                {title: "The General", releaseYear: 1926, genre: "Comedy"}
              ]
            )
          }

          """),
    ]
  }
}
