package cli

import (
	"context"
	"errors"
	"io"
)

// errInterrupted: a signal came before the call was done.
var errInterrupted = errors.New("interrupted")

// interruptible is a reader, such as standard input, that a signal ends a call's waiting for. What is read after that is lost.
type interruptible struct {
	ctx  context.Context
	from io.Reader
}

// Read in a buffer of its own: the read that is under way continues after the signal.
func (r *interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, errInterrupted
	}
	type outcome struct {
		bytes []byte
		err   error
	}
	done := make(chan outcome, 1)
	size := len(p)
	go func() {
		buffer := make([]byte, size)
		n, err := r.from.Read(buffer)
		done <- outcome{buffer[:n], err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, errInterrupted
	case o := <-done:
		return copy(p, o.bytes), o.err
	}
}
