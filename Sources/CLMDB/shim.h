#include <lmdb.h>
#include <sys/types.h>
#include <sys/vfs.h>

// <fcntl.h> declares it for _GNU_SOURCE only.
int fallocate(int descriptor, int mode, off_t offset, off_t length);

// Asks for a cache line that will soon be read. Never faults.
static inline void hearth_prefetch(const void *address) { __builtin_prefetch(address); }
