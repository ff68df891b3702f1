# docker build -t stoic:dev --build-arg VERSION=$(git describe --tags --always) .
#
# The image holds one static program and nothing else: no shell, no libraries, no certificates (a pod gets those of
# its API server with its service account). It also answers to /manager, the command of the operator that this one
# replaces. Releases pin the base by digest: --build-arg GO=golang@sha256:...
ARG GO=golang:1.26

FROM --platform=$BUILDPLATFORM ${GO} AS build
ARG TARGETOS TARGETARCH
ARG VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags="-s -w -X stoic/cli.version=$VERSION" -o /image/stoic . \
 && ln -s stoic /image/manager

FROM scratch
COPY --from=build /image/ /
# By number, so that the kubelet can tell that it is not root.
USER 65532:65532
ENTRYPOINT ["/stoic"]
