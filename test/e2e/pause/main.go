//go:build linux

// Pause is the first process of a pod, and of a node: it only reaps processes whose parents have ended. It ends by SIGTERM or,
// with -lifeline, when its standard input does; all other processes of its namespace end with it.
package main

import (
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	lifeline := flag.Bool("lifeline", false, "end with the standard input")
	flag.Parse()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT)
	if *lifeline {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // an unreadable input has ended
			os.Exit(0)
		}()
	}
	for s := range signals {
		if s != syscall.SIGCHLD {
			os.Exit(0)
		}
		bury()
	}
}

// bury reaps all children that have ended. Signals of several may arrive as one.
func bury() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 {
			return
		}
	}
}
