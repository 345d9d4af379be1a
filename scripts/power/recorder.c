/*
 * Records what a process does to the files below POWER_ROOT, in order, in POWER_LOG. It is preloaded into the process
 * (LD_PRELOAD), in front of the C library. Each call is made and then recorded under one lock, so that the log has the
 * order in which the disk saw the calls. A record is a header, a path, perhaps a second path, and the bytes written.
 * recording.ts reads it. Memory-mapped writes are not recorded: only SQLite's -shm has any, and no start reads that.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR, LINK };

struct header {
  uint32_t kind;
  uint32_t path_bytes;
  uint64_t inode;
  uint64_t offset;
  uint32_t second_bytes;
  uint32_t data_bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static char root[PATH_MAX];
static size_t root_bytes;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
  const char *log = getenv("POWER_LOG");
  const char *below = getenv("POWER_ROOT");
  if (log == NULL || below == NULL || realpath(below, root) == NULL) return;
  root_bytes = strlen(root);
  log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* A log with a hole would look like a disk that lost something. */
static void note(uint32_t kind, uint64_t inode, uint64_t offset, const char *path, const char *second,
                 const void *data, size_t bytes) {
  struct header header = {kind, path ? strlen(path) : 0, inode, offset, second ? strlen(second) : 0, bytes};
  struct iovec parts[] = {{&header, sizeof header},
                          {(void *)path, header.path_bytes},
                          {(void *)second, header.second_bytes},
                          {(void *)data, bytes}};
  size_t all = sizeof header + header.path_bytes + header.second_bytes + bytes;
  if (syscall(SYS_writev, log_fd, parts, 4) != (long)all) abort();
}

static int is_below(const char *path) {
  return strncmp(path, root, root_bytes) == 0 && (path[root_bytes] == '/' || path[root_bytes] == 0);
}

/* Finds the whole path of an entry that need not exist. Returns 0 if it is not below the root. */
static int whole(int directory, const char *path, char *into) {
  char joined[PATH_MAX], parent[PATH_MAX], link[64];
  if (log_fd < 0 || path == NULL) return 0;
  if (path[0] == '/') snprintf(joined, sizeof joined, "%s", path);
  else {
    char base[PATH_MAX];
    if (directory == AT_FDCWD) {
      if (getcwd(base, sizeof base) == NULL) return 0;
    } else {
      snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
      ssize_t n = readlink(link, base, sizeof base - 1);
      if (n < 0) return 0;
      base[n] = 0;
    }
    if (snprintf(joined, sizeof joined, "%s/%s", base, path) >= (int)sizeof joined) return 0;
  }
  size_t n = strlen(joined);
  while (n > 1 && joined[n - 1] == '/') joined[--n] = 0;
  char *slash = strrchr(joined, '/');
  *slash = 0;
  if (realpath(slash == joined ? "/" : joined, parent) == NULL) return 0;
  if (snprintf(into, PATH_MAX, "%s/%s", parent, slash + 1) >= PATH_MAX) return 0;
  return is_below(into);
}

/* Returns the inode of an open file or directory below the root, or 0. */
static uint64_t inode_of(int fd) {
  char link[64], path[PATH_MAX];
  struct stat facts;
  int before = errno;
  uint64_t inode = 0;
  if (log_fd >= 0 && fd >= 0) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n > 0) {
      path[n] = 0;
      int is_file = fstat(fd, &facts) == 0 && (S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode));
      if (is_file && is_below(path)) inode = facts.st_ino;
    }
  }
  errno = before;
  return inode;
}

static int opened(int directory, const char *path, int flags, mode_t mode) {
  char at[PATH_MAX];
  int is_ours = (flags & (O_CREAT | O_TRUNC)) && whole(directory, path, at);
  if (!is_ours) return syscall(SYS_openat, directory, path, flags, mode);
  pthread_mutex_lock(&lock);
  struct stat facts;
  int was_there = lstat(at, &facts) == 0;
  int fd = syscall(SYS_openat, directory, path, flags, mode);
  int error = errno;
  if (fd >= 0) {
    uint64_t inode = inode_of(fd);
    if (!was_there && inode) note(CREATE, inode, 0, at, NULL, NULL, 0);
    else if ((flags & O_TRUNC) && inode) note(TRUNCATE, inode, 0, NULL, NULL, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

#define MODE_OF(flags)                                                  \
  mode_t mode = 0;                                                      \
  if ((flags) & (O_CREAT | O_TMPFILE)) {                                \
    va_list rest;                                                       \
    va_start(rest, flags);                                              \
    mode = va_arg(rest, mode_t);                                        \
    va_end(rest);                                                       \
  }

int open(const char *path, int flags, ...) { MODE_OF(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags) return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int at, const char *path, int flags, ...) { MODE_OF(flags) return opened(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE_OF(flags) return opened(at, path, flags | O_LARGEFILE, mode); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static void noted_write(uint64_t inode, off64_t offset, const struct iovec *parts, int count, ssize_t written) {
  for (int i = 0; i < count && written > 0; i++) {
    size_t n = parts[i].iov_len < (size_t)written ? parts[i].iov_len : (size_t)written;
    if (n > 0) note(WRITE, inode, offset, NULL, NULL, parts[i].iov_base, n);
    offset += n;
    written -= n;
  }
}

#define WRITTEN(fd, call, parts, count, starts)                         \
  uint64_t inode = inode_of(fd);                                        \
  if (inode == 0) return call;                                          \
  pthread_mutex_lock(&lock);                                            \
  ssize_t written = call;                                               \
  int error = errno;                                                    \
  if (written > 0) noted_write(inode, starts, parts, count, written);   \
  pthread_mutex_unlock(&lock);                                          \
  errno = error;                                                        \
  return written;

/* Call it after the write, because the end of a file that is appended to is not known before. */
static off64_t began(int fd, ssize_t written) { return lseek64(fd, 0, SEEK_CUR) - written; }

ssize_t write(int fd, const void *data, size_t bytes) {
  struct iovec part = {(void *)data, bytes};
  WRITTEN(fd, syscall(SYS_write, fd, data, bytes), &part, 1, began(fd, written))
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  WRITTEN(fd, syscall(SYS_writev, fd, parts, count), parts, count, began(fd, written))
}
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) {
  struct iovec part = {(void *)data, bytes};
  WRITTEN(fd, syscall(SYS_pwrite64, fd, data, bytes, offset), &part, 1, offset)
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) { return pwrite64(fd, data, bytes, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  WRITTEN(fd, syscall(SYS_pwritev, fd, parts, count, offset, 0L), parts, count, offset)
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return pwritev64(fd, parts, count, offset);
}

/* The kernel copies the bytes, so they are read back here. */
static void noted_copy(int fd, uint64_t inode, off64_t offset, ssize_t bytes) {
  char *data = malloc(bytes);
  if (data == NULL || syscall(SYS_pread64, fd, data, bytes, offset) != bytes) {
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    int again = syscall(SYS_openat, AT_FDCWD, own, O_RDONLY);
    if (data == NULL || again < 0 || syscall(SYS_pread64, again, data, bytes, offset) != bytes) abort();
    syscall(SYS_close, again);
  }
  note(WRITE, inode, offset, NULL, NULL, data, bytes);
  free(data);
}

ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t bytes, unsigned flags) {
  uint64_t inode = inode_of(out);
  if (inode == 0) return syscall(SYS_copy_file_range, in, in_offset, out, out_offset, bytes, flags);
  pthread_mutex_lock(&lock);
  ssize_t copied = syscall(SYS_copy_file_range, in, in_offset, out, out_offset, bytes, flags);
  int error = errno;
  if (copied > 0) noted_copy(out, inode, out_offset ? *out_offset - copied : began(out, copied), copied);
  pthread_mutex_unlock(&lock);
  errno = error;
  return copied;
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t bytes) {
  uint64_t inode = inode_of(out);
  if (inode == 0) return syscall(SYS_sendfile, out, in, offset, bytes);
  pthread_mutex_lock(&lock);
  ssize_t copied = syscall(SYS_sendfile, out, in, offset, bytes);
  int error = errno;
  if (copied > 0) noted_copy(out, inode, began(out, copied), copied);
  pthread_mutex_unlock(&lock);
  errno = error;
  return copied;
}
ssize_t sendfile(int out, int in, off_t *offset, size_t bytes) { return sendfile64(out, in, offset, bytes); }

#define DONE(fd, call, kind, offset)                                    \
  uint64_t inode = inode_of(fd);                                        \
  if (inode == 0) return call;                                          \
  pthread_mutex_lock(&lock);                                            \
  int result = call;                                                    \
  int error = errno;                                                    \
  if (result == 0) note(kind, inode, offset, NULL, NULL, NULL, 0);      \
  pthread_mutex_unlock(&lock);                                          \
  errno = error;                                                        \
  return result;

int fsync(int fd) { DONE(fd, syscall(SYS_fsync, fd), SYNC, 0) }
int fdatasync(int fd) { DONE(fd, syscall(SYS_fdatasync, fd), SYNC, 0) }
int ftruncate64(int fd, off64_t bytes) { DONE(fd, syscall(SYS_ftruncate, fd, bytes), TRUNCATE, bytes) }
int ftruncate(int fd, off_t bytes) { return ftruncate64(fd, bytes); }
/* Allocating space changes no byte that anyone reads, except for the end of the file. */
int posix_fallocate64(int fd, off64_t from, off64_t bytes) {
  struct stat facts;
  if (inode_of(fd) == 0) return NEXT(posix_fallocate64)(fd, from, bytes);
  if (fstat(fd, &facts) == 0 && facts.st_size >= from + bytes) return 0;
  return ftruncate64(fd, from + bytes) == 0 ? 0 : errno;
}
int posix_fallocate(int fd, off_t from, off_t bytes) { return posix_fallocate64(fd, from, bytes); }

static int named(uint32_t kind, int at, const char *path, int to, const char *second, long (*call)(const void *),
                 const void *asked) {
  char whole_path[PATH_MAX], whole_second[PATH_MAX];
  int is_ours = whole(at, path, whole_path);
  if (second != NULL) is_ours |= whole(to, second, whole_second);
  if (!is_ours) return call(asked);
  pthread_mutex_lock(&lock);
  int result = call(asked);
  int error = errno;
  struct stat facts = {0};
  if (result == 0) {
    if (kind == MKDIR && lstat(whole_path, &facts) != 0) abort();
    note(kind, facts.st_ino, 0, whole_path, second ? whole_second : NULL, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

struct asked { int at, to, flags; const char *path, *second; mode_t mode; };
static long do_rename(const void *a) { const struct asked *x = a; return syscall(SYS_renameat2, x->at, x->path, x->to, x->second, x->flags); }
static long do_unlink(const void *a) { const struct asked *x = a; return syscall(SYS_unlinkat, x->at, x->path, x->flags); }
static long do_mkdir(const void *a) { const struct asked *x = a; return syscall(SYS_mkdirat, x->at, x->path, x->mode); }
static long do_link(const void *a) { const struct asked *x = a; return syscall(SYS_linkat, x->at, x->path, x->to, x->second, x->flags); }

int renameat2(int at, const char *path, int to, const char *second, unsigned flags) {
  struct asked asked = {at, to, (int)flags, path, second, 0};
  return named(RENAME, at, path, to, second, do_rename, &asked);
}
int renameat(int at, const char *path, int to, const char *second) { return renameat2(at, path, to, second, 0); }
int rename(const char *path, const char *second) { return renameat2(AT_FDCWD, path, AT_FDCWD, second, 0); }
int unlinkat(int at, const char *path, int flags) {
  struct asked asked = {at, 0, flags, path, NULL, 0};
  return named(UNLINK, at, path, 0, NULL, do_unlink, &asked);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdirat(int at, const char *path, mode_t mode) {
  struct asked asked = {at, 0, 0, path, NULL, mode};
  return named(MKDIR, at, path, 0, NULL, do_mkdir, &asked);
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int linkat(int at, const char *path, int to, const char *second, int flags) {
  struct asked asked = {at, to, flags, path, second, 0};
  return named(LINK, at, path, to, second, do_link, &asked);
}
int link(const char *path, const char *second) { return linkat(AT_FDCWD, path, AT_FDCWD, second, 0); }
