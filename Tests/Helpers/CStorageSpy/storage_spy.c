#define _GNU_SOURCE
#include "storage_spy.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
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

static _Atomic(void *) real_fdatasync, real_fsync, real_msync, real_pwrite, real_pwritev,
    real_writev;

int fdatasync(int descriptor) {
  enum span span = meet_fate(false);
  uint64_t began = spy_stamp();
  int result = REAL(fdatasync)(descriptor);
  if (span != whole) raise(SIGKILL);
  if (result == 0) note(spy_data_flush, began);
  return result;
}

int fsync(int descriptor) {
  enum span span = meet_fate(false);
  uint64_t began = spy_stamp();
  int result = REAL(fsync)(descriptor);
  if (span != whole) raise(SIGKILL);
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
  return vectored(write_at_position, descriptor, parts, count, 0);
}
