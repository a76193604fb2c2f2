#include <lmdb.h>
#include <sys/types.h>
#include <sys/vfs.h>

// <fcntl.h> declares it for _GNU_SOURCE only.
int fallocate(int descriptor, int mode, off_t offset, off_t length);
