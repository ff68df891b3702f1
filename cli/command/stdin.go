package command

import (
	"context"
	"errors"
	"io"
)

// ErrInterrupted: a signal came before the call was done.
var ErrInterrupted = errors.New("interrupted")

// Await returns what do returns, or ErrInterrupted if the context ends first. In that case do continues, and its result is lost.
func Await[T any](ctx context.Context, do func() (T, error)) (value T, err error) {
	if ctx.Err() != nil {
		return value, ErrInterrupted
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := do()
		done <- outcome{value, err}
	}()
	select {
	case <-ctx.Done():
		return value, ErrInterrupted
	case o := <-done:
		return o.value, o.err
	}
}

// interruptible is a reader, such as standard input, whose blocked Read ends with a signal. Data that arrives later is lost.
type interruptible struct {
	ctx  context.Context
	from io.Reader
}

// Read reads into a buffer of its own: the read that is in progress continues after the signal.
func (r *interruptible) Read(p []byte) (int, error) {
	size := len(p)
	type part struct { // bytes can come together with an error
		bytes []byte
		err   error
	}
	read, err := Await(r.ctx, func() (part, error) {
		buffer := make([]byte, size)
		n, err := r.from.Read(buffer)
		return part{buffer[:n], err}, nil
	})
	if err != nil {
		return 0, err
	}
	return copy(p, read.bytes), read.err
}
