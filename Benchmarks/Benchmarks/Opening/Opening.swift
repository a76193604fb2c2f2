import Benchmark
import Registering

let benchmarks: @Sendable () -> Void = { register(.opening) }
