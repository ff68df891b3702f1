// Deliver is the init container of an MPIJob's launcher: it copies kubectl into the volume that both mount.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := deliver("/bin/kubectl", os.Getenv("TARGET_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func deliver(program, folder string) (err error) {
	if folder == "" {
		return fmt.Errorf("deliver %s: $TARGET_DIR is empty", program)
	}
	from, err := os.Open(program)
	if err != nil {
		return fmt.Errorf("deliver a program: %w", err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(folder, filepath.Base(program)), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("deliver a program: %w", err)
	}
	if _, err := io.Copy(to, from); err != nil {
		return fmt.Errorf("deliver %s: %w", program, err)
	}
	if err := to.Close(); err != nil {
		return fmt.Errorf("deliver %s: %w", program, err)
	}
	return nil
}
