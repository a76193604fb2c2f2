/// The demo's records if there is no Debian index.
struct Book: DemoRecord {
  var id: String
  var title: String
  var author: String
  var year: Int
  var pages: Int
  var tags: [String]

  static let collection = "books"
  var documentID: String { id }
  var line: String { "\(title), by \(author) (\(year))" }
}

extension Book {
  init?(_ stanza: Stanza) {
    guard let id = stanza["Book"], let title = stanza["Title"], let author = stanza["Author"],
      let year = stanza["Year"].flatMap({ Int($0) }),
      let pages = stanza["Pages"].flatMap({ Int($0) })
    else { return nil }
    self.id = id
    self.title = title
    self.author = author
    self.year = year
    self.pages = pages
    tags = stanza["Tags"].map { $0.split(separator: " ").map(String.init) } ?? []
  }

  /// Sample books, all invented.
  static let samples = """
    Book: the-warm-stone
    Title: The Warm Stone
    Author: Ida Bergland
    Year: 1931
    Pages: 212
    Tags: novel winter

    Book: letters-from-a-lighthouse
    Title: Letters from a Lighthouse
    Author: Tomas Verhoeven
    Year: 1954
    Pages: 187
    Tags: letters sea

    Book: a-kitchen-for-seven
    Title: A Kitchen for Seven
    Author: Mirela Stan
    Year: 1988
    Pages: 304
    Tags: novel family

    Book: the-cartographers-garden
    Title: The Cartographer's Garden
    Author: Oluwaseun Adeyemi
    Year: 2007
    Pages: 421
    Tags: novel maps

    Book: small-engines
    Title: Small Engines, and How They Stop
    Author: Greta Lindqvist
    Year: 1969
    Pages: 96
    Tags: repair

    Book: night-trains
    Title: Night Trains of the Interior
    Author: Rafael Quiroga
    Year: 1976
    Pages: 258
    Tags: travel

    Book: the-patient-carpenter
    Title: The Patient Carpenter
    Author: Hana Fujimori
    Year: 1997
    Pages: 340
    Tags: repair wood

    Book: what-the-river-kept
    Title: What the River Kept
    Author: Nadia Benali
    Year: 2015
    Pages: 276
    Tags: novel river

    Book: bread-and-weather
    Title: Bread and Weather
    Author: Piet Hollander
    Year: 1962
    Pages: 148
    Tags: essays

    Book: an-atlas-of-small-fires
    Title: An Atlas of Small Fires
    Author: Ingrid Solheim
    Year: 2019
    Pages: 389
    Tags: maps essays

    Book: the-last-switchboard
    Title: The Last Switchboard
    Author: Martin Okafor
    Year: 1983
    Pages: 231
    Tags: novel telephone

    Book: seeds-in-the-post
    Title: Seeds in the Post
    Author: Lucía Ferrán
    Year: 2001
    Pages: 164
    Tags: letters garden
    """
}
