#if Tools
  import Foundation
  import TestSupport
  import Testing

  @Suite(.ownThreads) struct DemoTests {
    let program = HearthProcess(program: "hearth-demo")

    /// Two packages as the index has them, and a stanza that is none.
    static let index = """
      Package: hearth-dev
      Version: 1:0.2-3~deb12u1
      Architecture: amd64
      Section: libdevel
      Maintainer: Ida Bergland <ida@example.org>
      Homepage: https://example.org/hearth
      Installed-Size: 4711
      Size: 1024
      Depends: liblmdb-dev (>= 0.9.24), libxxhash-dev | xxhash-dev (<< 2), swift
      Tag: devel::library, implemented-in::swift,
       role::devel-lib
      Description: Firestore at home
      Essential: yes

      Comment: nothing


      Package: kettle
      Version: 2
      Architecture: all
      Section: misc
      Description: boils water
      """

    @Test func `an index is imported, and everything in it is kept`() throws {
      try Self.index.write(
        toFile: program.folder.path + "/index", atomically: true, encoding: .utf8)
      let demo = try program("--index", "index", "--database", "a.hearth")
      #expect(demo.status == 0, "\(demo.error)")
      #expect(demo.error.isEmpty)
      #expect(demo.output.contains("2 documents in "))
      #expect(demo.output.contains("Everything checked holds."))
      let hearth = HearthProcess(folder: program.folder)
      let stored = try hearth("get", "a.hearth", "packages/hearth-dev", "--json")
      let fields = """
        {"architecture":{"stringValue":"amd64"},"dependencies":{"arrayValue":{"values":[{\
        "mapValue":{"fields":{"name":{"stringValue":"liblmdb-dev"},"relation":{\
        "stringValue":">="},"version":{"stringValue":"0.9.24"}}}},{"mapValue":{"fields":{\
        "alternatives":{"arrayValue":{"values":[{"mapValue":{"fields":{"name":{\
        "stringValue":"xxhash-dev"},"relation":{"stringValue":"<<"},"version":{\
        "stringValue":"2"}}}}]}},"name":{"stringValue":"libxxhash-dev"}}}},{"mapValue":{\
        "fields":{"name":{"stringValue":"swift"}}}}]}},"downloadBytes":{\
        "integerValue":"1024"},"homepage":{"stringValue":"https://example.org/hearth"},\
        "installedKilobytes":{"integerValue":"4711"},"isEssential":{"booleanValue":true},\
        "maintainer":{"mapValue":{"fields":{"email":{"stringValue":"ida@example.org"},\
        "name":{"stringValue":"Ida Bergland"}}}},"name":{"stringValue":"hearth-dev"},\
        "section":{"stringValue":"libdevel"},"summary":{"stringValue":"Firestore at home"},\
        "tags":{"arrayValue":{"values":[{"stringValue":"devel::library"},{\
        "stringValue":"implemented-in::swift"},{"stringValue":"role::devel-lib"}]}},\
        "version":{"stringValue":"1:0.2-3~deb12u1"},"visits":{"integerValue":"50"}}
        """
      #expect(stored.output.contains(#""fields":"# + fields), "\(stored.output)")
      let again = try program("--index", "index", "--database", "a.hearth")
      #expect(again.status == 1)
      #expect(again.error.contains("There is a file at a.hearth already"))
    }

    @Test func `figures come as JSON, too`() throws {
      let demo = try program("--books", "--json")
      #expect(demo.status == 0, "\(demo.error)")
      let json = try #require(
        try JSONSerialization.jsonObject(with: Data(demo.output.utf8)) as? [String: Any])
      #expect(json["collection"] as? String == "books")
      #expect(json["documents"] as? Int == 12)
      for figure in ["importCommits", "fileBytes", "bytesPerDocument", "inputBytes"] {
        #expect(json[figure] as? Int ?? 0 > 0, "\(figure)")
      }
      // On a slow disk the rate may be less than one.
      #expect(json["importDocumentsPerSecond"] as? Int ?? -1 >= 0)
      for figure in ["importMilliseconds", "newsMilliseconds"] {
        #expect(json[figure] as? Double ?? 0 > 0, "\(figure)")
      }
    }

    @Test func `an index that names a package twice is refused`() throws {
      let twice = "Package: kettle\nVersion: 1\n\nPackage: kettle\nVersion: 2\n"
      try twice.write(toFile: program.folder.path + "/index", atomically: true, encoding: .utf8)
      let demo = try program("--index", "index")
      #expect(demo.status == 1)
      #expect(demo.error == "Error: The demo failed. The index names kettle twice.\n")
    }

    @Test func `wrong arguments are said with what there is instead`() throws {
      let mistakes = [
        (["--shelf"], EX_USAGE, "The demo has no option --shelf.\n"),
        (["--books", "--index"], EX_USAGE, "--index needs a file.\n"),
        (["--index", "."], 1, "The index file . cannot be read. It is a folder, not a file."),
        (["--index", "missing"], 1, "There is no such file."),
      ]
      for (arguments, status, sentence) in mistakes {
        let refused = try program.start(arguments).finish()
        #expect(refused.status == status, "\(refused)")
        #expect(refused.error.hasPrefix("Error: ") && refused.error.contains(sentence))
        #expect(refused.error.contains("--json") == (status == EX_USAGE))
      }
      let help = try program("--help")
      #expect(help.status == 0 && help.output.contains("--database FILE"))
      let unread = try program.shell(
        """
        trap '' PIPE
        {
          while [ ! -e closed ]; do sleep 0.05; done
          hearth --books
          echo status $? >&2
        } | { exec <&-; : > closed; }
        """)
      #expect(unread.error.contains("status \(128 + SIGPIPE)"), "\(unread.error)")
    }
  }
#endif
