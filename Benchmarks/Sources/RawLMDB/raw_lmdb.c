#include "raw_lmdb.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
const char *raw_version(void) {
  return TEXT(MDB_VERSION_MAJOR) "." TEXT(MDB_VERSION_MINOR) "." TEXT(MDB_VERSION_PATCH);
}

struct raw_table {
  MDB_env *env;
  MDB_dbi dbi;
};

struct raw_table *raw_open(const char *path, const char *table, bool flushes) {
  struct raw_table *opened = calloc(1, sizeof *opened);
  MDB_txn *txn;
  mdb_env_create(&opened->env);
  mdb_env_set_mapsize(opened->env, (size_t)64 << 30);
  mdb_env_set_maxdbs(opened->env, 16);
  unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | (flushes ? 0 : MDB_NOSYNC);
  if (mdb_env_open(opened->env, path, flags, 0600) != 0 ||
      mdb_txn_begin(opened->env, NULL, 0, &txn) != 0) {
    raw_close(opened);
    return NULL;
  }
  if (mdb_dbi_open(txn, table, MDB_CREATE, &opened->dbi) != 0 || mdb_txn_commit(txn) != 0) {
    raw_close(opened);
    return NULL;
  }
  return opened;
}

void raw_close(struct raw_table *table) {
  mdb_env_close(table->env);
  free(table);
}

static unsigned char *copy(MDB_val value) {
  unsigned char *bytes = malloc(value.mv_size);
  memcpy(bytes, value.mv_data, value.mv_size);
  return bytes;
}

struct raw_entries raw_copy(const char *path, const char *name) {
  struct raw_entries entries = {0};
  struct raw_table *table = raw_open(path, name, true);
  if (table == NULL) return entries;
  MDB_txn *txn;
  MDB_cursor *cursor;
  MDB_stat stat;
  if (mdb_txn_begin(table->env, NULL, MDB_RDONLY, &txn) != 0) return entries;
  mdb_stat(txn, table->dbi, &stat);
  size_t capacity = stat.ms_entries;
  entries.key_sizes = calloc(capacity, sizeof(size_t));
  entries.value_sizes = calloc(capacity, sizeof(size_t));
  entries.keys = calloc(capacity, sizeof(unsigned char *));
  entries.values = calloc(capacity, sizeof(unsigned char *));
  mdb_cursor_open(txn, table->dbi, &cursor);
  MDB_val key, value;
  while (entries.count < capacity && mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
    entries.key_sizes[entries.count] = key.mv_size;
    entries.value_sizes[entries.count] = value.mv_size;
    entries.keys[entries.count] = copy(key);
    entries.values[entries.count] = copy(value);
    entries.count++;
  }
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  raw_close(table);
  return entries;
}

void raw_free(struct raw_entries entries) {
  for (size_t index = 0; index < entries.count; index++) {
    free(entries.keys[index]);
    free(entries.values[index]);
  }
  free(entries.key_sizes);
  free(entries.value_sizes);
  free(entries.keys);
  free(entries.values);
}

struct raw_entries raw_reordered(struct raw_entries entries, const size_t *order) {
  struct raw_entries result = {entries.count};
  result.key_sizes = calloc(entries.count, sizeof(size_t));
  result.value_sizes = calloc(entries.count, sizeof(size_t));
  result.keys = calloc(entries.count, sizeof(unsigned char *));
  result.values = calloc(entries.count, sizeof(unsigned char *));
  for (size_t index = 0; index < entries.count; index++) {
    result.key_sizes[index] = entries.key_sizes[order[index]];
    result.value_sizes[index] = entries.value_sizes[order[index]];
    result.keys[index] = entries.keys[order[index]];
    result.values[index] = entries.values[order[index]];
  }
  free(entries.key_sizes);
  free(entries.value_sizes);
  free(entries.keys);
  free(entries.values);
  return result;
}

static int put(MDB_txn *txn, MDB_dbi dbi, struct raw_entries entries, size_t start, size_t end) {
  for (size_t index = start; index < end; index++) {
    MDB_val key = {entries.key_sizes[index], entries.keys[index]};
    MDB_val value = {entries.value_sizes[index], entries.values[index]};
    int code = mdb_put(txn, dbi, &key, &value, 0);
    if (code != 0) return code;
  }
  return 0;
}

int raw_put(struct raw_table *table, struct raw_entries entries, size_t group) {
  return raw_put_both(table, entries, group, NULL, (struct raw_entries){0}, NULL);
}

int raw_put_both(
    struct raw_table *table, struct raw_entries entries, size_t group, const char *second,
    struct raw_entries others, const size_t *ends) {
  size_t done = 0, commit = 0;
  MDB_dbi dbi = 0;
  for (size_t start = 0; start < entries.count; start += group, commit++) {
    MDB_txn *txn;
    int code = mdb_txn_begin(table->env, NULL, 0, &txn);
    if (code != 0) return code;
    if (second != NULL && commit == 0) code = mdb_dbi_open(txn, second, MDB_CREATE, &dbi);
    if (code != 0) return code;
    size_t end = start + group < entries.count ? start + group : entries.count;
    code = put(txn, table->dbi, entries, start, end);
    if (code == 0 && second != NULL) {
      code = put(txn, dbi, others, done, ends[commit]);
      done = ends[commit];
    }
    if (code != 0) return code;
    code = mdb_txn_commit(txn);
    if (code != 0) return code;
  }
  return 0;
}

unsigned long raw_get(struct raw_table *table, struct raw_entries entries, size_t rounds) {
  MDB_txn *txn;
  if (mdb_txn_begin(table->env, NULL, MDB_RDONLY, &txn) != 0) return 0;
  mdb_txn_reset(txn);
  unsigned long sum = 0;
  for (size_t round = 0; round < rounds; round++) {
    for (size_t index = 0; index < entries.count; index++) {
      MDB_val key = {entries.key_sizes[index], entries.keys[index]}, value;
      if (mdb_txn_renew(txn) != 0) return 0;
      if (mdb_get(txn, table->dbi, &key, &value) == 0) {
        const unsigned char *bytes = value.mv_data;
        for (size_t byte = 0; byte < value.mv_size; byte++) sum += bytes[byte];
      }
      mdb_txn_reset(txn);
    }
  }
  mdb_txn_abort(txn);
  return sum;
}
