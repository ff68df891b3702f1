// Command registry answers one question: does a node get the image that was built? For a test, it serves an OCI layout from a registry in
// memory until its input ends.
//
//	registry -layout bin/image/oci -reference 127.0.0.1:5000/stoic:1
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	folder := flag.String("layout", "../../bin/image/oci", "the OCI layout, whose first entry is the image")
	reference := flag.String("reference", "127.0.0.1:5000/stoic:1", "where it can be pulled; the registry listens at its host and port, which are on loopback")
	flag.Parse()
	if err := serve(*folder, *reference, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// serve serves the layout until the input ends. It writes "ready" when the image can be pulled.
func serve(folder, reference string, lifeline io.Reader, out io.Writer) (err error) {
	to, err := name.NewTag(reference, name.Insecure, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("read -reference: %w", err)
	}
	index, err := image(folder)
	if err != nil {
		return fmt.Errorf("read the layout %s: %w", folder, err)
	}
	listener, err := net.Listen("tcp", to.RegistryStr())
	if err != nil {
		return fmt.Errorf("listen at %s: %w", to.RegistryStr(), err)
	}
	if address, ok := listener.Addr().(*net.TCPAddr); !ok || !address.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("%s is not on loopback", listener.Addr()), listener.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": nil,
		"maintenance": {"uploadpurging": map[any]any{"enabled": false}}}}
	server := &http.Server{Handler: handlers.NewApp(ctx, config), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() {
		err = errors.Join(err, server.Close())
		if failure := <-ended; !errors.Is(failure, http.ErrServerClosed) {
			err = errors.Join(err, failure)
		}
	}()
	if err := remote.WriteIndex(to, index); err != nil {
		return fmt.Errorf("push to our own registry: %w", err)
	}
	fmt.Fprintln(out, "ready")
	_, err = io.Copy(io.Discard, lifeline)
	return err
}

// image returns the index of all platforms in a layout.
func image(folder string) (v1.ImageIndex, error) {
	all, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) == 0 {
		return nil, errors.New("it has no image")
	}
	return all.ImageIndex(manifest.Manifests[0].Digest)
}
