import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Synchronization
import TestSupport
import Testing

/// The tutorial's program: its controllers, without UIKit. The text lost its dots and its capitals;
/// edits beyond those are marked "Edit".
@Suite(.serialized) struct SeedProgramTests {
  @Test(.timeLimit(patience))
  func `the tutorial's program runs, and its details are right after a restart`() async throws {
    let database = try TemporaryDatabase()
    // Edit: instead of the application's keys.
    ParseSwift.initialize(database.firestore)
    let main = MainController()
    for name in ["science fiction", "classic"] { await main.handleAddGenre(name) }
    for name in ["Frank Herbert", "Jane Austen"] { await main.handleAddAuthor(name) }
    await main.handleAddPublisher("Chilton")
    await main.handleAddGenre("classic")
    await main.fetchGenres()
    #expect(main.genres.compactMap(\.name).sorted() == ["classic", "science fiction"])
    main.titleText = "Dune"
    main.isbnText = "978-0441013593"
    main.publishingYearText = "1965"
    main.selectedGenre = main.genres.first { $0.name == "science fiction" }?.objectId
    main.selectedAuthors = main.authors.filter { $0.name == "Frank Herbert" }.compactMap(\.objectId)
    main.selectedPublishers = main.publishers.compactMap(\.objectId)
    await main.saveBook()
    await main.saveBook()
    #expect(
      main.alerts == [
        "Genre added!", "Genre added!", "Author added!", "Author added!", "Publisher added!",
        "This genre already exists.", "Book saved successfully.",
        "The entered ISBN already exists.",
      ])
    try await database.reopen()
    ParseSwift.initialize(database.firestore)
    let books = try await Book.query().include("isbn").find()
    #expect(books.map { $0.isbn?.value } == ["978-0441013593"])
    let details = BookDetailsController(book: try #require(books.first))
    await details.fetchDetails()
    #expect(details.authors.map(\.name) == ["Frank Herbert"])
    #expect(details.publishers.map(\.name) == ["Chilton"])
    let genre = try await Genre.query("name" == "science fiction").first()
    let inGenre = try await Book.queryRelations("books", parent: genre).find()
    #expect(inGenre.map(\.title) == ["Dune"])
  }
}

/// Edit: a class without views. What a view would show is a property; each method ends when its
/// completions have been called.
private final class MainController: @unchecked Sendable {
  // Unchecked: one method runs at a time, and it waits for what it started.
  var genres: [Genre] = []
  var authors: [Author] = []
  var publishers: [Publisher] = []
  var alerts: [String] = []
  var titleText: String?
  var isbnText: String?
  var publishingYearText: String?
  var selectedGenre: String?
  var selectedAuthors: [String] = []
  var selectedPublishers: [String] = []

  private func presentAlert(_ message: String) { alerts.append(message) }

  /// Collects the data to save an instance of Book on your Back4App database
  func saveBook() async {
    // 1. First retrieve all the information for the book (bookTitle, isbnValue, etc)
    guard let bookTitle = titleText else { return presentAlert("Invalid book title") }
    guard let isbnValue = isbnText else { return presentAlert("Invalid ISBN value.") }
    // Edit: the synchronous call is on a queue, as this method is asynchronous.
    let exists = await onQueue {
      let query = ISBN.query("value" == isbnValue)
      return (try? query.first()) != nil
    }
    guard !exists else { return presentAlert("The entered ISBN already exists.") }
    guard let genreObjectId = selectedGenre,
      let genre = genres.first(where: { $0.objectId == genreObjectId })
    else { return presentAlert("Invalid genre.") }
    guard let publishingYearString = publishingYearText,
      let publishingYear = Int(publishingYearString)
    else { return presentAlert("Invalid publishing year.") }
    let authors: [Author] = selectedAuthors.compactMap { objectId in
      self.authors.first(where: { objectId == $0.objectId })
    }
    let publishers: [Publisher] = selectedPublishers.compactMap { objectId in
      self.publishers.first(where: { objectId == $0.objectId })
    }
    // Since we are making multiple requests to Back4App, it is better to use synchronous methods and
    // dispatch them on the background queue
    let message: String = await withCheckedContinuation { continuation in
      DispatchQueue.global(qos: .background).async {
        do {
          let isbn = ISBN(value: isbnValue)  // 2. Instantiate a new ISBN object
          let savedBook = try Book(  // 3. Instantiate a new Book object with the input fields
            title: bookTitle,
            publishingYear: publishingYear,
            genre: genre,
            isbn: isbn
          ).save()  // 4. Save the new Book object
          // 5. Add the corresponding relations for new Book object
          guard
            let bookToAuthorsRelation = try savedBook.relation?.add("authors", objects: authors),
            let bootkToPublishersRelation = try savedBook.relation?.add(
              "publishers", objects: publishers),
            let genreRelation = try genre.relation?.add("books", objects: [savedBook])
          else { return continuation.resume(returning: "Failed to add relations") }
          // 6. Save the relations
          _ = try bookToAuthorsRelation.save()
          _ = try bootkToPublishersRelation.save()
          _ = try genreRelation.save()
          continuation.resume(returning: "Book saved successfully.")
        } catch {
          // Edit: not forced.
          let message = (error as? ParseError)?.message ?? ""
          continuation.resume(returning: "Failed to save book: \(message)")
        }
      }
    }
    presentAlert(message)
  }

  /// Retrieves all the data saved under the Genre class in your Back4App database
  func fetchGenres() async {
    let query = Genre.query()
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      query.find { [weak self] result in
        switch result {
        case .success(let genres): self?.genres = genres
        case .failure(let error): self?.presentAlert(error.message)
        }
        done.resume()
      }
    }
  }

  /// Presents a simple alert where the user can enter the name of a genre to save it
  func handleAddGenre(_ name: String) async {
    let genre = Genre(name: name)
    let query = Genre.query("name" == name)
    guard await onQueue({ (try? query.first()) == nil }) else {
      return presentAlert("This genre already exists.")
    }
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      genre.save { [weak self] result in
        switch result {
        case .success(let addedGenre):
          self?.presentAlert("Genre added!")
          self?.genres.append(addedGenre)
        case .failure(let error): self?.presentAlert("Failed to save genre: \(error.message)")
        }
        done.resume()
      }
    }
  }

  func handleAddPublisher(_ name: String) async {
    let query = Publisher.query("name" == name)
    guard await onQueue({ (try? query.first()) == nil }) else {
      return presentAlert("This publisher already exists.")
    }
    let publisher = Publisher(name: name)
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      publisher.save { [weak self] result in
        switch result {
        case .success(let addedPublisher):
          self?.presentAlert("Publisher added!")
          self?.publishers.append(addedPublisher)
        case .failure(let error): self?.presentAlert("Failed to save publisher: \(error.message)")
        }
        done.resume()
      }
    }
  }

  func handleAddAuthor(_ name: String) async {
    let query = Author.query("name" == name)
    guard await onQueue({ (try? query.first()) == nil }) else {
      return presentAlert("This author already exists.")
    }
    let author = Author(name: name)
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      author.save { [weak self] result in
        switch result {
        case .success(let addedAuthor):
          self?.presentAlert("Author added!")
          self?.authors.append(addedAuthor)
        case .failure(let error): self?.presentAlert("Failed to save author: \(error.message)")
        }
        done.resume()
      }
    }
  }
}

private final class BookDetailsController: @unchecked Sendable {
  // Unchecked: as for the other controller.
  let book: Book
  var authors: [Author] = []
  var publishers: [Publisher] = []

  init(book: Book) { self.book = book }

  /// Retrieves the book's details, i.e., its relation with authors and publishers
  func fetchDetails() async {
    do {
      // Constructs the relations you want to query
      let publishersQuery = try Publisher.queryRelations("publishers", parent: book)
      let authorsQuery = try Author.queryRelations("authors", parent: book)
      await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
        // Obtains the publishers related to book
        publishersQuery.find { [weak self] result in
          switch result {
          case .success(let publishers): self?.publishers = publishers
          case .failure(let error): Issue.record(error)
          }
          done.resume()
        }
      }
      await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
        // Obtains the authors related to book
        authorsQuery.find { [weak self] result in
          switch result {
          case .success(let authors): self?.authors = authors
          case .failure(let error): Issue.record(error)
          }
          done.resume()
        }
      }
    } catch {
      Issue.record(error)
    }
  }
}

private func onQueue<Answer: Sendable>(_ body: @escaping @Sendable () -> Answer) async -> Answer {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(returning: body()) }
  }
}
