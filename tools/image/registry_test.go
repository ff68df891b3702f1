package main

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// registryHasIt: each platform pulls what was pushed.
func registryHasIt(t *testing.T, a *artifact) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": nil,
		"maintenance": {"uploadpurging": map[any]any{"enabled": false}}}}
	config.Catalog.MaxEntries = 100
	server := httptest.NewServer(handlers.NewApp(ctx, config)) // on a port of its own of the loopback address
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/team/stoic:v9.8.7"
	if err := a.push(t.Context(), reference, true); err != nil {
		t.Fatal(err)
	}
	from, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(from)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := digestOf(t, pulled), digestOf(t, a.index); got != want {
		t.Errorf("pulled the digest %s, want %s", got, want)
	}
	if err := validate.Index(pulled); err != nil { // reads all layers, and computes their digests
		t.Error(err)
	}
	for i, p := range a.platforms {
		image, err := remote.Image(from, remote.WithPlatform(p))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := digestOf(t, image), digestOf(t, a.images[i]); got != want {
			t.Errorf("a node of %s pulls %s, want %s", p, got, want)
		}
	}
	if err := a.push(t.Context(), strings.TrimPrefix(server.URL, "http://")+"/Not A Name", true); err == nil {
		t.Error("a reference that is none is pushed to")
	}
	server.Close()
	if err := a.push(t.Context(), reference, true); err == nil || !strings.Contains(err.Error(), "push to") {
		t.Errorf("a registry that is not there: %v", err)
	}
}

// TestUsage: an error in a flag is reported before anything is compiled.
func TestUsage(t *testing.T) {
	for _, one := range []struct{ args, says string }{
		{"-platforms linux/amd64,linux/amd64", `found "linux/amd64" twice`},
		{"-platforms windows/amd64", `found "windows/amd64", must be such as linux/amd64`},
		{"-platforms linux", `must be such as linux/amd64`},
		{"-version v1'x", "neither spaces nor quotes"},
		{"-root /nowhere", "find the version (-version says it)"},
		{"more", `found "more", must be flags alone`},
	} {
		err := run(t.Context(), strings.Fields(one.args), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), one.says) {
			t.Errorf("image %s: %v, want %q", one.args, err, one.says)
		}
	}
	f := testFacts()
	if err := f.complete(t.Context(), repository, "yesterday"); err == nil || !strings.Contains(err.Error(), "seconds since 1970") {
		t.Errorf("a date that is none: %v", err)
	}
	if err := f.complete(t.Context(), repository, "1700000000"); err != nil || f.labels()["org.opencontainers.image.created"] != "2023-11-14T22:13:20Z" {
		t.Errorf("SOURCE_DATE_EPOCH: %v, %v", f.Created, err)
	}
}
