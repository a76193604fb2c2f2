#pragma once
#include <stdint.h>

// How often this process asked for its data to be on the disk: by fsync, fdatasync, msync, or a write
// to a file that was opened so that writes are durable. This target's functions stand before libc's.
uint64_t flushes_count(void);
