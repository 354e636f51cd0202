# Weft. `make` prints this help.

ADDR ?= 127.0.0.1:8080
DATA ?= .weft
SEEDS ?= 5000
FUZZTIME ?= 30s
LOCALSTACK_PORT ?= 4566

# The race detector needs cgo and a C compiler. Without one the tests run all the same, and say so.
CC_FOUND := $(shell command -v $$(go env CC) 2>/dev/null)
ifeq ($(and $(CC_FOUND),$(filter-out 0,$(CGO_ENABLED) $(shell go env CGO_ENABLED))),)
RACE :=
else
RACE := -race
endif

# The fast DynamoDB server is published for Linux on x86-64 only.
DYNAMODB := $(if $(filter Linux-x86_64,$(subst $() ,-,$(shell uname -sm))),dynoxide,dynamodb-local)

TOOL := go tool -modfile=tools/go.mod

.DEFAULT_GOAL := help
.PHONY: help run demo test test-ts test-aws deploy-check localstack localstack-down lint weftvet check sim fuzz cost bench clean

help: ## print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## run the local server with the example workflows (ADDR=127.0.0.1:9090 DATA=/some/dir)
	@mkdir -p bin && go build -o bin/weft ./cmd/weft
	@exec bin/weft dev --addr '$(ADDR)' --data '$(DATA)'

demo: ## play a cart through against a fresh server, and show what each step costs
	@go run ./cmd/weft demo

test: ## run all tests, with the race detector where there is a C compiler
	@if [ -z "$(RACE)" ]; then echo "no C compiler (CC=$$(go env CC)) or cgo is off: the tests run WITHOUT the race detector"; fi
	go test $(RACE) -timeout 9m ./...
	@# With the race detector the simulation plays few seeds, and no mutants.
	@if [ -n "$(RACE)" ]; then go test -timeout 9m ./internal/sim -run 'TestSeeds|TestLinearizable|TestMutants'; fi
	@# Not from the cache: go test does not know that these read the examples.
	cd cmd/weftvet && go test -count=1 -timeout 9m ./...

test-ts: ## lint the OpenAPI document, and test the TypeScript client against the local server (Node.js)
	@mkdir -p bin && go build -o bin/weft ./cmd/weft
	cd clients/typescript && npm ci --silent && npm run document && WEFT_BINARY='$(CURDIR)/bin/weft' npm test

# The packages with tests that need servers.
AWS_PACKAGES = $$(grep -rl --include='*_test.go' '^//go:build aws' . | xargs -n 1 dirname | sort -u)

test-aws: ## run the tests against DynamoDB, SQS and LocalStack (installs the servers; PYTHON=python3.13)
	@localstack/install
	@# One package after the other: under load visibility time-outs pass too early. Tests that wait for a server do not need a core.
	localstack/servers run -- go test $(RACE) -tags aws -p 1 -parallel 40 -timeout 20m $(AWS_PACKAGES)

deploy-check: ## deploy examples/deploy with SAM and with Terraform to LocalStack, and ask it (needs terraform)
	@localstack/deploy-check

localstack: ## run the examples on LocalStack, deployed by the template that AWS gets (LOCALSTACK_PORT=4567)
	@localstack/up '$(LOCALSTACK_PORT)'

localstack-down: ## stop what make localstack started
	@localstack/down

lint: weftvet ## vet, staticcheck, formatting, and weftvet
	go vet -tags aws,deploycheck ./...
	@# What is only built with the race detector, or only without.
	@if [ -n "$(RACE)" ]; then go vet $(RACE) -tags aws,deploycheck ./...; fi
	$(TOOL) staticcheck -tags aws,deploycheck ./...
	cd cmd/weftvet && go vet ./... && go tool -modfile=../../tools/go.mod staticcheck ./...
	@out=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not formatted (gofumpt -w):"; echo "$$out"; exit 1; fi

# The linter of workflow code, on all workflows that there are here: the examples, and those of the tests.
weftvet: ## look for what workflow code must not do, in the examples and in the workflows of the tests
	@mkdir -p bin && go build -C cmd/weftvet -o '$(CURDIR)/bin/weftvet' .
	go vet -vettool='$(CURDIR)/bin/weftvet' -tags aws,deploycheck ./...
	@for e in hello deploy; do go vet -C examples/$$e -vettool='$(CURDIR)/bin/weftvet' ./... || exit 1; done

check: lint test ## the linters, and the tests that need no server

sim: ## search for a counterexample: SEEDS=n seeds, and every break of the protocol must be found
	go test -timeout 60m ./internal/sim -run 'TestSeeds|TestLinearizable|TestMutants' -v -seeds=$(SEEDS) -all-mutants

fuzz: ## fuzz every decoder for FUZZTIME each
	@for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz'); do \
			echo "$$p $$f"; go test $$p -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

cost: ## what AWS would bill for the canonical work, counted in the SDK (installs the servers)
	@localstack/install
	@localstack/servers run $(DYNAMODB) elasticmq -- go run ./internal/cost

bench: ## measure, beside the floors of the same run (with a DynamoDB server, which it installs, if Node.js and a JDK are there)
	@if localstack/install dynamodb; then localstack/servers run $(DYNAMODB) -- go run ./internal/bench; \
	else echo "NOT measured: what needs a DynamoDB server" >&2; go run ./internal/bench; fi

clean: ## remove what was built, and the data of the local server
	rm -rf bin .weft
