# Weft. `make` prints this help.

ADDR ?= 127.0.0.1:8080
DATA ?= .weft
SEEDS ?= 5000
# The first seed and a time limit for the search. The default is a fresh seed and no limit.
SEED ?=
FOR ?=
FUZZTIME ?= 30s
LOCALSTACK_PORT ?= 4566

# The race detector needs a C compiler. Without one, the tests with servers run without the
# detector.
RACE := $(if $(shell command -v $$(go env CC) 2>/dev/null),-race)
WITH_CGO := $(if $(RACE),CGO_ENABLED=1)
# With this tag, pebble needs no library in C.
RACE_TAG := $(if $(RACE),pebblegozstd)

# Everything else is built without cgo. With cgo, pebble compiles a C library of 40 files, which
# takes a third as long as all other dependencies. Without cgo it uses a library in Go instead.
export CGO_ENABLED := 0

# The fast DynamoDB server is published for Linux on x86-64 only.
DYNAMODB := $(if $(filter Linux-x86_64,$(subst $() ,-,$(shell uname -sm))),dynoxide,dynamodb-local)

# go run shares compiled packages with everything else. go tool does not: it ignores GOFLAGS.
GOFUMPT := go run -modfile=tools/go.mod mvdan.cc/gofumpt

.DEFAULT_GOAL := help
.PHONY: help run demo test race test-ts test-python ui ui-check ui-test ui-shots test-postgres test-aws test-aws-served deploy-check operations-check localstack localstack-down lint weftvet switches words check sim sim-fixed sim-mutants sim-coverage model fuzz schemathesis cost bench bench-peers torture clean

help: ## print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## run the local server with the example workflows (ADDR=127.0.0.1:9090 DATA=/some/dir)
	@mkdir -p bin && go build -o bin/weft ./cmd/weft
	@exec bin/weft dev --addr '$(ADDR)' --data '$(DATA)'

demo: ## run a shopping cart on a fresh server, and print what each step costs
	@go run ./cmd/weft demo

# Tests run without go vet, which loads every package again: make lint vets all of them. They are
# linked without symbols: no test reads them, and they take a third of the time to link.
QUICK = -vet=off -ldflags=-s
# The compiler, the linker and the tests collect garbage less often than usual, which saves a fifth
# of their time.
GOTEST = GOGC=400 go test $(QUICK) -timeout 20m
# Some packages wait for servers and processes, so there are more at once than cores.
PARALLEL = -p 4

test: ## run all tests
	$(GOTEST) $(PARALLEL) ./...

# The short form of a test moves smaller payloads, and does less of what runs in one goroutine. The
# packages that are left out only read files and code, are tools of tests, or are examples: a
# workflow is one goroutine, and what runs it has tests of its own. The last ones do nothing
# concurrently, and the tests of their callers call them from several goroutines. Programs that the
# tests build are without cgo, as elsewhere.
NOT_RACED = examples(/.*)?|infra|localstack|internal/wiregen
NOT_RACED_TOOLS = proof/(alarms|apitest|archtest|awsmeter|bench|cost|docs|faultproxy|freeport|kept|lambdahost|privilege|scale|uiserver)
NOT_CONCURRENT = client/sigv4|engine/failure|internal/(bridge|command|cron|limits|options|problem|schedule|schedule/stored|schema|settings)

# Beside other work, the longest package has taken twenty minutes, which is the limit elsewhere.
race: ## run the tests with the race detector, the slow ones with fewer cases (needs a C compiler)
	@if [ -z "$(RACE)" ]; then echo "no C compiler (CC=$$(go env CC)): the race detector needs one"; exit 1; fi
	CGO_ENABLED=1 $(GOTEST) -timeout 60m $(PARALLEL) $(RACE) -tags=$(RACE_TAG) -short -exec 'env CGO_ENABLED=0' \
		$$(go list ./... | grep -vE '/($(NOT_RACED)|$(NOT_RACED_TOOLS)|$(NOT_CONCURRENT))$$')

test-ts: ## lint the OpenAPI documents, and test the TypeScript client and examples/web against the local server (Node.js)
	@mkdir -p bin && go build -o bin/weft ./cmd/weft
	@go test -count=1 ./internal/contract/openapi -run TestDocuments -write '$(CURDIR)/clients/typescript/test/generated/openapi'
	cd clients/typescript && npm ci --silent && npm run document && WEFT_BINARY='$(CURDIR)/bin/weft' npm test
	cd examples/web && npm ci --silent && WEFT_BINARY='$(CURDIR)/bin/weft' npm --silent test

test-python: ## check the types of the Python client and examples/fastapi, and test them against the local server (Python 3.11 or newer)
	@mkdir -p bin && go build -o bin/weft ./cmd/weft
	@localstack/install python
	@for c in clients/python examples/fastapi; do \
		WEFT_BINARY='$(CURDIR)/bin/weft' PYTHON='$(CURDIR)/localstack/.servers/python/bin/python' $$c/check || exit 1; \
	done

ui: ## build the web page into internal/page/dist, which is committed (Node.js)
	cd ui && npm ci --silent && npm run --silent build

ui-check: ## check the types of the web page, and that internal/page/dist is built from ui/ (Node.js)
	cd ui && npm ci --silent && npm run --silent check

ui-test: ui-check ## drive the web page in a browser (Node.js, Chromium; CHROMIUM=/path/to/it)
	@mkdir -p bin && go build -o bin/weft ./cmd/weft && go build -o bin/uiserver ./proof/uiserver && go build -o bin/agent ./examples/agent/server
	cd ui && npm run --silent unit && npm run --silent drive

ui-shots: ## take the README's screenshots of the web page into docs/images (Node.js, Chromium)
	@mkdir -p bin && go build -o bin/uiserver ./proof/uiserver
	cd ui && npm ci --silent && node shots.mjs

test-postgres: ## run the store and the queues of examples/postgres against PostgreSQL (Debian: apt-get install postgresql)
	@# go test prints the reason of a skip only in the package's folder and without a pattern.
	cd examples/postgres && $(WITH_CGO) $(GOTEST) $(RACE) -tags=$(RACE_TAG) -count=1

# The tests that need servers, and their packages. make test runs the other tests of these packages.
AWS_FILES = grep -rl --include='*_test.go' '^//go:build aws' .
AWS_PACKAGES = $(AWS_FILES) | xargs -n 1 dirname | sort -u
AWS_TESTS = $$($(AWS_FILES) | xargs sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' | sort -u | paste -sd '|' -)
# One package at a time: under load, visibility timeouts end too early. Tests that wait for a server
# need no core.
AWS_FLAGS = -p 1 -parallel 40 -run "^($(AWS_TESTS))\$$"

# The recipe does not contain $(MAKE) itself, because make -n runs the lines that do.
AGAIN := $(MAKE) --no-print-directory

test-aws: ## run the tests against DynamoDB, SQS and LocalStack (installs the servers; PYTHON=python3.13)
	@localstack/install
	@localstack/servers run -- $(AGAIN) test-aws-served

# The race detector watches the clients of AWS's services while a server answers them. The rest runs
# the product in other processes, or plays scripts that make race plays over the same clients: there
# the detector would find nothing more, and takes two thirds of the time.
AWS_CLIENTS = ^\./(blob|client|internal/codec|queue|store)(/|$$)

test-aws-served: # what test-aws runs when the servers are there
	$(WITH_CGO) $(GOTEST) $(RACE) -tags aws,$(RACE_TAG) $(AWS_FLAGS) -exec 'env CGO_ENABLED=0' $$($(AWS_PACKAGES) | grep -E '$(AWS_CLIENTS)')
	$(GOTEST) -tags aws $(AWS_FLAGS) $$($(AWS_PACKAGES) | grep -vE '$(AWS_CLIENTS)')

deploy-check: ## deploy examples/deploy with SAM and with Terraform to LocalStack, and test it (ONLY=sam; needs terraform and chromium)
	@localstack/deploy-check $(ONLY)

operations-check: ## break a deployment on LocalStack in each way that docs/operations.md has a page for, and follow the page (ONLY=part of a case's name)
	@CASES='$(ONLY)' localstack/operations-check

localstack: ## run the examples on LocalStack, deployed by the template that AWS gets (LOCALSTACK_PORT=4567)
	@localstack/up '$(LOCALSTACK_PORT)'

localstack-down: ## stop what make localstack started
	@localstack/down

# The linters that need types are one program, tools/lint, so that each package is type-checked
# once. go vet caches what they find. A linter runs alone by its name, as a flag.
LINT = GOGC=400 go vet -vettool='$(CURDIR)/bin/lint'

lint: bin/lint words ## vet, staticcheck, formatting, weftvet, switches over events and messages, words, and the linters' tests
	$(LINT) -tags aws,deploycheck,mutants ./...
	@for m in cmd/weftvet examples/hello examples/postgres tools tools/lint; do $(LINT:vet=vet -C $$m) ./... || exit 1; done
	$(LINT:vet=vet -C examples/deploy) -tags e2e ./...
	@# That go.mod of each example names what the example and its tools need: go mod tidy adds what is missing.
	@for m in examples/deploy examples/hello examples/postgres; do go list -C $$m -mod=readonly all >/dev/null || exit 1; done
	@# Also the coroutines that are built with the race detector. With the detector itself, go vet would
	@# compile and read all dependencies again.
	$(LINT) -tags likerace ./engine/coro
	@# Without the cache: go test does not know that weftvet's tests read the examples.
	@for m in cmd/weftvet tools tools/lint; do go test -C $$m $(QUICK) -count=1 ./... || exit 1; done
	@out=$$($(GOFUMPT) -l $$(git ls-files '*.go' ':!*.pb.go')); if [ -n "$$out" ]; then echo "not formatted (gofumpt -w):"; echo "$$out"; exit 1; fi

bin/lint: FORCE
	@mkdir -p bin && go build -C tools/lint -o '$(CURDIR)/bin/lint' .

FORCE:

weftvet: bin/lint ## lint the workflow code of the examples and the tests (cmd/weftvet)
	$(LINT) -weftvet -tags aws,deploycheck,mutants ./...
	@for e in hello deploy postgres; do $(LINT:vet=vet -C examples/$$e) -weftvet ./... || exit 1; done

switches: bin/lint ## find switches over events or messages that leave some out (tools/lint/switches)
	$(LINT) -switches -tags aws,deploycheck,mutants ./...

words: ## find words that Weft does not use, and long lines (tools/words)
	@cd tools && go run ./words ..

check: lint test ## run the linters, and the tests that need no server

# The search shrinks a failure and writes it to proof/sim/testdata: commit that file.
SEARCH = go test $(QUICK) -count=1 -timeout 0 ./proof/sim -run 'TestSeeds$$|TestRollouts$$|TestLinearizable' -v -fresh -keep -failures=10 -seeds=$(SEEDS) $(if $(SEED),-seed=$(SEED)) $(if $(FOR),-for=$(FOR))

sim: ## search for a counterexample with fresh seeds, on all cores (SEEDS=100000, FOR=8h, SEED=1 for a printed seed)
	$(SEARCH)

model: ## explore the protocol's model: every shape with two faults, all states, and its reduction (ONLY=part of a name; an unknown name lists all)
	go test $(QUICK) -count=1 -timeout 0 ./proof/model -run 'TestShapes|TestVariants|TestReductionKeepsEnds' -v -all $(if $(ONLY),-only='$(ONLY)')

sim-fixed: ## play the thousand fixed seeds, of which make test plays a hundred, the main mutants, and the whole metered month
	go test $(QUICK) -count=1 -timeout 0 -tags mutants ./proof/sim -run 'TestSeeds$$|TestRollouts$$|TestLinearizable$$|TestMutants$$|TestMonth$$' -v -seeds=1000 -days=30

sim-mutants: ## break the protocol with each mutant, and check that the simulation finds it within its stated seeds
	go test $(QUICK) -count=1 -timeout 0 -tags mutants ./proof/sim -run 'TestMutants' -v -all-mutants

sim-coverage: ## measure what the simulation covers of engine and internal/executor, in statements and blocks (SEEDS=n)
	@mkdir -p bin
	$(SEARCH) -coverpkg=./engine/...,./internal/executor/... -coverprofile=bin/sim.cover
	@echo "Go counts blocks, not branches. Each arm of a branch is a block, so blocks measure branches."
	@awk 'NR > 1 { split($$1, p, ":"); d = p[1]; sub(/\/[^\/]*$$/, "", d); s[d] += $$2; b[d]++; if ($$3 > 0) { cs[d] += $$2; cb[d]++ } } \
		END { for (d in s) printf "%-58s statements %5.1f%%, blocks %5.1f%% (%d of %d)\n", d, 100 * cs[d] / s[d], 100 * cb[d] / b[d], cb[d], b[d] }' bin/sim.cover | sort

fuzz: ## fuzz every decoder for FUZZTIME each
	@for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz'); do \
			echo "$$p $$f"; go test $$p -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

schemathesis: ## send the HTTP API requests that the OpenAPI document allows, and others (SEED=1 EXAMPLES=10 SECONDS=90; Python)
	@localstack/schemathesis '$(or $(SEED),1)' '$(or $(EXAMPLES),10)' '$(or $(SECONDS),90)'

torture: ## run the local server under faults of machines, disks, clients and code (TORTURE_MINUTES=3, default three hours; ONLY=kill9,soak; SEED=1)
	@mkdir -p bin
	go run ./proof/torture $(if $(ONLY),-only='$(ONLY)') $(if $(SEED),-seed '$(SEED)')

cost: ## count in the SDK what AWS would bill for the canonical work (installs the servers)
	@localstack/install
	@localstack/servers run $(DYNAMODB) elasticmq -- go run ./proof/cost

bench: ## measure Weft, and the machine's floors in the same run (installs a DynamoDB server if Node.js and a JDK are there)
	@if localstack/install dynamodb; then localstack/servers run $(DYNAMODB) -- go run ./proof/bench; \
	else echo "NOT measured: the benchmarks with a DynamoDB server" >&2; go run ./proof/bench; fi

bench-peers: ## compare Weft with Temporal, Restate, DBOS and go-workflows (18 minutes; ROUNDS=1, QUICK=1, PEERS="weft dbos")
	@proof/peers/run

clean: ## remove the binaries, and the data of the local server
	rm -rf bin .weft
