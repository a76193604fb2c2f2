import ArgumentParser

struct DemoCommand: AsyncParsableCommand {}
