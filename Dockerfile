# docker build -t stoic:dev .
#
# The image holds one static program and no shell. It also answers to /manager, the command of the
# operator that this one replaces. Releases pin both bases by digest:
#   docker build --build-arg BASE=gcr.io/distroless/static@sha256:... .
ARG GO=golang:1.26
ARG BASE=gcr.io/distroless/static:nonroot

FROM --platform=$BUILDPLATFORM ${GO} AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags="-s -w" -o /image/stoic . \
 && ln -s stoic /image/manager

FROM ${BASE}
COPY --from=build /image/ /
# By number, so that the kubelet can tell that it is not root.
USER 65532:65532
ENTRYPOINT ["/stoic"]
