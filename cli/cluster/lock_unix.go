//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cluster

import (
	"errors"
	"os"
	"syscall"
)

// lock is a file lock. The kernel releases it when its holder ends, however that happens, so no lock is ever stale.
type lock struct{ file *os.File }

func tryLock(path string) (*lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return &lock{file: file}, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	return nil, errors.Join(err, file.Close())
}

// release releases the lock. The file stays: another process may have opened it and be waiting for its lock.
func (l *lock) release() {
	// Closing a file that was only locked cannot lose anything.
	_ = l.file.Close()
}
