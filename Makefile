# mcamp.h: a header needs no building; this builds the tool, examples and tests.
#
#   make             builds the tool and runs the main job
#   make test        runs the tests; the last line is "N passed, N failed"
#   make help        lists the targets
#
# CC, CXX, CLANG, CFLAGS, LDFLAGS, BUILD and JOBS may be set on the command line.

CC       ?= cc
CXX      ?= c++
CLANG    ?= clang
CLANGXX  ?= clang++
MPICC    ?= mpicc
CFLAGS   ?= -O2
BUILD    ?= build
JOBS     ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
STD      ?= -std=c99
WARN     ?= -Wall -Wextra
LDLIBS   ?= -lm

# A sub-make that names no target would run the default one, and so on for ever.
$(if $(filter-out 0 1 2 3 4 5 6 7 8 9,$(MAKELEVEL)),$(error make calls itself))

COMPILE   = $(CC) $(STD) $(WARN) $(CFLAGS) -I. -pthread
LINK      = $(LDFLAGS) $(LDLIBS)

EXAMPLES  = $(patsubst examples/%.c,$(BUILD)/%,$(filter-out $(NO_MPI),$(wildcard examples/*.c)))
NO_MPI    = $(if $(shell command -v $(MPICC) 2>/dev/null),,$(wildcard examples/mpi_*.c))
BENCHES   = $(patsubst bench/%.c,$(BUILD)/%,$(wildcard bench/bench*.c))
# The longest ones begin first, so that no core waits at the end.
LONGEST   = $(addprefix test_,opt verify plan est compose limit answer)
SUITES    = $(LONGEST) $(filter-out $(LONGEST),$(patsubst tests/%.c,%,$(wildcard tests/test_*.c tests/api_*.c)))
TESTS     = $(addprefix $(BUILD)/,$(SUITES))
STATTESTS = $(patsubst tests/stat/%.c,$(BUILD)/stat_%,$(wildcard tests/stat/*.c))
FUZZERS   = $(patsubst tests/fuzz/%.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
TESTDEPS  = $(wildcard tests/*.h)
# The longest one begins first.
TOOLTESTS = tests/tool_test.sh $(filter-out tests/tool_test.sh tests/web_test.sh,$(wildcard tests/*_test.sh))

# Compiling takes longer than running: the suites share two objects of the implementation
# (split.sh says how) and its declarations as the compiler has read them, but not those that
# look for secrets left behind (nor ever test_secure and test_threads, which put their own
# functions in place of the system's).  So do the tool and the examples that hold all of it; the
# quick start and the small ones are made whole, as users make them, at -Og unless CFLAGS says
# otherwise, in half of the compiler's time.  Warnings, a seventh of that time, are asked for by
# check-warn, and by the sanitizers' builds.
WHOLE = $(addprefix %/test_,secure noise batch train threads)
HALVES  = $(addprefix $(BUILD)/split/,first.o last.o)
PARSED  = $(BUILD)/split/decl/mcamp.h.gch
SHARING = $(addprefix $(BUILD)/,mcamp formulas record reproduce train_digits train_minimal train_resume)
ifeq ($(CFLAGS),-O2)
$(HALVES) $(PARSED) $(TESTS) $(EXAMPLES) $(BUILD)/mcamp_mpi: WARN =
$(filter-out $(SHARING),$(EXAMPLES)): CFLAGS = -Og
endif

# Sub-makes run in parallel unless the caller already chose a number of jobs.
PARALLEL  = $(if $(findstring j,$(firstword -$(MAKEFLAGS))),,-j$(JOBS))
SUBMAKE   = +$(MAKE) --no-print-directory $(PARALLEL)

.PHONY: all run mcamp_mpi install uninstall examples examples-built tests-built stat-built bench-built fuzz-built test test-slow campaign mutants
.PHONY: check check-mpi check-warn check-compile check-place check-names check-guards check-macros check-symbols layers core
.PHONY: reproduce reproduce-quick machines doc-check lint asan-ubsan msan tsan valgrind test-blas test-vector
.PHONY: web check-web test-flags test-flags-native test-flags-O0 test-clang bench bench-short bench-map analyze fuzz coverage ci clean help

all: run ## build the tool and run the main job (default)

# ---- programs ---------------------------------------------------------------

run:
	$(SUBMAKE) $(BUILD)/mcamp
	@sh examples/run.sh $(BUILD)

examples: ## build the examples and the tool
	$(SUBMAKE) examples-built

$(BUILD):
	@mkdir -p $@

$(BUILD)/mcamp_impl.o: tests/compile/impl.c mcamp.h | $(BUILD)
	$(COMPILE) $(DEFS) -c -o $@ $<

$(BUILD)/test_%: tests/test_%.c mcamp.h $(TESTDEPS) | $(BUILD)
	$(COMPILE) $(DEFS) -o $@ $< $(LINK)

$(BUILD)/split/flags: mcamp.h tests/check/split.sh | $(BUILD)
	sh tests/check/split.sh mcamp.h $(@D)

$(HALVES): %.o: $(BUILD)/split/flags
	$(COMPILE) $(DEFS) -c -o $@ $*.c

$(PARSED): $(BUILD)/split/flags
	$(COMPILE) $(DEFS) $$(sed 's/-include.*//' $<) -x c-header -o $@ $(@:.gch=)

$(filter-out $(WHOLE),$(TESTS)): $(BUILD)/test_%: tests/test_%.c $(HALVES) $(PARSED) $(TESTDEPS)
	$(COMPILE) $(DEFS) $$(cat $(BUILD)/split/flags) -o $@ $< $(HALVES) $(LINK)

$(BUILD)/test_audit: $(wildcard examples/audit*.h)

# Public interface only: linked with one implementation.
$(BUILD)/api_%: tests/api_%.c $(BUILD)/mcamp_impl.o $(TESTDEPS) | $(BUILD)
	$(COMPILE) -o $@ $< $(BUILD)/mcamp_impl.o $(LINK)

$(BUILD)/stat_%: tests/stat/%.c mcamp.h $(TESTDEPS) | $(BUILD)
	$(COMPILE) $(DEFS) -o $@ $< $(LINK)

$(BUILD)/bench%: bench/bench%.c mcamp.h $(wildcard bench/*.h) | $(BUILD)
	$(COMPILE) $(DEFS) -o $@ $< $(LINK)

$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c mcamp.h $(TESTDEPS) | $(BUILD)
	$(COMPILE) $(DEFS) -o $@ $< $(LINK)

$(BUILD)/mpi_%: examples/mpi_%.c mcamp.h $(wildcard examples/*.h) | $(BUILD)
	OMPI_CC=$(CC) MPICH_CC=$(CC) $(MPICC) $(STD) $(CFLAGS) -I. -o $@ $< $(LINK)

mcamp_mpi: $(BUILD)/mcamp_mpi ## the tool for an MPI job: mpirun build/mcamp_mpi

$(BUILD)/mcamp_mpi: examples/mcamp.c $(HALVES) $(wildcard examples/*.h)
	OMPI_CC=$(CC) MPICH_CC=$(CC) $(MPICC) $(STD) $(WARN) $(CFLAGS) -DTOOL_MPI -I. -pthread \
	    $$(cat $(BUILD)/split/flags) -o $@ $< $(HALVES) $(LINK)

$(SHARING): $(BUILD)/%: examples/%.c $(HALVES) $(wildcard examples/*.h)
	$(COMPILE) $(DEFS) $$(cat $(BUILD)/split/flags) -o $@ $< $(HALVES) $(LINK)

$(BUILD)/%: examples/%.c mcamp.h $(wildcard examples/*.h) | $(BUILD)
	$(COMPILE) $(DEFS) -o $@ $< $(LINK)

# One file that needs no other and no network; clang, lld and wasi-libc make it.
$(BUILD)/mcamp.html: mcamp.h $(wildcard examples/*.h examples/web/*) | $(BUILD)
	@CLANG=$(CLANG) sh examples/web/build.sh $@ $(BUILD)/web

web: $(BUILD)/mcamp.html ## the page that answers questions in a browser, build/mcamp.html

reproduce: $(BUILD)/reproduce ## the papers' figures and tables again, to build/reproduced (15 min)
	@./$< --all --out $(BUILD)/reproduced

reproduce-quick: $(BUILD)/reproduce ## the same in small, to build/reproduced-quick (4 min)
	@./$< --all --quick --out $(BUILD)/reproduced-quick

# ---- installing ---------------------------------------------------------------

PREFIX   ?= /usr/local
DESTDIR  ?=
VERSION   = $(shell sed -n 's/^.define MCAMP_VERSION_TEXT "\(.*\)"/\1/p' mcamp.h)
PACKAGE   = BUILD='$(BUILD)' PREFIX='$(PREFIX)' VERSION='$(VERSION)' DESTDIR='$(DESTDIR)' \
            sh examples/packaging/install.sh

install: $(BUILD)/mcamp ## header, tool, manual page, completions, pkg-config and CMake files
	@$(PACKAGE) install

uninstall: ## remove what install put there
	@$(PACKAGE) uninstall

# ---- tests ------------------------------------------------------------------

examples-built: $(EXAMPLES)
tests-built: $(TESTS) $(if $(TOOLTESTS),$(EXAMPLES))
stat-built: $(STATTESTS)
bench-built: $(BENCHES)
fuzz-built: $(FUZZERS)

test: ## build and run all tests
	$(SUBMAKE) tests-built
	@BUILD=$(BUILD) JOBS=$(JOBS) sh tests/run.sh $(TOOLTESTS) $(TESTS)

test-slow: ## the slow statistical tests, all questions to the tool, the README as it stands
	$(SUBMAKE) stat-built examples-built
	@MCAMP_CLAIMS=all TEST_TIMEOUT=3600 BUILD=$(BUILD) JOBS=$(JOBS) \
	sh tests/run.sh $(STATTESTS) tests/claims_test.sh tests/readme_test.sh

# The state outlives the run: call it again, or with other parts, until nothing is missing;
# with RERUN=again after a change of what decides.
CAMPAIGN = $(BUILD)/campaign
PART_OF  = $(subst /, ,$(or $(PART),1/1))
COMMIT   = $(or $(shell git rev-parse --short HEAD 2>/dev/null),$(VERSION))

$(CAMPAIGN)/campaign: tests/campaign/campaign.c mcamp.h tests/reference.h
	@mkdir -p $(CAMPAIGN)
	$(COMPILE) -o $@ $< $(LINK)

campaign: $(CAMPAIGN)/campaign ## how often the verifier accepts, to tests/campaign.md (30 min; PART=1/40)
	@i=$(word 1,$(PART_OF)); $< $(CAMPAIGN)/state $$((i - 1)) $(word 2,$(PART_OF)) '$(COMMIT)' $(RERUN)
	@$< $(CAMPAIGN)/state table >$(CAMPAIGN)/table; ok=$$?; \
	cp $(CAMPAIGN)/table tests/campaign.md; tail -n 1 tests/campaign.md; exit $$ok

mutants: ## planted bugs that a test must notice; PART=3/40 a slice, ONLY=verify- by id
	@CC="$(CC)" BUILD=$(BUILD) JOBS=$(JOBS) PART=$(PART) ONLY=$(ONLY) sh tests/mutants/run.sh

# ---- the same tests, built or run differently -------------------------------

QUICK = MCAMP_TEST_QUICK=1 ASAN_OPTIONS=allocator_may_return_null=1
AGAIN = $(MAKE) --no-print-directory test TOOLTESTS= WHOLE="%/test_secure %/test_threads"

# Suites that use threads; that reach BLAS; that valgrind can run in minutes.
THREADED = $(patsubst tests/%.c,%,$(shell grep -lE 'parallel_threads|pthread_' $(wildcard tests/test_*.c tests/api_*.c)))
DENSE    = $(filter test_core test_modes test_mech test_opt test_vec test_work api_%,$(SUITES))
# (valgrind rounds long double, which some tests compare with, to double, and keeps no
# rounding mode or flushing of denormals, which the suites of the host's environment set; it runs
# one thread at a time, so that those of test_threads wait for each other).
BRISK    = $(filter-out test_threads test_base test_host test_limit test_participation test_answer test_words test_exact test_compose test_opt test_work test_core \
           test_calib test_oracle test_plan,$(filter $(patsubst tests/%.c,%,$(shell grep -L 'long double' \
           $(wildcard tests/test_*.c tests/api_*.c))),$(SUITES)))

# What takes long, has one thread and computes what other builds have computed.
ALONE = no_answer_spends_more_on_its_bounds the_mixtures_errors_are_honest \
        a_pilot_of_few_blocks_does_not_set_the_cost pairs_of_samples_have_their_law \
        the_tilted_P_has_its_density all_methods_agree_on_random_modes tuples_and_the_way_back \
        tuples_and_the_tilt_pay small_deltas_of_few_bands_are_backed bounds_cover \
        ranges_are_not_exceeded_and_nearly_attained bounds_hold_with_their_probability \
        values_by_clusters noise_made_again_is_rounded_as_if_there_were_no_errors \
        lattice_noise_is_rounded_within_the_recursion false_acceptance_is_rarer_than_beta

asan-ubsan: ## tests under the address, leak and undefined-behaviour sanitizers
	@sh tests/check/have.sh $@ "$(CC) -fsanitize=address,undefined" || exit 0; \
	$(QUICK) $(AGAIN) BUILD=$(BUILD)/asan CFLAGS="-Og -g1 \
	-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"

msan: ## tests under clang's memory sanitizer
	@sh tests/check/have.sh $@ "$(CLANG) -fsanitize=memory" || exit 0; \
	$(QUICK) MCAMP_TEST_SKIP="$(ALONE)" $(AGAIN) BUILD=$(BUILD)/msan CC=$(CLANG) \
	CFLAGS="-O1 -g1 -fsanitize=memory -fno-sanitize-recover=all"

tsan: ## the suites with threads under the thread sanitizer
	@sh tests/check/have.sh $@ "$(CC) -fsanitize=thread" || exit 0; \
	$(QUICK) MCAMP_TEST_SKIP="$(ALONE)" $(AGAIN) BUILD=$(BUILD)/tsan SUITES="$(THREADED)" \
	CFLAGS="-Og -g1 -fsanitize=thread"

valgrind: ## the brisk suites under valgrind
	@sh tests/check/have.sh $@ valgrind || exit 0; \
	MCAMP_TEST_QUICK=1 MCAMP_TEST_VEC=scalar TEST_WRAPPER="valgrind -q \
	--error-exitcode=9 --leak-check=full --errors-for-leak-kinds=all" \
	$(AGAIN) BUILD=$(BUILD)/O0 SUITES="$(BRISK)" CFLAGS="-O0 -g1"

test-clang: ## tests built by clang
	@sh tests/check/have.sh $@ $(CLANG) || exit 0; \
	$(QUICK) $(AGAIN) BUILD=$(BUILD)/clang CC=$(CLANG) CFLAGS=-O2

test-blas: ## tests with OpenBLAS through MCAMP_CBLAS_HEADER
	@sh tests/check/have.sh $@ "$(CC) -include cblas.h -lopenblas" || exit 0; \
	OPENBLAS_NUM_THREADS=1 $(AGAIN) BUILD=$(BUILD)/blas SUITES="$(DENSE)" \
	DEFS="-DMCAMP_CBLAS_HEADER='<cblas.h>'" LDLIBS="-lopenblas -lm"

test-vector: ## tests with the lesser kernel sets of this processor
	$(SUBMAKE) tests-built
	@BUILD=$(BUILD) JOBS=$(JOBS) sh tests/check/vector.sh $(TESTS)

FLAGS = native O0
test-flags: $(addprefix test-flags-,$(FLAGS)) ## tests built for this processor, as gnu17, with contraction; and unoptimised; FLAGS=O0 one

test-flags-native:
	@MCAMP_TEST_QUICK=1 $(AGAIN) BUILD=$(BUILD)/native \
	STD=-std=gnu17 CFLAGS="-O2 -march=native -ffp-contract=fast"

test-flags-O0:
	@MCAMP_TEST_QUICK=1 MCAMP_TEST_SKIP="$(ALONE)" $(AGAIN) BUILD=$(BUILD)/O0 CFLAGS="-O0 -g1"

machines: ## suites on s390x, ARM, i686, Windows and WebAssembly, emulated, and what they agree on
	@MACHINES='$(MACHINES)' CLANG=$(CLANG) JOBS=$(JOBS) sh tests/check/machines.sh $(BUILD)/machines

check-mpi: ## the tool on MPI processes says what it says alone
	@sh tests/check/have.sh $@ $(MPICC) || exit 0; sh tests/check/have.sh $@ mpirun || exit 0; \
	$(MAKE) --no-print-directory $(BUILD)/mcamp $(BUILD)/mcamp_mpi && \
	BUILD=$(BUILD) sh tests/check/mpi.sh $(BUILD)/check

check-web: web $(BUILD)/mcamp ## the page in a headless Chromium, beside the tool
	@BUILD=$(BUILD) sh tests/web_test.sh

# ---- checks of the source ---------------------------------------------------

check: check-warn check-compile check-place check-names check-guards check-macros check-symbols layers core doc-check lint ## all checks of the source

check-warn: ## strict warnings as errors, gcc and clang, C and C++
	@CLANG=$(CLANG) CLANGXX=$(CLANGXX) sh tests/check/warn.sh $(BUILD)/check

check-compile: ## dialects, include orders, translation units, refused flags
	@CC=$(CC) CXX=$(CXX) CLANG=$(CLANG) CLANGXX=$(CLANGXX) sh tests/check/compile.sh $(BUILD)/check

check-place: ## the header renamed, moved, linked, pasted, for old compilers
	@CC=$(CC) CLANG=$(CLANG) sh tests/check/place.sh $(BUILD)/check

check-names: ## ctags and cscope see every function
	@sh tests/check/names.sh $(BUILD)/check

check-guards: ## every public function minds the floating-point environment
	@sh tests/check/guards.sh $(BUILD)/check

check-macros: ## no macro leaks from the header
	@CC=$(CC) sh tests/check/macros.sh $(BUILD)/check

check-symbols: ## only mcamp_ symbols, no writable data
	@CC=$(CC) sh tests/check/symbols.sh $(BUILD)/check

layers: ## a section calls only sections above it
	@CC=$(CC) sh tests/check/layers.sh $(BUILD)/check

core: ## part I alone: nothing unused, a claim and a session, at most 6000 lines
	@CC=$(CC) sh tests/check/core.sh $(BUILD)/core

doc-check: ## the header's function list agrees with its declarations
	@CC=$(CC) sh tests/check/doc.sh $(BUILD)/check

lint: ## line lengths, blanks, function lengths, planted bugs that do not apply
	@sh tests/check/lint.sh

analyze: ## static analysis: cppcheck, clang-tidy, gcc -fanalyzer
	@CLANG=$(CLANG) sh tests/check/analyze.sh $(BUILD)/check

# ---- the rest ---------------------------------------------------------------

bench: ## measure, as ratios to the baselines in bench/
	$(SUBMAKE) bench-built
	@for b in $(filter-out %/bench_map %/bench_schemes,$(BENCHES)); do ./$$b || exit 1; done

bench-short: $(addprefix $(BUILD)/bench_,sample vec exact delta) ## those of them that end in a minute
	@for b in $^; do ./$$b || exit 1; done

bench-map: $(BUILD)/bench_map ## what each shape costs, to build/map.csv and build/map.svg (hours; QUICK=1: a tenth)
	@./$< $(if $(findstring command,$(origin QUICK)),--quick) $(BUILD)/map.csv $(BUILD)/map.svg

coverage: ## line and branch coverage of each part; what the core leaves out has a reason in tests/coverage.txt
	@CC=$(CC) JOBS=$(JOBS) sh tests/check/coverage.sh $(BUILD)/coverage $(filter test_%,$(SUITES))

fuzz: ## run every fuzz target for a few seconds
	@CLANG=$(CLANG) sh tests/check/fuzz.sh $(BUILD)/fuzz

ci: ## everything that is run before a change is taken
	@bash .ci/run

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## list the targets
	@grep -hE '^[a-z][a-z_-]*:.*## ' Makefile | sed 's/:.*## /\t/' | \
	awk -F '\t' '{ printf "  %-14s %s\n", $$1, $$2 }'
