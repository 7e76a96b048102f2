/* mcamp verify --shard, mcamp merge: a proof in shares, for machines that know nothing of
 * each other.                                                                     */
#ifndef TOOL_SHARD_H
#define TOOL_SHARD_H

#include "tool_session.h"

/* "2/5" */
TOOL_FN void read_shard(const session *s, uint64_t *shard, uint64_t *shards)
{
    const char *text = s->opt[O_SHARD].text, *slash = strchr(text, '/');
    char first[24];
    size_t n = slash ? (size_t)(slash - text) : 0;
    memcpy(first, text, n < sizeof first ? n : 0);
    first[n < sizeof first ? n : 0] = '\0';
    if (!n || !parse_count(first, shard) || !parse_count(slash + 1, shards) || !*shard ||
        *shard > *shards || *shards > 4096)
        bad_use("--shard must be I/N, from 1/N to N/N, N at most 4096, not \"%s\"", text);
}

/* Draws and writes; decides nothing. */
TOOL_FN int run_shard(session *s, const mcamp_claim *c)
{
    const char *path = s->opt[O_TALLY].text;
    uint64_t shard = 0, shards = 0;
    mcamp_writer w;
    mcamp_status st;
    json j;
    FILE *f;
    if (!s->opt[O_TALLY].given) bad_use("--shard needs --tally FILE");
    if (s->loaded || s->opt[O_RECORD].given)
        bad_use("--shard: no --record: a share decides nothing; \"mcamp merge\" takes it");
    if (s->opt[O_FPR].given) bad_use("--shard: no --fpr: a share decides nothing");
    if (s->opt[O_TIME].given) bad_use("--shard: no --time: a share draws all of its --samples");
    read_shard(s, &shard, &shards);
    f = open_written(path, "wb");
    if (!f) bad_use("--tally: cannot write \"%s\": %s", path, strerror(errno));
    w = to_file(f);
    st = mcamp_verify_shard(&s->ctx, &s->mech, &s->gram, c, shard, shards, &w);
    if (st != MCAMP_Q_INTERRUPTED || !ferror(f)) check(s, st);
    s->seconds = progress_end(&s->progress);
    close_written(f, path);
    if (!s->opt[O_JSON].given) {
        printf("wrote %s: share %llu of %llu, which says nothing by itself\n", path,
               (unsigned long long)shard, (unsigned long long)shards);
        return 0;
    }
    json_begin(s, &j, stdout);
    json_text(&j, "command", s->cmd->name);
    json_count(&j, "shard", shard);
    json_count(&j, "shards", shards);
    json_text(&j, "tally", path);
    json_real(&j, "seconds", s->seconds);
    json_close(&j);
    return 0;
}

/* What is wrong with the files. */
TOOL_FN void check_merge(session *s, mcamp_status st)
{
    mcamp_error e = mcamp_last_error(&s->ctx);
    const char *what = e.argument ? e.argument : "?";
    const char *path = s->words.word[e.value > 0 && e.value < (double)s->words.n ? (size_t)e.value
                                                                                 : 0];
    if (st != MCAMP_E_BLOB && st != MCAMP_E_MISMATCH) { check(s, st); return; }
    progress_end(&s->progress);
    if (!strcmp(what, "missing"))
        bad_use("merge: %.0f of the shares are missing: nothing is decided", e.value);
    if (!strcmp(what, "twice")) bad_use("merge: the share of \"%s\" is given twice", path);
    if (!strcmp(what, "question") || !strcmp(what, "shards"))
        bad_use("merge: \"%s\" answers another question than \"%s\" (%s)", path,
                s->words.word[0], what);
    if (!strcmp(what, "version"))
        bad_use("merge: a file is of another version than %s", MCAMP_VERSION_TEXT);
    bad_use("merge: a file is no tally, or was edited or cut, or is of another kind of machine "
            "(%s)", what);
}

/* The verdict of all shares: what one run of "mcamp verify" says. */
TOOL_FN int run_merge(session *s)
{
    size_t n = s->words.n;
    mcamp_text *file = (mcamp_text *)need(calloc(n ? n : 1, sizeof *file));
    mcamp_guarantee g;
    mcamp_status st;
    if (!n) bad_use("merge which files of \"mcamp verify --shard I/N --tally FILE\"?");
    for (size_t i = 0; i < n; i++)
        file[i].text = read_text("merge", s->words.word[i], &file[i].size);
    st = mcamp_verify_merge(&s->ctx, file, n, &s->mech, &g);
    for (size_t i = 0; i < n; i++) free((void *)file[i].text);
    free(file);
    if (st < 0) check_merge(s, st);
    stop_if_interrupted(s, st);
    s->seconds = progress_end(&s->progress);
    warn(st);
    s->rounds = (size_t)g.rounds;
    s->batches = (size_t)g.batches;
    s->budget.seed = g.seed;
    s->gram.law = g.law == MCAMP_BATCH_BINS ? MCAMP_BATCH_UNSET : g.law;
    snprintf(s->strategy.text, sizeof s->strategy.text, "that of the tallies");
    check(s, mcamp_mech_max_norm(&s->ctx, &s->mech, &s->column_norm));
    print_guarantee(s, &g);
    record_write(s, &g);
    return g.accepted && !g.interrupted ? 0 : EXIT_REFUSED;
}

#endif
