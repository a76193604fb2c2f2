#ifndef STORAGE_SPY_H
#define STORAGE_SPY_H

#include <stdbool.h>
#include <stdint.h>

// Stands between LMDB and the system in an executable that links it: its definitions of the calls
// that write and flush come before those of the C library.

enum spy_kind {
  spy_data_write,
  // A call that returns when data is on the disk.
  spy_data_flush,
  // A write through a descriptor whose writes are on the disk when they return. LMDB's meta page.
  spy_synchronous_write,
};

// A call that has succeeded. Stamps come from one clock that ticks at every look.
struct spy_event {
  int32_t kind;
  uint64_t began;
  uint64_t ended;
};

// Begins to take down events.
void spy_watch(void);
uint64_t spy_stamp(void);
// Copies the events so far, at most `capacity`; says how many.
int32_t spy_events(struct spy_event *events, int32_t capacity);

enum spy_fate {
  // SIGKILL instead of the call.
  spy_killed,
  // SIGKILL when half of the bytes are written; instead of the call, if it does not write data.
  spy_killed_halfway,
  // SIGKILL right after the call.
  spy_killed_afterwards,
  // SIGSTOP before the call.
  spy_stopped,
};

// Lets the fate come at the n-th of the calls from now on, the first being 1.
void spy_doom(enum spy_fate fate, uint64_t call);

#endif
