#pragma once
#include <stdint.h>

/// Allocations by this thread so far, by any library: this target's `malloc` and its kin stand before
/// libc's.
uint64_t counting_allocations(void);

/// Whether callgrind looks on; its header must have been there when this was compiled.
int counting_is_watched(void);

/// Callgrind counts instructions between the two, and writes them down under the name.
void counting_begin(void);
void counting_end(const char *name);
