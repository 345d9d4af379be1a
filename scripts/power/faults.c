/*
 * Simulates a disk that refuses calls. It is preloaded into a process (LD_PRELOAD), in front of the C library. While the
 * file that FAULTS names exists, each of its lines is a fault: the call, the end of the file's path or its inode's
 * number, the error, and, if only a part of the file is concerned, the first byte of it and the first byte after it:
 *
 *   write webhookd.db-wal EDQUOT
 *   read #1234 EIO 8192 16384
 *
 * A call that fails does nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_BYTES = 4096 };

static const char *control;

__attribute__((constructor)) static void begin(void) { control = getenv("FAULTS"); }

static int number_of(const char *name) {
  if (strcmp(name, "EIO") == 0) return EIO;
  if (strcmp(name, "ENOSPC") == 0) return ENOSPC;
  if (strcmp(name, "EDQUOT") == 0) return EDQUOT;
  /* If a fault is not understood, the test would prove nothing. */
  abort();
}

static int is_meant(int fd, const char *path, const char *end) {
  if (end[0] == '#') {
    struct stat facts;
    return fstat(fd, &facts) == 0 && facts.st_ino == strtoull(end + 1, NULL, 10);
  }
  size_t all = strlen(path), last = strlen(end);
  return all >= last && strcmp(path + all - last, end) == 0;
}

static int text_of_faults(char *into) {
  int fd = syscall(SYS_openat, AT_FDCWD, control, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  long n = syscall(SYS_read, fd, into, MOST_BYTES - 1);
  syscall(SYS_close, fd);
  if (n <= 0) return 0;
  into[n] = 0;
  return 1;
}

/* Returns the error for a call on these bytes of an open file, or 0. An `offset` of -1 is the file's position. */
static int fault(const char *called, int fd, off64_t offset, size_t bytes) {
  char text[MOST_BYTES], link[64], path[PATH_MAX], *rest = NULL;
  int before = errno, found = 0;
  if (control == NULL || fd < 0 || !text_of_faults(text)) goto done;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0 || path[0] != '/') goto done;
  path[n] = 0;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL && found == 0; line = strtok_r(NULL, "\n", &rest)) {
    char what[16], end[256], name[16];
    long long from = 0, until = LLONG_MAX;
    if (sscanf(line, "%15s %255s %15s %lld %lld", what, end, name, &from, &until) < 3) abort();
    if (strcmp(what, called) != 0 || !is_meant(fd, path, end)) continue;
    if (offset < 0) offset = lseek64(fd, 0, SEEK_CUR);
    if (offset < until && offset + (off64_t)bytes > from) found = number_of(name);
  }
done:
  errno = before;
  return found;
}

#define OR_FAULT(called, fd, offset, bytes, call)   \
  int error = fault(called, fd, offset, bytes);     \
  if (error == 0) return call;                      \
  errno = error;                                    \
  return -1;

static size_t bytes_of(const struct iovec *parts, int count) {
  size_t all = 0;
  for (int i = 0; i < count; i++) all += parts[i].iov_len;
  return all;
}

ssize_t read(int fd, void *data, size_t bytes) {
  OR_FAULT("read", fd, -1, bytes, syscall(SYS_read, fd, data, bytes))
}
ssize_t pread64(int fd, void *data, size_t bytes, off64_t offset) {
  OR_FAULT("read", fd, offset, bytes, syscall(SYS_pread64, fd, data, bytes, offset))
}
ssize_t pread(int fd, void *data, size_t bytes, off_t offset) { return pread64(fd, data, bytes, offset); }

ssize_t write(int fd, const void *data, size_t bytes) {
  OR_FAULT("write", fd, -1, bytes, syscall(SYS_write, fd, data, bytes))
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  OR_FAULT("write", fd, -1, bytes_of(parts, count), syscall(SYS_writev, fd, parts, count))
}
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) {
  OR_FAULT("write", fd, offset, bytes, syscall(SYS_pwrite64, fd, data, bytes, offset))
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) { return pwrite64(fd, data, bytes, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  OR_FAULT("write", fd, offset, bytes_of(parts, count), syscall(SYS_pwritev, fd, parts, count, offset, 0L))
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return pwritev64(fd, parts, count, offset);
}

int fsync(int fd) { OR_FAULT("fsync", fd, 0, 1, syscall(SYS_fsync, fd)) }
int fdatasync(int fd) { OR_FAULT("fsync", fd, 0, 1, syscall(SYS_fdatasync, fd)) }
