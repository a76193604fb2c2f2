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

// Begins to record what is written to the file at the path, byte for byte, and its flushes.
void spy_tape(const char *path);
// Puts a mark of one's own between the calls.
void spy_mark(uint64_t first, uint64_t second);
// Writes the tape to a file: for each call, when it has returned,
//
//     kind, 8 bytes │ offset or first │ length or second │ the bytes written
//
// all numbers 8 bytes. Returns false if it cannot.
bool spy_save_tape(const char *path);

enum spy_tape_kind {
  spy_tape_write = 1,
  // On the disk when it returns.
  spy_tape_synchronous_write = 2,
  spy_tape_flush = 3,
  // Offset is the new length.
  spy_tape_truncate = 4,
  spy_tape_mark = 5,
};

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
