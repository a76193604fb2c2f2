#ifndef RAW_LMDB_H
#define RAW_LMDB_H

#include <stdbool.h>
#include <stddef.h>

// The library's version: "0.9.24".
const char *raw_version(void);

// Entries of a table in memory, in the order of their keys.
struct raw_entries {
  size_t count;
  size_t *key_sizes, *value_sizes;
  unsigned char **keys, **values;
};

// A table's entries; count 0 if it cannot be read. No other environment of this process may have
// the file open.
struct raw_entries raw_copy(const char *path, const char *table);
void raw_free(struct raw_entries entries);

// The same entries, the one of order[i] at i. Takes the old ones' memory over.
struct raw_entries raw_reordered(struct raw_entries entries, const size_t *order);

struct raw_table;
struct raw_table *raw_open(const char *path, const char *table, bool flushes);
void raw_close(struct raw_table *table);

// mdb_put of all entries, `group` to a commit. 0, or LMDB's error.
int raw_put(struct raw_table *table, struct raw_entries entries, size_t group);

// As raw_put; each commit then puts what belongs to it into a second table: `others` up to the next of
// `ends`, one for each commit.
int raw_put_both(
  struct raw_table *table, struct raw_entries entries, size_t group, const char *second,
  struct raw_entries others, const size_t *ends);

// mdb_get of each entry `rounds` times, each in a renewed read transaction as NOTLS wants it. Touches
// all bytes and gives their sum, so that nothing is left out.
unsigned long raw_get(struct raw_table *table, struct raw_entries entries, size_t rounds);

#endif
