/* Section secure: ChaCha20, keys, entropy, normals as a pure function of
 * (key, step, index). */
#define _POSIX_C_SOURCE 200809L
#ifdef __linux__
#  include <sys/random.h>
/* The system's source: as it is, or in pieces of 7 bytes that count from 1 on.  */
static int in_pieces;
static ssize_t some_random(void *out, size_t size, unsigned flags)
{
    unsigned char *p = (unsigned char *)out;
    if (!in_pieces) return getrandom(out, size, flags);
    if (size > 7) size = 7;
    for (size_t i = 0; i < size; i++) p[i] = (unsigned char)in_pieces++;
    return (ssize_t)size;
}
#  define getrandom some_random
#endif
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "stream.h"
#include "stack_scan.h"

static mcamp_ctx ctx;

static void start(void) { CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK); }

/* Every vector set that this processor has. */
static int sets(mcamp_vecset out[3])
{
    int n = 0;
    for (int v = MCAMP_VEC_SCALAR; v <= MCAMP_VEC_AVX512; v++)
        if (mcamp__vecset_available((mcamp_vecset)v)) out[n++] = (mcamp_vecset)v;
    return n;
}

static mcamp_key counting_key(void)
{
    mcamp_key k;
    for (int i = 0; i < 32; i++) k.byte[i] = (unsigned char)i;
    return k;
}

static uint64_t next_test(uint64_t *s) { return mcamp__splitmix(s); }

/* ---- ChaCha20 --------------------------------------------------------------- */

TEST(block_of_rfc_8439_section_2_3_2)
{
    static const uint32_t want[16] = {
        0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033,
        0x9aaa2204, 0x4e6cd4c3, 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
        0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2 };
    mcamp_key k = counting_key();
    uint32_t key[8], in[16], out[16];
    mcamp__key_words(&k, key);
    mcamp__chacha_input(in, key, UINT64_C(0x0900000000000001), 0x4a000000u);
    mcamp__chacha_block(in, out);
    for (int i = 0; i < 16; i++) CHECK(out[i] == want[i]);
}

TEST(keystream_of_rfc_8439_section_2_4_2)
{
    static const char text[] = "Ladies and Gentlemen of the class of '99: If I could "
        "offer you only one tip for the future, sunscreen would be it.";
    static const unsigned char want[114] = {
        0x6e, 0x2e, 0x35, 0x9a, 0x25, 0x68, 0xf9, 0x80, 0x41, 0xba, 0x07, 0x28, 0xdd,
        0x0d, 0x69, 0x81, 0xe9, 0x7e, 0x7a, 0xec, 0x1d, 0x43, 0x60, 0xc2, 0x0a, 0x27,
        0xaf, 0xcc, 0xfd, 0x9f, 0xae, 0x0b, 0xf9, 0x1b, 0x65, 0xc5, 0x52, 0x47, 0x33,
        0xab, 0x8f, 0x59, 0x3d, 0xab, 0xcd, 0x62, 0xb3, 0x57, 0x16, 0x39, 0xd6, 0x24,
        0xe6, 0x51, 0x52, 0xab, 0x8f, 0x53, 0x0c, 0x35, 0x9f, 0x08, 0x61, 0xd8, 0x07,
        0xca, 0x0d, 0xbf, 0x50, 0x0d, 0x6a, 0x61, 0x56, 0xa3, 0x8e, 0x08, 0x8a, 0x22,
        0xb6, 0x5e, 0x52, 0xbc, 0x51, 0x4d, 0x16, 0xcc, 0xf8, 0x06, 0x81, 0x8c, 0xe9,
        0x1a, 0xb7, 0x79, 0x37, 0x36, 0x5a, 0xf9, 0x0b, 0xbf, 0x74, 0xa3, 0x5b, 0xe6,
        0xb4, 0x0b, 0x8e, 0xed, 0xf2, 0x78, 0x5e, 0x42, 0x87, 0x4d };
    mcamp_key k = counting_key();
    uint32_t key[8], in[16], out[16];
    mcamp__key_words(&k, key);
    for (size_t i = 0; i < 114; i++) {
        mcamp__chacha_input(in, key, 1 + i / 64, UINT64_C(0x4a000000));
        mcamp__chacha_block(in, out);
        CHECK((((unsigned char)text[i]) ^ ((out[i % 64 / 4] >> (8 * (i % 4))) & 255)) ==
              want[i]);
    }
}

TEST(keystream_of_the_zero_key)
{
    uint32_t key[8] = { 0 }, in[16], out[16];
    mcamp__chacha_input(in, key, 0, 0);
    mcamp__chacha_block(in, out);
    CHECK(out[0] == 0xade0b876u && out[1] == 0x903df1a0u && out[15] == 0x8665eeb2u);
}

TEST(sixteen_blocks_at_once_are_sixteen_blocks)
{
    static const uint64_t counter[] = { 0, 16, UINT64_C(0xfffffff0), UINT64_C(1) << 32,
                                        UINT64_C(0xfffffffffffffff0) };
    mcamp_vecset set[3];
    int n = sets(set);
    mcamp_key k = counting_key();
    uint32_t key[8], in[16], one[16], all[256];
    mcamp__key_words(&k, key);
    for (int v = 0; v < n; v++) {
        for (size_t c = 0; c < sizeof counter / sizeof counter[0]; c++) {
            mcamp__chacha_16(set[v], key, counter[c], UINT64_C(0x123456789abcdef0), all);
            for (size_t l = 0; l < 16; l++) {
                mcamp__chacha_input(in, key, counter[c] + l, UINT64_C(0x123456789abcdef0));
                mcamp__chacha_block(in, one);
                for (size_t i = 0; i < 16; i++) CHECK(all[16 * i + l] == one[i]);
            }
        }
    }
}

/* ---- BLAKE2b ----------------------------------------------------------------- */

/* The data of RFC 7693, appendix E: a Fibonacci generator. */
static void rfc_data(unsigned char *out, size_t n, uint32_t seed)
{
    uint32_t a = 0xdead4badu * seed, b = 1, t;
    for (size_t i = 0; i < n; i++) {
        t = a + b;
        a = b;
        b = t;
        out[i] = (unsigned char)(t >> 24);
    }
}

/* Keys of any length, which the header has no use for. */
static void blake_of(const unsigned char *key, size_t keys, const unsigned char *data, size_t n,
                     size_t step, unsigned char *out, size_t size)
{
    mcamp__blake s;
    mcamp__blake_start(&s, NULL, size);
    s.h[0] ^= (uint64_t)keys << 8;
    if (keys) {
        memcpy(s.block, key, keys);
        s.fill = 128;
    }
    for (size_t i = 0; i < n; i += step)
        mcamp__blake_add(&s, data + i, step < n - i ? step : n - i);
    mcamp__blake_end(&s, out, size);
}

/* Its test: the hash of the hashes, keyed and not, of six lengths in four sizes; here with
 * the data cut into pieces of every size up to 130.                              */
TEST(hashes_of_rfc_7693_appendix_e)
{
    static const size_t sizes[4] = { 20, 32, 48, 64 }, lengths[6] = { 0, 3, 128, 129, 255, 1024 };
    static const unsigned char want[32] = {
        0xc2, 0x3a, 0x78, 0x00, 0xd9, 0x81, 0x23, 0xbd, 0x10, 0xf5, 0x06, 0xc6, 0x1e, 0x29, 0xda,
        0x56, 0x03, 0xd7, 0x63, 0xb8, 0xbb, 0xad, 0x2e, 0x73, 0x7f, 0x5e, 0x76, 0x5a, 0x7b, 0xcc,
        0xd4, 0x75 };
    unsigned char data[1024], key[64], all[48 * 64], got[32];
    for (size_t step = 1; step <= 130; step++) {
        size_t at = 0;
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 6; j++) {
                rfc_data(data, lengths[j], (uint32_t)lengths[j]);
                blake_of(NULL, 0, data, lengths[j], step, all + at, sizes[i]);
                at += sizes[i];
                rfc_data(key, sizes[i], (uint32_t)sizes[i]);
                blake_of(key, sizes[i], data, lengths[j], step, all + at, sizes[i]);
                at += sizes[i];
            }
        }
        blake_of(NULL, 0, all, at, 128, got, 32);
        CHECK(!memcmp(got, want, sizeof got));
    }
}

/* Against another program: key 00 01 .. 1f, purpose 7, words 1 and 2^63 + 5. */
TEST(bound_keys_depend_on_every_word)
{
    static const uint64_t words[2] = { 1, (UINT64_C(1) << 63) + 5 };
    static const uint32_t want[8] = { 0xdf14d252u, 0x05b7ee11u, 0x02b8078eu, 0x6c5d5ae3u,
                                      0x30592eb0u, 0x85e3ef6bu, 0xe6b0330fu, 0x0422b0acu };
    mcamp_key k = counting_key();
    mcamp__stream s;
    uint32_t root[8], got[8];
    mcamp__key_words(&k, root);
    mcamp__bound_key(root, 7, words, 2, got);
    CHECK(!memcmp(got, want, sizeof got));
    for (int bit = 0; bit < 64 * 3 + 256; bit++) {
        uint64_t w[3] = { 7, words[0], words[1] };
        uint32_t r[8];
        memcpy(r, root, sizeof r);
        if (bit < 192) w[bit / 64] ^= UINT64_C(1) << bit % 64;
        else r[(bit - 192) / 32] ^= UINT32_C(1) << bit % 32;
        mcamp__bound_key(r, w[0], w + 1, 2, got);
        CHECK(memcmp(got, want, sizeof got) != 0);
    }
    mcamp__bound_key(root, 7, words, 1, got);
    CHECK(memcmp(got, want, sizeof got) != 0);
    mcamp__stream_init(&s, root, words, 2);             /* z by subkey 1, its tails by 2 */
    mcamp__bound_key(root, 1, words, 2, got);
    CHECK(!memcmp(s.noise, got, sizeof got));
    mcamp__bound_key(root, 2, words, 2, got);
    CHECK(!memcmp(s.tail, got, sizeof got));
}

TEST(bytes_are_compared_to_the_end)
{
    unsigned char a[32] = { 1, 2, 3 }, b[32] = { 1, 2, 3 };
    CHECK(mcamp__same_bytes(a, b, 32) && mcamp__same_bytes(a, b, 0));
    for (int bit = 0; bit < 256; bit++) {
        b[bit / 8] ^= (unsigned char)(1 << bit % 8);
        CHECK(!mcamp__same_bytes(a, b, 32));
        b[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static mcamp_key blake_key;
static uint32_t bound[8];

static void binds_a_key(void)
{
    static const uint64_t word[20] = { 1, 2, 3 };
    uint32_t root[8];
    mcamp__subkey(&blake_key, 9, root);
    mcamp__bound_key(root, 1, word, 20, bound);
    mcamp_wipe(root, sizeof root);
}

TEST(hashing_leaves_no_key_on_the_stack)
{
    uint32_t root[8];
    mcamp_key_insecure_test(123, &blake_key);
    mcamp__subkey(&blake_key, 9, root);
    binds_a_key();      /* a dynamic linker's first call of a function saves registers */
    stack_after(binds_a_key);
    CHECK(!stack_holds(root, 12) && !stack_holds(root + 5, 12));
    CHECK(!stack_holds(bound, 12) && !stack_holds(bound + 5, 12));
}

/* ---- keys -------------------------------------------------------------------- */

TEST(keys_must_be_given_and_are_wiped)
{
    mcamp_key k = counting_key(), j;
    unsigned char zero[32] = { 0 }, same[32];
    start();
    memset(same, 7, sizeof same);
    memset(&j, 9, sizeof j);
    mcamp_wipe(j.byte + 4, 20);
    for (int i = 0; i < 32; i++) CHECK(j.byte[i] == (i < 4 || i >= 24 ? 9 : 0));
    memset(&j, 9, sizeof j);
    CHECK_STATUS(mcamp_key_init(&ctx, k.byte, 32, &j), MCAMP_OK);
    CHECK(!memcmp(&k, &j, sizeof k));
    CHECK_STATUS(mcamp_key_init(&ctx, k.byte, 31, &j), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_key_init(&ctx, k.byte, 33, &j), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_key_init(&ctx, NULL, 32, &j), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_key_init(&ctx, k.byte, 32, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_key_init(NULL, k.byte, 32, &j), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_key_init(&ctx, zero, 32, &j), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_key_init(&ctx, same, 32, &j), MCAMP_E_REQUIRED);
    CHECK(!memcmp(&k, &j, sizeof k));
    mcamp_key_wipe(&j);
    CHECK(!memcmp(j.byte, zero, 32));
    mcamp_key_wipe(NULL);
    CHECK(mcamp_key_id(&j) == 0 && mcamp_key_id(NULL) == 0 && mcamp_key_id(&k) != 0);
}

TEST(derived_keys_differ_and_repeat)
{
    mcamp_key k = counting_key(), a, b, c;
    uint32_t sub[8];
    start();
    CHECK_STATUS(mcamp_key_derive(&ctx, &k, 0, &a), MCAMP_OK);
    CHECK_STATUS(mcamp_key_derive(&ctx, &k, 1, &b), MCAMP_OK);
    CHECK_STATUS(mcamp_key_derive(&ctx, &k, 0, &c), MCAMP_OK);
    CHECK(memcmp(&a, &b, sizeof a) && !memcmp(&a, &c, sizeof a));
    CHECK(mcamp_key_id(&a) != mcamp_key_id(&b) && mcamp_key_id(&a) != mcamp_key_id(&k));
    CHECK_STATUS(mcamp_key_derive(&ctx, &k, UINT64_C(1) << 63, &c), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_key_derive(&ctx, NULL, 0, &c), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_key_derive(&ctx, &k, 0, NULL), MCAMP_E_REQUIRED);
    CHECK(!memcmp(&a, &c, sizeof a));
    mcamp__subkey(&k, UINT64_C(1) << 63, sub);          /* all of its bytes, in order */
    for (int i = 0; i < 32; i++)
        CHECK(a.byte[i] == (unsigned char)(sub[i / 4] / (1u << 8 * (i % 4))));
    mcamp_key_insecure_test(1, &a);
    mcamp_key_insecure_test(2, &b);
    for (int i = 0; i < 32; i += 4) CHECK(memcmp(a.byte + i, b.byte + i, 4));
}

/* No two uses of a key see the same bits: the library's own subkeys and those of all its
 * children, of two keys, differ in every half; so do words of steps and indices that
 * differ in one bit.                                                             */
TEST(purposes_and_children_never_meet)
{
    static const uint64_t child[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, UINT64_C(1) << 32,
        (UINT64_C(1) << 63) - 1 };
    unsigned char all[2 * (7 + 11)][32];
    uint64_t word[130];
    uint32_t sub[8];
    size_t n = 0, m = 0;
    start();
    for (uint64_t i = 0; i < 2; i++) {
        mcamp_key k, j;
        mcamp_key_insecure_test(i, &k);
        for (size_t q = 0; q < 7; q++) {
            mcamp__subkey(&k, q + 1, sub);
            mcamp__key_from_words(sub, &j);
            memcpy(all[n++], j.byte, 32);
        }
        for (size_t q = 0; q < 11; q++) {
            CHECK_STATUS(mcamp_key_derive(&ctx, &k, child[q], &j), MCAMP_OK);
            memcpy(all[n++], j.byte, 32);
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            CHECK(memcmp(all[i], all[j], 16) && memcmp(all[i] + 16, all[j] + 16, 16));
    for (int bit = -1; bit < 64; bit++)
        word[m++] = mcamp__one_word(sub, bit < 0 ? 0 : UINT64_C(1) << bit, 0);
    for (int bit = 0; bit < 60; bit++)
        word[m++] = mcamp__one_word(sub, 0, UINT64_C(1) << bit);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < i; j++) CHECK(word[i] != word[j]);
}

TEST(key_numbers_are_not_the_key)
{
    mcamp_key k = counting_key();
    uint64_t id = mcamp_key_id(&k), part;
    for (int i = 0; i + 8 <= 32; i += 4) {
        memcpy(&part, k.byte + i, sizeof part);
        CHECK(id != part);
    }
}

static mcamp_key secret;
static uint64_t secret_words[128];
static double secret_normals[300];

static void derives(void)
{
    mcamp_key j;
    if (mcamp_key_derive(&ctx, &secret, 3, &j) == MCAMP_OK) mcamp_key_wipe(&j);
    mcamp_key_id(&secret);
}

static mcamp__stream secret_stream;

static void draws_words(void)
{
    mcamp__word_group(ctx.vec, secret_stream.tail, 7, 0, secret_words);
}

static void draws_a_word(void)
{
    secret_words[0] = mcamp__one_word(secret_stream.tail, 7, 3);
}

static void draws_normals(void)
{
    mcamp__stream_normals(ctx.vec, &secret_stream, 5, 3, 300, secret_normals);
}

/* How many quarters of the rows of w; compilers spill some from vector registers. */
static int words_left(const uint32_t w[256])
{
    int n = 0;
    for (int i = 0; i < 256; i += 4) n += stack_holds(w + i, 16);
    return n;
}

/* Of secrets, of what they are made of and of what is made of them.              */
TEST(nothing_secret_stays_on_the_stack)
{
    uint32_t sub[8], w[256], in[16];
    int left = 0;
    start();
    mcamp_key_insecure_test(99, &secret);
    stack_after(derives);
    CHECK(!stack_holds(secret.byte, 12) && !stack_holds(secret.byte + 20, 12));
    mcamp__subkey(&secret, (UINT64_C(1) << 63) + 3, sub);
    CHECK(!stack_holds(sub, 12) && !stack_holds(sub + 5, 12));
    mcamp__subkey(&secret, 3, sub);
    CHECK(!stack_holds(sub, 12) && !stack_holds(sub + 5, 12));
    mt_stream(&secret_stream, &secret);
    stack_after(draws_normals);
    for (int i = 0; i + 1 < 300; i++) left += stack_holds(secret_normals + i, 16);
    CHECK_LE(left, 8);          /* what has a name is wiped; what is spilled: the next test */
    mcamp__chacha_16(MCAMP_VEC_SCALAR, secret_stream.noise, 32, 5, w);  /* the last group's */
    CHECK_LE(words_left(w), 32);
    stack_after(draws_words);
    CHECK(!stack_holds(secret_stream.tail, 16));
    mcamp__chacha_16(MCAMP_VEC_SCALAR, secret_stream.tail, 0, 7, w);
    CHECK_LE(words_left(w), 32);
    stack_after(draws_a_word);
    mcamp__chacha_input(in, secret_stream.tail, 0, 7);
    mcamp__chacha_block(in, w);
    for (int i = 0; i < 16; i += 4) CHECK(!stack_holds(w + i, 16));
    for (int i = 0; i < 16; i++) w[i] -= in[i];         /* the state before the last sum */
    for (int i = 0; i < 16; i += 4) CHECK(!stack_holds(w + i, 16));
    CHECK(!stack_holds(secret_stream.tail, 16));
}

static int source_calls;
static int good_source(void *user, void *out, size_t size)
{
    unsigned char *p = (unsigned char *)out;
    for (size_t i = 0; i < size; i++) p[i] = (unsigned char)(i * 7 + 1);
    return user ? *(int *)user : 0;
}
static int lazy_source(void *user, void *out, size_t size)
{
    (void)user; (void)out; (void)size;
    source_calls++;
    return 0;
}

static mcamp_noise secret_noise;

static void makes_noise(void)
{
    mcamp_noise_out out;
    memset(&out, 0, sizeof out);
    out.d = secret_normals;
    mcamp_noise_next(&ctx, &secret_noise, 0, 300, &out);
}

/* A whole round leaves nothing at all, neither z nor the words it is made of. */
TEST(nothing_is_left_of_spilled_registers)
{
    mcamp_vecset set[3];
    int count;
    start();
    count = sets(set);
    for (int v = 0; v < count; v++) {
        uint32_t w[256];
        mcamp_mech c;
        mcamp_mech_desc md;
        mcamp_noise_desc d;
        int left = 0;
        memset(&md, 0, sizeof md);
        memset(&d, 0, sizeof d);
        md.kind = MCAMP_MECH_IDENTITY;
        md.n = 2;
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
        d.mech = &c;
        d.sigma = d.clip_norm = 1;
        d.unit = MCAMP_NOISE_SUM;
        d.dim = 300;
        d.key = counting_key();
        ctx.vec = set[v];
        CHECK_STATUS(mcamp_noise_init(&ctx, &d, &secret_noise), MCAMP_OK);
        stack_after(makes_noise);
        for (int i = 0; i + 1 < 300; i++) left += stack_holds(secret_normals + i, 16);
        for (uint64_t g = 0; g < 3; g++) {
            mcamp__chacha_16(set[v], mcamp__noise_stream(&secret_noise)->noise, 16 * g, 0, w);
            left += words_left(w);
        }
        CHECK(!left && fabs(secret_normals[0]) > 0);
        mcamp_noise_free(&ctx, &secret_noise);
        mcamp_mech_free(&ctx, &c);
    }
}

TEST(entropy_that_fails_fails_loudly)
{
    mcamp_entropy_source s;
    mcamp_key k = counting_key(), a, b;
    int fail = 3;
    start();
    memset(&s, 0, sizeof s);
    CHECK_STATUS(mcamp_key_random(&ctx, &s, &k), MCAMP_E_REQUIRED);
    s.fill = good_source;
    CHECK_STATUS(mcamp_key_random(&ctx, &s, &k), MCAMP_OK);
    CHECK(k.byte[1] == 8);
    s.user = &fail;
    CHECK_STATUS(mcamp_key_random(&ctx, &s, &k), MCAMP_E_ENTROPY);
    CHECK(k.byte[1] == 8);
    s.fill = lazy_source;
    CHECK_STATUS(mcamp_key_random(&ctx, &s, &k), MCAMP_E_ENTROPY);
    CHECK(k.byte[1] == 8 && source_calls == 1);
    CHECK_STATUS(mcamp_key_random(&ctx, NULL, &a), MCAMP_OK);
    CHECK_STATUS(mcamp_key_random(&ctx, NULL, &b), MCAMP_OK);
    CHECK(memcmp(&a, &b, sizeof a));
#ifdef __linux__
    in_pieces = 1;
    CHECK_STATUS(mcamp_key_random(&ctx, NULL, &a), MCAMP_OK);
    in_pieces = 0;
    for (int i = 0; i < 32; i++) CHECK(a.byte[i] == i + 1);
#endif
    CHECK_STATUS(mcamp_key_random(&ctx, NULL, NULL), MCAMP_E_REQUIRED);
}

/* ---- normals --------------------------------------------------------------------- */

/* tests/vectors/secure.txt; a normal may be off by 2^-50. */
static void vector_line(const char *line, void *user)
{
    mcamp_key k = counting_key();
    unsigned long long a, b, c, w;
    double want, want2, got, got2;
    uint64_t word;
    uint32_t sub[8];
    (void)user;
    if (sscanf(line, "word %llu %llu %llx", &a, &b, &w) == 3) {
        mcamp__subkey(&k, 4, sub);
        word = mcamp__one_word(sub, a, b);
        CHECK(word == w);
    } else if (sscanf(line, "normal %llu %llu %lf", &a, &b, &want) == 3) {
        mt_normals(&ctx, &k, a, b, 1, &got);
        CHECK_NEAR(got, want, 0, 8.9e-16);
    } else if (sscanf(line, "pair %llx %llx %llx %lf %lf", &a, &b, &c, &want, &want2) == 5) {
        mcamp__normal_pair(a, b, c, &got, &got2);
        CHECK_NEAR(got, want, 4e-16, 8.9e-16);
        CHECK_NEAR(got2, want2, 4e-16, 8.9e-16);
    } else {
        CHECK(!"unknown line");
    }
}

TEST(words_and_normals_match_the_reference)
{
    start();
    CHECK(mt_vectors("secure.txt", vector_line, NULL) > 250);
}

TEST(radius_has_no_cap_before_13_sigma)
{
    double p, q;
    mcamp__normal_pair(0, 0, UINT64_C(1) << 51, &p, &q);    /* t = 0 */
    CHECK_NEAR(p, 13.3730, 0, 1e-3);
    CHECK_NEAR(q, 0, 0, 0);
    mcamp__normal_pair(1, 0, UINT64_C(0x8008000000000000), &p, &q);
    CHECK_NEAR(p, -sqrt(128 * log(2.0)), 1e-15, 0);
    mcamp__normal_pair(~UINT64_C(0), 0, UINT64_C(1) << 51, &p, &q);
    CHECK_NEAR(p, ldexp(1.0, -32), 1e-15, 0);
}

/* The scalar function and the kernels of every set give the same bits. */
TEST(every_vector_set_gives_the_same_bits)
{
    mcamp_vecset set[3];
    int n = sets(set);
    uint64_t seed = 1;
    uint32_t w[256];
    double out[128], p, q;
    for (int trial = 0; trial < 2000; trial++) {
        for (int i = 0; i < 256; i += 2) {
            uint64_t r = next_test(&seed);
            w[i] = (uint32_t)r;
            w[i + 1] = (uint32_t)(r >> 32);
        }
        for (size_t i = 0; i < 64; i++)         /* no small x, but some near 1 */
            w[64 * (i / 16) + 16 + i % 16] |= trial % 3 ? 1u << 20 : ~0u << (trial % 29);
        for (int v = 0; v < n; v++) {
            double least = mcamp__group_normals(set[v], w, out);
            CHECK(least >= 4503599627370496.0);
            for (size_t i = 0; i < 64; i++) {
                size_t a = 64 * (i / 16) + i % 16, b = 32 * (i / 16) + i % 16;
                mcamp__normal_pair(w[a] | (uint64_t)w[a + 16] << 32, 0,
                                   w[a + 32] | (uint64_t)w[a + 48] << 32, &p, &q);
                if (mcamp__bits(p) != mcamp__bits(out[b]) ||
                    mcamp__bits(q) != mcamp__bits(out[b + 16])) CHECK(!"bits differ");
            }
        }
    }
}

/* clang under -ffp-contract=fast fuses whatever the source says. */
static int contracted(void)
{
    volatile double a = 1 + DBL_EPSILON, b = a, c = -(a * b);
    double x = a, y = b, z = c;
    return fabs(x * y + z) > 0;
}

/* The same through the stream, with tails: 2^20 normals hold about 128 of them. */
TEST(streams_are_the_same_in_every_set_and_pinned)
{
    mcamp_vecset set[3];
    int n = sets(set);
    size_t count = 1u << 20, tails = 0;
    mcamp_key k = counting_key();
    mcamp__stream s;
    double *a = (double *)malloc(count * sizeof *a), *b = (double *)malloc(count * sizeof *b);
    uint64_t hash = 0;
    mt_stream(&s, &k);
    mcamp__stream_normals(MCAMP_VEC_SCALAR, &s, 11, 0, count, a);
    for (int v = 1; v < n; v++) {
        mcamp__stream_normals(set[v], &s, 11, 0, count, b);
        CHECK(!memcmp(a, b, count * sizeof *a));
    }
    hash = mcamp__hash_doubles(0, a, count);
    for (size_t i = 0; i < count; i++) tails += fabs(a[i]) > 4.0786;
    CHECK(tails > 10);
    CHECK(contracted() || hash == UINT64_C(0xb41458381f276fdd));   /* on every machine */
    free(a);
    free(b);
}

TEST(slices_agree_however_they_are_cut)
{
    double all[1000], part[1000];
    uint64_t few[128], seed = 5;
    uint32_t sub[8];
    mcamp_key k = counting_key();
    start();
    mt_normals(&ctx, &k, 3, 77, 1000, all);
    for (int trial = 0; trial < 300; trial++) {
        size_t at = (size_t)(next_test(&seed) % 1000);
        size_t len = (size_t)(next_test(&seed) % (1001 - at));
        mt_normals(&ctx, &k, 3, 77 + at, len, part);
        CHECK(!memcmp(part, all + at, len * sizeof *part));
    }
    mcamp__subkey(&k, MCAMP__STREAM_TEST, sub);
    for (uint64_t g = 0; g < 3; g++) {
        mcamp__word_group(ctx.vec, sub, 3, g, few);
        for (uint64_t i = 0; i < 128; i++)
            CHECK(few[i] == mcamp__one_word(sub, 3, 128 * g + i));
    }
}

/* Moments and a chi-squared of 64 cells of equal probability over 2^22 normals, and
 * correlations with the next index, the next step and another key.  Thresholds: two-
 * sided 6.11 sigma, false alarm rate 1e-9 each; chi-squared of 63 degrees of freedom
 * by Wilson-Hilferty.  Smallest defect caught with power .999: 0.5% in the variance. */
TEST(normals_are_standard_and_independent)
{
    size_t n = mt_scale((size_t)1 << 22), cells[64] = { 0 };
    double *a = (double *)malloc(n * sizeof *a), *b = (double *)malloc(n * sizeof *b);
    double *c = (double *)malloc(n * sizeof *c);
    double s1 = 0, s2 = 0, s3 = 0, s4 = 0, lag = 0, step = 0, other = 0, pair = 0, sq = 0;
    double root = sqrt((double)n), chi = 0, edge[63], z;
    mcamp_key k = counting_key(), k2;
    start();
    mcamp_key_insecure_test(1, &k2);
    mt_normals(&ctx, &k, 0, 0, n, a);
    mt_normals(&ctx, &k, 1, 0, n, b);
    mt_normals(&ctx, &k2, 0, 0, n, c);
    for (int i = 0; i < 63; i++) edge[i] = mcamp__gauss_quantile_log(log((i + 1) / 64.0));
    for (size_t i = 0; i < n; i++) {
        double x = a[i], x2 = x * x;
        size_t lo = 0, hi = 63;
        while (lo < hi) { size_t m = (lo + hi) / 2; if (x < edge[m]) hi = m; else lo = m + 1; }
        cells[lo]++;
        s1 += x; s2 += x2 - 1; s3 += x2 * x; s4 += x2 * x2 - 3;
        lag += x * a[(i + 1) % n]; step += x * b[i]; other += x * c[i];
        if (i % 32 < 16 && i + 16 < n) { pair += x * a[i + 16];
            sq += (x2 - 1) * (a[i + 16] * a[i + 16] - 1); }
    }
    CHECK_LE(fabs(s1) / root, 6.11);
    CHECK_LE(fabs(s2) / (root * sqrt(2.0)), 6.11);
    CHECK_LE(fabs(s3) / (root * sqrt(15.0)), 6.11);
    CHECK_LE(fabs(s4) / (root * sqrt(96.0)), 6.11);
    CHECK_LE(fabs(lag) / root, 6.11);
    CHECK_LE(fabs(step) / root, 6.11);
    CHECK_LE(fabs(other) / root, 6.11);
    CHECK_LE(fabs(pair) / (root * sqrt(0.5)), 6.11);
    CHECK_LE(fabs(sq) / (2 * root * sqrt(0.5)), 6.11);
    for (int i = 0; i < 64; i++) {
        double e = (double)n / 64, d = (double)cells[i] - e;
        chi += d * d / e;
    }
    z = (pow(chi / 63, 1.0 / 3) - (1 - 2 / (9.0 * 63))) / sqrt(2 / (9.0 * 63));
    CHECK_LE(fabs(z), 6.2);
    free(a); free(b); free(c);
}

TEST_MAIN("secure",
    T(block_of_rfc_8439_section_2_3_2),
    T(keystream_of_rfc_8439_section_2_4_2),
    T(keystream_of_the_zero_key),
    T(sixteen_blocks_at_once_are_sixteen_blocks),
    T(hashes_of_rfc_7693_appendix_e),
    T(bound_keys_depend_on_every_word),
    T(bytes_are_compared_to_the_end),
    T(hashing_leaves_no_key_on_the_stack),
    T(keys_must_be_given_and_are_wiped),
    T(derived_keys_differ_and_repeat),
    T(purposes_and_children_never_meet),
    T(key_numbers_are_not_the_key),
    T(nothing_secret_stays_on_the_stack),
    T(nothing_is_left_of_spilled_registers),
    T(entropy_that_fails_fails_loudly),
    T(words_and_normals_match_the_reference),
    T(radius_has_no_cap_before_13_sigma),
    T(every_vector_set_gives_the_same_bits),
    T(streams_are_the_same_in_every_set_and_pinned),
    T(slices_agree_however_they_are_cut),
    T(normals_are_standard_and_independent))
