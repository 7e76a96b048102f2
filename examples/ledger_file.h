/* A session's ledger in a file: a line for each round that was released,
 *
 *     run round digest        16, 16 and 64 hexadecimal digits
 *
 * in the order of the rounds, one file for one run.  A line is on disk before its round
 * is released.  Refused: another digest for a round that is there, a round after one that
 * is not there (somebody has taken the file back), the file of another run.  The file is
 * locked meanwhile, so that any number of processes may share it.  What has to outlive
 * the machine must be on a disk that does.  POSIX.
 *
 *     ledger_file book;
 *     if (ledger_open(&book, "run.ledger")) return 1;
 *     session_desc.ledger.record = ledger_record;
 *     session_desc.ledger.user = &book;                                          */
#ifndef LEDGER_FILE_H
#define LEDGER_FILE_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEDGER_LINE = 16 + 1 + 16 + 1 + 64 + 1 };

typedef struct ledger_file { int fd; } ledger_file;

/* The name of a file is on disk once its directory is. */
static int ledger_sync_directory(const char *path)
{
    char dir[1024];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    int fd, bad;
    if (n >= sizeof dir) return 1;
    memcpy(dir, n ? path : ".", n ? n : 1);
    dir[n ? n : 1] = 0;
    fd = open(dir, O_RDONLY);
    if (fd < 0) return 1;
    bad = fsync(fd) != 0;
    return close(fd) != 0 || bad;
}

/* 0: it is open, and stays. */
static int ledger_open(ledger_file *book, const char *path)
{
    book->fd = open(path, O_RDWR | O_CREAT, 0600);
    return book->fd < 0 || ledger_sync_directory(path);
}

static void ledger_close(ledger_file *book)
{
    if (book->fd >= 0) close(book->fd);
    book->fd = -1;
}

static void ledger_text(const mcamp_ledger_entry *e, char line[LEDGER_LINE + 1])
{
    int n = snprintf(line, LEDGER_LINE, "%016llx %016llx ", (unsigned long long)e->run,
                     (unsigned long long)e->round);
    for (int i = 0; i < 32; i++) snprintf(line + n + 2 * i, 3, "%02x", (unsigned)e->digest[i]);
    line[LEDGER_LINE - 1] = '\n';
}

static int ledger_lock(int fd, short type)
{
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return fcntl(fd, F_SETLKW, &lock);
}

/* Whether line number `at` says `want`, of which `n` characters count. */
static int ledger_says(int fd, uint64_t at, const char *want, size_t n)
{
    char got[LEDGER_LINE];
    return pread(fd, got, sizeof got, (off_t)(at * LEDGER_LINE)) == LEDGER_LINE &&
           !memcmp(got, want, n);
}

/* A line that was cut short has never let a round go: it is written anew. */
static int ledger_write(int fd, const mcamp_ledger_entry *e)
{
    char line[LEDGER_LINE + 1];
    struct stat file;
    uint64_t lines;
    if (fstat(fd, &file)) return 1;
    lines = (uint64_t)file.st_size / LEDGER_LINE;
    ledger_text(e, line);
    if (e->round > lines) return 1;
    if (e->round && !ledger_says(fd, e->round - 1, line, 17)) return 1;
    if (e->round < lines) return !ledger_says(fd, e->round, line, LEDGER_LINE) || fsync(fd) != 0;
    return pwrite(fd, line, LEDGER_LINE, (off_t)(lines * LEDGER_LINE)) != LEDGER_LINE ||
           fsync(fd) != 0;
}

static int ledger_record(void *user, const mcamp_ledger_entry *entry)
{
    const ledger_file *book = (const ledger_file *)user;
    int bad;
    if (book->fd < 0 || ledger_lock(book->fd, F_WRLCK)) return 1;
    bad = ledger_write(book->fd, entry);
    return ledger_lock(book->fd, F_UNLCK) != 0 || bad;
}

#endif
