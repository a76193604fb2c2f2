#define _GNU_SOURCE
#include "storage_spy.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAXIMUM_EVENTS (1 << 18)

static struct spy_event events[MAXIMUM_EVENTS];
static _Atomic(int32_t) event_count;
static _Atomic(uint64_t) clock_ticks;
static _Atomic(bool) is_watching;

static _Atomic(int) fate;
static _Atomic(int64_t) calls_to_live;

void spy_watch(void) { atomic_store(&is_watching, true); }

uint64_t spy_stamp(void) { return atomic_fetch_add(&clock_ticks, 1); }

// Each event is complete before it is counted: only one thread of a process writes to LMDB.
static void note(enum spy_kind kind, uint64_t began) {
  if (!atomic_load(&is_watching)) return;
  int32_t index = atomic_load(&event_count);
  if (index == MAXIMUM_EVENTS) return;
  events[index] = (struct spy_event){kind, began, spy_stamp()};
  atomic_store(&event_count, index + 1);
}

int32_t spy_events(struct spy_event *copy, int32_t capacity) {
  int32_t count = atomic_load(&event_count);
  if (count > capacity) count = capacity;
  for (int32_t index = 0; index < count; index++) copy[index] = events[index];
  return count;
}

void spy_doom(enum spy_fate doom, uint64_t call) {
  atomic_store(&fate, doom);
  atomic_store(&calls_to_live, (int64_t)call);
}

enum span { whole, half_and_die, whole_and_die };

// How much of the call the caller may still do.
static enum span meet_fate(bool writes_data) {
  if (atomic_load(&calls_to_live) <= 0) return whole;
  if (atomic_fetch_sub(&calls_to_live, 1) != 1) return whole;
  switch (atomic_load(&fate)) {
    case spy_stopped:
      raise(SIGSTOP);
      return whole;
    case spy_killed_afterwards:
      return whole_and_die;
    case spy_killed_halfway:
      if (writes_data) return half_and_die;
      // Falls through.
    default:
      raise(SIGKILL);
      return whole;
  }
}

static pthread_mutex_t tape_lock = PTHREAD_MUTEX_INITIALIZER;
static char *tape_path;
static char *tape;
static size_t tape_length;
static size_t tape_capacity;

void spy_tape(const char *path) {
  pthread_mutex_lock(&tape_lock);
  tape_path = strdup(path);
  pthread_mutex_unlock(&tape_lock);
}

static void append(const void *bytes, size_t count) {
  if (tape_length + count > tape_capacity) {
    tape_capacity = (tape_length + count) * 2;
    tape = realloc(tape, tape_capacity);
    if (tape == NULL) abort();
  }
  memcpy(tape + tape_length, bytes, count);
  tape_length += count;
}

static void record(
    enum spy_tape_kind kind, uint64_t first, uint64_t second, const struct iovec *parts,
    size_t count) {
  uint64_t head[3] = {kind, first, second};
  append(head, sizeof head);
  size_t left = second;
  for (size_t index = 0; index < count && left > 0; index++) {
    size_t part = parts[index].iov_len < left ? parts[index].iov_len : left;
    append(parts[index].iov_base, part);
    left -= part;
  }
}

static bool is_taped(int descriptor) {
  struct stat written, taped;
  return tape_path != NULL && fstat(descriptor, &written) == 0 && stat(tape_path, &taped) == 0
      && written.st_dev == taped.st_dev && written.st_ino == taped.st_ino;
}

static void tape_call(
    enum spy_tape_kind kind, int descriptor, uint64_t first, uint64_t second,
    const struct iovec *parts, size_t count) {
  pthread_mutex_lock(&tape_lock);
  if (is_taped(descriptor)) record(kind, first, second, parts, count);
  pthread_mutex_unlock(&tape_lock);
}

void spy_mark(uint64_t first, uint64_t second) {
  pthread_mutex_lock(&tape_lock);
  if (tape_path != NULL) record(spy_tape_mark, first, second, NULL, 0);
  pthread_mutex_unlock(&tape_lock);
}

bool spy_save_tape(const char *path) {
  pthread_mutex_lock(&tape_lock);
  free(tape_path);
  tape_path = NULL;
  int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  size_t done = 0;
  while (descriptor >= 0 && done < tape_length) {
    ssize_t wrote = write(descriptor, tape + done, tape_length - done);
    if (wrote <= 0) break;
    done += (size_t)wrote;
  }
  if (descriptor >= 0) close(descriptor);
  pthread_mutex_unlock(&tape_lock);
  return descriptor >= 0 && done == tape_length;
}

static bool is_synchronous(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  return flags != -1 && (flags & (O_DSYNC | O_SYNC)) != 0;
}

#define REAL(name) ((__typeof__(&name))real(&real_##name, #name))

static void *real(_Atomic(void *) *found, const char *name) {
  void *symbol = atomic_load(found);
  if (symbol == NULL) {
    symbol = dlsym(RTLD_NEXT, name);
    atomic_store(found, symbol);
  }
  return symbol;
}

static _Atomic(void *) real_fdatasync, real_fsync, real_ftruncate, real_msync, real_pwrite,
    real_pwritev, real_writev;

int fdatasync(int descriptor) {
  enum span span = meet_fate(false);
  uint64_t began = spy_stamp();
  int result = REAL(fdatasync)(descriptor);
  if (span != whole) raise(SIGKILL);
  if (result == 0) tape_call(spy_tape_flush, descriptor, 0, 0, NULL, 0);
  if (result == 0) note(spy_data_flush, began);
  return result;
}

int fsync(int descriptor) {
  enum span span = meet_fate(false);
  uint64_t began = spy_stamp();
  int result = REAL(fsync)(descriptor);
  if (span != whole) raise(SIGKILL);
  if (result == 0) tape_call(spy_tape_flush, descriptor, 0, 0, NULL, 0);
  if (result == 0) note(spy_data_flush, began);
  return result;
}

int msync(void *address, size_t length, int flags) {
  enum span span = meet_fate(false);
  uint64_t began = spy_stamp();
  int result = REAL(msync)(address, length, flags);
  if (span != whole) raise(SIGKILL);
  if (result == 0 && (flags & MS_SYNC)) note(spy_data_flush, began);
  return result;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  bool synchronous = is_synchronous(descriptor);
  enum span span = meet_fate(!synchronous);
  if (span == half_and_die) count /= 2;
  uint64_t began = spy_stamp();
  ssize_t result = REAL(pwrite)(descriptor, bytes, count, offset);
  if (span != whole) raise(SIGKILL);
  if (result > 0) {
    struct iovec part = {(void *)bytes, count};
    tape_call(
        synchronous ? spy_tape_synchronous_write : spy_tape_write, descriptor, (uint64_t)offset,
        (uint64_t)result, &part, 1);
  }
  if (result >= 0) note(synchronous ? spy_synchronous_write : spy_data_write, began);
  return result;
}

static ssize_t vectored(
    ssize_t (*write)(int, const struct iovec *, int, off_t), int descriptor,
    const struct iovec *parts, int count, off_t offset) {
  bool synchronous = is_synchronous(descriptor);
  enum span span = meet_fate(!synchronous);
  if (span == half_and_die) count /= 2;
  uint64_t began = spy_stamp();
  ssize_t result = write(descriptor, parts, count, offset);
  if (span != whole) raise(SIGKILL);
  if (result > 0) {
    tape_call(
        synchronous ? spy_tape_synchronous_write : spy_tape_write, descriptor, (uint64_t)offset,
        (uint64_t)result, parts, (size_t)count);
  }
  if (result >= 0) note(synchronous ? spy_synchronous_write : spy_data_write, began);
  return result;
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
  return vectored(REAL(pwritev), descriptor, parts, count, offset);
}

static ssize_t write_at_position(
    int descriptor, const struct iovec *parts, int count, off_t unused) {
  (void)unused;
  return REAL(writev)(descriptor, parts, count);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  return vectored(write_at_position, descriptor, parts, count, lseek(descriptor, 0, SEEK_CUR));
}

int ftruncate(int descriptor, off_t length) {
  int result = REAL(ftruncate)(descriptor, length);
  if (result == 0) tape_call(spy_tape_truncate, descriptor, (uint64_t)length, 0, NULL, 0);
  return result;
}
