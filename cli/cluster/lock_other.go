//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package cluster

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// staleAfter is longer than any build takes; an older lock file was left by a process that was killed.
const staleAfter = 30 * time.Minute

// lock is the existence of a file, on systems whose kernel has no file locks.
type lock struct{ path string }

func tryLock(path string) (*lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err == nil {
		return &lock{path: path}, file.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > staleAfter {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, errLocked
}

func (l *lock) release() {
	// A file that stays behind is stale some time later.
	_ = os.Remove(l.path)
}
