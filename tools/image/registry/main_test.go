package main

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestServe: the image of a layout can be pulled until the input ends.
func TestServe(t *testing.T) {
	index, err := random.Index(100, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path, err := layout.Write(folder, empty.Index)
	if err == nil {
		err = path.AppendIndex(index)
	}
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reference := free.Addr().String() + "/stoic:1"
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	input, lifeline := io.Pipe()
	output, said := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(folder, reference, input, said) }()
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v; %v", line, err, <-ended)
	}
	tag, err := name.NewTag(reference, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	got, err1 := pulled.Digest()
	want, err2 := index.Digest()
	if err1 != nil || err2 != nil || got != want {
		t.Errorf("pulled %s, want %s (%v, %v)", got, want, err1, err2)
	}
	if err := lifeline.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("its end: %v", err)
	}
}

// TestNotServed: errors are reported, and nothing listens outside loopback.
func TestNotServed(t *testing.T) {
	folder := t.TempDir()
	if err := serve(folder, "127.0.0.1:0/stoic:1", strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "read the layout") {
		t.Errorf("no layout: %v", err)
	}
	if _, err := layout.Write(folder, empty.Index); err != nil {
		t.Fatal(err)
	}
	if err := serve(folder, "127.0.0.1:0/stoic:1", strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "it has no image") {
		t.Errorf("an empty layout: %v", err)
	}
	if err := serve(folder, "no name", strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "read -reference") {
		t.Errorf("a reference that is none: %v", err)
	}
}
