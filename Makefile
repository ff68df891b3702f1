# Every command that this project is worked on with. `make` alone lists them.

SHELL := /bin/bash
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 30s
SEED ?= 1
OPERATOR ?=
# Workloads of the benchmark with their sizes (empty: all, in their usual sizes).
BENCH ?=
# Integration tests wait more than they compute: more of them than cores run side by side.
PARALLEL ?= 3
# What make image pushes to, and the repository that the image names as its source; both may be empty.
PUSH ?=
SOURCE ?=
# The image that the values of make chart name.
REPOSITORY ?=
DIGEST ?=
# Where control planes keep their objects: etcd (empty), kine, postgres, mariadb, or the URL of a database with {name} in it
# (docs/storage.md).
STORE ?=
# Who serves custom resources: the API server (empty), or aggregated: a server of their own behind it.
CRS ?=
ON_STORE = STOIC_CRS='$(CRS)' $(if $(filter postgres mariadb,$(STORE)),test/database.sh $(STORE),STOIC_STORE='$(STORE)')
# Not empty: tests of many objects make as many as their names say, not a quarter.
LARGE ?=
# A release of Kubernetes other than that of localcluster/go.mod (docs/supported-versions.md).
KUBERNETES ?=
# go test vets a package and all that it imports, once more for each way of compiling it. make verify vets.
TEST := go test -vet=off
# All is compiled in one way, that of the image and of the local control plane: a build cache has a package once for each way.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)
# The example operators that have CRDs of their own, and how those of one are written.
EXAMPLES := foobar crontab foobarset foo mydeployment
EXAMPLE_CRDS = go run ./schema/crd -types ./examples/operators/$(1) -o examples/operators/$(1)/deploy/crd $(2)

# The CRD of MPIJob v2beta1, which has the name of that of v1.
V2BETA1_CRDS := go run ./schema/crd -types ./training/kinds/v2beta1 -o deploy/mpijob-v2beta1 -infix=-v2beta1

# The modules of the project, each of whose go.mod make verify checks.
MODULES := $(shell git ls-files '*go.mod' | xargs dirname)
# The release of Go that compiles a release. Vulnerabilities of the standard library are looked up for this one.
TOOLCHAIN := $(shell sed -n 's/^toolchain //p' go.mod)

.DEFAULT_GOAL := help
.PHONY: help build image chart demo test check lint integration e2e vuln faults fuzz bench bench-convert generate clients verify

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## write bin/stoic, the command line, and bin/manager, the operator that the image has
	@mkdir -p bin
	go build -ldflags '-s -w -X stoic/cli/command.Version=$(VERSION)' -o bin/stoic ./cmd/stoic
	go build -ldflags '-s -w -X stoic/cli/command.Version=$(VERSION)' -o bin/manager .

image: ## write bin/image for amd64 and arm64 without a container engine, with SBOMs; print the digest (PUSH=REF, SOURCE=URL)
	@go -C tools run ./image -version '$(VERSION)' -source '$(SOURCE)' -push '$(PUSH)'

chart: ## write bin/chart: the Helm chart of a release, whose values name its image (VERSION=v1.2.3, REPOSITORY, DIGEST)
	@go -C tools run ./helm/package -version '$(VERSION)' -repository '$(REPOSITORY)' -digest '$(DIGEST)'

demo: build ## try it: a real control plane, three operators, right objects and wrong ones
	@bin/stoic up --once

test: ## run what a change must pass: unit tests, each promise once on a real control plane, a sample of the fault rig
	@PARALLEL='$(PARALLEL)' test/run.sh test

check: ## run all other tests: race detector, chart, image, alerts, clients, the whole of test/integration, malformed objects
	@STOIC_LARGE='$(LARGE)' PARALLEL='$(PARALLEL)' test/run.sh check

integration: ## run all of test/integration on another release or store (KUBERNETES=1.35, STORE=kine, CRS=aggregated, LARGE=1)
	@go run ./cli/cluster/prepare -kubernetes '$(KUBERNETES)' -store '$(STORE)'
	@$(if $(KUBERNETES),cd localcluster && go mod tidy -diff -modfile=kubernetes-$(KUBERNETES).mod)
	@$(if $(filter kine,$(STORE)),cd localcluster/kine && go vet ./...)
	STOIC_FULL=all STOIC_LARGE='$(LARGE)' STOIC_KUBERNETES='$(KUBERNETES)' $(ON_STORE) \
	  $(TEST) -count=1 -v -parallel $(PARALLEL) -timeout 60m ./test/integration

lint: ## look for what golangci-lint finds (.golangci.yaml; its first run compiles it for some minutes)
	@go build -C tools/lint -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@bin/golangci-lint run ./...

lint-real: build ## run validate, convert and crd check over files that others wrote, and count what they find (DIR=folder)
	@test/lint-real.sh '$(DIR)'

e2e: ## run jobs on a real node: containers, DNS, mpirun (as root on Debian; the first start takes a quarter of an hour)
	STOIC_E2E=1 $(TEST) -count=1 -v -p 1 -parallel 3 -timeout 90m ./test/e2e/...

vuln: ## look for known vulnerabilities in what is called, as vuln.go.dev knows them today (verify has a database of its own)
	@GOVERSION=$(TOOLCHAIN) go -C tools tool govulncheck -C .. . ./cmd/stoic

faults: ## hold an operator to its end state under every fault; all historic bugs (SEED, OPERATOR='...', STORE, CRS)
	@go run ./cli/cluster/prepare -store '$(STORE)'
	@$(ON_STORE) test/run.sh faults '$(SEED)' '$(OPERATOR)'

fuzz: ## fuzz every target (converters, versions, schedules, watches, the webhook, command line) for FUZZTIME (30s) each
	@set -e; git grep -o '^func Fuzz[A-Za-z]*' -- '*_test.go' | sed 's,/[^/]*:func , ,' | while read -r folder target; do \
	  echo "== $$target of $$folder"; \
	  go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "./$$folder" < /dev/null; \
	done

bench: ## measure what the operator costs, beside the least possible (OPERATOR='...', BENCH=jobs:200,stored:10000)
	@go run ./cli/cluster/prepare
	@go run ./test/bench -workloads '$(BENCH)' -operator '$(OPERATOR)'

bench-convert: ## measure what a conversion costs
	go test -run '^$$' -bench . -benchmem ./training/convert

generate: ## write what is generated: CRDs, reference tables, configurations of other programs, copies in the chart
	go run ./schema/crd
	$(foreach example,$(EXAMPLES),$(call EXAMPLE_CRDS,$(example)) &&) true
	$(V2BETA1_CRDS)
	go test -count=1 -run '^TestVersions$$' ./deploy ./examples/operators/foobar ./examples/operators/crontab -update
	go run ./docs/reference/tables
	go run ./deploy/integrations/generate
	go test -count=1 -run '^TestChart' ./deploy -update

clients: ## write the clients in Go, TypeScript, Python and Java from the CRDs (needs node and npm; docs/clients.md)
	@go -C tools run ./clients

verify: ## fail if something is unformatted, suspicious, untidy, vulnerable or not generated anew
	@echo "== gofmt"
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not formatted:"; echo "$$unformatted"; exit 1; }
	@echo "== go mod tidy"
	@for module in $(MODULES); do (cd $$module && go mod tidy -diff) || exit 1; done
	@echo "== go vet"
	@for module in . clients/go tools; do (cd $$module && go vet ./...) || exit 1; done
	@echo "== the workflows"
	@go -C tools tool actionlint -shellcheck= -pyflakes= $(CURDIR)/.github/workflows/*.yaml
	@echo "== generated files"
	@go run ./schema/crd -check
	@$(foreach example,$(EXAMPLES),$(call EXAMPLE_CRDS,$(example),-check) &&) true
	@$(V2BETA1_CRDS) -check
	@go run ./docs/reference/tables -check
	@go run ./deploy/integrations/generate -check
	@echo "== known vulnerabilities in what is called, by a database that is a module (half a minute)"
	@database=$$(go -C tools mod download -modfile=vulndb.mod -json golang.org/x/vulndb | sed -n 's/.*"Dir": "\(.*\)",/\1/p') && \
	  GOVERSION=$(TOOLCHAIN) go -C tools tool govulncheck -db "file://$$database/data/osv" -C .. . ./cmd/stoic
