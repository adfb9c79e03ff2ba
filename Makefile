# The front door. CMake does the work; CMakePresets.json has every way to build.

MAKEFLAGS += --no-print-directory
jobs := $(shell nproc 2>/dev/null || echo 2)
tests_at_once := $(shell echo $$(($(jobs) + 1)))  # Many tests wait for a time to pass.
sources := git ls-files --cached --others --exclude-standard -- '*.h' '*.cc' '*.c'

.PHONY: help run test bench bench-gate conformance tls-conformance abuse mutation messages-seeds fuzz asan dev-check build-cost check bare test-cost format format-check budget reference docs contract-conformance contract-docs-page format-agreement data-conformance migration-kills clean

help:
	@echo 'make run                   build the full-stack example and serve it on http://127.0.0.1:8080 and https://127.0.0.1:8443'
	@echo 'make test                  build everything and run the tests'
	@echo 'make check                 formatting and all tests: what a change must pass'
	@echo 'make format                format all C and C++ files'
	@echo 'make bench                 build the service, the raw loops and Beast, and measure the quick profile (docs/lab.md)'
	@echo 'make bench-gate            compare the last commit with its parent; fails on a significant regression of more than 5 %'
	@echo 'make reference             write docs/api and the tables of docs/metrics.md and docs/configuration.md from the sources'
	@echo 'make docs                  build the documentation as a static site with search; fails on a broken link'
	@echo 'make budget                accept the current compile-time cost of the public headers (tools/tidy/budget.txt)'
	@echo 'make conformance           third-party HTTP suites against the conformance server, on both engines (3 minutes)'
	@echo 'make tls-conformance       TLS: our suites, sslyze, testssl.sh, third-party clients and servers, an ACME client (15 minutes)'
	@echo 'make contract-conformance  contracts: oasdiff, schemathesis, third-party documents, JSON-Schema-Test-Suite (half an hour)'
	@echo 'make contract-docs-page    the page at /docs in Chromium: requests, accessibility, keyboard, malicious documents (2 minutes)'
	@echo 'make format-agreement      CBOR and MessagePack: exchange a thousand values with cbor2 and msgpack (1 minute)'
	@echo 'make data-conformance      failing databases: PostgreSQL killed, stalled, malicious; SQLite killed (half an hour)'
	@echo 'make migration-kills       migrations that lose power at 2,000 points, and 200 that are killed on PostgreSQL (1 minute)'
	@echo 'make messages-seeds        1,000 simulated seeds of messages and sessions when connections break (seconds, and the build)'
	@echo 'make abuse                 attacks by malicious clients on both engines, and their effect on other clients (as root, 45 minutes)'
	@echo 'make mutation              put known bugs into the sources, one by one; the tests have to find each (half an hour)'
	@echo 'make fuzz                  ten million inputs for each fuzzer, and an hour for each that runs a whole server in the simulation (hours)'
	@echo 'make asan                  the tests that use several threads under GCC'"'"'s AddressSanitizer (7 minutes)'
	@echo 'make dev-check             keel new, and 20 rebuilds of keel dev under load; no request may fail; and the tutorial, step by step (minutes)'
	@echo 'make build-cost            examples/orders against an installed Keel: time to compile, and again after one change (a minute)'
	@echo 'make bare                  make run and make test in a bare Debian 12 and a bare Debian 13, with their times (as root)'
	@echo 'make test-cost             CPU time of make test from an empty build, without the compiler cache; fails above the budget in CONTRIBUTING.md'
	@echo 'make clean                 delete build/'
	@echo 'scripts/setup installs missing packages; it prints each with the reason.'

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
	@ctest --preset release -j$(tests_at_once)

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
	@cmake --build build/release -j$(jobs) --target conformance_test fullstack fullstack_sim_test http_server_tests keel tls_acme tls_client tls_exchange
	@tests/tls/suites.py $(if $(complete),--complete)

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
	@scripts/fuzz --seconds 3600 http_server_fuzz contract_files_fuzz
	@scripts/fuzz --runs 10000000 $$(sed -e 's|.*/||' -e '/http_server_fuzz/d' -e '/contract_files_fuzz/d' build/clang/fuzzers.txt)

asan:
	@scripts/setup build test dev
	@cmake --preset asan
	@cmake --build --preset asan -j$(jobs)
	@ctest --preset asan -j$(tests_at_once)

dev-check:
	@scripts/setup build test
	@[ -e build/release/build.ninja ] || cmake --preset release -DKEEL_TESTS=OFF
	@cmake --build --preset release -j$(jobs)
	@cmake --install build/release --prefix build/dev-check/prefix >/dev/null
	@tests/consume/dev_check.py --prefix build/dev-check/prefix --scratch build/dev-check/services
	@python3 -B tests/consume/tutorial_test.py --release --source . --prefix build/dev-check/prefix --scratch build/dev-check/tutorial --compiler g++

build-cost:
	@scripts/setup build
	@[ -e build/release/build.ninja ] || cmake --preset release -DKEEL_TESTS=OFF
	@cmake --build --preset release -j$(jobs)
	@cmake --install build/release --prefix build/dev-check/prefix >/dev/null
	@tests/consume/orders_cost.py --prefix build/dev-check/prefix

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
