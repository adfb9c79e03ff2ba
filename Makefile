# The front door. CMake does the work; CMakePresets.json has every way to build.

MAKEFLAGS += --no-print-directory
jobs := $(shell nproc 2>/dev/null || echo 2)
sources := git ls-files --cached --others --exclude-standard -- '*.h' '*.cc' '*.c'

.PHONY: help run test bench bench-gate conformance tls-conformance abuse mutation messages-seeds fuzz asan dev-check check bare test-cost format format-check budget reference docs contract-conformance contract-docs-page format-agreement data-conformance migration-kills clean

help:
	@echo 'make run      build the full-stack example and serve it on http://127.0.0.1:8080 and https://127.0.0.1:8443'
	@echo 'make test     build everything and run the tests'
	@echo 'make bench    build the service, the raw loops and Beast, and measure the quick profile (docs/lab.md)'
	@echo 'make bench-gate  the last commit against its parent, in pairs: fails on a significant regression beyond 5 %'
	@echo 'make conformance  suites of others against the conformance server on both engines: a table of scores'
	@echo 'make tls-conformance  TLS: the server'"'"'s own suites, sslyze, testssl.sh, clients and servers of others, 700,000 records with each, an ACME client, peers that mean no good (minutes)'
	@echo 'make contract-conformance  contracts: what oasdiff and `keel api diff` say of changes of a document, `keel api init` of a service, schemathesis of the examples, the compiler of documents of others (minutes)'
	@echo 'make contract-docs-page  the page at /docs in Chromium: other hosts, accessibility, keyboard, hostile documents (minutes)'
	@echo 'make format-agreement  CBOR and MessagePack: a thousand values both ways with cbor2 and msgpack (a minute)'
	@echo 'make data-conformance  a database that fails: PostgreSQL killed, cut, stalled, behind a pooler and malicious, its reader fuzzed, SQLite killed: what a service loses of it (half an hour)'
	@echo 'make abuse    clients that mean no good, on both engines: what good ones notice of them (as root: half an hour)'
	@echo 'make mutation  bugs, put in one by one: the tests find each (half an hour)'
	@echo 'make migration-kills  migrations that lose the power at 2,000 points of the disk and are killed 200 times on PostgreSQL (a minute)'
	@echo 'make messages-seeds  1,000 seeds of messages, and of sessions, whose connections break at any byte, in the simulation (seconds, and the build)'
	@echo 'make fuzz     ten million inputs for each fuzzer, and an hour of the whole server in the simulation: hours'
	@echo 'make asan     the tests that cross threads under GCC'"'"'s AddressSanitizer; Clang'"'"'s has all of them in .ci/run (minutes)'
	@echo 'make dev-check  keel new, and 20 rebuilds of keel dev under load: how long, and what clients notice (minutes)'
	@echo 'make check    what a change must pass: formatting and the tests, which include layers and tidy'
	@echo 'make bare     make run and make test in a bare Debian 12 and a bare Debian 13, and how long they take (as root)'
	@echo 'make test-cost  CPU time of make test from nothing, without the compiler cache (CONTRIBUTING.md has its budget)'
	@echo 'make format   format all C and C++ files'
	@echo 'make budget   accept the present compile-time cost of the public headers (tools/tidy/budget.txt)'
	@echo 'make reference  write docs/api, and the tables of docs/metrics.md and docs/configuration.md, from the sources'
	@echo 'make docs     build the documentation as a site that can be searched without a server; a broken link fails'
	@echo 'make clean    delete build/'
	@echo 'Packages that are missing are installed by scripts/setup, which says what and why.'

# Tests are not configured here: their packages would have to be installed first. `make test` adds them.
run:
	@scripts/setup build
	@[ -e build/release/build.ninja ] || cmake --preset release -DKEEL_TESTS=OFF
	@find build/release/certs -mtime +300 -delete 2>/dev/null || true  # They are valid for a year.
	@cmake --build build/release -j$(jobs) --target fullstack development_certificate
	@exec build/release/examples/fullstack/fullstack --config examples/fullstack/service.yaml \
	  --network.https.certificate=build/release/certs/service.pem

test:
	@scripts/setup build test
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs)
	@ctest --preset release -j$(jobs)

bench:
	@scripts/setup build bench
	@[ -e build/release/build.ninja ] || cmake --preset release -DKEEL_TESTS=OFF
	@cmake --preset release -DKEEL_BENCH=ON
	@cmake --build build/release -j$(jobs) --target bench_quick
	@code=0; bench/lab run --profile quick || code=$$?; bench/lab report && bench/lab claims --summary && exit $$code

bench-gate:
	@scripts/setup build bench
	@[ -e build/release/build.ninja ] || cmake --preset release -DKEEL_TESTS=OFF
	@cmake --preset release -DKEEL_BENCH=ON
	@cmake --build build/release -j$(jobs) --target bench_quick
	@bench/lab compare HEAD~1 HEAD --gate 5%

conformance:
	@scripts/setup build test conformance
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target conformance_server conformance_test conformance_print_vectors \
	  http_static_files_test http_compression_stream_test keel
	@tests/conformance/suites.py

tls-conformance:
	@scripts/setup build test tls
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target fullstack fullstack_sim_test http_server_tests keel tls_acme tls_client tls_exchange
	@tests/tls/suites.py

contract-conformance:
	@scripts/setup build test contract
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target contract_diff_test contract_record_new \
	  contract_planted fullstack orders products keel keel_gen_alone contract_cases
	@tests/contract/suites.py
migration-kills:
	@scripts/setup build test
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target db_tests migrate_command_test
	@KEEL_MIGRATION_KILLS=2000 build/release/src/keel/db/db_tests --gtest_brief=1 --gtest_filter='*resume_after_a_loss_of_power*'
	@KEEL_MIGRATION_KILLS=200 build/release/tools/keel/migrate_command_test --gtest_brief=1 --gtest_filter='*was_killed_at_any_time'

contract-docs-page:
	@scripts/setup build test contract
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target docs_page_service
	@tests/contract/docs_page_test.py

format-agreement:
	@scripts/setup build test formats
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target formats_echo
	@tests/formats/suites.py

data-conformance:
	@scripts/setup build test dev data
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target data_service db_postgres_tests
	@cmake --preset clang
	@cmake --build build/clang -j$(jobs) --target db_postgres_reader_fuzz
	@tests/data/suites.py

abuse:
	@scripts/setup build test abuse
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target abuse_server keel
	@tests/abuse/suites.py

messages-seeds:
	@scripts/setup build test
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target net_messages_faults_test sessions_sim_test
	@KEEL_MESSAGES_SEEDS=1000 build/release/src/keel/net/messages/net_messages_tests --gtest_filter='MessagesInFaults.*'
	@build/release/tests/sim/sessions_sim_test --seeds=1000

mutation:
	@scripts/setup build test
	@tests/mutation/run.py

fuzz:
	@scripts/setup build test dev
	@cmake --preset clang
	@cmake --build --preset clang -j$(jobs) --target fuzzers
	@scripts/fuzz --seconds 3600 http_server_fuzz
	@scripts/fuzz --runs 10000000 $$(sed -e 's|.*/||' -e '/http_server_fuzz/d' build/clang/fuzzers.txt)

asan:
	@scripts/setup build test dev
	@cmake --preset asan
	@cmake --build --preset asan -j$(jobs)
	@ctest --preset asan -j$(jobs)

dev-check:
	@scripts/setup build test
	@[ -e build/release/build.ninja ] || cmake --preset release -DKEEL_TESTS=OFF
	@cmake --install build/release --prefix build/dev-check/prefix >/dev/null
	@tests/consume/dev_check.py --prefix build/dev-check/prefix --scratch build/dev-check/services

check: format-check test

bare:
	@scripts/bare bookworm trixie

test-cost:
	@scripts/setup build test
	@scripts/test-cost

format:
	@scripts/setup dev
	@$(sources) | xargs -n 60 -P $(jobs) clang-format-19 -i

format-check:
	@scripts/setup dev
	@$(sources) | xargs -n 60 -P $(jobs) clang-format-19 --dry-run -Werror

budget:
	@scripts/setup build test
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target tidy
	@KEEL_TIDY_UPDATE=1 build/release/tools/tidy/tidy --gtest_brief=1 --gtest_filter='Headers.*'

reference:
	@scripts/setup build test
	@cmake --preset release -DKEEL_TESTS=ON
	@cmake --build build/release -j$(jobs) --target app_tests
	@KEEL_UPDATE_REFERENCE=1 build/release/src/keel/app/app_tests --gtest_brief=1 --gtest_filter='SettingsPage.*'
	@tools/reference/reference.py

docs:
	@scripts/setup docs
	@tools/site/build.py

clean:
	@rm -rf build
