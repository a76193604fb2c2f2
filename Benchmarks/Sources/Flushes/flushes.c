#define _GNU_SOURCE
#include "flushes.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_uint_fast64_t count;

uint64_t flushes_count(void) { return atomic_load(&count); }

int fsync(int file) {
  atomic_fetch_add(&count, 1);
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  atomic_fetch_add(&count, 1);
  return (int)syscall(SYS_fdatasync, file);
}

int msync(void *address, size_t length, int flags) {
  if (flags & MS_SYNC) atomic_fetch_add(&count, 1);
  return (int)syscall(SYS_msync, address, length, flags);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
  if (fcntl(file, F_GETFL) & O_DSYNC) atomic_fetch_add(&count, 1);
  return syscall(SYS_pwrite64, file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
  return pwrite(file, bytes, size, offset);
}
