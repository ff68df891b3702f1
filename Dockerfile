# docker build -t stoic:dev --build-arg VERSION=$(git describe --tags --always) .
#
# The image holds the operator, one static program, and nothing else: no command line, no shell, no libraries, no certificates (a pod gets those of
# its API server with its service account). It also answers to /manager, the command of the operator that this one
# replaces. `make image` builds the same content without a container engine, and a test of tools/image compares the two.
#
# The base is only what compiles; nothing of it is in the image. To pin it by digest: --build-arg GO=golang@sha256:...
ARG GO=golang:1.26.10

FROM --platform=$BUILDPLATFORM ${GO} AS build
ARG TARGETOS TARGETARCH
ARG VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w -X stoic/cli/command.Version=$VERSION" -o /image/stoic . \
 && ln -s stoic /image/manager

FROM scratch
ARG VERSION=dev
# The commit, its date and the repository are not in the build context; whoever builds says them.
ARG REVISION=
ARG CREATED=1970-01-01T00:00:00Z
ARG SOURCE=
LABEL org.opencontainers.image.title="stoic" \
      org.opencontainers.image.description="Kubernetes operator for training jobs of kubeflow.org" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
COPY --from=build /image/ /
# By number, so that the kubelet can tell that it is not root.
USER 65532:65532
ENTRYPOINT ["/stoic"]
